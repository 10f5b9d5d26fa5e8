"""`ted.scan` on tensors -> loops over time whose body is one step of the recurrence.

Before: `"ted.scan"(%init) ({ ... %h1 = "ted.compute"(%h0, ...) ... })`
After: an `scf.for` over each stretch of time in which every guard on the time alone is decided; the
histories, or the slices of them that are wanted (`storage_folding.py`), are carried, and an
equation of one step is a subdomain without its time dim (`scan_steps.py`), so that contractions,
rows and maps of a step take the same roads as outside of a recurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from itertools import pairwise

from ted.errors import CompileError
from ted.ir.recurrences import UNBOUNDED
from ted.linalg.leaving import emit_condition, leaving_condition
from ted.linalg.nested_folding import fold_nested
from ted.linalg.rolling_buffers import (
    first_slices,
    in_place,
    next_slice,
    no_slices,
    slices_shape,
)
from ted.linalg.scan_bodies import ScanBody, StepEquation, equations_in
from ted.linalg.scan_histories import Histories, SlicesInStep
from ted.linalg.scan_steps import DynamicTime, StaticTime, Time, emit_at, emit_step
from ted.linalg.step_choices import Chosen, Decided, StepChoices
from ted.linalg.storage_folding import Window, find_windows, on_windows, read_from_window
from ted.linalg.uniform_choices import Key, adds_nothing, decide
from ted.mlir import arith, ir, scf
from ted.mlir.locations import source_location, user_name
from ted.mlir.queries import use_known
from ted.mlir.scalars import conditional, element_type, index, shape_of

Values = list[ir.Value]
Known = dict[ir.Value, ir.Value]
Folded = Mapping[ir.Operation, dict[int, Window]]


def emit_steps(op: ir.Operation, branches: bool = False) -> Values:
    """Emit the recurrence step by step at the insertion point; returns the final histories.

    With `branches` a condition that all points of a step share is tested once, but for scans
    whose steps take steps.
    Raises: CompileError for a loop without a bound that cannot be left.
    """
    folded, body = fold_nested(op), ScanBody(op)  # which sees the reads that folding has moved
    histories = Histories(body, find_windows(body))
    # Recurrences over blocks have others inside: there loops have bounds of the step.
    blocks = branches and bool(body.nested)
    scan = Scan(histories, folded, {}, blocks, leaves=branches, branches=branches and not blocks)
    final = scan.run()
    for k, window in histories.windows.items():
        read_from_window(list(op.results[k].uses), window)
    return [final.get(k, init) for k, init in enumerate(histories.inits)]


class Scan:
    """A scan that is emitted, `known` being what values from outside of it are.

    `folded` has the windows of each scan inside of a step; with `blocks` loops have bounds of the
    step. It may end early where it `leaves`; with `branches` conditions are tested once.
    """

    def __init__(
        self, histories: Histories, folded: Folded, known: Known, blocks: bool, *,
        leaves: bool = False, branches: bool = False,
    ) -> None:  # fmt: skip
        self.histories, self.folded, self.known = histories, folded, known
        self.leaves, self.branches, self.blocks = leaves, branches, blocks
        self.body, self.times, self.inits = histories.body, histories.times, histories.inits
        self.windows, self.carried = histories.windows, histories.carried

    def run(self) -> dict[int, ir.Value]:
        """All steps; the last states of the histories that are carried from step to step."""
        states, stretches = self.starts(), self.stretches()
        for begin, end in reversed(stretches) if self.body.reverse else stretches:
            states = self.emit(begin, end, states)
        return dict(zip(self.carried, states, strict=True))

    def starts(self) -> Values:
        """What the histories that are carried from step to step start from."""
        return [
            first_slices(self.windows[k], self.inits[k]) if k in self.windows else self.inits[k]
            for k in self.carried
        ]

    def stretches(self) -> list[tuple[int, int]]:
        """Stretches of time in which every condition on the time alone has one answer.

        When the time of some equation is no form of one dim, every step is a stretch of its own;
        so it is when one of a scan inside of a step is not performed in every step.  Equations that
        are `divided` cut nothing, nor do those that go on in the memory of the step before.
        """
        cuts = {0, self.body.steps}
        inside = {e for op in self.body.nested for e in equations_in(op)}
        for op, equation in self.body.equations.items():
            if equation.subdomain.is_empty or self._goes_on(equation):
                continue
            timestamp = equation.timestamp
            if timestamp is None or (op in inside and timestamp.factor > 1):
                return [(t, t + 1) for t in range(self.body.steps)]
            if op not in self.body.divided:
                cuts |= timestamp.cuts(equation.subdomain)
        ordered = sorted(c for c in cuts if 0 <= c <= self.body.steps)
        return list(pairwise(ordered))

    # ------------------------------------------------------------------ emission

    def emit(self, begin: int, end: int, states: Values) -> Values:
        """The steps from `begin` to before `end`: as a loop, or one by itself.

        Raises: CompileError for a loop without a bound that cannot be left.
        """
        if end - begin == 1:
            return self._step(states, StaticTime(begin))
        loop = scf.ForOp(index(0), index(end - begin), index(1), states)
        with ir.InsertionPoint(loop.body):
            count = loop.induction_variable
            if self.body.reverse:
                count = arith.SubIOp(index(end - begin - 1), count).result
            now = arith.AddIOp(count, index(begin)).result
            time = DynamicTime(begin, end, count, now)
            scf.YieldOp(self._step(list(loop.inner_iter_args), time))
        return list(loop.results)

    def _say_whether_it_goes_on(self, finals: Values, time: DynamicTime) -> None:
        found = None
        if self.leaves:
            found = leaving_condition(self.body, self.windows, self.carried, time)
        if found is not None:
            emit_condition(finals[self.carried.index(found)])
        elif self.body.steps == UNBOUNDED:
            kept = [k for k in self.carried if k not in self.windows]
            names = sorted({str(user_name(self.body.state(k).location)) for k in kept})
            read = f"{', '.join(names)}, of which more is read"
            raise CompileError(
                "while_loop: without max_steps a loop keeps nothing of its earlier steps, got "
                f"{read if names else 'one that does more when it has ended'}; give max_steps=",
                source_location(self.body.op.location),
            )

    def _step(self, states: Values, time: Time) -> Values:
        """One step: every equation in order, on the latest states."""
        known = dict(self.known)
        known.update(zip((self.body.state(k) for k in self.carried), states, strict=True))
        for op in self.body.inner:
            if op not in self.body.equations and op.name != "ted.scan":
                own = op.clone().operation
                known.update(zip(op.results, own.results, strict=True))
        choices = StepChoices(self.body, self.windows, time)
        steps = [op for op in self.body.inner if op in self.body.equations or op.name == "ted.scan"]
        self._perform(steps, known, choices, {})
        finals = [known[self.body.end.operands[k]] for k in self.carried]
        if isinstance(time, StaticTime):
            return finals
        self._say_whether_it_goes_on(finals, time)
        return [
            in_place(self.windows[k], final, state) if k in self.windows else final
            for k, final, state in zip(self.carried, finals, states, strict=True)
        ]

    def _nested(self, op: ir.Operation, time: Time, known: Known) -> None:
        """A scan inside of a step, on the slices of its histories that belong to the step."""
        for k in sorted(self.body.written(op)):
            self._begin(k, time, known)
        slices = SlicesInStep(ScanBody(op), self.histories, time, known, self.folded.get(op, {}))
        results = slices.put_back(Scan(slices, self.folded, known, self.blocks).run())
        known.update(zip(op.results, results, strict=True))
        known.update(self._latest(op, results))

    def _perform(
        self, ops: list[ir.Operation], known: Known, choices: StepChoices, decided: Decided
    ) -> None:
        """Equations in order, those with one condition behind a test."""
        if not self.branches:
            for op in ops:
                if op.name == "ted.scan":
                    self._nested(op, choices.time, known)
                else:
                    self._one(op, known, choices, {})
            return
        for key, run in choices.runs(ops, decided):
            if key is not None:
                self._choose(key, run, known, choices, decided)
                continue
            for op in run:
                self._one(op, known, choices, decided)

    def _one(self, op: ir.Operation, known: Known, choices: StepChoices, decided: Decided) -> None:
        """An equation on the latest states."""
        loop = self._divided_in(op, choices.time)
        if loop is not None:
            self._divide(op, *loop, known, choices, decided)
            return
        equation = self.body.equations[op]
        if equation.begins:
            self._begin(equation.target, choices.time, known)
        if self._goes_on(equation):
            known[op.results[0]] = known[self.body.state(equation.target)]
            return
        own = op.clone().operation
        use_known(own, known)
        with op.location:
            answers = choices.answers(op, own.regions[0].blocks[0], decided)
            results = self._equation(self.histories.on(equation, own), choices.time, answers)
        known.update(zip(op.results, results, strict=True))
        known.update(self._latest(op, results))
        own.erase()

    def _goes_on(self, equation: StepEquation) -> bool:
        """Whether an equation copies the slice of the step before, in whose memory its own is."""
        return equation.carries and equation.target in self.windows

    def _choose(
        self, key: Key, run: list[ir.Operation], known: Known, choices: StepChoices,
        decided: Decided,
    ) -> None:  # fmt: skip
        """Equations with one condition."""
        first = run[0].clone().operation
        use_known(first, known)
        equation = self.body.equations[run[0]].on(first)
        condition = choices.condition(run[0], equation, first, decided)
        first.erase()

        def perform(answer: bool, inside: Known) -> None:
            self._perform(run, inside, choices, {**decided, key: answer})

        self._test(condition, run, known, choices.time, perform)

    def _divided_in(self, op: ir.Operation, time: Time) -> tuple[int, DynamicTime] | None:
        """When a condition of an equation changes in a loop, this or that around it, and there."""
        loops = [(self.body, time)]
        if isinstance(self.histories, SlicesInStep):
            loops.append((self.histories.outer.body, self.histories.time))
        for body, loop in loops:
            if isinstance(loop, DynamicTime) and body.divides(op, loop.span):
                return body.divided[op], loop
        return None

    def _divide(
        self, op: ir.Operation, cut: int, loop: DynamicTime, known: Known, choices: StepChoices,
        decided: Decided,
    ) -> None:  # fmt: skip
        """An equation in which a condition changes at one time of a loop, this or an outer one."""
        is_early = arith.CmpIOp(arith.CmpIPredicate.slt, loop.now, index(cut)).result

        def perform(early: bool, inside: Known) -> None:
            begin, end = (loop.begin, cut) if early else (cut, loop.end)
            count = arith.SubIOp(loop.now, index(begin)).result
            is_step, scan, there = end - begin == 1, copy(self), choices
            part = StaticTime(begin) if is_step else DynamicTime(begin, end, count, loop.now)
            if loop is choices.time:
                there = replace(choices, time=part)
            elif isinstance(self.histories, SlicesInStep):
                scan.histories = self.histories.at(part)
            scan._one(op, inside, there, decided)

        self._test(is_early, [op], known, choices.time, perform)

    def _test(
        self, condition: ir.Value, run: list[ir.Operation], known: Known, time: Time,
        perform: Callable[[bool, Known], None],
    ) -> None:  # fmt: skip
        """Equations behind a test: what others read of them is its result."""
        wanted = [v for op in run for v in op.results if self._is_read_outside(v, run)]
        begun = {e.target for e in map(self.body.equations.__getitem__, run) if e.begins}
        chosen = [self._chosen(self.body.history[v], begun, known, time) for v in wanted]

        def side(answer: bool) -> Values:
            inside = dict(known)
            perform(answer, inside)
            return [one.given(inside[v]) for v, one in zip(wanted, chosen, strict=True)]

        types = [one.type for one in chosen]
        found = conditional(condition, types, lambda: side(True), lambda: side(False))
        for value, one, result in zip(wanted, chosen, found, strict=True):
            state = self.body.state(self.body.history[value])
            known[value] = known[state] = one.taken(result)

    def _is_read_outside(self, value: ir.Value, run: list[ir.Operation]) -> bool:
        """Whether other equations, or later steps, read what an equation of a run gives.

        Of two results one may be no state: what nothing reads (the maximum beside its position).
        """
        owners = {use.owner.operation for use in value.uses} - {*run}
        is_carried = self.body.history.get(value) in self.carried
        return bool(owners - {self.body.end}) or (is_carried and self.body.end in owners)

    def _chosen(self, history: int, begun: set[int], known: Known, time: Time) -> Chosen:
        """What both sides of a test give of a history, some of which are begun in it."""
        window, init = self.windows.get(history), self.inits[history]
        if window is not None and window.size == 1:
            own = known[self.body.state(history)] if window.carries else no_slices(window, init)
            return Chosen.in_memory(own)
        if history not in begun:
            place = self.histories.place(history, time)
            return Chosen.slice_of(known[self.body.state(history)], place)
        shape = shape_of(init) if window is None else slices_shape(window, init)
        return Chosen(ir.RankedTensorType.get(shape, element_type(init)))

    def _begin(self, history: int, time: Time, known: Known) -> None:
        """Make room for the slice of this step, if only some slices are kept."""
        if history in self.windows:
            place, init = self.body.state(history), self.inits[history]
            known[place] = next_slice(self.windows[history], known.get(place), init, time)

    def _latest(self, op: ir.Operation, results: Values) -> dict[ir.Value, ir.Value]:
        """What stands for histories after an equation, so that one buffer holds all states.

        The step changes nothing at the earlier times at which the block arguments are read.
        """
        history = self.body.history
        pairs = zip(op.results, results, strict=True)
        return {self.body.state(history[r]): v for r, v in pairs if r in history}

    def _equation(
        self, equation: StepEquation, time: Time, answers: dict[ir.Value, bool]
    ) -> Values:
        subdomain, timestamp = equation.subdomain, equation.timestamp
        if subdomain.is_empty or not equation.performed:
            return list(subdomain.inits)
        if timestamp is None:
            axis = self.times[equation.target]
            return emit_at(subdomain, axis, time, equation.fixed, self.blocks)
        subdomain = on_windows(equation, self.times, self.body.reverse, self.windows)
        if answers:
            subdomain = decide(subdomain, answers)
            if adds_nothing(subdomain):
                return list(subdomain.inits)
        used = [bool(list(r.uses)) for r in equation.op.results]
        folded = equation.target in self.windows
        return emit_step(subdomain, timestamp, time, used, folded, equation.fixed, self.blocks)
