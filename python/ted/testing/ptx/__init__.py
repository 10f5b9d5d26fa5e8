"""Runs the text of PTX programs with numpy, and finds what a GPU would not tell.

`launch` executes a kernel on a `Device`; `run_manifest` executes a whole CUDA program.  Accesses
out of bounds or misaligned, uninitialised reads, races, barriers that cannot complete and waits
that cannot end are errors (`ted.testing.ptx.errors`).  An unknown instruction is an error, never
skipped.
"""

from __future__ import annotations

from ted.testing.ptx.device import Allocation, Device
from ted.testing.ptx.launching import Statistics, launch
from ted.testing.ptx.parsing import parse
from ted.testing.ptx.programs import run_manifest
from ted.testing.ptx.syntax import Module
from ted.testing.ptx.tensor_maps import TensorMap

__all__ = [
    "Allocation",
    "Device",
    "Module",
    "Statistics",
    "TensorMap",
    "launch",
    "parse",
    "run_manifest",
]
