"""Tests retries under faults with pytest. Set MCP_URL to the URL of your MCP server. Requires Node, Squall on
PATH (or its command in SQUALL, such as "npx mcp-squall"), and only pytest from PyPI."""

import json
import os
import shlex
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

MCP_URL = urlsplit(os.environ.get("MCP_URL", "http://127.0.0.1:3000/mcp"))
SQUALL = shlex.split(os.environ.get("SQUALL", "squall"))
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}


class Sidecar:
    """Runs a sidecar: `url` replaces the server's URL, `set_rules` sets the rules."""

    def __init__(self, directory: Path):
        self._rules = directory / "rules.yaml"
        self._rules.write_text("rules: []\n")
        listen, admin = free_ports()
        self.url = f"http://127.0.0.1:{listen}{MCP_URL.path}"
        self._admin = f"http://127.0.0.1:{admin}"
        self._process = subprocess.Popen(
            [*SQUALL, "run", "--rules", str(self._rules), "--guard-error-rate", "off"]
            + ["--upstream", f"{MCP_URL.scheme}://{MCP_URL.netloc}"]
            + ["--listen", f"127.0.0.1:{listen}", "--admin", f"127.0.0.1:{admin}"],
            stdout=subprocess.DEVNULL,
        )
        self._until(lambda: self._get("/readyz")["ready"])

    def set_rules(self, rules: dict) -> None:
        """Replaces the rules, as JSON, and returns when they are active."""
        names = [rule["name"] for rule in rules["rules"]]
        self._rules.write_text(json.dumps(rules))
        self._until(lambda: [rule["name"] for rule in self.rules()] == names)

    def rules(self) -> list:
        return self._get("/api/rules")["rules"]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)

    def _get(self, path: str) -> dict:
        with urllib.request.urlopen(self._admin + path, timeout=5) as response:
            return json.load(response)

    def _until(self, is_so) -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                if is_so():
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise TimeoutError("Squall did not do what it was asked to")


@pytest.fixture
def squall(tmp_path):
    sidecar = Sidecar(tmp_path)
    yield sidecar
    # Appears in the report of a failed test.
    for rule in sidecar.rules():
        print(f"Squall injected {rule['counts']['injected']} errors by the rule {rule['name']}")
    sidecar.close()


def free_ports() -> tuple[int, int]:
    here = ("127.0.0.1", 0)
    with socket.create_server(here) as one, socket.create_server(here) as other:
        return one.getsockname()[1], other.getsockname()[1]


def call_tool(url: str, name: str, tries: int) -> int:
    """Replace with the code under test."""
    params = {"name": name, "arguments": {"query": "refunds"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    request = urllib.request.Request(url, json.dumps(call).encode(), HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        again = error.code == 503 and tries > 1
        return call_tool(url, name, tries - 1) if again else error.code


def test_a_call_is_made_again_after_a_503(squall):
    down = {"name": "down-at-first", "match": {"tool": "search_docs"}, "times": 2}
    squall.set_rules({"rules": [{**down, "faults": [{"abort": {"status": 503}}]}]})
    assert call_tool(squall.url, "search_docs", tries=3) == 200
    assert squall.rules()[0]["counts"]["injected"] == 2


def test_after_three_failures_the_call_fails(squall):
    down = {"name": "down", "match": {"tool": "search_docs"}}
    squall.set_rules({"rules": [{**down, "faults": [{"abort": {"status": 503}}]}]})
    assert call_tool(squall.url, "search_docs", tries=3) == 503
    assert squall.rules()[0]["counts"]["injected"] == 3
