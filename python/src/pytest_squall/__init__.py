"""Injects faults into the calls of MCP clients under test, with Squall.

Tests use the fixture `squall`. `Sidecar` runs Squall without pytest.
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
