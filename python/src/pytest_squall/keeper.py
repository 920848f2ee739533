"""Runs a command, and ends it when its owner writes a byte or has ended.

usage: keeper.py OWNER COMMAND [ARGUMENT...]

Squall outlives a killed parent, as a server should. This process does not: it ends the command
even when the owner was killed, and when another process has inherited the pipe of the owner.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

LOOK_SECONDS = 0.1
# The first signal asks Squall to drain, the second one ends it at once.
SIGNALS = ((signal.SIGTERM, 1.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, None))


def main(owner: int, command: list[str]) -> int:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    while child.poll() is None:
        readable, _, _ = select.select([0], [], [], LOOK_SECONDS)
        if readable or os.getppid() != owner:
            return end(child)
    return child.returncode


def end(child: subprocess.Popen[bytes]) -> int:
    for number, seconds in SIGNALS:
        child.send_signal(number)
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
