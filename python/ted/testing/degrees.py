"""Scalars that are degrees: how large a polynomial or quotient each element of a result is.

A float is the degrees of its numerator and denominator in the inputs, at most.  Two such elements
that differ agree at a random point of a field with a chance of at most the degree of the numerator
of their difference over the size of the field (Schwartz, J. ACM 1980; Zippel, EUROSAM 1979).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ted.mlir import ir
from ted.records import dataclass
from ted.testing.interpreter_scalars import NotEvaluated
from ted.testing.prime_field import EPSILONS
from ted.testing.scalar_domains import MACHINE


@dataclass(frozen=True)
class Degree:
    """At most these degrees."""

    above: int = 0
    below: int = 0

    def __add__(self, other: Degree) -> Degree:
        crossed = max(self.above + other.below, other.above + self.below)
        return Degree(crossed, self.below + other.below)

    def __mul__(self, other: Degree) -> Degree:
        return Degree(self.above + other.above, self.below + other.below)

    def __truediv__(self, other: Degree) -> Degree:
        return Degree(self.above + other.below, self.below + other.above)

    def __lt__(self, other: Degree) -> bool:
        raise NotEvaluated("degrees: quotients of polynomials have no order")

    __sub__ = __add__


def _same(x: Degree) -> Degree:
    return x


_RULES: dict[str, Callable[..., Degree]] = {
    "arith.addf": Degree.__add__,
    "arith.constant": Degree,
    "arith.divf": Degree.__truediv__,
    "arith.extf": _same,
    "arith.mulf": Degree.__mul__,
    "arith.negf": _same,
    "arith.sitofp": lambda _: Degree(),
    "arith.subf": Degree.__sub__,
    "arith.truncf": _same,
    "arith.uitofp": lambda _: Degree(),
    "math.fma": lambda a, b, c: a * b + c,
    "ted.stop_gradient": _same,
}


class Degrees:
    """Floats as degrees; integers, bools and indices as on the machine."""

    def array_type(self, element: str) -> np.dtype[Any]:
        """Arrays of objects for floats."""
        return np.dtype(object) if element in EPSILONS else MACHINE.array_type(element)

    def number(self, element: str, value: Any) -> Any:
        """A constant has the degree 0."""
        return Degree() if element in EPSILONS else MACHINE.number(element, value)

    def function(self, op: ir.Operation) -> Callable[..., Any]:
        """The op on degrees.

        Raises: NotEvaluated for one that does not make a quotient of polynomials.
        """
        kinds = {str(v.type) for v in (*op.operands, *op.results)}
        if not kinds & set(EPSILONS) or op.name == "arith.select":
            return MACHINE.function(op)
        if op.name not in _RULES:
            raise NotEvaluated(f"degrees: an op on quotients of polynomials, got {op.name}")
        return _RULES[op.name]

    def combiner(self, name: str, element: str) -> Callable[..., Any]:
        """The combiner on degrees.

        Raises: NotEvaluated for one that is neither a sum nor a product.
        """
        if element not in EPSILONS:
            return MACHINE.combiner(name, element)
        if name not in ("add", "mul"):
            raise NotEvaluated(f"degrees: a sum or a product, got {name}")
        return Degree.__add__ if name == "add" else Degree.__mul__
