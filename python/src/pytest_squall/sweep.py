"""Finds single failures that break a task."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .program import find_program


@dataclass(frozen=True)
class Cell:
    """One fault at one call, and the result of the task."""

    id: str
    tool: str
    fault: str
    verdict: str
    """The result, such as `survived`, `failed_openly`, `failed_silently`, `hung` or `doubled_write`."""
    lines: tuple[str, ...]
    """The last lines that the task printed."""


class SweepError(Exception):
    """Raised when the sweep fails; the message has the reason."""


def sweep(
    tape: str | os.PathLike[str],
    command: Sequence[str],
    *,
    faults: Sequence[str] = (),
    check: str | None = None,
    squall: str | None = None,
    directory: Path | None = None,
) -> list[Cell]:
    """Runs a command once for each call of a tape and each fault; returns a cell for each run.

    The command gets the server URL in `MCP_URL` and in place of `{url}`. Raises a `SweepError` if the
    command fails without a fault, or if cells were not run.
    """
    program = find_program(directory or Path.cwd(), squall)
    with tempfile.TemporaryDirectory(prefix="squall-sweep-") as results:
        flags = ["--tape", os.fspath(tape), "--results", results, "--json"]
        flags += ["--faults", ",".join(faults)] if faults else []
        flags += ["--check", check] if check is not None else []
        words = [*program, "sweep", *flags, "--", *command]
        ended = subprocess.run(words, cwd=directory, capture_output=True, encoding="utf-8", errors="replace", check=False)
    result = json.loads(ended.stdout or "{}")
    # Errors are also printed as JSON.
    if "cells" not in result:
        raise SweepError(ended.stderr.strip())
    if result["left"] > 0:
        raise SweepError(f"{result['left']} of {result['left'] + len(result['cells'])} cells were not run")
    tools = {call["number"]: call["tool"] for call in result["calls"]}
    return [
        Cell(each["id"], tools[each["call"]], each["fault"], each["verdict"], tuple(each["runs"][-1]["lines"]))
        for each in result["cells"]
    ]
