"""Every module that enters instructions into the table."""

from __future__ import annotations

from ted.testing.ptx import (
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
from ted.testing.ptx.forms import INSTRUCTIONS

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
