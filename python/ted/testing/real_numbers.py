"""Scalars that stand for real numbers: floats of all types are float64, constants what was meant.

Two programs that are the same function of real numbers give the same results but for roundings of
float64, whatever their types; 0.1 is a tenth in every type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ted.mlir import ir
from ted.testing.interpreter_scalars import FLOAT_FUNCTIONS, signed, unsigned
from ted.testing.prime_field import EPSILONS, simplest
from ted.testing.scalar_domains import MACHINE


def _same(x: Any) -> Any:
    return x


class Reals:
    """Floats of all types as float64; integers, bools and indices as on the machine."""

    def array_type(self, element: str) -> np.dtype[Any]:
        """float64 for floats."""
        return np.dtype(np.float64) if element in EPSILONS else MACHINE.array_type(element)

    def number(self, element: str, value: Any) -> Any:
        """What a constant stands for."""
        if element not in EPSILONS:
            return MACHINE.number(element, value)
        number = float(value)
        return np.float64(float(simplest(number, element)) if np.isfinite(number) else number)

    def function(self, op: ir.Operation) -> Callable[..., Any]:
        """The op on float64."""
        name, result = op.name, str(op.results[0].type)
        if name == "arith.constant" and result in EPSILONS:
            value = self.number(result, ir.FloatAttr(op.attributes["value"]).value)
            return lambda: value
        if name in ("arith.extf", "arith.truncf"):
            return _same
        if name == "arith.sitofp":
            return lambda n: np.float64(signed(n))
        if name == "arith.uitofp":
            bits = ir.IntegerType(op.operands[0].type).width
            return lambda n: np.float64(unsigned(n, bits))
        if name == "math.fma":
            return lambda a, b, c: a * b + c
        return FLOAT_FUNCTIONS.get(name) or MACHINE.function(op)

    def combiner(self, name: str, element: str) -> Callable[..., Any]:
        """The combiner on float64."""
        return MACHINE.combiner(name, "f64" if element in EPSILONS else element)
