"""Recurrences that run under the condition of another one -> one recurrence of both.

Before: `going` and `h`, which decide when a loop ends; `count`, which adds 1 where `going` holds
After:  one group, so that one loop over time makes a step of all and can be left

What a loop carries beside its condition is a recurrence of its own, or none at all, but has no
meaning after the steps that are made: its equations are `where(going[t], ..., ...)`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ted.errors import VerifyError
from ted.ir.equations import Equation, Tensor, is_recurrence, operands
from ted.ir.expressions import Expr
from ted.ir.recurrences import is_causal

Group = list[Tensor]


def join_loops(groups: Sequence[Group]) -> list[Group]:
    """The groups in an order that computes the same, with loops under one condition joined."""
    found = list(groups)
    position = 0
    while position < len(found):
        before = found
        if is_recurrence(found[position]) and _conditions(found[position]):
            found = _joined(found, position)
        position += found is before  # after a joined loop another group stands here
    return found


def _joined(groups: list[Group], first: int) -> list[Group]:
    """What follows a recurrence and is a part of it becomes one group with it."""
    loop, after, inside = list(groups[first]), set[Tensor](), set(groups[first])
    rest: list[tuple[Group, bool]] = []
    last = first
    for k, group in enumerate(groups[first + 1 :], first + 1):
        reads = {o for t in group for o in operands(t)}
        if reads & inside and not reads & after and _is_part(group, loop):
            loop += group
            inside.update(group)
            last = k
            continue
        if reads & (inside | after):
            after.update(group)
        rest.append((group, bool(reads & (inside | after))))
    if last == first or not _runs(loop):
        return groups
    return [
        *groups[:first],
        *(group for group, late in rest if not late),
        loop,
        *(group for group, late in rest if late),
    ]


def _runs(loop: Group) -> bool:
    """Whether each step reads what it or an earlier one has completed."""
    try:
        return is_causal(loop)
    except VerifyError:
        return False


def _conditions(loop: Collection[Tensor]) -> list[Tensor]:
    return [t for t in loop if t.dtype.kind == "bool" and t.time is not None]


def _is_part(group: Group, loop: Group) -> bool:
    """Whether every equation of a group is under a condition of a loop at its own time."""
    conditions = _conditions(loop)
    for tensor in group:
        if not tensor.equations or not all(
            _time_under(e, conditions) is not None or _follows(e, group) for e in tensor.equations
        ):
            return False
    for tensor in group:
        time = tensor.time
        if time is None:
            times = {_time_under(e, conditions) for e in tensor.equations}
            time = next(iter(times))
            if len(times) != 1 or time is None:
                return False
            tensor.time, tensor.reverse = time, loop[0].reverse
        if tensor.reverse != loop[0].reverse or tensor.shape[time] != _steps(loop):
            return False
    return any(_time_under(e, conditions) is not None for t in group for e in t.equations)


def _steps(loop: Group) -> object:
    return loop[0].shape[loop[0].time or 0]


def _follows(equation: Equation, group: Group) -> bool:
    """Whether an equation of a recurrence only brings its states to the next step."""
    return any(read.attr in group for read in equation.reads)


def _time_under(equation: Equation, conditions: Sequence[Tensor]) -> int | None:
    """The dim of the result that is the time of a condition that decides first."""
    condition = _root_condition(equation.body)
    if condition is None or condition.attr not in conditions:
        return None
    time = condition.args[condition.attr.time]
    return next((k for k, w in enumerate(equation.write) if w is time and time.op == "dim"), None)


def _root_condition(body: Expr) -> Expr | None:
    if body.op != "select":
        return None
    condition = body.args[0]
    return condition if condition.op == "load" else None
