"""Every module that enters instructions into the table."""

from __future__ import annotations

from ptx_emulator import (
    accesses,
    bit_fields,
    comparisons,
    control,
    conversions,
    integer_arithmetic,
    matrices,
    mbarrier_instructions,
    moves,
    synchronisation,
    warpgroups,
    warps,
)
from ptx_emulator.forms import INSTRUCTIONS

__all__ = [
    "INSTRUCTIONS",
    "accesses",
    "bit_fields",
    "comparisons",
    "control",
    "conversions",
    "integer_arithmetic",
    "matrices",
    "mbarrier_instructions",
    "moves",
    "synchronisation",
    "warpgroups",
    "warps",
]
