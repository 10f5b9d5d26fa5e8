"""Indices that take a way through other types and tensors -> plain index arithmetic, where exact.

Before: F[int32(floor(float32(i)/4))] for i < 12        After: F[i//4]
Before: F[t[i]], t[j] = s[j]*3, s[k] = int64(k)         After: F[i*3]

An integer is the index that it was made of where its type holds every value; an element of a tensor
that one equation defines everywhere is its body, at subscripts inside.  A float is a fraction
of one by a constant where every step is exact: the numerator fits into the p bits of its type, the
denominator is a power of two.  Floor, ceil and trunc of such a fraction are divisions of integers,
and so they are of one more quotient by a constant, which is rounded correctly, while |N| <= 2**p.
For let N / M be k / M below an integer n > 0.  To be rounded to n it has to move by k / M, at most
2**(e - p) for the greatest 2**e < n, so that k 2**p <= 2**e M < n M = N + k <= 2**p + k: then k is
1 and 2**e M = 2**p, M is a power of two and N / M exact.  It is the same below 0, and a quotient
that is an integer is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from math import isfinite
from typing import TypeVar

from ted.domain import intervals
from ted.domain.intervals import Interval
from ted.domain.sizes import Extent
from ted.ir.constants import Constant
from ted.ir.dtypes import DType
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.index_ranges import ranges
from ted.ir.scalar import (
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    floordiv,
    index,
    land,
    lnot,
    lor,
    mul,
    neg,
    rebuild,
    rewrite,
    select,
    substitute,
)
from ted.records import dataclass

MOST_STEPS = 2**47  # along a dim of symbolic extent: a tensor takes no more bytes
DEPTH = 16  # tensors that are looked through, one behind the other: more are data
_ON_INTEGERS = {"add", "sub", "mul", "neg", "abs", "floordiv", "mod", "minimum", "maximum"}
_COMPARISONS = ("lt", "le", "eq", "ne")
_LOGIC: dict[str, Callable[..., Expr]] = {"and": land, "or": lor, "not": lnot}
_Found = TypeVar("_Found")


def exact_indices(roots: Sequence[Expr], extents: Sequence[Extent]) -> list[Expr]:
    """The roots with every index that is computed in another type computed as an index."""
    if not any(_is_detour(node) for node in postorder(*roots)):
        return list(roots)
    reader = _Reader(extents)

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        return reader.integer(rebuild(node, args)) if _is_detour(node) else None

    return rewrite(roots, visit)


def _is_detour(node: Expr) -> bool:
    return node.op == "cast" and node.dtype.is_index and not _is_data(node.args[0])


def _is_data(e: Expr) -> bool:
    return e.op == "load" and _map_of(e.attr) is None


def _map_of(tensor: Tensor) -> Expr | None:
    """What the element at the dims is, of a tensor that one map defines everywhere."""
    if tensor.constant is not None:
        return _progression(tensor.constant)
    if tensor.fill is not None and not tensor.equations:
        return const(tensor.fill, tensor.dtype)
    if tensor.time is not None or len(tensor.equations) != 1:
        return None
    (equation,) = tensor.equations
    is_map = equation.combiner == "set" and equation.covers(tensor.shape)
    return equation.body if is_map and equation.parallel == equation.rank else None


def _progression(values: Constant) -> Expr | None:
    found = values.progression
    if found is None:
        return None
    start, steps = found
    terms = (mul(dim(k), index(step)) for k, step in enumerate(steps))
    return cast(reduce(add, terms, index(start)), values.dtype)


@dataclass(frozen=True)
class _Quotient:
    """`numerator / denominator`, exact or rounded once."""

    numerator: Expr
    denominator: int
    is_exact: bool = True


class _Reader:
    """What expressions are in terms of indices; None for what is not proved to be so."""

    def __init__(self, extents: Sequence[Extent]) -> None:
        self.extents = extents
        self.dims: list[Interval] = [
            (low, high if isfinite(high) else MOST_STEPS)
            for low, high in map(intervals.of_dim, extents)
        ]
        self.integers: dict[Expr, Expr | None] = {}
        self.conditions: dict[Expr, Expr | None] = {}
        self.floats: dict[Expr, _Quotient | None] = {}
        self.depth = 0

    def integer(self, node: Expr) -> Expr | None:
        """An index that equals an integer or an index, in the range of its type."""
        if node not in self.integers:
            found = self._integer(node)
            held = found is None or node.dtype.is_index or self._fits(found, node.dtype)
            self.integers[node] = found if held else None
        return self.integers[node]

    def _integer(self, node: Expr) -> Expr | None:
        if node.op == "const":
            return index(node.attr)
        if node.op == "cast" and node.args[0].dtype.is_float:
            return self._rounded("trunc", self.number(node.args[0]))
        if node.op == "cast" and node.args[0].dtype.kind != "bool":
            return self.integer(node.args[0])
        if node.dtype.is_index:
            return node
        if node.op == "load":
            return self._element(node, self.integer)
        if node.op == "select":
            return self._choice(*node.args)
        values = [self.integer(a) for a in node.args] if node.op in _ON_INTEGERS else [None]
        known = [v for v in values if v is not None]
        return apply(node.op, *known) if len(known) == len(values) else None

    def _element(self, read: Expr, value: Callable[[Expr], _Found | None]) -> _Found | None:
        """What is read of a tensor that one map defines, at subscripts that are proved inside."""
        body, at = _map_of(read.attr), read.args
        inside = all(map(self._is_inside, at, read.attr.shape))
        if body is None or not inside or self.depth == DEPTH:
            return None
        self.depth += 1
        found = value(substitute([body], at)[0])
        self.depth -= 1
        return found

    def _is_inside(self, at: Expr, extent: Extent) -> bool:
        if at.op == "dim":
            return self.extents[at.attr] == extent
        low, high = self._range(at)
        return low >= 0 and isinstance(extent, int) and high < extent

    def _choice(self, condition: Expr, a: Expr, b: Expr) -> Expr | None:
        holds, then, otherwise = self.condition(condition), self.integer(a), self.integer(b)
        if holds is None or then is None or otherwise is None:
            return None
        return select(holds, then, otherwise)

    def condition(self, node: Expr) -> Expr | None:
        """A condition that compares indices alone."""
        if node not in self.conditions:
            self.conditions[node] = self._condition(node)
        return self.conditions[node]

    def _condition(self, node: Expr) -> Expr | None:
        if node.op == "const":
            return node
        if node.op == "load":
            return self._element(node, self.condition)
        if node.op in _LOGIC:
            parts = [self.condition(a) for a in node.args]
            known = [p for p in parts if p is not None]
            return _LOGIC[node.op](*known) if len(known) == len(parts) else None
        if node.op not in _COMPARISONS or node.args[0].dtype.kind not in ("index", "int"):
            return None
        a, b = map(self.integer, node.args)
        return None if a is None or b is None else compare(node.op, a, b)

    def _range(self, value: Expr) -> Interval:
        return ranges(postorder(value), self.dims)[value]

    def _fits(self, value: Expr, dtype: DType) -> bool:
        found = self._range(value)
        held = intervals.fits(found) and intervals.fits(found, dtype.range)
        return held and all(map(isfinite, found))

    # ------------------------------------------------------------ floats

    def number(self, node: Expr) -> _Quotient | None:
        """What a float is a quotient of."""
        if node not in self.floats:
            found = self._number(node)
            self.floats[node] = found if found and self._is_held(found, node.dtype) else None
        return self.floats[node]

    def _is_held(self, value: _Quotient, dtype: DType) -> bool:
        """Whether a float type holds the quotient, or its rounding keeps it between integers."""
        limit = 2 ** (dtype.mantissa + 1)
        is_power = value.denominator & (value.denominator - 1) == 0
        if value.is_exact and (not is_power or value.denominator > limit):
            return False
        return self._largest(value.numerator) <= limit

    def _largest(self, value: Expr) -> float:
        low, high = self._range(value)
        return max(-low, high)

    def _number(self, node: Expr) -> _Quotient | None:
        if node.op == "const":
            return _fraction(node.attr) if isfinite(node.attr) else None
        if node.op == "load":
            return self._element(node, self.number)
        if node.op == "cast" and not node.args[0].dtype.is_float:
            whole = self.integer(node.args[0]) if node.args[0].dtype.kind != "bool" else None
            return None if whole is None else _Quotient(whole, 1)
        rule = _RULES.get(node.op)
        if rule is None:
            return None
        values = [self.number(a) for a in node.args]
        exact = [v for v in values if v is not None and v.is_exact]
        if node.op in _ROUNDINGS:
            whole = self._rounded(node.op, values[0])
            return None if whole is None else _Quotient(whole, 1)
        return rule(*exact) if len(exact) == len(values) else None

    def _rounded(self, name: str, value: _Quotient | None) -> Expr | None:
        if value is None:
            return None
        down = floordiv(value.numerator, index(value.denominator))
        up = neg(floordiv(neg(value.numerator), index(value.denominator)))
        low, high = self._range(value.numerator)
        if name == "floor" or (name == "trunc" and low >= 0):
            return down
        if name == "ceil" or high <= 0:
            return up
        return select(compare("lt", value.numerator, index(0)), up, down)


_ROUNDINGS = ("floor", "ceil", "trunc")


def _fraction(value: float) -> _Quotient:
    numerator, denominator = value.as_integer_ratio()
    return _Quotient(index(numerator), denominator)


def _sum(name: str) -> Callable[[_Quotient, _Quotient], _Quotient]:
    def total(a: _Quotient, b: _Quotient) -> _Quotient:
        common = max(a.denominator, b.denominator)  # powers of two
        parts = (mul(v.numerator, index(common // v.denominator)) for v in (a, b))
        return _Quotient(apply(name, *parts), common)

    return total


def _product(a: _Quotient, b: _Quotient) -> _Quotient | None:
    if a.numerator.op != "const" and b.numerator.op != "const":
        return None
    return _Quotient(mul(a.numerator, b.numerator), a.denominator * b.denominator)


def _quotient(a: _Quotient, b: _Quotient) -> _Quotient | None:
    if b.numerator.op != "const" or b.numerator.attr == 0:
        return None
    by = Fraction(b.numerator.attr, b.denominator) * a.denominator
    numerator = mul(a.numerator, index(by.denominator * (1 if by > 0 else -1)))
    divisor = abs(by.numerator)
    return _Quotient(numerator, divisor, divisor & (divisor - 1) == 0)


_RULES: dict[str, Callable[..., _Quotient | None]] = {
    "add": _sum("add"), "sub": _sum("sub"), "mul": _product, "div": _quotient,
    "neg": lambda a: _Quotient(neg(a.numerator), a.denominator),
    "cast": lambda a: a, **dict.fromkeys(_ROUNDINGS, lambda a: a),
}  # fmt: skip
