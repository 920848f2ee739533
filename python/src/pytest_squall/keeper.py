"""Runs a command, and stops it when its owner writes a byte or exits; then removes a directory.

usage: keeper.py OWNER DIRECTORY COMMAND [ARGUMENT...]

Squall keeps running when its parent is killed. This process stops Squall in that case, even if another
process has inherited the pipe of the owner.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys

LOOK_SECONDS = 0.1
# The first signal starts a graceful shutdown, the second one stops Squall at once.
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
    try:
        sys.exit(main(int(sys.argv[1]), sys.argv[3:]))
    finally:
        shutil.rmtree(sys.argv[2], ignore_errors=True)
