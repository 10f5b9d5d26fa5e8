"""Put pointwise producers under the condition of their consumer.

Before: s[i] = sqrt(x[i])            After: y[i] = where(x[i] > 0, sqrt(x[i]), 0)
        y[i] = where(x[i] > 0, s[i], 0)

The derivative of the guarded form is selected by the condition, so it is 0 where x is 0 or
negative; differentiating s by itself would give 0 * inf.  Consumers that read s without a
condition keep reading the tensor, and so do all consumers of a tensor of a recurrence, and those
that would evaluate it too often (see `guarded_producers.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from ted.domain.sizes import Extent, surely_at_most
from ted.ir.equations import Equation, System, Tensor, reads_itself, rewrite_system
from ted.ir.expressions import Expr, postorder
from ted.ir.paths import path_conditions
from ted.ir.rewriting import SystemPass
from ted.ir.scalar import TRUE, loads, reads_data, rebuild, rewrite, substitute
from ted.records import dataclass
from ted.transforms.index_checks import carried_dims, checked_reads

EVALUATIONS = 2  # a producer is evaluated at most this often for each of its elements
# Operations whose derivative is unbounded, so that 0 times it may be NaN.
UNBOUNDED = frozenset(
    {"div", "sqrt", "rsqrt", "cbrt", "pow", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1",
     "tan", "asin", "acos", "acosh", "atanh", "sinh", "cosh", "atan2", "fmod"}
)  # fmt: skip
MAX_DEPTH = 16  # producers of producers; a longer guarded chain is cut, not wrong


def inline_pointwise(
    system: System, keep: Collection[Tensor] = ()
) -> tuple[System, dict[Tensor, Tensor]]:
    """Inline guarded producers but those in `keep`; also old tensor -> new tensor."""
    kept = set(keep)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        new = tuple(inline_guarded(e, kept) for e in equations)
        if tensor not in keep:
            return new
        result = tensor if new == tensor.equations else replace(tensor, equations=new)
        kept.add(result)
        return result

    return rewrite_system(system, visit)


def inline_guarded(equation: Equation, keep: Collection[Tensor] = ()) -> Equation:
    """The equation with the producers inlined that it reads under conditions on data."""
    body = equation.body
    for _ in range(MAX_DEPTH):
        found = _guarded_reads(body, math.prod(equation.extents))
        checked = checked_reads(replace(equation, body=body)) if found else {}
        guarded = {
            read
            for read in found
            if read.attr not in keep and carried_dims(read.attr).issuperset(checked.get(read, ()))
        }
        if not guarded:
            break
        body = inlined(body, guarded)
    return equation if body is equation.body else replace(equation, body=body)


def _guarded_reads(body: Expr, points: Extent) -> set[Expr]:
    """Reads under a condition on data whose producer could turn a masked adjoint into NaN."""
    conditions = path_conditions(body)
    return {
        read
        for read in loads(body)
        if conditions[read] is not TRUE
        and reads_data(conditions[read])
        and surely_at_most(points, EVALUATIONS * read.attr.size)
        and is_map(read.attr)
        and has_unbounded_slope(read.attr)
    }


def has_unbounded_slope(tensor: Tensor, depth: int = MAX_DEPTH) -> bool:
    """Whether a map or a sum, or one that it reads, has an operation of unbounded derivative."""
    seen: set[Tensor] = set()
    level = [tensor]
    for _ in range(depth):
        level = [t for t in dict.fromkeys(level) if t not in seen and (is_map(t) or _is_sum(t))]
        seen.update(level)
        bodies = [t.equations[0].body for t in level]
        if any(node.op in UNBOUNDED for node in postorder(*bodies)):
            return True
        level = [read.attr for read in loads(*bodies)]
    return False


def is_map(tensor: Tensor) -> bool:
    """One equation that computes every element from others at the same point, doing some work."""
    if len(tensor.equations) != 1 or not tensor.dtype.is_float:
        return False
    (equation,) = tensor.equations
    pointwise = equation.combiner == "set" and equation.parallel == equation.rank
    computes = equation.covers(tensor.shape) and reads_data(equation.body)
    return pointwise and computes and not reads_itself(tensor)


def _is_sum(tensor: Tensor) -> bool:
    """One equation that adds values to every element."""
    if len(tensor.equations) != 1 or not tensor.dtype.is_float or tensor.fill != 0:
        return False
    (equation,) = tensor.equations
    sums = equation.combiner == "add" and not equation.is_scatter and reads_data(equation.body)
    return sums and not reads_itself(tensor)


def inlined(body: Expr, guarded: set[Expr]) -> Expr:
    """The body with the equations of maps in place of some reads of them."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node not in guarded:
            return None
        new = rebuild(node, args)
        (definition,) = new.attr.equations
        return substitute([definition.body], new.args)[0]

    return rewrite([body], visit)[0]


@dataclass(frozen=True)
class TedInlinePointwise(SystemPass):
    """Inline guarded pointwise producers in every equation."""

    def rewrite(self, system: System) -> System:
        """The system after the pass."""
        return inline_pointwise(system)[0]
