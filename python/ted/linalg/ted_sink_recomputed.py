"""Recomputed tensors that only the steps of one scan read -> equations of those steps.

Before: `%a = "ted.compute"(%h) {ted.recomputed}` of all times, read by each step at its own time
After: the same equation in the body of the `ted.scan`, with a history of its own

`ted.checkpoint` of a step computes its values again in the gradient, a scan over segments the steps
of each.  They depend on no step of the adjoints, so that they stand before the loop, for all times
at once; which takes the memory that the user wanted back.  As histories of which steps read their
own time they are a slice (`storage_folding.py`).  Scans go, too, if their outermost time is only a
number of them: in a step of the adjoints that is a scan inside of it.
What reads a history that nothing else reads afterwards, such as a norm of each carry, becomes a
part of the steps too, or the history would be kept for it.  Other tensors stay outside: one
operation over all times is faster than one in each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ted.dialects.ted import MAX_RUNS
from ted.ir.equations import Clock, Equation, System, Tensor, is_recurrence
from ted.ir.expressions import Expr
from ted.ir.from_ops import from_function, functions
from ted.ir.recurrences import flattened, step_order
from ted.ir.rewriting import has_equations, replace_function
from ted.ir.scalar import dims_used
from ted.ir.tensor_order import tensor_order
from ted.linalg.running_totals import carry_totals
from ted.mlir import ir
from ted.mlir.queries import operations
from ted.records import dataclass

Use = tuple[Tensor, Equation, Expr]  # the reader, its equation and the read


@dataclass(frozen=True)
class TedSinkRecomputed:
    """Move recomputed equations into the steps that read them."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        with module.context:
            for function in list(functions(module)):
                if _computes_again(function) and has_equations(function):
                    system = from_function(function)
                    steps = _Steps(system, carry_totals(system))
                    if steps.sink():
                        replace_function(function, system, steps.groups)


def _computes_again(function: ir.Operation) -> bool:
    computes = operations(function, "ted.compute")
    return any("ted.recomputed" in op.attributes for op in computes)


