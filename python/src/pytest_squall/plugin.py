"""Adds options, the mark, fixtures, and a section in failure reports to pytest."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from .admin import Rules, SidecarError
from .program import ProgramNotFoundError
from .sidecar import Sidecar, Squall

SHOWN_FAULTS = 10
IN_TEST = pytest.StashKey[Squall]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("squall", "faults for clients of MCP servers")
    settings = {
        "upstream": "URL of the MCP server, such as http://127.0.0.1:3000/mcp",
        "command": "command that starts Squall (default: squall of node_modules or PATH)",
    }
    for name, text in settings.items():
        group.addoption(f"--squall-{name}", default=None, help=text)
        parser.addini(f"squall_{name}", text, default="")
    parser.addini("squall_args", "further flags of squall run", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "squall(rules): run the test behind Squall, with these rules: the path of a file, relative "
        "to that of the test, a dictionary, or a list of rules",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    names = getattr(item, "fixturenames", None)
    if names is not None and item.get_closest_marker("squall") and "squall" not in names:
        # All items of a function share the list.
        item.fixturenames = [*names, "squall"]  # type: ignore[attr-defined]


def setting(config: pytest.Config, name: str) -> str:
    return config.getoption(f"squall_{name}") or str(config.getini(f"squall_{name}"))


@pytest.fixture(scope="session")
def squall_upstream(pytestconfig: pytest.Config) -> str:
    """Returns the URL of the MCP server. Override this fixture to start a server."""
    url = setting(pytestconfig, "upstream") or os.environ.get("MCP_URL", "")
    if not url:
        pytest.fail(
            "Squall needs the URL of an MCP server: --squall-upstream, the setting squall_upstream, "
            "the variable MCP_URL, or a fixture squall_upstream of scope session",
            pytrace=False,
        )
    return url


@pytest.fixture(scope="session")
def squall_sidecar(pytestconfig: pytest.Config, squall_upstream: str) -> Iterator[Sidecar]:
    """Runs the sidecar of the test session, for session-scoped fixtures: its `url` does not change."""
    problem = ""
    try:
        sidecar = Sidecar(
            squall_upstream,
            command=setting(pytestconfig, "command"),
            directory=pytestconfig.rootpath,
            args=pytestconfig.getini("squall_args"),
        )
    except (ProgramNotFoundError, SidecarError) as error:
        problem = str(error)
    if problem:
        pytest.fail(problem, pytrace=False)
    with sidecar:
        yield sidecar


@pytest.fixture
def squall(request: pytest.FixtureRequest, squall_sidecar: Sidecar) -> Iterator[Squall]:
    """Provides Squall in front of the MCP server, with the rules of this test."""
    in_test = Squall(squall_sidecar)
    request.node.stash[IN_TEST] = in_test
    rules = rules_of_mark(request.node)
    try:
        if rules is not None:
            in_test.set_rules(rules)
        yield in_test
    finally:
        in_test.end()


def rules_of_mark(item: pytest.Item) -> Rules | None:
    mark = item.get_closest_marker("squall")
    if mark is None or not (mark.args or mark.kwargs):
        return None
    if len(mark.args) > 1 or set(mark.kwargs) - {"rules"} or (mark.args and mark.kwargs):
        raise pytest.UsageError("the mark squall takes one argument: squall(rules=…)")
    rules: Rules = mark.args[0] if mark.args else mark.kwargs["rules"]
    return item.path.parent / rules if isinstance(rules, (str, Path)) else rules


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    in_test = item.stash.get(IN_TEST, None)
    if in_test is not None and report.failed:
        try:
            text = observed_text(in_test)
        except SidecarError as error:
            text = str(error)
        report.sections.append(("squall", text))
    return report


def observed_text(squall: Squall) -> str:
    faults, count = squall.faults(), squall.fault_count()
    shown = faults[-SHOWN_FAULTS:]
    lines = [f"squall injected {fault}: this failure may be injected" for fault in shown]
    if count > len(shown):
        lines.insert(0, f"squall injected {count} faults in this test; the last {len(shown)}:")
    if count == 0:
        lines.append("squall injected no fault in this test")
    words = {"real": "real error, not injected", "squall": "error of squall itself"}
    seen = [error for error in squall.errors() if error.origin in words]
    return "\n".join(lines + [f"{words[error.origin]}: {error}" for error in seen])
