"""Runs the text of PTX programs with numpy, and finds what a GPU would not tell.

`launch` executes a kernel on a `Device`.  Accesses out of bounds or misaligned, uninitialised
reads, races, barriers that cannot complete and waits that cannot end are errors
(`ptx_emulator.errors`).  An unknown instruction is an error, never skipped.
"""

from __future__ import annotations

from ptx_emulator.device import Allocation, Device
from ptx_emulator.launching import Statistics, launch
from ptx_emulator.parsing import parse
from ptx_emulator.syntax import Module
from ptx_emulator.tensor_maps import TensorMap

__all__ = [
    "Allocation",
    "Device",
    "Module",
    "Statistics",
    "TensorMap",
    "launch",
    "parse",
]
