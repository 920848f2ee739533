"""Runs Squall as a process next to the tests."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import urlsplit

from . import keeper
from .admin import Admin, CallError, Fault, InvalidRulesError, Rules, SidecarError
from .program import find_program

T = TypeVar("T")

START_SECONDS = 60
RULES_SECONDS = 30
LOOK_SECONDS = 0.02


class Sidecar:
    """Runs Squall in front of an MCP server, initially without rules.

    Stops on `close`, at the end of a `with` block, or when this process exits or is killed.
    """

    url: str
    """The URL of the server with the address of the sidecar."""

    def __init__(
        self,
        upstream: str,
        *,
        command: str | None = None,
        directory: Path | None = None,
        args: Sequence[str] = (),
    ) -> None:
        """Starts Squall and waits until it listens. `args` are additional flags of `squall run`."""
        server = urlsplit(upstream)
        if server.scheme not in ("http", "https") or not server.netloc:
            raise SidecarError(
                f"{upstream!r} is not the URL of an MCP server, such as http://127.0.0.1:3000/mcp"
            )
        program = find_program(Path(directory or Path.cwd()), command)
        self._own = TemporaryDirectory(prefix="squall-")
        self._rules = Path(self._own.name) / "rules.yaml"
        self._rules.write_text("rules: []\n")
        self._log: deque[str] = deque(maxlen=50)
        self._addresses: dict[str, str] = {}
        # Squall variables in the environment would change the test results.
        env = {name: value for name, value in os.environ.items() if not name.startswith("SQUALL_")}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, str(os.getpid()), self._own.name]
            + [*program, "run"]
            + ["--upstream", f"{server.scheme}://{server.netloc}", "--rules", str(self._rules)]
            + ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
            + ["--guard-error-rate", "off", *args]
            # The log names the ports, whatever `args` set.
            + ["--log-level", "info", "--log-format", "json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        try:
            self._until(lambda: len(self._addresses) == 2 or None, START_SECONDS, "did not listen")
            self.admin = Admin(self._addresses["admin listening"])
            address = self._addresses["listening"]
            self.url = server._replace(scheme="http", netloc=address).geturl()
            self._check_armed()
        except BaseException:
            self.close()
            raise

    def set_rules(self, rules: Rules) -> None:
        """Replaces all rules, and returns when they are active. Raises an `InvalidRulesError`.

        Unchanged rules keep their counts.
        """
        data = rules_text(rules).encode()
        digest = hashlib.sha256(data).hexdigest()
        written = self._rules.with_suffix(".new")
        written.write_bytes(data)
        written.replace(self._rules)

        def is_active() -> bool | None:
            state = self.admin.json("/api/state")
            last = state["lastReload"] or {}
            if last.get("digest") == digest and last["result"] == "rejected":
                raise InvalidRulesError(problems_text(rules, last.get("problems", [])))
            return state["rules"]["digest"] == digest or None

        self._until(is_active, RULES_SECONDS, "did not read the rules")

    def close(self) -> None:
        """Stops Squall and waits until it exits."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                # Closing is not enough: a fork of this process may keep the pipe open.
                self._process.stdin.write(b"\n")
                self._process.stdin.close()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._own.cleanup()

    def __enter__(self) -> Sidecar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_armed(self) -> None:
        state = self.admin.json("/api/state")
        if not state["armed"]:
            reasons = "; ".join(reason["reason"] for reason in state["reasons"])
            raise SidecarError(f"Squall injects nothing here: {reasons}")

    def _read_log(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            text = line.decode(errors="replace").rstrip()
            self._log.append(text)
            try:
                entry = json.loads(text)
                if entry["msg"] in ("listening", "admin listening"):
                    self._addresses[entry["msg"]] = entry["address"]
            except (ValueError, KeyError, TypeError):
                continue

    def _until(self, find: Callable[[], T | None], seconds: float, problem: str) -> T:
        end = time.monotonic() + seconds
        while (found := find()) is None:
            ended = self._process.poll() is not None
            if ended or time.monotonic() > end:
                if ended:
                    self._reader.join(1)
                what = f"exited with code {self._process.returncode}" if ended else problem
                raise SidecarError("\n".join([f"Squall {what}; its log:", *self._log]))
            time.sleep(LOOK_SECONDS)
        return found


class Squall:
    """Squall in a single test: counts and faults start with the test."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar
        self._before = sidecar.admin.fault_count()
        self._errors_before = {kind(error): error.count for error in sidecar.admin.errors()}
        self._has_rules = False
        self._ended: tuple[list[Fault], list[CallError], int] | None = None

    @property
    def url(self) -> str:
        """The URL for the client under test."""
        return self._sidecar.url

    def set_rules(self, rules: Rules) -> None:
        """Replaces the rules of this test, and returns when they are active.

        `rules` is the path of a rules file, its content as a dictionary, or a list of rules. Unchanged
        rules keep their counts. Raises an `InvalidRulesError` for invalid rules; the previous rules
        stay active.
        """
        self._has_rules = True
        self._sidecar.set_rules(rules)

    def faults(self) -> list[Fault]:
        """Returns the faults injected in this test, oldest first; at most the last 200."""
        if self._ended is not None:
            return self._ended[0]
        return self._sidecar.admin.faults_after(self._before)

    def fault_count(self) -> int:
        """Returns the number of faults injected in this test."""
        if self._ended is not None:
            return self._ended[2]
        return self._sidecar.admin.fault_count() - self._before

    def errors(self) -> list[CallError]:
        """Returns the injected and real errors of calls in this test, counted by kind.

        A call counts after its response has been sent.
        """
        if self._ended is not None:
            return self._ended[1]
        counted = [
            replace(error, count=error.count - self._errors_before.get(kind(error), 0))
            for error in self._sidecar.admin.errors()
        ]
        return [error for error in counted if error.count > 0]

    def rules(self) -> list[dict[str, Any]]:
        """Returns the active rules with the counts of their results."""
        rules: list[dict[str, Any]] = self._sidecar.admin.json("/api/rules")["rules"]
        return rules

    def metrics(self) -> str:
        """Returns all metrics in Prometheus text format, counted since the start."""
        return self._sidecar.admin.text("/metrics")

    def end(self) -> None:
        """Removes the rules, and keeps the observed faults and errors."""
        observed = self.faults(), self.errors(), self.fault_count()
        if self._has_rules:
            self._sidecar.set_rules([])
        self._ended = observed


def kind(error: CallError) -> tuple[object, ...]:
    return (error.tool, error.method, error.outcome, error.origin, error.status, error.code, error.rule)


def rules_text(rules: Rules) -> str:
    """Returns the text of a rules file. JSON is YAML."""
    if isinstance(rules, (str, os.PathLike)):
        return Path(rules).read_text(encoding="utf-8")
    return json.dumps(rules if hasattr(rules, "keys") else {"rules": list(rules)})


def problems_text(rules: Rules, problems: Sequence[dict[str, Any]]) -> str:
    is_file = isinstance(rules, (str, os.PathLike))
    lines = []
    for problem in problems:
        # Only rules from a file have meaningful lines and columns.
        place = f"{os.fspath(rules)}:{problem['line']}:{problem['column']}: " if is_file else ""  # type: ignore[arg-type]
        lines.append(": ".join(text for text in (place + problem["path"], problem["message"]) if text))
    return "\n".join(["Squall rejected the rules", *lines])
