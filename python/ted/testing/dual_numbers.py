"""Dual numbers over the prime field: programs that compute their own derivatives, forward.

A float is `value + tangent * epsilon` with `epsilon**2 = 0`, both parts elements of the field; the
reference interpreter evaluates a program on them as it is.  Sums, products, quotients and choices
need no rule but that.  A function has no meaning in the field, so its derivative is a row of
`PARTIALS`: written here once more from calculus, in terms of formal functions, and in the form in
which a right derivative computes it.  A function without a row cannot be validated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import total_ordering
from typing import Any

import numpy as np

from ted.mlir import ir
from ted.testing.interpreter_scalars import NUMPY_TYPES, NotEvaluated
from ted.testing.prime_field import EPSILONS, Element, PrimeField, element_of, formal
from ted.testing.scalar_domains import MACHINE

ZERO, ONE, HALF = Element(0), Element(1), Element(1) / Element(2)
_FIELD = PrimeField()


@total_ordering
class Dual:
    """A number and how it moves; order and equality are those of the numbers."""

    __slots__ = ("tangent", "value")

    def __init__(self, value: Element, tangent: Element = ZERO) -> None:
        self.value = value
        self.tangent = tangent

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.tangent + other.tangent)

    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.value - other.value, self.tangent - other.tangent)

    def __mul__(self, other: Dual) -> Dual:
        moved = self.tangent * other.value + self.value * other.tangent
        return Dual(self.value * other.value, moved)

    def __truediv__(self, other: Dual) -> Dual:
        quotient = self.value / other.value
        return Dual(quotient, (self.tangent - quotient * other.tangent) / other.value)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.tangent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dual) and self.value == other.value

    def __lt__(self, other: Dual) -> bool:
        return self.value < other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"{self.value} + {self.tangent} epsilon"


# ------------------------------------------------------------------ functions

# From (the result, arguments...) to the partial derivatives.
Partials = Callable[..., "tuple[Element, ...]"]


def _call(name: str, x: Element) -> Element:
    return formal(f"math.{name}", x)


def _inverse_root(x: Element) -> Element:
    return _call("rsqrt", x)


def _power(y: Element, x: Element, n: Element) -> tuple[Element, ...]:
    """No slope in the base where the exponent is 0, none in the exponent where the base is not
    positive: the convention of the table of kinks."""
    slope = n * formal("math.powf", x, n - ONE) if n != ZERO else ZERO
    return slope, y * _call("log", x) if x > ZERO else ZERO


def _angle(_: Element, y: Element, x: Element) -> tuple[Element, ...]:
    """(x, -y) / (x*x + y*y): sums and products do not tell how it was scaled."""
    square = x * x + y * y
    return x / square, -y / square


def _remainder(r: Element, a: Element, b: Element) -> tuple[Element, ...]:
    """r = a - b * n for the whole number n = (a - r) / b."""
    return ONE, -formal("math.roundeven", (a - r) / b)


_LARGE = Element(10**9)


def _long_leg(x: Element) -> tuple[Element, ...]:
    """1 / sqrt(1 + x*x), whose root is |x| beyond a large number."""
    root = abs(x) if abs(x) > _LARGE else _call("sqrt", ONE + x * x)
    return (ONE / root,)


def _short_leg(x: Element) -> tuple[Element, ...]:
    return (ONE / (_call("sqrt", x - ONE) * _call("sqrt", ONE + x)),)


def _sign(x: Element) -> Element:
    return Element((x.number > 0) - (x.number < 0))


PARTIALS: dict[str, Partials] = {
    "arith.remf": _remainder,
    "math.absf": lambda _, x: (_sign(x),),
    "math.acos": lambda _, x: (-_inverse_root(ONE - x * x),),
    "math.acosh": lambda _, x: _short_leg(x),
    "math.asin": lambda _, x: (_inverse_root(ONE - x * x),),
    "math.asinh": lambda _, x: _long_leg(x),
    "math.atan": lambda _, x: (ONE / (ONE + x * x),),
    "math.atan2": _angle,
    "math.atanh": lambda _, x: (ONE / (ONE - x * x),),
    "math.cbrt": lambda y, _: (ONE / (Element(3) * y * y),),
    "math.cos": lambda _, x: (-_call("sin", x),),
    "math.cosh": lambda _, x: (_call("sinh", x),),
    "math.exp": lambda y, _: (y,),
    "math.expm1": lambda y, _: (y + ONE,),
    "math.fma": lambda _, a, b, c: (b, a, ONE),
    "math.log": lambda _, x: (ONE / x,),
    "math.log1p": lambda _, x: (ONE / (ONE + x),),
    "math.powf": _power,
    "math.rsqrt": lambda y, _: (-HALF * y * y * y,),
    "math.sin": lambda _, x: (_call("cos", x),),
    "math.sinh": lambda _, x: (_call("cosh", x),),
    "math.sqrt": lambda y, _: (HALF / y,),
    "math.tan": lambda y, _: (ONE + y * y,),
    "math.tanh": lambda y, _: (ONE - y * y,),
    # Zero almost everywhere.
    **dict.fromkeys(
        ("math.ceil", "math.floor", "math.round", "math.roundeven", "math.trunc"),
        lambda *_: (ZERO,),
    ),
}
# With a constant of calculus, which a program has in the type of the result.
_BELL = 2 / math.sqrt(math.pi)
SCALED: dict[str, tuple[float, Partials]] = {
    "math.erf": (_BELL, lambda c, _, x: (c * _call("exp", -(x * x)),)),
    "math.erfc": (-_BELL, lambda c, _, x: (c * _call("exp", -(x * x)),)),
    "math.exp2": (math.log(2), lambda c, y, _: (c * y,)),
    "math.log10": (1 / math.log(10), lambda c, _, x: (c / x,)),
    "math.log2": (1 / math.log(2), lambda c, _, x: (c / x,)),
}


def _partials(name: str, kind: str) -> Partials:
    if name in PARTIALS:
        return PARTIALS[name]
    if name not in SCALED:
        raise NotEvaluated(f"dual numbers: an op with a known derivative, got {name}")
    number, partials = SCALED[name]
    constant = element_of(float(NUMPY_TYPES[kind](number)), kind)
    return lambda *arguments: partials(constant, *arguments)


def _first_of_ties(better: Callable[[Dual, Dual], bool]) -> Callable[[Dual, Dual], Dual]:
    return lambda a, b: b if better(b, a) else a


_MAX, _MIN = _first_of_ties(Dual.__gt__), _first_of_ties(Dual.__lt__)
_DIRECT: dict[str, Callable[..., Dual]] = {
    "arith.addf": Dual.__add__,
    "arith.divf": Dual.__truediv__,
    "arith.extf": lambda x: x,
    "arith.maximumf": _MAX,
    "arith.maxnumf": _MAX,
    "arith.minimumf": _MIN,
    "arith.minnumf": _MIN,
    "arith.mulf": Dual.__mul__,
    "arith.negf": Dual.__neg__,
    "arith.subf": Dual.__sub__,
    "arith.truncf": lambda x: x,
    "ted.stop_gradient": lambda x: Dual(x.value) if isinstance(x, Dual) else x,
}
_COMBINERS = {"add": Dual.__add__, "mul": Dual.__mul__, "max": _MAX, "min": _MIN}


class DualField:
    """Floats as dual numbers over the field; integers, bools and indices as on the machine."""

    def array_type(self, element: str) -> np.dtype[Any]:
        """Arrays of objects for floats."""
        return _FIELD.array_type(element)

    def number(self, element: str, value: Any) -> Any:
        """A constant does not move."""
        found = _FIELD.number(element, value)
        return Dual(found) if element in EPSILONS else found

    def function(self, op: ir.Operation) -> Callable[..., Any]:
        """The op on dual numbers.

        Raises: NotEvaluated for a function without a row.
        """
        name, result = op.name, str(op.results[0].type)
        if name in _DIRECT:
            return _DIRECT[name]
        plain = _FIELD.function(op)
        if result not in EPSILONS:
            return lambda *arguments: plain(*map(_unmoved, arguments))
        if not any(str(v.type) in EPSILONS for v in op.operands):
            return lambda *arguments: Dual(plain(*arguments))
        if name == "arith.select":
            return plain
        return _moving(plain, _partials(name, result))

    def combiner(self, name: str, element: str) -> Callable[..., Any]:
        """The combiner on dual numbers."""
        return _COMBINERS[name] if element in EPSILONS else MACHINE.combiner(name, element)


def _unmoved(x: Any) -> Any:
    return x.value if isinstance(x, Dual) else x


def _moving(plain: Callable[..., Element], partials: Partials) -> Callable[..., Dual]:
    def function(*arguments: Dual) -> Dual:
        values = [x.value for x in arguments]
        result, tangent = plain(*values), ZERO
        for slope, x in zip(partials(result, *values), arguments, strict=True):
            tangent = tangent + slope * x.tangent
        return Dual(result, tangent)

    return function