@dataclass
class _Steps:
    """The groups of a system, of which recomputed ones become parts of recurrences.

    Loops over blocks stay as they are.
    """

    system: System
    totals: dict[Tensor, Tensor]  # sums over steps, each with a tensor of its recurrence
    groups: list[list[Tensor]] = field(init=False)
    users: dict[Tensor, list[Use]] = field(init=False)
    _kept: set[Tensor] = field(init=False)

    def __post_init__(self) -> None:
        self.groups = tensor_order(self.system)
        self._kept = {t for loop in self.system.together for t in loop}
        self.users = {t: [] for group in self.groups for t in group}
        for group in self.groups:
            for tensor in group:
                for equation in tensor.equations:
                    for read in equation.reads:
                        self.users[read.attr].append((tensor, equation, read))

    def sink(self) -> bool:
        """Join what can be a part of a recurrence with it; whether anything can."""
        found = False
        for loop in [g for g in reversed(self.groups) if is_recurrence(g)]:
            is_open = loop[0] not in self.totals and loop[0] not in self._kept
            if is_open and loop in self.groups and not self._is_copy(loop):
                found |= self._join(loop)
        return found

    def _join(self, loop: list[Tensor]) -> bool:
        observers = self._observers(loop)
        return self._take(loop, observers) or (bool(observers) and self._take(loop, {}))

    def _take(self, loop: list[Tensor], observers: dict[Tensor, list[Clock]]) -> bool:
        clocks = {t: t.clocks for group in self.groups for t in group}
        for tensor, times in observers.items():
            tensor.clocks = times
        own = {t for t, one in self.totals.items() if one in loop}
        taken = [g for g in self.groups if g[0] in own or g[0] in observers]
        joined = {t for g in (loop, *taken) for t in g}
        waiting = [g for g in reversed(self.groups) if g is not loop and self._is_copy(g)]
        while (group := next((g for g in waiting if self._settle(g, joined)), None)) is not None:
            waiting.remove(group)
            joined.update(group)
            taken.append(group)
        members = [t for g in self.groups if g is loop or g in taken for t in g]
        if not taken:
            return False
        if _runs(members) > MAX_RUNS or not self._is_ready(members, loop):
            for tensor in members:
                tensor.clocks = clocks[tensor]
            return False
        self.groups = [members if g is loop else g for g in self.groups if g not in taken]
        return True

    def _observers(self, loop: list[Tensor]) -> dict[Tensor, list[Clock]]:
        """What alone reads histories as a whole, and could as well in each step: with its times."""
        earlier = {t for g in self.groups[: self.groups.index(loop)] for t in g}.union(loop)
        found: dict[Tensor, list[Clock]] = {}
        for tensor in loop:
            own = {}
            for reader, _, read in self.users[tensor]:
                whole = any(dims_used(read.args[at]) for at in tensor.time_dims)
                if whole and reader not in loop and self.totals.get(reader) not in loop:
                    ready = earlier.issuperset(o for e in reader.equations for o in e.sources)
                    own[reader] = _observed(reader, loop) if ready else []
            if all(own.values()):
                found.update(own)
        return found

    def _is_ready(self, members: Sequence[Tensor], loop: list[Tensor]) -> bool:
        """Whether all that the members read is there before the recurrence, or one of them."""
        known = {*members, *(t for g in self.groups[: self.groups.index(loop)] for t in g)}
        return all(o in known for t in members for e in t.equations for o in e.sources)

    def _is_copy(self, group: Sequence[Tensor]) -> bool:
        outputs = {*self.system.outputs, *self._kept}
        equations = [e for t in group for e in t.equations]
        plain = all(e.recomputed and not e.combiner.startswith("arg") for e in equations)
        return bool(equations) and plain and not any(t in outputs for t in group)

    def _settle(self, group: Sequence[Tensor], joined: set[Tensor]) -> bool:
        """Give a group the times of the steps that read it, if all of its readers are joined."""
        uses = {t: [u for u in self.users[t] if u[0] not in group] for t in group}
        if not all(reader in joined for those in uses.values() for reader, _, _ in those):
            return False
        if not is_recurrence(group):
            (tensor,) = group
            tensor_clocks = _clocks(tensor, uses[tensor])
            if tensor_clocks:
                tensor.clocks = tensor_clocks
            return bool(tensor_clocks)
        read = {t: _clocks(t, those) for t, those in uses.items() if those}
        first = next(iter(read.values()), [])
        if not first or not self._is_batch(group):
            return False
        if any(not c or c[0].dim != t.time for t, c in read.items()):
            return False
        for tensor in group:
            assert tensor.time is not None, "a recurrence has a time"
            tensor.clocks = (Clock(tensor.time, first[0].reverse), *tensor.inner)
        return True

    def _is_batch(self, group: Sequence[Tensor]) -> bool:
        """Whether the outermost time of a recurrence is never that of another step."""
        uses = [u for t in group for u in self.users[t] if u[0] in group]
        return all(t.inner for t in group) and all(
            read.args[_time(read.attr)] is equation.write[_time(reader)]
            for reader, equation, read in uses
        )


def _time(tensor: Tensor) -> int:
    assert tensor.time is not None, "a recurrence has a time"
    return tensor.time


def _clocks(tensor: Tensor, uses: Sequence[Use]) -> list[Clock]:
    """The times of the steps that read a tensor where it is of the same times, outermost first."""
    found: list[Clock] = []
    for level in range(min((len(reader.clocks) for reader, _, _ in uses), default=0)):
        dims = set(range(len(tensor.shape)))
        for reader, equation, read in uses:
            at = reader.time_dims[level]
            now, steps = equation.write[at], reader.shape[at]
            dims &= {k for k, e in enumerate(read.args) if e is now and tensor.shape[k] == steps}
        directions = {reader.clocks[level].reverse for reader, _, _ in uses}
        if not dims or len(directions) > 1:
            break
        found.append(Clock(min(dims), directions.pop()))
    return found


def _observed(tensor: Tensor, loop: Sequence[Tensor]) -> list[Clock]:
    """The times at which a tensor reads those of a recurrence, if it is written at the same."""
    uses = [(e, r) for e in tensor.equations for r in e.reads if r.attr in loop]
    clocks = max((r.attr.clocks for _, r in uses), key=len)
    found = []
    for level, clock in enumerate(clocks):
        dims = {
            k for k, n in enumerate(tensor.shape)
            if all(
                len(r.attr.clocks) > level and e.write[k] is r.args[r.attr.time_dims[level]]
                and n == r.attr.shape[r.attr.time_dims[level]]
                for e, r in uses
            )
        }  # fmt: skip
        if not dims or tensor.clocks:
            return []
        found.append(Clock(min(dims), clock.reverse))
    return found


def _runs(members: Sequence[Tensor]) -> int:
    """How many histories of other types follow on each other."""
    kinds = [(t.dtype, t.shape) for t in flattened(step_order(members))]
    return sum(k == 0 or kind != kinds[k - 1] for k, kind in enumerate(kinds))
