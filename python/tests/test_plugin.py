"""What a run of pytest reports, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_squall import ProgramNotFoundError, find_program

CALL = """
import urllib.error, urllib.request
import json

def call(url, tool):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": tool, "arguments": {"query": "x"}}}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(message).encode(), headers)) as it:
            return it.status
    except urllib.error.HTTPError as error:
        return error.code
"""
DOWN = '[{"name": "down", "match": {"tool": "search_docs"}, "faults": [{"abort": {"status": 503}}]}]'


@pytest.fixture
def run(pytester: pytest.Pytester, squall_upstream: str) -> Callable[..., pytest.RunResult]:
    def run(text: str, *args: str) -> pytest.RunResult:
        pytester.makepyfile(CALL + text)
        upstream = ["--squall-upstream", squall_upstream] if "no-upstream" not in args else []
        return pytester.runpytest_subprocess(
            "-p", "no:cacheprovider", *upstream, *(arg for arg in args if arg != "no-upstream")
        )

    return run


def test_a_failure_says_which_faults_were_injected(run: Callable[..., pytest.RunResult]) -> None:
    result = run(f"""
import pytest
@pytest.mark.squall(rules={DOWN})
def test_fails(squall):
    assert call(squall.url, "search_docs") == 200
@pytest.mark.squall(rules={DOWN})
def test_fails_often(squall):
    assert [call(squall.url, "search_docs") for _ in range(12)] == []
def test_fails_without_faults(squall):
    assert False
@pytest.mark.squall(rules={DOWN})
def test_passes(squall):
    assert call(squall.url, "search_docs") == 503
""")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.re_match_lines(
        [
            r"-* squall -*",
            r"squall injected abort \(status 503\) into search_docs at [\d:.]+ by the rule down: "
            "this failure may be injected",
            r"squall injected 12 faults in this test; the last 10:",
            r"squall injected no fault in this test",
        ]
    )
    assert result.stdout.str().count("may be injected") == 11


def test_a_failure_says_that_the_server_could_not_be_reached(run: Callable[..., pytest.RunResult]) -> None:
    result = run(
        'def test_fails(squall): assert call(squall.url, "search_docs") == 200',
        "no-upstream",
        "--squall-upstream",
        "http://127.0.0.1:1/mcp",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["error of squall itself: search_docs http_error 502: *"])


def test_the_mark_alone_brings_the_fixture(run: Callable[..., pytest.RunResult]) -> None:
    result = run(f"""
import pytest
@pytest.mark.squall(rules={DOWN})
def test_it(squall_sidecar):
    assert call(squall_sidecar.url, "search_docs") == 503
""")
    result.assert_outcomes(passed=1)


def test_a_mark_of_one_parameter_starts_squall_for_that_parameter_alone(
    run: Callable[..., pytest.RunResult],
) -> None:
    result = run(
        f"""
import pytest
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.squall(rules={DOWN})), 2])
def test_it(x): pass
""",
        "no-upstream",
    )
    result.assert_outcomes(errors=1, passed=1)


def test_rules_files_are_read_as_utf_8(
    run: Callable[..., pytest.RunResult], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = DOWN.replace("search_docs", "größe")
    pytester.path.joinpath("rules.json").write_text(f'{{"rules": {rules}}}', encoding="utf-8")
    for name, value in {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)
    result = run("""
import pytest
@pytest.mark.squall(rules="rules.json")
def test_it(squall): pass
""")
    result.assert_outcomes(passed=1)


def test_missing_settings_are_named(
    run: Callable[..., pytest.RunResult], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "def test_it(squall): pass"
    monkeypatch.delenv("MCP_URL", raising=False)
    result = run(text, "no-upstream")
    result.stdout.fnmatch_lines(["Squall needs the URL of an MCP server: --squall-upstream*"])
    result = run(text, "no-upstream", "--squall-upstream", "127.0.0.1:3000/mcp")
    result.stdout.fnmatch_lines(["'127.0.0.1:3000/mcp' is not the URL of an MCP server*"])
    result = run(text, "--squall-command", "no-such-program")
    result.stdout.fnmatch_lines(["no-such-program: not found*"])
    monkeypatch.setenv("ENVIRONMENT", "production")
    result = run(text)
    result.stdout.fnmatch_lines(["Squall injects nothing here: *production*"])


def test_the_program_is_found_in_the_project_before_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(directory: Path, name: str = "squall") -> str:
        directory.mkdir(parents=True)
        (directory / name).write_text("#!/bin/sh\n")
        (directory / name).chmod(0o755)
        return str(directory / name)

    monkeypatch.delenv("SQUALL", raising=False)
    project = tmp_path / "project"
    (project / "tests").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ProgramNotFoundError, match="npm install --save-dev"):
        find_program(project / "tests")
    on_path = program(tmp_path / "bin")
    assert find_program(project / "tests") == [on_path]
    local = program(project / "node_modules" / ".bin")
    assert find_program(project / "tests") == [local]
    npx = program(tmp_path / "npx-bin", "npx")
    monkeypatch.setenv("SQUALL", f"{npx} squall")
    assert find_program(project) == [npx, "--no-install", "squall"]


def sidecars_with(text: str) -> list[str]:
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if " run --upstream" in line and text in line]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_no_sidecar_is_left_when_pytest_is_ended(
    number: signal.Signals, tmp_path: Path, squall_upstream: str
) -> None:
    # The child inherits the pipe of pytest: a closed pipe alone would not show the end of pytest.
    (tmp_path / "test_it.py").write_text("""
import os, time
def test_it(squall):
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    print(f"child={child}", flush=True)
    time.sleep(60)
""")
    mark = f"pytest-{number.value}-{os.getpid()}"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-s", "--squall-upstream", squall_upstream, "-o"]
        + [f"squall_args=--pod {mark}", "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        child = int(next(line for line in process.stdout if "child=" in line).split("child=")[1])
        try:
            assert sidecars_with(mark) != []
            process.send_signal(number)
            process.wait(30)
            end = time.monotonic() + 20
            while (sidecars_with(mark) or any(temporary.iterdir())) and time.monotonic() < end:
                time.sleep(0.05)
            assert sidecars_with(mark) == []
            assert list(temporary.iterdir()) == []
        finally:
            os.kill(child, signal.SIGKILL)
            process.kill()
