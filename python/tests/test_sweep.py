"""Sweeps, over a tape of a real task."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_squall import Sidecar, SweepError, find_program, sweep

AGENT = [sys.executable, str(Path(__file__).parent / "agent.py")]


@pytest.fixture(scope="module")
def tape(squall_upstream: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tape") / "search.tape"
    with Sidecar(squall_upstream, args=["--tape", str(path)]) as sidecar:
        subprocess.run(AGENT, env={**os.environ, "MCP_URL": sidecar.url}, check=True)
    return path


def test_each_cell_has_its_verdict(tape: Path) -> None:
    (repeated,) = sweep(tape, AGENT, faults=["error"], check="grep -q found")
    assert (repeated.id, repeated.tool, repeated.verdict) == ("1-error", "search_docs", "survived")
    (failed,) = sweep(tape, [*AGENT, "--gives-up"], faults=["error"])
    assert failed.verdict == "failed_openly"
    assert failed.lines[-1] == "the search failed"


def test_a_task_that_fails_without_a_fault_is_an_error(tape: Path) -> None:
    with pytest.raises(SweepError, match=r"without a fault, the command failed \(exit code: 1\)"):
        sweep(tape, [sys.executable, "-c", "raise SystemExit(1)"])


def test_cells_that_were_not_run_are_an_error(tape: Path, tmp_path: Path) -> None:
    hurried = tmp_path / "squall.py"
    program = find_program(Path.cwd())
    # The runs without a fault take longer.
    hurried.write_text(
        f"import os, sys\nwords = {program!r}\n"
        "os.execv(words[0], [*words, 'sweep', '--budget', '1s', *sys.argv[2:]])\n"
    )
    with pytest.raises(SweepError, match="1 of 1 cells were not run"):
        sweep(tape, AGENT, faults=["error"], squall=f"{sys.executable} {hurried}")
