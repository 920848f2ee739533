"""Injects faults into MCP calls of clients under test, with Squall.

Use the fixture `squall` in tests. `Sidecar` runs Squall without pytest.
"""

from .admin import CallError, Fault, InvalidRulesError, Rules, SidecarError
from .program import ProgramNotFoundError, find_program
from .sidecar import Sidecar, Squall
from .sweep import Cell, SweepError, sweep

__all__ = [
    "CallError",
    "Cell",
    "Fault",
    "InvalidRulesError",
    "ProgramNotFoundError",
    "Rules",
    "Sidecar",
    "SidecarError",
    "Squall",
    "SweepError",
    "find_program",
    "sweep",
]
