"""The order of the tensors of a recurrence inside one time step, decided by isl.

Tensors that read each other run along time dims of one extent, all forwards or all in reverse. A
read of a tensor at the time that is being written wants that tensor to be complete in this step;
a read at an earlier step wants nothing. A tensor waits for another when some point of its
equations surely or possibly makes a read of the first kind.

Tensors that wait for each other inside of a step are a recurrence of their own there, if they have
times for it: time is lexicographic, (t, s), and a step of t takes all steps of s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

from ted.domain import sets
from ted.domain.budget import BudgetExhausted, required
from ted.domain.sizes import Extent
from ted.errors import VerifyError
from ted.ir.affine import condition_set, is_affine, where_possible
from ted.ir.equations import Clock, Equation, Tensor, components, is_recurrence, reads
from ted.ir.expressions import Expr
from ted.ir.graphs import circles
from ted.ir.scalar import compare, dim, dims_used, index, land
from ted.ir.unknowns import value_where
from ted.records import dataclass

ONE_LOOP = "ted.one_loop"  # of a `ted.scan`: its histories stay in it, whatever they read
UNBOUNDED = 2**31 - 1  # steps of a loop that only its condition ends: so many are an error


@dataclass(frozen=True)
class Nest:
    """Tensors that a step computes step by step along inner times of theirs, in that order."""

    steps: Extent
    reverse: bool
    order: tuple[Tensor | Nest, ...]

    def tensors(self) -> list[Tensor]:
        """All of them."""
        return flattened(self.order)


Order: TypeAlias = "Sequence[Tensor | Nest]"


def flattened(order: Order) -> list[Tensor]:
    """The tensors of an order, those of nests in their places."""
    return [t for one in order for t in (one.tensors() if isinstance(one, Nest) else [one])]


def step_count(group: Sequence[Tensor], level: int = 0) -> Extent:
    """The number of steps of a recurrence, or of one inside of that many others.

    Raises: VerifyError when a tensor has no time dim, or another number of steps or direction.
    """
    for tensor in group:
        if len(tensor.clocks) <= level:
            raise VerifyError(
                f"recurrence: tensors that read each other have a time dim, got none for {tensor} "
                f"in {_names(group)}; make it a carry of a scan",
                tensor.location,
            )
    kinds = {(_steps(t, level), t.clocks[level].reverse) for t in group}
    if len(kinds) > 1:
        found = ", ".join(
            f"{t.name}: {_steps(t, level)} {_direction(t.clocks[level])}" for t in group
        )
        raise VerifyError(
            f"recurrence: tensors that read each other share steps and direction, got {found}",
            group[0].location,
        )
    return _steps(group[0], level)


def spread_times(roots: Sequence[Tensor]) -> None:
    """Give the tensors of the recurrences of some roots that have no time that of what they read.

    A tensor that is in a recurrence already, of another dim, is in that one inside of a step then.
    Raises: VerifyError for a tensor that reads a history at no time of its own.
    """
    for group in components(roots):
        if is_recurrence(group):
            _spread(group, [t for t in group if t in roots], 0)


def _spread(group: Sequence[Tensor], roots: Sequence[Tensor], level: int) -> None:
    known = [t for t in roots if len(t.clocks) > level]
    known = known or [t for t in group if len(t.clocks) > level]
    waiting = [t for t in group if t not in known]
    while waiting:
        found = {t: time for t in waiting if (time := _followed(t, known, level)) is not None}
        if not found:
            break
        for tensor, time in found.items():
            _give(tensor, Clock(time, known[0].clocks[level].reverse), level)
        known += found
        waiting = [t for t in waiting if t not in found]
    lost = next((t for t in waiting if len(t.clocks) <= level), None)
    if lost is not None:
        raise VerifyError(
            "recurrence: a tensor that reads a history has a time of its own, got none "
            f"for {lost}; write it inside the function, at its indices",
            lost.location,
        )
    if any(len(t.clocks) > level + 1 for t in group):
        for inner in _circles(group, level):
            _spread(inner, [t for t in inner if t in roots], level + 1)


def _give(tensor: Tensor, clock: Clock, level: int) -> None:
    """Let a tensor have a time at a level; the one that it had there is one inside of that."""
    outer, rest = tensor.clocks[:level], tensor.clocks[level:]
    if not rest or rest[0].dim != clock.dim:
        tensor.clocks = (*outer, clock, *rest)


def _followed(tensor: Tensor, known: Sequence[Tensor], level: int) -> int | None:
    """The dim of a tensor that is the time at which it reads a history."""
    for equation in tensor.equations:
        for read in reads(equation):
            if read.attr not in known:
                continue
            time = read.args[read.attr.time_dims[level]]
            used = dims_used(time)
            alike = not used and len(tensor.clocks) <= level
            for k, subscript in enumerate(equation.write):
                if (alike and subscript is time) or (used and dims_used(subscript) == used):
                    return k
    return None


# ------------------------------------------------------------------ the order of a step


def step_order(group: Sequence[Tensor], level: int = 0) -> list[Tensor | Nest]:
    """The tensors in an order in which every step can compute them, one after the other.

    Those that wait for each other in a step take inner steps together.
    Raises: VerifyError when they have no time for that.
    """
    waits = {t: _same_time_reads(t, group, level) for t in group}
    units = _joined(_units(group, waits), waits, level)
    order: list[Tensor | Nest] = []
    done: set[Tensor] = set()
    while units:  # one at a time: the order of the group decides between equals
        unit = next(u for u in units if all(waits[t] <= {*done, *u} for t in u))
        units.remove(unit)
        done.update(unit)
        if unit[0] not in waits[unit[0]] and len(unit) == 1:
            order.append(unit[0])
            continue
        if any(len(t.clocks) <= level + 1 for t in unit):
            raise _cycle(unit, waits)
        steps, inner = step_count(unit, level + 1), step_order(unit, level + 1)
        order.append(Nest(steps, unit[0].clocks[level + 1].reverse, tuple(inner)))
    return order


def _units(group: Sequence[Tensor], waits: dict[Tensor, set[Tensor]]) -> list[list[Tensor]]:
    """The tensors of a step by those that wait for each other, in the order of the group."""
    found = circles(group, lambda t: [w for w in group if w in waits[t]])
    place = {t: k for k, t in enumerate(group)}
    return sorted((sorted(u, key=place.__getitem__) for u in found), key=lambda u: place[u[0]])


def _joined(
    units: list[list[Tensor]], waits: dict[Tensor, set[Tensor]], level: int
) -> list[list[Tensor]]:
    """The units, with what is recomputed in those that alone wait for it, if it has a time there.

    Such a tensor has no part in any circle: it is there to be computed where it is read.
    """
    readers = {t: {r for r, needed in waits.items() if t in needed} for t in waits}
    for alone in [u for u in reversed(units) if len(u) == 1]:
        (tensor,) = alone
        copy = tensor.equations and all(e.recomputed for e in tensor.equations)
        if not copy or tensor in waits[tensor] or len(tensor.clocks) <= level + 1:
            continue
        home = next((u for u in units if readers[tensor] and readers[tensor] <= {*u}), None)
        if home is None or (len(home) == 1 and home[0] not in waits[home[0]]):
            continue
        if _kind(home[0], level + 1) == _kind(tensor, level + 1):
            units.remove(alone)
            home.insert(0, tensor)
    return units


def _kind(tensor: Tensor, level: int) -> tuple[Extent, bool] | None:
    if len(tensor.clocks) <= level:
        return None
    return _steps(tensor, level), tensor.clocks[level].reverse


def _circles(group: Sequence[Tensor], level: int) -> list[list[Tensor]]:
    """The tensors that wait for each other inside of a step."""
    waits = {t: _same_time_reads(t, group, level) for t in group}
    units = _units(group, waits)
    return [u for u in units if len(u) > 1 or u[0] in waits[u[0]]]


def _same_time_reads(tensor: Tensor, group: Sequence[Tensor], level: int) -> set[Tensor]:
    """The tensors of the group that a step has to complete before this one."""
    found: set[Tensor] = set()
    for equation in tensor.equations:
        for read, points in history_reads(equation, group):
            if read.attr not in found and may_meet(tensor, equation, read, points, level):
                found.add(read.attr)
    return found


def is_causal(group: Sequence[Tensor]) -> bool:
    """Whether every step is proved to read what it or an earlier one has completed.

    Raises: VerifyError as `step_count`, `step_order` and `times` do.
    """
    step_count(group)
    step_order(group)
    return all(
        _reads_the_past(tensor, equation, read, points, level)
        for level, members in enumerate_levels(group)
        for tensor in members
        for equation in tensor.equations
        for read, points in history_reads(equation, members)
    )


def enumerate_levels(group: Sequence[Tensor], level: int = 0) -> Iterator[tuple[int, list[Tensor]]]:
    """The tensors of a recurrence, then those of the recurrences inside of its steps, by level."""
    yield level, list(group)
    if any(len(t.clocks) > level + 1 for t in group):
        for inner in _circles(group, level):
            yield from enumerate_levels(inner, level + 1)


def _reads_the_past(
    tensor: Tensor, equation: Equation, read: Expr, points: Any, level: int
) -> bool:
    try:
        return bool(future_points(tensor, equation, read, points, level)[2].is_empty())
    except BudgetExhausted:
        return False


def future_points(
    tensor: Tensor, equation: Equation, read: Expr, points: Any, level: int, complete: bool = True
) -> tuple[Expr, Expr, Any]:
    """The times read and written at a level, and the points where the first one is later.

    Outer times are equal there; so may the times be of what is not complete in this step.
    Raises: BudgetExhausted, VerifyError.
    """
    points = at_same_times(tensor, equation, read, points, level)
    seen, written, points = times(tensor, equation, read, points, level)
    reverse = tensor.clocks[level].reverse
    earlier, later = (seen, written) if reverse else (written, seen)
    return seen, written, points_where("lt" if complete else "le", earlier, later, points)


def at_same_times(tensor: Tensor, equation: Equation, read: Expr, points: Any, levels: int) -> Any:
    """The points at which a read is of the outer times that are written.

    Raises: BudgetExhausted, VerifyError.
    """
    for level in range(levels):
        points = points_where("eq", *times(tensor, equation, read, points, level))
    return points


def may_meet(tensor: Tensor, equation: Equation, read: Expr, points: Any, level: int = 0) -> bool:
    """Whether a read may be at the time that is written; one more edge only narrows the order."""
    try:
        return not at_same_times(tensor, equation, read, points, level + 1).is_empty()
    except BudgetExhausted:
        return True


def history_reads(equation: Equation, group: Sequence[Tensor]) -> Iterator[tuple[Expr, Any]]:
    """The reads of tensors of the group, each with a set that holds every point that makes it."""
    paths = equation.paths
    for read in reads(equation):
        if read.attr in group:
            yield read, where_possible(paths[read], equation.domain)


def times(
    tensor: Tensor, equation: Equation, read: Expr, points: Any, level: int = 0
) -> tuple[Expr, Expr, Any]:
    """The time at which a read of a history is made, the time that is written, and the points.

    Where the first is data it is one more dim of the points, with the values that the condition of
    the read leaves; one outside of the tensor is no read, but an error.
    Raises: VerifyError when the time that is written is data.
    """
    axis, at = tensor.time_dims[level], read.attr.time_dims[level]
    seen, written = read.args[at], equation.write[axis]
    if not is_affine(written, equation.domain):
        raise VerifyError(
            f"recurrence: times that are written are affine indices, got {written} in dim "
            f"{axis} of {tensor}",
            equation.location or tensor.location,
        )
    if is_affine(seen, equation.domain):
        return seen, written, points
    path = equation.paths[read]
    rank = equation.rank
    within = sets.preimage(points, rank + 1, [sets.dim_aff(rank + 1, d) for d in range(rank)])
    points = value_where(seen, path, equation.domain).intersect(within)
    seen = dim(rank)
    inside = land(
        compare("le", index(0), seen),
        compare("lt", seen, index(read.attr.shape[at])),
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


def _cycle(left: Collection[Tensor], waits: dict[Tensor, set[Tensor]]) -> VerifyError:
    """The error that names tensors of one step that wait for each other."""
    path = [next(iter(left))]
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


def _steps(tensor: Tensor, level: int) -> Extent:
    return tensor.shape[tensor.time_dims[level]]


def _direction(clock: Clock) -> str:
    return "in reverse" if clock.reverse else "forwards"


def _names(group: Sequence[Tensor]) -> str:
    return ", ".join(t.name for t in group)
