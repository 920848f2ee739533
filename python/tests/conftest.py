from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = "pytester"


@pytest.fixture(scope="session")
def squall_upstream() -> Iterator[str]:
    """A real MCP server."""
    script = Path(__file__).with_name("server.py")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        server.kill()
