"""What a scan's steps work on: its histories, or, in a step of another scan, slices of them.

Before: steps of (t, s) of `%h: tensor<8x9xf64>`, of which those over s are inside of one over t
After: for the inner steps, `tensor<9xf64>` at t; an equation of theirs reads slices of earlier t
from the histories as they were before the outer step, and loses the dim that t is
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace

from ted.linalg.outer_reads import are_own_loads, of_slice, own_reads
from ted.linalg.rolling_buffers import Beginning, beginning
from ted.linalg.scan_bodies import ScanBody, StepEquation
from ted.linalg.scan_steps import Fixed, StaticTime, Time, at_time, only_at
from ted.linalg.sliced_dims import reads_sliced
from ted.linalg.slices import put_at, slice_at, with_slice, without
from ted.linalg.storage_folding import Window, on_windows
from ted.linalg.subdomain import Subdomain
from ted.linalg.timestamps import with_timestamp
from ted.mlir import ir
from ted.mlir.scalars import shape_of


class Histories:
    """The histories of a scan as the tensors that its steps work on: all of them, or windows."""

    def __init__(
        self, body: ScanBody, windows: Mapping[int, Window], on_memory: bool = False,
        inits: Mapping[int, Beginning] | None = None,
    ) -> None:  # fmt: skip
        self.body, self.windows, self.on_memory = body, windows, on_memory
        self.times = body.times  # dims of the tensors that steps work on
        self.inits = [beginning(value, on_memory) for value in body.inits]
        for k, one in (inits or {}).items():
            self.inits[k] = one
        local = {k for k, window in windows.items() if not window.is_carried}
        self.carried = [k for k in range(len(self.inits)) if k not in local]

    def place(self, history: int, time: Time) -> tuple[int, ir.Value | int]:
        """The dim that the time is, and where along it the slice of a step lies."""
        window = self.windows.get(history)
        if window is not None:
            return self.times[history], window.newest
        return self.times[history], time.time if isinstance(time, StaticTime) else time.now

    def dropped(self, history: int) -> tuple[int, ...]:
        """The dims of a history that the tensors that steps work on do not have."""
        del history
        return ()

    def root(self, history: int) -> Beginning:
        """What a history starts from before the first step of all."""
        return self.inits[history]

    def on(self, equation: StepEquation, copy: ir.Operation) -> StepEquation:
        """An equation with the operands of a copy of its op."""
        return equation.on(copy)


class SlicesInStep(Histories):
    """Those of a scan in a step of another one, at a time of that one: slices of its histories."""

    def __init__(
        self,
        body: ScanBody,
        outer: Histories,
        time: Time,
        known: Mapping[ir.Value, ir.Value],
        windows: Mapping[int, Window],
    ) -> None:
        self.outer, self.time = outer, time
        self.around = [outer.body.history[v] for v in body.op.operands]
        self.states = [known[v] for v in body.op.operands]
        of_slices = {k: replace(w, axis=self._kept(k, w.axis)) for k, w in windows.items()}
        super().__init__(body, of_slices, outer.on_memory)
        self.times = [self._kept(k, at) for k, at in enumerate(body.times)]
        self.inits = [self._slice(k) for k in range(len(self.states))]

    def dropped(self, history: int) -> tuple[int, ...]:
        """The dims of a history that slices of it do not have."""
        around = self.around[history]
        return (*self.outer.dropped(around), self.outer.body.times[around])

    def _kept(self, history: int, axis: int) -> int:
        """A dim of a history as one of its slices."""
        return axis - sum(d < axis for d in self.dropped(history))

    def _slice(self, history: int) -> Beginning:
        axis, at = self._place(history)
        state = self.states[history]
        if history not in self.windows:
            return beginning(slice_at(state, axis, at), self.on_memory)
        shape = without(shape_of(state), axis)
        return replace(self.root(history), shape=shape, value=None, window=None)

    def at(self, time: Time) -> SlicesInStep:
        """The same slices where the outer time is known to be in a smaller stretch."""
        found = copy(self)
        found.time = time
        return found

    def root(self, history: int) -> Beginning:
        """What a history starts from before the first step of all."""
        return self.outer.root(self.around[history])

    def _place(self, history: int) -> tuple[int, ir.Value | int]:
        return self.outer.place(self.around[history], self.time)

    def put_back(self, final: Mapping[int, ir.Value]) -> list[ir.Value]:
        """The states of the outer scan, with the last slices of this one put back."""
        return [
            state if k not in final
            else with_slice(final[k], state, *self._place(k)) if k in self.windows
            else put_at(final[k], state, *self._place(k))
            for k, state in enumerate(self.states)
        ]  # fmt: skip

    # ------------------------------------------------------------------ equations in the outer step

    def on(self, equation: StepEquation, copy: ir.Operation) -> StepEquation:
        """An equation with the operands of a copy of its op, at the outer time only.

        Raises: ScheduleError for one at several outer times, of which one may be the same.
        """
        outer = self.outer
        around = outer.on(outer.body.equations[equation.op], copy)
        if around.subdomain.is_empty or not around.performed:
            return replace(equation, subdomain=around.subdomain, performed=False)
        of_step = (around, self.around, outer.times, outer.body.reverse)
        own, at_data = own_reads(*of_step), are_own_loads(*of_step)
        folded = around.subdomain
        if around.timestamp is not None:
            folded = on_windows(around, outer.times, outer.body.reverse, outer.windows)
        loads = self._of_slices(around, at_data)
        part = self._at_outer_time(folded, around)
        if part is None:
            return replace(equation, subdomain=around.subdomain, performed=False)
        subdomain, fixed = self._without_outer_time(self._on_slices(part, around, own), around)
        timed = with_timestamp(subdomain, self.times[equation.target])
        subdomain, timestamp = equation.at_same_times(*timed)
        sources = tuple(s if k in own else None for k, s in enumerate(equation.sources))
        return replace(
            equation, subdomain=subdomain, timestamp=timestamp, sources=sources, loads=loads,
            fixed=fixed,
        )  # fmt: skip

    def _of_slices(
        self, around: StepEquation, at_data: Mapping[ir.Operation, bool]
    ) -> dict[ir.Operation, int]:
        """The reads at data of this scan's histories, of slices now; others of the states before.

        Before anything is decided at a time, as it may leave reads out.
        """
        found: dict[ir.Operation, int] = {}
        for load, is_own in at_data.items():
            history = self.around.index(around.loads[load])
            if is_own:
                found[of_slice(load, self.outer.times[around.loads[load]])] = history
            else:
                load.operands[0] = self.states[history]
        return found

    def _at_outer_time(self, subdomain: Subdomain, around: StepEquation) -> Subdomain | None:
        """The points that the step of the outer scan performs."""
        if around.timestamp is None:
            part = only_at(subdomain, self.outer.times[around.target], self.time)
            return None if part.is_empty else part
        part = at_time(subdomain, around.timestamp, self.time)
        return None if part is None else part[0]

    def _on_slices(self, part: Subdomain, around: StepEquation, own: set[int]) -> Subdomain:
        """The part with the slices of this scan's histories, and the states before for the rest."""
        reads = list(part.reads)
        for k, (read, source) in enumerate(zip(part.reads, around.sources, strict=False)):
            if read is None or source not in self.around:
                continue
            if k in own:
                at = self.outer.times[source]
                reads[k] = replace(read, subscripts=without(read.subscripts, at))
            else:
                reads[k] = replace(read, tensor=self.states[self.around.index(source)])
        write = without(part.write, self.outer.times[around.target])
        inits = self._inits_on_slices(part, around)
        return replace(part, reads=tuple(reads), write=write, inits=inits)

    def _inits_on_slices(self, part: Subdomain, around: StepEquation) -> tuple[ir.Value, ...]:
        """Inits like slices of histories, also of a result that is no history (of `argmax`)."""
        axis, at = self._place(self.around.index(around.target))
        given = list(around.op.operands)[-len(part.inits) :]
        return tuple(
            init if value in self.body.history else slice_at(init, axis, at)
            for init, value in zip(part.inits, given, strict=True)
        )

    def _without_outer_time(
        self, subdomain: Subdomain, around: StepEquation
    ) -> tuple[Subdomain, Fixed]:
        """The part without the dim that is the outer time, or with its value."""
        timestamp, fixed = around.timestamp, around.fixed
        if timestamp is None or not timestamp.factor:
            return subdomain, fixed
        at = timestamp.dim
        if isinstance(self.time, StaticTime):
            bare = subdomain.without_dim(at)
        else:
            sliced = reads_sliced(subdomain, at, self.time.count)
            if sliced is None:
                return subdomain, (*fixed, (at, self.time.count))
            bare = sliced.without_dim(at)
        return bare, tuple((d - (d > at), value) for d, value in fixed)
