"""Domains that leave out only zeros -> the boxes around them.

Before: S[i, j] is 0 where i + j < 1;  T[i, j] = -S[i, j]  for i < n, j < n  where i + j >= 1
After:  T[i, j] = -S[i, j]  for i < n, j < n

Adjoints are computed where they can be other than zero.  The adjoint of a stencil leaves out a few
corners, which no loop is faster for; as a box it can be fused, and joined without conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import reduce
from math import isfinite
from typing import Any

from ted.domain import bounds, sets
from ted.domain.budget import BudgetExhausted
from ted.domain.sizes import is_symbolic, numbers
from ted.ir.affine import NotAffine, piecewise
from ted.ir.equations import Equation, System, Tensor, recurrent_tensors, rewrite_system
from ted.ir.expressions import Expr
from ted.ir.scalar import is_const
from ted.records import dataclass
from ted.transforms.written_elements import Written, written_elements


def widen_domains(system: System) -> System:
    """Widen the domains of maps into zeros whose summands are zero in the rest of a box."""
    if all(e.is_box for t in system.tensors() for e in t.equations):
        return system
    recurrent = recurrent_tensors(system.outputs)
    supports = _Supports()

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        if tensor in recurrent or tensor.fill != 0 or is_symbolic(tensor.shape):
            return equations
        wider = tuple(_widened(tensor, equations, k, supports) for k in range(len(equations)))
        same = all(a is b for a, b in zip(wider, tensor.equations, strict=True))
        result = tensor if same else replace(tensor, equations=wider)
        supports.equations[result] = equations
        return result

    return rewrite_system(system, visit)[0]


@dataclass
class _Supports:
    """Which elements may be other than zero, of tensors that start from zeros; found if asked."""

    equations: dict[Tensor, tuple[Equation, ...]] = field(default_factory=dict)
    found: dict[Tensor, Any] = field(default_factory=dict)

    def of(self, tensor: Tensor) -> Any:
        """The set of elements; None where it is not known."""
        if tensor not in self.found:
            images: list[Any] = [written_elements(e) for e in self.equations.get(tensor, ())]
            unknown = not images or any(image is None for image in images)
            self.found[tensor] = None if unknown else reduce(lambda a, b: a.union(b), images)
        return self.found[tensor]


def _widened(
    tensor: Tensor, equations: Sequence[Equation], place: int, supports: _Supports
) -> Equation:
    equation = equations[place]
    if equation.combiner not in ("add", "set") or equation.parallel != equation.rank:
        return equation
    if equation.is_box or equation.is_scatter or is_symbolic(equation.extents):
        return equation
    reads = _summed(equation.body)
    if not reads or any(supports.of(read.attr) is None for read in reads):
        return equation
    try:
        box = sets.box(numbers(equation.extents))
        rest = box.subtract(sets.anonymous(equation.domain))
        if not all(_is_zero(read, rest, supports.of(read.attr)) for read in reads):
            return equation
        allowed = _may_write(tensor, equation, box, equations[:place])
    except (BudgetExhausted, NotAffine):
        return equation
    return replace(equation, domain=box) if allowed else equation


def _summed(body: Expr) -> list[Expr]:
    """The reads of which a body is a sum, each times a number; none for any other body."""
    found: list[Expr] = []
    waiting = [body]
    while waiting:
        e = waiting.pop()
        if e.op == "load":
            found.append(e)
        elif e.op in ("add", "sub", "neg"):
            waiting += e.args
        elif e.op == "mul" and any(map(_is_number, e.args)):
            waiting += [a for a in e.args if not _is_number(a)]
        else:
            return []
    return found


def _is_number(e: Expr) -> bool:
    return is_const(e) and isfinite(e.attr)


def _is_zero(read: Expr, points: Any, support: Any) -> bool:
    """Whether a read at the points is inside of its tensor, and of nothing that is written."""
    index = [piecewise(a, points) for a in read.args]
    if bounds.out_of_bounds_witness(points, index, read.attr.shape) is not None:
        return False
    return bounds.is_disjoint(bounds.image(points, index), support)


def _may_write(tensor: Tensor, equation: Equation, box: Any, earlier: Sequence[Equation]) -> bool:
    """Whether the points of a box write elements each once, and store over nothing."""
    index = [piecewise(w, box) for w in equation.write]
    if bounds.out_of_bounds_witness(box, index, tensor.shape) is not None:
        return False
    if not bounds.is_injective(box, index):
        return False
    if equation.combiner == "add":
        return True
    return Written(earlier).is_apart(bounds.image(box, index), len(earlier))
