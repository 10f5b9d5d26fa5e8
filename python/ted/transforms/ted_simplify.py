"""Clean a system: dead and zero equations, equal tensors, copies, and pieces that fit together.

Before: dX = 0;  dX[i] += dY[i] * a;  dX[i] += dY[i] * b;  dX[i] += 0
After:  dX[i] = dY[i]*a + dY[i]*b

Reductions over one point become maps first (`single_points.py`), copies among them; of tensors of
which only a part is read, only the box around it is computed (`demanded_boxes.py`).
Everything here keeps values: sums are only regrouped inside one tensor, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace

from ted.domain import bounds
from ted.domain.sizes import Extent
from ted.ir.affine import decide_selects
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    is_contraction,
    recurrent_tensors,
    rewrite_system,
    with_expressions,
)  # fmt: skip
from ted.ir.expressions import Expr, postorder
from ted.ir.rewriting import SystemPass
from ted.ir.scalar import TRUE, add, const, dim, is_const, loads, reads_data, rewrite
from ted.ir.unknowns import is_inside
from ted.records import dataclass
from ted.transforms.copies import compose_copies
from ted.transforms.demanded_boxes import shrink_to_demand
from ted.transforms.index_checks import checked_reads
from ted.transforms.single_points import drop_unit_reductions, map_single_points
from ted.transforms.written_elements import Written, answered, written_index


def simplify(
    system: System, keep: Collection[Tensor] = (), alias_outputs: bool = False
) -> tuple[System, dict[Tensor, Tensor]]:
    """The cleaned system; also old tensor -> new tensor.

    Tensors in `keep` are left as they are.  An output that equals another tensor stays a tensor of
    its own unless `alias_outputs`.
    """
    known: dict[Hashable, Tensor] = {}
    fixed = set() if alias_outputs else set(system.outputs)
    recurrent = recurrent_tensors(system.outputs)

    def key(old: Tensor, new: Tensor) -> Hashable:
        """Histories are equal only if they grow alike."""
        return tensor_key(new), new.clocks if old in recurrent else None

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        if tensor.is_input:
            return equations
        clean = equations
        if tensor not in keep:
            clean = tidy_equations(tensor, [*map(_with_constants, equations)])
        fill = tensor.fill if clean or tensor.fill is not None else 0  # no element: any value does
        if tensor not in fixed and tensor not in keep and _is_uniform(tensor, clean):
            fill, clean = clean[0].body.attr, ()
        same = clean == tensor.equations and fill is tensor.fill
        new = tensor if same else replace(tensor, equations=clean, fill=fill)
        if tensor in fixed or tensor in keep:
            known.setdefault(key(tensor, new), new)
            return new
        return copied_tensor(new) or known.setdefault(key(tensor, new), new)

    return rewrite_system(system, visit)


def _is_uniform(tensor: Tensor, equations: Sequence[Equation]) -> bool:
    """Whether every element is set to one number."""
    if len(equations) != 1 or equations[0].combiner != "set":
        return False
    return is_const(equations[0].body) and equations[0].covers(tensor.shape)


def tidy_equations(tensor: Tensor, equations: Sequence[Equation]) -> tuple[Equation, ...]:
    """Live equations, merged where they agree, the best one first."""
    live = [_decided(e) for e in equations if not _is_dead(e)]
    if any(e.combiner != "add" for e in live) or tensor.fill != 0:
        return tuple(live)
    return started_with_stores(tensor, _merged(live))


def _with_constants(equation: Equation) -> Equation:
    """Reads of tensors that are one number everywhere become that number.

    Not at an index that may leave its tensor: it stays data, which is checked when the program
    runs.
    """
    tested = _tested_reads(equation)

    def is_inside_still(args: Sequence[Expr], shape: Sequence[Extent]) -> bool:
        pairs = zip(args, shape, strict=True)
        return all(is_inside(a, extent, TRUE, equation.domain) for a, extent in pairs)

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "load":
            return None
        if _is_number(node.attr):
            return None if node in tested else const(node.attr.fill, node.dtype)
        was_data = reads_data(*node.args) and not reads_data(*args)
        return node if was_data and not is_inside_still(args, node.attr.shape) else None

    return with_expressions(equation, rewrite(equation.expressions, visit))


def _is_number(tensor: Tensor) -> bool:
    return tensor.fill is not None and not tensor.equations


def _tested_reads(equation: Equation) -> set[Expr]:
    """The reads of such tensors at data that are not proved to be inside."""
    asked = {r for r in equation.reads if _is_number(r.attr) and reads_data(*r.args)}
    tested = {r for r, dims in checked_reads(equation).items() if dims} if asked else set()
    return asked & tested.union(loads(*equation.write))


def _is_dead(equation: Equation) -> bool:
    adds_zero = equation.combiner == "add" and is_const(equation.body, 0)
    return adds_zero or equation.domain.is_empty()


def _decided(equation: Equation) -> Equation:
    if not any(n.op == "select" for n in postorder(*equation.expressions)):
        return equation
    return with_expressions(equation, decide_selects(equation.expressions, equation.domain))


# ------------------------------------------------------------------ pieces of one tensor


def _merged(equations: Sequence[Equation]) -> list[Equation]:
    """Sum the bodies of equations over the same points that write the same elements."""
    groups: dict[Hashable, Equation] = {}
    for equation in equations:
        # Two contractions in one body would be none: each keeps its own fast loops.
        own = equation if is_contraction(equation) else None
        key = (own, equation.parallel, equation.write, *domain_key(equation))
        before = groups.get(key)
        groups[key] = (
            equation if before is None else replace(before, body=add(before.body, equation.body))
        )
    return list(groups.values())


def started_with_stores(tensor: Tensor, sums: Sequence[Equation]) -> tuple[Equation, ...]:
    """Additions to zeros; maps that meet nothing else there store, one that covers all is first."""
    return _stored_where_first(tensor, _full_write_first(tensor, list(sums)))


def _full_write_first(tensor: Tensor, equations: list[Equation]) -> tuple[Equation, ...]:
    """A map that covers the tensor starts it, instead of adding to a zero fill."""
    for position, equation in enumerate(equations):
        if equation.parallel == equation.rank and equation.covers(tensor.shape):
            rest = equations[:position] + equations[position + 1 :]
            return (replace(equation, combiner="set"), *rest)
    return tuple(equations)


def _stored_where_first(tensor: Tensor, equations: Sequence[Equation]) -> tuple[Equation, ...]:
    """A map whose elements nothing before it writes stores them, instead of adding to a zero.

    Of a recurrence, whose equations take turns, nothing else at all must write them.
    """
    forward, last = Written(equations), len(equations) - 1
    backward = None if tensor.time is None else forward.reversed()

    def is_first(position: int) -> bool:
        is_last = backward is None or backward.is_first(last - position)
        return is_last and forward.is_first(position)

    return tuple(
        replace(e, combiner="set") if _is_injective_map(e) and is_first(k) else e
        for k, e in enumerate(equations)
    )


def _is_injective_map(equation: Equation) -> bool:
    if equation.combiner != "add" or equation.parallel != equation.rank:
        return False
    if equation.is_identity_write:
        return True
    index = written_index(equation)
    return index is not None and bool(answered(bounds.is_injective, equation.domain, index))


# ------------------------------------------------------------------ whole tensors


def domain_key(equation: Equation) -> tuple[Hashable, ...]:
    """A key that is equal only for equal iteration domains."""
    box = equation.is_box
    return (equation.extents, None if box else str(equation.domain.coalesce()))


def tensor_key(tensor: Tensor) -> Hashable:
    """A key that is equal only for tensors that hold the same values."""
    parts = tuple(
        (e.parallel, e.write, e.combiner, e.ties, e.recomputed, e.wishes, e.body, *domain_key(e))
        for e in tensor.equations
    )
    fill = None if tensor.fill is None else repr(const(tensor.fill, tensor.dtype).attr)
    return (tensor.shape, tensor.dtype, fill, parts)


def copied_tensor(tensor: Tensor) -> Tensor | None:
    """The tensor that this one is an element-wise copy of, or None."""
    if len(tensor.equations) != 1:
        return None
    (equation,) = tensor.equations
    body = equation.body
    plain = equation.combiner == "set" or (equation.combiner == "add" and tensor.fill == 0)
    if not plain or body.op != "load" or body.attr.shape != tensor.shape:
        return None
    if not all(_is_place(a, k, tensor.shape[k]) for k, a in enumerate(body.args)):
        return None
    full = equation.parallel == equation.rank and equation.covers(tensor.shape)
    return body.attr if full else None


def _is_place(subscript: Expr, position: int, extent: Extent) -> bool:
    return subscript == dim(position) or (extent == 1 and is_const(subscript, 0))


# Maps and shorter loops first, smaller tensors then: more of what reads them is a plain copy.
_BEFORE = (map_single_points, drop_unit_reductions, shrink_to_demand, simplify, compose_copies)


@dataclass(frozen=True)
class TedSimplify(SystemPass):
    """Drop dead equations, merge equal tensors and pieces that fit together."""

    def rewrite(self, system: System) -> System:
        """The system after the pass."""
        for stage in _BEFORE:
            system, _ = stage(system)
        return simplify(system)[0]
