"""Reads the admin API of a sidecar."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Union

# The path of a rules file, its content, or a list of rules.
Rules = Union[str, "os.PathLike[str]", Mapping[str, Any], Sequence[Mapping[str, Any]]]

TIMEOUT_SECONDS = 10


class SidecarError(Exception):
    """Raised when the sidecar did not start, has exited, or does not respond."""


class InvalidRulesError(ValueError):
    """Raised when Squall rejects the rules. The message has one line per error."""


@dataclass(frozen=True)
class Fault:
    """A fault injected into a call."""

    rule: str
    fault: str
    """The name of the fault, such as `abort`."""
    tool: str | None
    """The tool of a `tools/call`."""
    method: str | None
    """The MCP method, for calls other than `tools/call`."""
    at: datetime
    effect: str | None
    """Details of the effect, such as `status 503`, if the name is not enough."""
    delay_ms: float | None
    id: str | int | None
    """The JSON-RPC id of the call."""
    origin: str = "injected"
    """Always `injected`; `CallError` has the origin of errors."""

    def __str__(self) -> str:
        delay = None if self.delay_ms is None else f"{self.delay_ms:g} ms"
        details = ", ".join(text for text in (self.effect, delay) if text)
        what = f"{self.fault} ({details})" if details else self.fault
        at = self.at.strftime("%H:%M:%S.%f")[:-3]
        return f"{what} into {self.tool or self.method} at {at} by the rule {self.rule}"


@dataclass(frozen=True)
class CallError:
    """Equal errors of calls, as the client received them."""

    tool: str | None
    method: str
    outcome: str
    """The outcome of the calls, such as `http_error` or `tool_error`."""
    origin: str
    """`injected`, `real`, or `squall` (an error in Squall itself)."""
    status: int | None
    code: int | None
    rule: str | None
    count: int
    message: str | None

    def __str__(self) -> str:
        number = self.status if self.code is None else self.code
        times = f"({self.count} times)" if self.count > 1 else None
        parts = [self.tool or self.method, self.outcome, number, times]
        text = " ".join(str(part) for part in parts if part is not None)
        return text if self.message is None else f"{text}: {self.message}"


class Admin:
    """Client of an admin port."""

    def __init__(self, address: str) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)

    def text(self, path: str) -> str:
        """Returns a response. Ignores proxies of the environment. Raises a `SidecarError`."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("GET", path, headers={"x-squall-client": "pytest"})
            response = connection.getresponse()
            body = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise SidecarError(f"the sidecar does not respond: {error}") from error
        finally:
            connection.close()
        if response.status not in (200, 503):
            raise SidecarError(f"{path} responded {response.status}: {body}")
        return body

    def json(self, path: str) -> Any:
        return json.loads(self.text(path))

    def fault_count(self) -> int:
        """Returns the number of faults since the start."""
        return int(self.json("/api/injections")["total"])

    def faults_after(self, count: int) -> list[Fault]:
        """Returns the faults after the first `count`, oldest first; at most the last 200."""
        found = self.json("/api/injections")
        newest = found["faults"][: max(0, found["total"] - count)]
        return [
            Fault(
                rule=fault["rule"],
                fault=fault["fault"],
                tool=fault.get("tool"),
                method=fault.get("method"),
                at=datetime.fromisoformat(fault["at"].replace("Z", "+00:00")).astimezone(),
                effect=fault.get("effect"),
                delay_ms=fault.get("delayMs"),
                id=fault.get("id"),
            )
            for fault in reversed(newest)
        ]

    def errors(self) -> list[CallError]:
        """Returns the errors since the start, by kind, latest first."""
        return [
            CallError(
                tool=kind.get("tool"),
                method=kind["method"],
                outcome=kind["outcome"],
                origin=kind["origin"],
                status=kind.get("status"),
                code=kind.get("code"),
                rule=kind.get("rule"),
                count=kind["count"],
                message=next((s["message"] for s in kind["samples"] if "message" in s), None),
            )
            for kind in self.json("/api/errors")["errors"]
        ]
