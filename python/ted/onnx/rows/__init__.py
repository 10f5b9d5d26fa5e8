"""Operators of ONNX by name: a row is a function of a node and its inputs, tensors of ted.

An operator that ONNX defines by a function of others needs no row; it has one where ted's own says
more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ted.onnx.rows import (
    control,
    deformed,
    elementwise,
    indexing,
    norms,
    quantised,
    recurrent,
    reductions,
    resizing,
    sequences,
    shapes,
    signals,
    windows,
)

RULES: dict[str, Callable[..., Any]] = {
    name: rule
    for module in (
        control, deformed, elementwise, indexing, norms, quantised, recurrent, reductions,
        resizing, sequences, shapes, signals, windows,
    )
    for name, rule in module.RULES.items()
}  # fmt: skip
