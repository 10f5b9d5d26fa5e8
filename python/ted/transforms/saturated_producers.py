"""Put what may overflow into the functions that it saturates, before they are differentiated.

Before: e[i] = exp(-x[i])            After: y[i] = 1/(1 + exp(-x[i]))
        s[i] = 1 + e[i]
        y[i] = 1/s[i]

The adjoint of s alone, -dy/(s*s), is too small for its type long before the slope of y is, and
times e, which is infinite a little further out, it is NaN.  Within one body the rules see both
(`autodiff/rules.py`, `autodiff/body.py`).  Only maps that nothing else reads move, at the points
where they are evaluated anyway.  It is a stage of differentiation: the program keeps its tensors.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ted.autodiff.rules import GROWING, SATURATING
from ted.ir.equations import Equation, System, Tensor, identity_dims, rewrite_system
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import loads
from ted.transforms.ted_inline_pointwise import inlined, is_map

MAX_DEPTH = 16  # producers of producers; what a longer chain begins with stays outside


def inline_saturated_producers(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Inline growing maps that one saturating function reads; also old tensor -> new tensor."""
    consumers = system.consumers()
    became: dict[Tensor, Tensor] = {}
    if not any(_grows(e.body) for t in consumers for e in t.equations):
        return system, {t: t for t in consumers}
    fixed = {*system.inputs, *system.outputs}
    alone = [t for t in consumers if t not in fixed and len(consumers[t]) == 1 and is_map(t)]

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        if not is_map(tensor) or not _saturated_reads(equations[0]):
            return equations
        movable = {became[t] for t in alone if t in became}
        return tuple(_with_producers(e, movable) for e in equations)

    return rewrite_system(system, visit, became)


def _grows(body: Expr) -> bool:
    """Whether a body has an operation that overflows, or the square of something."""
    return any(n.op in GROWING or _is_square(n) for n in postorder(body) if n.dtype.is_float)


def _is_square(e: Expr) -> bool:
    return e.op == "mul" and e.args[0] is e.args[1]


def _saturated_reads(equation: Equation) -> set[Expr]:
    """Reads at the point itself, in arguments of functions that are flat far out."""
    nodes = [n for n in postorder(equation.body) if n.op in SATURATING]
    arguments = [n.args[SATURATING[n.op][0]] for n in nodes]
    here = identity_dims(equation.rank)
    return {read for read in loads(*arguments) if read.args == here}


def _with_producers(equation: Equation, movable: Collection[Tensor]) -> Equation:
    body = equation.body
    for _ in range(MAX_DEPTH):
        found = _saturated_reads(replace(equation, body=body))
        chosen = {
            r for r in found if r.attr in movable and _chain_grows(r.attr, movable, MAX_DEPTH)
            and r.attr.shape == equation.extents
        }  # fmt: skip
        if not chosen:
            break
        body = inlined(body, chosen)
    return equation if body is equation.body else replace(equation, body=body)


def _chain_grows(tensor: Tensor, movable: Collection[Tensor], depth: int) -> bool:
    """Whether a map grows, or one that would move with it."""
    body = tensor.equations[0].body
    if _grows(body) or not depth:
        return _grows(body)
    below = (r.attr for r in loads(body) if r.attr in movable)
    return any(_chain_grows(t, movable, depth - 1) for t in below)
