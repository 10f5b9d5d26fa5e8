"""The body of a reduction -> a combiner of ted and what each point gives it.

Before: out' = out + a*b        After: `add` of a*b
Before: out' = select(a > out, a, out)        After: `max` of a

A choice between the total and a value is judged by all ways in which two numbers can compare, so
that its spelling does not matter. What is of no such form is None: it is a recurrence.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import nan
from typing import Any

from ted.ir import scalar
from ted.ir.dtypes import BOOL
from ted.ir.equations import identity
from ted.ir.expressions import Expr, postorder
from ted.records import dataclass

NOTHING = "nothing"  # the combiner of a body that gives the total back


@dataclass(frozen=True)
class Accumulation:
    """A combiner, and the value that a point gives it; None where it gives nothing."""

    combiner: str
    value: Expr | None = None

    def or_identity(self, like: Expr, combiner: str) -> Expr:
        """The value, or the one that changes nothing."""
        if self.value is not None:
            return self.value
        return scalar.const(identity(combiner, like.dtype), like.dtype)


@dataclass(frozen=True)
class Best:
    """The greatest or least value, and with it what belongs to the point that has it."""

    combiner: str  # argmax or argmin
    value: Expr
    payload: Expr
    of_equals: str  # whose payload it is: the first one's, or the least


def accumulation(body: Expr, total: Expr) -> Accumulation | None:
    """What a body does to a total; None where no combiner does it."""
    if body is total:
        return Accumulation(NOTHING)
    if not _holds(body, total):
        return None
    if body.op == "select":
        return _chosen(body, total)
    if body.op in ("add", "sub"):
        return _added(body, total)
    combiner = _COMBINERS.get((body.op, body.dtype == BOOL))
    if combiner is None:
        return None
    return _combined(body, total, combiner)


# (operation, on bools) -> combiner
_COMBINERS = {
    ("mul", False): "mul", ("maximum", False): "max", ("minimum", False): "min",
    ("or", True): "max", ("and", True): "min",
}  # fmt: skip


def _holds(body: Expr, total: Expr) -> bool:
    return any(node is total for node in postorder(body))


def _sides(body: Expr, total: Expr) -> tuple[Expr, Expr] | None:
    """The operand with the total in it, and the other one; None where it is in both."""
    one, other = body.args
    if _holds(one, total) == _holds(other, total):
        return None
    return (one, other) if _holds(one, total) else (other, one)


def _combined(body: Expr, total: Expr, combiner: str) -> Accumulation | None:
    sides = _sides(body, total)
    inner = None if sides is None else accumulation(sides[0], total)
    if sides is None or inner is None or inner.combiner not in (NOTHING, combiner):
        return None
    value = sides[1] if inner.value is None else scalar.apply(body.op, inner.value, sides[1])
    return Accumulation(combiner, value)


def _added(body: Expr, total: Expr) -> Accumulation | None:
    if body.op == "add":
        return _combined(body, total, "add")
    left, right = body.args
    if _holds(right, total):
        return None
    inner = accumulation(left, total)
    if inner is None or inner.combiner not in (NOTHING, "add"):
        return None
    return Accumulation("add", scalar.sub(inner.or_identity(right, "add"), right))


def _chosen(body: Expr, total: Expr) -> Accumulation | None:
    condition, *sides = body.args
    if _holds(condition, total):
        return _extremum(body, total)
    found = [accumulation(side, total) for side in sides]
    if any(one is None for one in found):
        return None
    kinds = {one.combiner for one in found if one is not None} - {NOTHING}
    if len(kinds) != 1:
        return None
    (combiner,) = kinds
    yes, no = (one.or_identity(body, combiner) for one in found if one is not None)
    return Accumulation(combiner, scalar.select(condition, yes, no))


# ------------------------------------------------------------------ choices between two values


def _extremum(body: Expr, total: Expr) -> Accumulation | None:
    value = _other_side(body, total)
    if value is None:
        return None
    takes = _decided(body, {value: 0, total: 1})
    if takes is None:
        return None
    if value.dtype.is_float and takes((1.0, nan)):
        return None  # a total that is NaN gives way to the next value, which no combiner does
    for combiner, better in _BETTER.items():
        if all(takes(pair) == better(*pair) for pair in _ORDERED if pair[0] != pair[1]):
            return Accumulation(combiner, _without_nan(value, combiner, takes))
    return None


def _without_nan(value: Expr, combiner: str, takes: Callable[..., bool]) -> Expr:
    """The value, or what changes nothing in its place where the choice passes over NaN."""
    if not value.dtype.is_float or takes((nan, 1.0)):
        return value
    neutral = scalar.const(identity(combiner, value.dtype), value.dtype)
    return scalar.select(scalar.compare("ne", value, value), neutral, value)


def best(bodies: Sequence[Expr], totals: Sequence[Expr]) -> Best | None:
    """The greatest or least value with what belongs to it, the first of equals; None if it is not.

    `bodies` give value and payload; both choices have to agree.
    """
    found, payload = accumulation(bodies[0], totals[0]), _other_side(bodies[1], totals[1])
    if found is None or payload is None or found.combiner not in _BETTER:
        return None
    chosen = _other_side(bodies[0], totals[0])
    value = found.value if chosen is None else chosen
    if value is None or found.value is None or payload.dtype.kind not in ("int", "index"):
        return None
    takes = _decided(bodies[1], {value: 0, totals[0]: 1, payload: 2, totals[1]: 3})
    if takes is None or not _alike_on_nan(bodies[0], value, totals[0], takes):
        return None
    better = _BETTER[found.combiner]
    rows = [(a, b, *at) for a, b in _ORDERED for at in ((1, 0), (0, 1))]
    taken = [takes(row) for row in rows]
    combiner = f"arg{found.combiner}"
    if taken == [better(a, b) for a, b, _, _ in rows]:
        return Best(combiner, found.value, payload, of_equals="first")
    if taken == [better(a, b) or (a == b and p < q) for a, b, p, q in rows]:
        return Best(combiner, found.value, payload, of_equals="least")
    return None


def _alike_on_nan(body: Expr, value: Expr, total: Expr, takes: Callable[..., bool]) -> bool:
    """Whether the payload's choice is the value's on NaN; an extremum's is where the NaN is."""
    own = _decided(body, {value: 0, total: 1}) if body.op == "select" else None
    pairs = ((nan, 1.0), (1.0, nan)) if value.dtype.is_float else ()
    return own is None or all(takes((*pair, 1, 0)) == own(pair) for pair in pairs)


