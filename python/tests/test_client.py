"""The fixture, with a client of the MCP Python SDK."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from pytest_squall import InvalidRulesError, Sidecar, Squall

SEARCH = {"tool": "search_docs"}
DOWN = {"name": "down", "match": SEARCH, "times": 2, "faults": [{"abort": {"status": 503}}]}
SLOW = {"name": "slow", "match": SEARCH, "faults": [{"delay": {"fixed": "30ms"}}]}
EMPTY = {"name": "empty", "match": SEARCH, "faults": [{"abort": {"toolError": "index is down"}}]}


def call(url: str, tool: str, arguments: dict[str, Any] | None = None, tries: int = 1) -> Any:
    """Stands for the agent under test: makes a call again that failed."""

    async def run() -> Any:
        async with Client(url) as client:
            for left in range(tries - 1, -1, -1):
                try:
                    return await client.call_tool(tool, arguments or {})
                except Exception:
                    if left == 0:
                        raise

    return asyncio.run(run())


def search(squall: Squall, tries: int = 1) -> Any:
    return call(squall.url, "search_docs", {"query": "refunds"}, tries)


def test_calls_pass_without_rules(squall: Squall) -> None:
    assert search(squall).content[0].text == "found: refunds"
    assert (squall.faults(), squall.errors()) == ([], [])


@pytest.mark.squall(rules=[DOWN])
def test_a_call_is_made_again_after_a_503(squall: Squall) -> None:
    assert search(squall, tries=3).content[0].text == "found: refunds"
    assert [(f.rule, f.fault, f.tool, f.origin, f.effect) for f in squall.faults()] == [
        ("down", "abort", "search_docs", "injected", "status 503")
    ] * 2
    [error] = squall.errors()
    assert (error.origin, error.status, error.count) == ("injected", 503, 2)


@pytest.mark.squall(rules={"rules": [DOWN]})
def test_equal_rules_of_another_test_begin_again(squall: Squall) -> None:
    search(squall, tries=3)
    assert squall.rules()[0]["counts"]["injected"] == 2
    assert squall.fault_count() == 2


@pytest.mark.squall(rules="rules/slow.yaml")
def test_rules_come_from_a_file_beside_the_test(squall: Squall) -> None:
    begun = time.monotonic()
    search(squall)
    assert time.monotonic() - begun >= 0.03
    assert [fault.delay_ms for fault in squall.faults()] == [30]


def test_rules_change_within_a_test(squall: Squall) -> None:
    squall.set_rules([EMPTY])
    assert search(squall).is_error
    squall.set_rules([SLOW])
    assert not search(squall).is_error
    assert [fault.rule for fault in squall.faults()] == ["empty", "slow"]


def test_rules_end_with_their_test(squall: Squall) -> None:
    assert squall.rules() == []


def test_real_errors_are_told_apart(squall: Squall) -> None:
    squall.set_rules([EMPTY])
    assert search(squall).is_error
    assert call(squall.url, "query_db").is_error
    assert {(error.tool, error.origin) for error in squall.errors()} == {
        ("search_docs", "injected"),
        ("query_db", "real"),
    }


def test_invalid_rules_are_rejected_with_the_key(squall: Squall, tmp_path: Path) -> None:
    with pytest.raises(InvalidRulesError, match=r"rules\[0\]\.precent"):
        squall.set_rules([{**DOWN, "precent": 3}])
    file = tmp_path / "rules.yaml"
    file.write_text("rules:\n  - name: a\n    precent: 3\n")
    with pytest.raises(InvalidRulesError, match=r"rules\.yaml:3:5: "):
        squall.set_rules(file)
    assert "squall_" in squall.metrics()


def test_a_fixture_of_the_session_has_the_same_url(squall: Squall, squall_sidecar: Sidecar) -> None:
    assert squall.url == squall_sidecar.url


@pytest.mark.parametrize("args", (["--log-level", "error"], ["--log-format", "pretty"]))
def test_flags_of_the_log_do_not_hide_the_ports(squall_upstream: str, args: list[str]) -> None:
    with Sidecar(squall_upstream, args=args) as sidecar:
        assert sidecar.url.endswith("/mcp")


def test_the_sidecar_runs_without_the_fixture(squall_upstream: str) -> None:
    with Sidecar(squall_upstream) as sidecar:
        sidecar.set_rules([EMPTY])
        assert call(sidecar.url, "search_docs", {"query": "refunds"}).is_error
