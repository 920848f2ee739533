"""Finds the squall command."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

HOW_TO_GET_IT = """\
squall was not found: neither on PATH nor in node_modules/.bin of {start} or a directory above.
Install it in the project, from a clone of Squall (Node 20.19 or newer):
    npm ci && npm pack                          # in the clone
    npm install --save-dev ../squall/mcp-squall-0.1.0.tgz   # in the project
Or set its command: pytest --squall-command "node ../squall/bin/squall.cjs", the setting
squall_command of pytest, or the environment variable SQUALL."""


class ProgramNotFoundError(Exception):
    """Raised when Squall is not installed. The message has instructions."""


def find_program(start: Path, command: str | None = None) -> list[str]:
    """Returns the command that starts Squall, as a list of arguments.

    Uses the first of: `command`, the environment variable SQUALL, `squall` in `node_modules/.bin` of
    `start` or a parent directory, `squall` on PATH. Downloads nothing.
    """
    named = shlex.split(command or os.environ.get("SQUALL", ""))
    if named:
        found = shutil.which(named[0])
        if found is None:
            raise ProgramNotFoundError(f"{named[0]}: not found; it is the command given for squall")
        # Without this flag, npx would install a missing package.
        quiet = ["--no-install"] if Path(named[0]).name == "npx" else []
        return [found, *quiet, *named[1:]]
    for directory in [start, *start.parents]:
        local = directory / "node_modules" / ".bin" / "squall"
        if os.access(local, os.X_OK):
            return [str(local)]
    on_path = shutil.which("squall")
    if on_path is None:
        raise ProgramNotFoundError(HOW_TO_GET_IT.format(start=start))
    return [on_path]
