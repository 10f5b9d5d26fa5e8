"""The order of the tensors of a recurrence inside one time step, decided by isl.

Tensors that read each other run along time dims of one extent, all forwards or all in reverse. A
read of a tensor at the time that is being written wants that tensor to be complete in this step;
a read at an earlier step wants nothing. A tensor waits for another when some point of its
equations surely or possibly makes a read of the first kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ted.domain.budget import BudgetExhausted, required
from ted.domain.sizes import Extent
from ted.errors import VerifyError
from ted.ir.affine import condition_set, is_affine, where_possible
from ted.ir.equations import Equation, Tensor, components, is_recurrence, reads
from ted.ir.expressions import Expr
from ted.ir.paths import path_conditions
from ted.ir.scalar import compare, dim, dims_used, index, land
from ted.ir.unknowns import value_where

UNBOUNDED = 2**31 - 1  # steps of a loop that only its condition ends: so many are an error


def step_count(group: Sequence[Tensor]) -> Extent:
    """The number of steps of a recurrence.

    Raises: VerifyError when a tensor has no time dim, or another number of steps or direction.
    """
    for tensor in group:
        if tensor.time is None:
            raise VerifyError(
                f"recurrence: tensors that read each other have a time dim, got none for {tensor} "
                f"in {_names(group)}; make it a carry of a scan",
                tensor.location,
            )
    kinds = {(_steps(t), t.reverse) for t in group}
    if len(kinds) > 1:
        found = ", ".join(
            f"{t.name}: {_steps(t)} {'in reverse' if t.reverse else 'forwards'}" for t in group
        )
        raise VerifyError(
            f"recurrence: tensors that read each other share steps and direction, got {found}",
            group[0].location,
        )
    return _steps(group[0])


def spread_times(roots: Sequence[Tensor]) -> None:
    """Give the tensors of the recurrences of some roots that have no time that of what they read.

    Raises: VerifyError for a tensor that reads a history at no time of its own.
    """
    for group in components(roots):
        if not is_recurrence(group):
            continue
        reverse = next((t.reverse for t in group if t in roots), False)
        waiting = [t for t in group if t.time is None]
        for tensor in waiting:
            tensor.reverse = reverse
        while waiting:
            found = {t: time for t in waiting if (time := _followed(t, group)) is not None}
            if not found:
                raise VerifyError(
                    "recurrence: a tensor that reads a history has a time of its own, got none "
                    f"for {waiting[0]}; write it inside the function, at its indices",
                    waiting[0].location,
                )
            for tensor, time in found.items():
                tensor.time = time
            waiting = [t for t in waiting if t.time is None]


def _followed(tensor: Tensor, group: Sequence[Tensor]) -> int | None:
    """The dim of a tensor that is the time at which it reads a history."""
    for equation in tensor.equations:
        for read in reads(equation):
            if read.attr not in group or read.attr.time is None:
                continue
            time = read.args[read.attr.time]
            used = dims_used(time)
            for k, subscript in enumerate(equation.write):
                if subscript is time or (used and dims_used(subscript) == used):
                    return k
    return None


def step_order(group: Sequence[Tensor]) -> list[Tensor]:
    """The tensors in an order in which every step can compute them, one after the other.

    Raises: VerifyError when the tensors of one step wait for each other.
    """
    waits = {t: _same_time_reads(t, group) for t in group}
    order: list[Tensor] = []
    while len(order) < len(group):
        ready = [t for t in group if t not in order and not waits[t] - set(order)]
        if not ready:
            raise _cycle([t for t in group if t not in order], waits)
        order.append(ready[0])  # one at a time: the order of the group decides between equals
    return order


def _same_time_reads(tensor: Tensor, group: Sequence[Tensor]) -> set[Tensor]:
    """The tensors of the group that a step has to complete before this one."""
    found: set[Tensor] = set()
    for equation in tensor.equations:
        for read, points in history_reads(equation, group):
            if read.attr not in found and may_meet(tensor, equation, read, points):
                found.add(read.attr)
    return found


def is_causal(group: Sequence[Tensor]) -> bool:
    """Whether every step is proved to read what it or an earlier one has completed.

    Raises: VerifyError as `step_count`, `step_order` and `times` do.
    """
    step_count(group)
    step_order(group)
    return all(
        _reads_the_past(tensor, equation, read, points)
        for tensor in group
        for equation in tensor.equations
        for read, points in history_reads(equation, group)
    )


def _reads_the_past(tensor: Tensor, equation: Equation, read: Expr, points: Any) -> bool:
    seen, written, points = times(tensor, equation, read, points)
    earlier, later = (seen, written) if tensor.reverse else (written, seen)
    try:
        return bool(points_where("lt", earlier, later, points).is_empty())
    except BudgetExhausted:
        return False


def may_meet(tensor: Tensor, equation: Equation, read: Expr, points: Any) -> bool:
    """Whether a read may be at the time that is written; one more edge only narrows the order."""
    try:
        return not points_where("eq", *times(tensor, equation, read, points)).is_empty()
    except BudgetExhausted:
        return True


def history_reads(equation: Equation, group: Sequence[Tensor]) -> Iterator[tuple[Expr, Any]]:
    """The reads of tensors of the group, each with a set that holds every point that makes it."""
    paths = path_conditions(equation.body, *equation.write)
    for read in reads(equation):
        if read.attr in group:
            yield read, where_possible(paths[read], equation.domain)


def times(tensor: Tensor, equation: Equation, read: Expr, points: Any) -> tuple[Expr, Expr, Any]:
    """The time at which a read of a history is made, the time that is written, and the points.

    Where the first is data it is one more dim of the points, with the values that the condition of
    the read leaves; one outside of the tensor is no read, but an error.
    Raises: VerifyError when the time that is written is data.
    """
    assert tensor.time is not None, f"{tensor}: has a time dim"
    assert read.attr.time is not None, f"{read.attr}: has a time dim"
    seen, written = read.args[read.attr.time], equation.write[tensor.time]
    if not is_affine(written, equation.domain):
        raise VerifyError(
            f"recurrence: times that are written are affine indices, got {written} in dim "
            f"{tensor.time} of {tensor}",
            equation.location or tensor.location,
        )
    if is_affine(seen, equation.domain):
        return seen, written, points
    path = path_conditions(equation.body, *equation.write)[read]
    points = value_where(seen, path, equation.domain)
    seen = dim(equation.rank)
    inside = land(
        compare("le", index(0), seen),
        compare("lt", seen, index(read.attr.shape[read.attr.time])),
    )
    return seen, written, where_possible(inside, points)


def points_where(relation: str, one: Expr, other: Expr, points: Any) -> Any:
    """The points at which one index is `lt`, `le` or `eq` another.

    Raises: BudgetExhausted.
    """
    if one is other:
        return points.subtract(points) if relation == "lt" else points
    condition = compare(relation, one, other)
    return required(lambda: points.intersect(condition_set(condition, points)))


def _cycle(left: Sequence[Tensor], waits: dict[Tensor, set[Tensor]]) -> VerifyError:
    """The error that names tensors of one step that wait for each other."""
    path = [left[0]]
    while True:
        following = next(t for t in left if t in waits[path[-1]])
        if following in path:
            path = path[path.index(following) :]
            break
        path.append(following)
    names = " reads ".join(t.name for t in [*path, path[0]])
    return VerifyError(
        f"recurrence: a step reads what it or an earlier step has completed, got {names} at the "
        "same time",
        path[0].location,
    )


def _steps(tensor: Tensor) -> Extent:
    assert tensor.time is not None, f"{tensor}: has a time dim"
    return tensor.shape[tensor.time]


def _names(group: Sequence[Tensor]) -> str:
    return ", ".join(t.name for t in group)