def _other_side(body: Expr, total: Expr) -> Expr | None:
    """What a `select` takes where it does not take the total; None where it is no such choice."""
    if body.op != "select":
        return None
    sides = [side for side in body.args[1:] if side is not total]
    return sides[0] if len(sides) == 1 and not _holds(sides[0], total) else None


_BETTER: dict[str, Callable[[float, float], bool]] = {"max": operator.gt, "min": operator.lt}
_ORDERED = [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
_TESTS: dict[str, Callable[..., Any]] = {
    "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": operator.not_,
    "select": lambda c, a, b: a if c else b,
}  # fmt: skip


def _decided(body: Expr, leaves: dict[Expr, int]) -> Callable[[Sequence[float]], bool] | None:
    """Whether the condition of a choice takes its first leaf or third, as a function of them all.

    None where the condition asks for more than how the leaves compare.
    """
    condition, yes, _ = body.args
    if not _compares_only(condition, leaves):
        return None
    taken = leaves.get(yes, 1) % 2 == 0

    def takes(values: Sequence[float]) -> bool:
        known: dict[Expr, Any] = {leaf: values[k] for leaf, k in leaves.items() if k < len(values)}
        return bool(_evaluated(condition, known)) == taken

    return takes


def _compares_only(node: Expr, leaves: dict[Expr, int]) -> bool:
    if node in leaves or (node.op == "const" and node.dtype == BOOL):
        return True  # any other constant may part numbers that the pairs do not try
    return node.op in _TESTS and all(_compares_only(a, leaves) for a in node.args)


def _evaluated(node: Expr, known: dict[Expr, Any]) -> Any:
    if node not in known:
        if node.op == "const":
            return node.attr
        known[node] = _TESTS[node.op](*(_evaluated(a, known) for a in node.args))
    return known[node]
