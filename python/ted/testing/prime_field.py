"""Scalars of a prime field: exact numbers that tell whether two programs are the same expression.

Floats are integers modulo 2**61 - 1: sums, products and quotients are exact, so a program that
regroups them gives equal results, and one that computes another polynomial or quotient gives
different ones at a random point but with a chance of degree / 2**61 (Schwartz, Zippel).
Transcendental functions mean nothing: each is a hash of its arguments, so that equal functions of
equal arguments are equal and nothing else is.  Order is that of representatives around zero.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from fractions import Fraction
from functools import total_ordering
from typing import Any

import numpy as np

from ted.mlir import ir
from ted.testing.scalar_domains import MACHINE

PRIME = 2**61 - 1
LARGEST = PRIME // 2  # also stands for infinity: no other number is above it
# A constant is the simplest fraction within its rounding: 0.1 is 1/10, in every float type.
DENOMINATORS = {"f64": 2**20, "f32": 2**11, "f16": 2**6, "bf16": 2**6}
EPSILONS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


@total_ordering
class Element:
    """A number modulo the prime; `signed` is its representative around zero."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value % PRIME

    @property
    def signed(self) -> int:
        """The representative of least magnitude."""
        return self.value - PRIME if self.value > LARGEST else self.value

    def __add__(self, other: Element) -> Element:
        return Element(self.value + other.value)

    def __sub__(self, other: Element) -> Element:
        return Element(self.value - other.value)

    def __mul__(self, other: Element) -> Element:
        return Element(self.value * other.value)

    def __neg__(self) -> Element:
        return Element(-self.value)

    def __abs__(self) -> Element:
        return Element(abs(self.signed))

    def __truediv__(self, other: Element) -> Element:
        if other.value == 0:
            return hashed("division by zero")
        return Element(self.value * pow(other.value, -1, PRIME))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and self.value == other.value

    def __lt__(self, other: Element) -> bool:
        return self.signed < other.signed

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return str(self.signed)


def hashed(name: str, *arguments: Any) -> Element:
    """A number that depends on all arguments and on nothing else."""
    text = repr((name, arguments)).encode()
    return Element(int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big"))


def element_of(value: float, kind: str) -> Element:
    """The element that a constant of a float type stands for."""
    if math.isnan(value):
        return hashed("nan")
    if math.isinf(value):
        return Element(LARGEST if value > 0 else -LARGEST)
    exact = Fraction(value)
    simple = exact.limit_denominator(DENOMINATORS[kind])
    near = abs(simple - exact) <= 4 * EPSILONS[kind] * abs(exact)
    chosen = simple if near else exact
    return Element(chosen.numerator) / Element(chosen.denominator)


def _integer(kind: str) -> Callable[[Element], Any]:
    """Towards zero it cannot be: small representatives are taken as they are, others hashed."""
    bits = int(kind[1:])

    def convert(x: Element) -> Any:
        value = x.signed if abs(x.signed) < 2**31 else hashed("integer", x).value
        wrapped = (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
        return MACHINE.number(kind, wrapped)

    return convert


def _exact(x: Element) -> Element:
    return x


_EXACT: dict[str, Callable[..., Any]] = {
    "arith.addf": Element.__add__,
    "arith.subf": Element.__sub__,
    "arith.mulf": Element.__mul__,
    "arith.divf": Element.__truediv__,
    "arith.negf": Element.__neg__,
    "arith.extf": _exact,
    "arith.truncf": _exact,
    "arith.maximumf": max,
    "arith.maxnumf": max,
    "arith.minimumf": min,
    "arith.minnumf": min,
    "arith.sitofp": lambda n: Element(-int(n) if isinstance(n, np.bool_) else int(n)),
    "math.absf": Element.__abs__,
    "math.fma": lambda a, b, c: a * b + c,
    "math.copysign": lambda a, b: abs(a) if b.signed >= 0 else -abs(a),
    "math.isnan": lambda x: np.bool_(x == hashed("nan")),
    "math.isinf": lambda x: np.bool_(abs(x.signed) == LARGEST),
    "math.isfinite": lambda x: np.bool_(abs(x.signed) != LARGEST),
}
_COMBINERS = {"add": Element.__add__, "mul": Element.__mul__, "max": max, "min": min}


class PrimeField:
    """Floats as elements of the field; integers, bools and indices as on the machine."""

    def array_type(self, element: str) -> np.dtype[Any]:
        """Arrays of objects for floats."""
        return np.dtype(object) if element in EPSILONS else MACHINE.array_type(element)

    def number(self, element: str, value: Any) -> Any:
        """The element of a Python number, of a float type the simplest fraction near it."""
        if element not in EPSILONS:
            return MACHINE.number(element, value)
        return element_of(float(value), element)

    def function(self, op: ir.Operation) -> Callable[..., Any]:
        """The op on elements."""
        name, result = op.name, str(op.results[0].type)
        if name == "arith.constant" and result in EPSILONS:
            value = self.number(result, ir.FloatAttr(op.attributes["value"]).value)
            return lambda: value
        if name in _EXACT:
            return _EXACT[name]
        if name == "arith.uitofp":
            bits = ir.IntegerType(op.operands[0].type).width
            return lambda n: Element(int(n) % 2**bits)
        if name in ("arith.fptosi", "arith.fptoui"):
            return _integer(result)
        if result in EPSILONS and (name.startswith("math.") or name == "arith.remf"):
            return lambda *arguments: hashed(name, *arguments)
        return MACHINE.function(op)

    def combiner(self, name: str, element: str) -> Callable[..., Any]:
        """The combiner on elements."""
        return _COMBINERS[name] if element in EPSILONS else MACHINE.combiner(name, element)
