"""Scalars of a prime field: exact numbers that tell whether two programs are the same expression.

Floats are integers modulo 2**61 - 1: sums, products and quotients are exact, so a program that
regroups them gives equal results, and one that computes another polynomial or quotient gives
different ones at a random point but with a chance of degree / 2**61 (Schwartz, Zippel).
Transcendental functions mean nothing: each is a hash of its arguments, so that equal functions of
equal arguments are equal and nothing else is, but for whole values at simple fractions, as exp(0).
Order is that of simple fractions, which constants are, and of representatives around zero.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache, partial, total_ordering
from typing import Any

import numpy as np

from ted.mlir import ir
from ted.testing.interpreter_scalars import FLOAT_FUNCTIONS, NotEvaluated
from ted.testing.scalar_domains import MACHINE

PRIME = 2**61 - 1
SIMPLE = 2**20  # numerators and denominators of fractions that are told from other numbers
_INFINITE = 2**59 + 1234567890123457  # stands for infinity, and is no simple fraction
# A constant is the simplest fraction within its rounding: 0.1 is 1/10, in every float type.
DENOMINATORS = {"f64": 2**20, "f32": 2**11, "f16": 2**6, "bf16": 2**6}
EPSILONS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


_REFUSED: ContextVar[bool] = ContextVar("refused", default=False)


@contextmanager
def without_division_by_zero() -> Iterator[None]:
    """A quotient by zero, which has no meaning that survives regrouping, raises NotEvaluated."""
    token = _REFUSED.set(True)
    try:
        yield
    finally:
        _REFUSED.reset(token)


@total_ordering
class Element:
    """A number modulo the prime."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value % PRIME

    @property
    def number(self) -> int | Fraction:
        """What orders it: the simple fraction that it is, else its representative around zero."""
        return _number(self.value)

    def __add__(self, other: Element) -> Element:
        return Element(self.value + other.value)

    def __sub__(self, other: Element) -> Element:
        return Element(self.value - other.value)

    def __mul__(self, other: Element) -> Element:
        return Element(self.value * other.value)

    def __neg__(self) -> Element:
        return Element(-self.value)

    def __abs__(self) -> Element:
        return -self if self.number < 0 else self

    def __truediv__(self, other: Element) -> Element:
        if other.value == 0:
            if _REFUSED.get():
                raise NotEvaluated("it divides by zero")
            return hashed("division by zero")
        return Element(self.value * pow(other.value, -1, PRIME))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and self.value == other.value

    def __lt__(self, other: Element) -> bool:
        return self.number < other.number

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return str(self.number)


def hashed(name: str, *arguments: Any) -> Element:
    """A number that depends on all arguments and on nothing else."""
    text = repr((name, arguments)).encode()
    return Element(int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big"))


@lru_cache(2**16)
def _number(value: int) -> int | Fraction:
    """Infinities beyond all; a fraction by the extended Euclidean algorithm (Wang, 1981)."""
    if value in (_INFINITE, PRIME - _INFINITE):
        return PRIME if value == _INFINITE else -PRIME
    near = value - PRIME if value > PRIME // 2 else value
    if abs(near) <= SIMPLE:
        return near
    above, below, left, right = PRIME, value, 0, 1
    while below > SIMPLE:
        quotient = above // below
        above, below, left, right = below, above - quotient * below, right, left - quotient * right
    return Fraction(below, right) if abs(right) <= SIMPLE else near


INFINITY = Element(_INFINITE)


def formal(name: str, *arguments: Element) -> Element:
    """A function that has no meaning but its arguments, and its whole values at simple fractions,
    which a pass may know.
    """
    numbers = [x.number for x in arguments]
    if all(max(abs(n.numerator), n.denominator) <= SIMPLE for n in numbers):
        with np.errstate(all="ignore"):
            known = float(FLOAT_FUNCTIONS[name](*(np.float64(float(n)) for n in numbers)))
        if math.isinf(known):
            return INFINITY if known > 0 else -INFINITY
        if known.is_integer():
            return Element(int(known))
    return hashed(name, *arguments)


def element_of(value: float, kind: str) -> Element:
    """The element that a constant of a float type stands for."""
    if math.isnan(value):
        return hashed("nan")
    if math.isinf(value):
        return INFINITY if value > 0 else -INFINITY
    chosen = simplest(value, kind)
    return Element(chosen.numerator) / Element(chosen.denominator)


def simplest(value: float, kind: str) -> Fraction:
    """The number that a constant stands for: a simple fraction within its rounding, else itself."""
    exact = Fraction(value)
    simple = exact.limit_denominator(DENOMINATORS[kind])
    near = abs(simple - exact) <= 4 * EPSILONS[kind] * abs(exact)
    return simple if near else exact


def _integer(kind: str) -> Callable[[Element], Any]:
    """Towards zero; what is no simple fraction nor a small number is hashed."""
    bits = int(kind[1:])

    def convert(x: Element) -> Any:
        value = int(x.number) if abs(x.number) < 2**31 else hashed("integer", x).value
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
    "math.copysign": lambda a, b: abs(a) if b.number >= 0 else -abs(a),
    "math.isnan": lambda x: np.bool_(x == hashed("nan")),
    "math.isinf": lambda x: np.bool_(abs(x) == INFINITY),
    "math.isfinite": lambda x: np.bool_(abs(x) != INFINITY),
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
        if result in EPSILONS and name in FLOAT_FUNCTIONS:
            return partial(formal, name)
        return MACHINE.function(op)

    def combiner(self, name: str, element: str) -> Callable[..., Any]:
        """The combiner on elements."""
        return _COMBINERS[name] if element in EPSILONS else MACHINE.combiner(name, element)
