"""`ted.scan` -> loops over time whose body is one step of the recurrence.

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
    Beginning,
    beginning,
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
from ted.linalg.strategies import begun
from ted.linalg.subdomain import Start
from ted.linalg.uniform_choices import Key, adds_nothing, decide
from ted.mlir import arith, ir
from ted.mlir.locations import source_location, user_name
from ted.mlir.queries import use_known
from ted.mlir.scalars import conditional, index
from ted.mlir.storage import loop as looped
from ted.records import dataclass

Values = list[ir.Value]
Known = dict[ir.Value, ir.Value]
Folded = Mapping[ir.Operation, dict[int, Window]]


@dataclass(frozen=True, eq=False)
class StepsPlan:
    """A recurrence step by step: the slices that are kept of its histories, and of those of the
    scans inside of a step."""

    body: ScanBody
    folded: Folded
    windows: Mapping[int, Window]


def plan_steps(op: ir.Operation) -> StepsPlan:
    """Which slices are kept; what reads the histories behind the last step reads those."""
    folded, body = fold_nested(op), ScanBody(op)  # which sees the reads that folding has moved
    windows = find_windows(body)
    for k, window in windows.items():
        read_from_window(list(op.results[k].uses), window)
    return StepsPlan(body, folded, windows)


def emit_planned(
    plan: StepsPlan, branches: bool, known: Known, on_memory: bool = False,
    inits: Mapping[int, Beginning] | None = None,
) -> Values:  # fmt: skip
    """Emit the recurrence at the insertion point; returns the final histories, or what is kept.

    On memory `inits` says where histories lie that somebody reads, and `known` has the memory of
    tensors from outside.
    """
    body = plan.body
    histories = Histories(body, plan.windows, on_memory, inits)
    # Recurrences over blocks have others inside: there loops have bounds of the step.
    blocks = branches and bool(body.nested)
    scan = Scan(
        histories, plan.folded, known, blocks, leaves=branches, branches=branches and not blocks
    )
    final = scan.run()
    return [final.get(k, value) for k, value in enumerate(body.inits)]


class Scan:
    """A scan that is emitted, `known` being what values from outside of it are.

    `folded` has the windows of each scan inside of a step; with `blocks` loops have bounds of the
    step. It may end early where it `leaves`; with `branches` conditions are tested once.
    """

    def __init__(
        self, histories: Histories, folded: Folded, known: Known, blocks: bool, *,
        leaves: bool = False, branches: bool = False,
    ) -> None:  # fmt: skip
        self.histories, self.folded, self.known = histories, folded, dict(known)
        self.leaves, self.branches, self.blocks = leaves, branches, blocks
        self.body, self.times, self.inits = histories.body, histories.times, histories.inits
        self.windows, self.carried = histories.windows, histories.carried
        self.rooms: dict[int, ir.Value] = {}  # where slices that are begun shall lie
        self.own = {v for op in self.body.inner for v in op.results}

    def run(self) -> dict[int, ir.Value]:
        """All steps; the last states of the histories that are carried from step to step."""
        self._begin_searches()
        states, stretches = self.starts(), self.stretches()
        for begin, end in reversed(stretches) if self.body.reverse else stretches:
            states = self.emit(begin, end, states)
        return dict(zip(self.carried, states, strict=True))

    def starts(self) -> Values:
        """What the histories that are carried from step to step start from."""
        return [
            first_slices(self.windows[k], self.inits[k])
            if k in self.windows else self.inits[k].whole()
            for k in self.carried
        ]  # fmt: skip

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

        def turn(count: ir.Value, inside: Values) -> Values:
            if self.body.reverse:
                count = arith.SubIOp(index(end - begin - 1), count).result
            now = arith.AddIOp(count, index(begin)).result
            return self._step(inside, DynamicTime(begin, end, count, now))

        return looped((index(0), index(end - begin)), index(1), states, turn)[1]

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
                known.update(zip(op.results, self._own(op), strict=True))
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

    def _own(self, op: ir.Operation) -> Values:
        """What a step starts from that is no history."""
        if self.histories.on_memory and isinstance(op.results[0].type, ir.RankedTensorType):
            return [beginning(op.results[0], on_memory=True).whole()]
        return list(op.clone().operation.results)

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
        start = None
        if equation.begins:
            start = self._begin(equation.target, choices.time, known, late=True)
        if self._goes_on(equation):
            known[op.results[0]] = known[self.body.state(equation.target)]
            return
        own = op.clone().operation
        use_known(own, self._with_searched_values(op, known))
        with op.location:
            answers = choices.answers(op, own.regions[0].blocks[0], decided)
            results = self._equation(
                self.histories.on(equation, own), choices.time, answers, start
            )  # fmt: skip
        known.update(zip(op.results, results, strict=True))
        known.update(self._latest(op, results))
        own.erase()

    def _with_searched_values(self, op: ir.Operation, known: Known) -> Known:
        """What stands for operands: the values of a search are those of the step, of which a
        window keeps the positions."""
        window = self.windows.get(self.body.equations[op].target)
        if len(op.results) == 1 or window is None:
            return known
        start = beginning(op.operands[-2], self.histories.on_memory)
        values = start.started(slices_shape(window, start.shape))
        return {**known, op.operands[-2]: values}

    def _begin_searches(self) -> None:
        """Memory for the values of searches, of which each step writes its own."""
        for op in self.body.inner:
            if op.name == "ted.scan" or len(op.results) == 1 or op.operands[-2] in self.own:
                continue
            if self.histories.on_memory and self.body.equations[op].target not in self.windows:
                self.known[op.operands[-2]] = beginning(op.operands[-2], on_memory=True).whole()

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
        rooms = {
            self.body.history[v]: one.memory
            for v, one in zip(wanted, chosen, strict=True)
            if one.memory is not None and self.histories.on_memory
        }

        def side(answer: bool) -> Values:
            inside = dict(known)
            around, self.rooms = self.rooms, {**self.rooms, **rooms}
            perform(answer, inside)
            self.rooms = around
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
            is_there = window.carries or (init.on_memory and history not in begun)
            own = known[self.body.state(history)] if is_there else no_slices(window, init)
            return Chosen.in_memory(own)
        if init.on_memory:
            return Chosen(known[self.body.state(history)].type)
        if history not in begun:
            place = self.histories.place(history, time)
            return Chosen.slice_of(known[self.body.state(history)], place)
        shape = init.shape if window is None else slices_shape(window, init.shape)
        return Chosen(ir.RankedTensorType.get(list(shape), init.element))

    def _begin(
        self, history: int, time: Time, known: Known, *, late: bool = False
    ) -> Start | None:  # fmt: skip
        """Make room for the slice of this step, if only some slices are kept.

        On memory the value that it starts with may be left to the equation behind, which need not
        write it if it covers all.
        """
        if history not in self.windows:
            return None
        place, init, window = self.body.state(history), self.inits[history], self.windows[history]
        init = replace(init, window=self.rooms.get(history))
        fill = init.fill if late and init.on_memory and window.size == 1 else None
        if fill is not None and not window.carries:
            init = replace(init, fill=None, is_empty=True)
        known[place] = next_slice(window, known.get(place), init, time)
        return None if fill is None or window.carries else Start(known[place], fill)

    def _latest(self, op: ir.Operation, results: Values) -> dict[ir.Value, ir.Value]:
        """What stands for histories after an equation, so that one buffer holds all states.

        The step changes nothing at the earlier times at which the block arguments are read.
        """
        history = self.body.history
        pairs = zip(op.results, results, strict=True)
        return {self.body.state(history[r]): v for r, v in pairs if r in history}

    def _equation(
        self, equation: StepEquation, time: Time, answers: dict[ir.Value, bool],
        start: Start | None = None,
    ) -> Values:  # fmt: skip
        subdomain, timestamp = equation.subdomain, equation.timestamp
        if start is not None:
            is_plain = timestamp is not None and timestamp.factor == 1 and not answers
            is_plain = is_plain and len(subdomain.inits) == 1 and not equation.fixed
            starts = (start,) * len(subdomain.inits)
            subdomain = replace(subdomain, starts=starts)
            if not is_plain or subdomain.is_empty or not equation.performed:
                subdomain = begun(subdomain)
            equation = replace(equation, subdomain=subdomain)
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
