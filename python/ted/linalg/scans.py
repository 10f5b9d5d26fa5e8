"""`ted.scan` on tensors -> loops over time whose body is one step of the recurrence.

Before: `"ted.scan"(%init) ({ ... %h1 = "ted.compute"(%h0, ...) ... })`
After: an `scf.for` over each stretch of time in which every guard on the time alone is decided; the
histories, or the slices of them that are wanted (`windows.py`), are carried, and an equation of one
step is a subdomain without its time dim (`steps.py`), so that contractions, rows and maps of a step
take the same roads as outside of a recurrence.
"""

from __future__ import annotations

from itertools import pairwise

from ted.errors import CompileError
from ted.ir.recurrences import UNBOUNDED
from ted.linalg.leaving import emit_condition, leaving_condition
from ted.linalg.rolling_buffers import in_place, next_slice, no_slices, slices_shape, written
from ted.linalg.scan_bodies import ScanBody, StepEquation
from ted.linalg.scan_steps import DynamicTime, StaticTime, Time, emit_at, emit_step
from ted.linalg.step_choices import Decided, StepChoices
from ted.linalg.storage_folding import find_windows, on_windows, read_from_window
from ted.linalg.uniform_choices import Key, adds_nothing, decide
from ted.mlir import arith, ir, scf
from ted.mlir.locations import source_location
from ted.mlir.queries import use_known
from ted.mlir.scalars import conditional, element_type, index

Values = list[ir.Value]
Known = dict[ir.Value, ir.Value]


def emit_steps(op: ir.Operation, branches: bool = False) -> Values:
    """Emit the recurrence step by step at the insertion point; returns the final histories.

    With `branches` a condition that all points of a step share is tested once.
    Raises: CompileError for a loop without a bound that cannot be left.
    """
    scan = _Scan(op, branches)
    states = scan.starts()
    stretches = scan.stretches()
    for begin, end in reversed(stretches) if scan.body.reverse else stretches:
        states = scan.emit(begin, end, states)
    for k, window in scan.windows.items():
        read_from_window(op.results[k], window)
    final = dict(zip(scan.carried, states, strict=True))
    return [final.get(k, init) for k, init in enumerate(scan.body.inits)]


class _Scan:
    def __init__(self, op: ir.Operation, branches: bool) -> None:
        self.body = ScanBody(op)
        self.branches = branches
        self.windows = find_windows(self.body)
        local = {k for k, window in self.windows.items() if not window.is_carried}
        self.carried = [k for k in range(len(self.body.inits)) if k not in local]

    def starts(self) -> Values:
        """What the histories that are carried from step to step start from."""
        inits = self.body.inits
        return [
            no_slices(self.windows[k], inits[k]) if k in self.windows else inits[k]
            for k in self.carried
        ]

    def stretches(self) -> list[tuple[int, int]]:
        """Stretches of time in which every condition on the time alone has one answer.

        When the time of some equation is no form of one dim, every step is a stretch of its own.
        """
        cuts = {0, self.body.steps}
        for equation in self.body.equations.values():
            if equation.subdomain.is_empty:
                continue
            if equation.timestamp is None:
                return [(t, t + 1) for t in range(self.body.steps)]
            cuts |= equation.timestamp.cuts(equation.subdomain)
        ordered = sorted(c for c in cuts if 0 <= c <= self.body.steps)
        return list(pairwise(ordered))

    # ------------------------------------------------------------------ emission

    def emit(self, begin: int, end: int, states: Values) -> Values:
        """The steps from `begin` to before `end`: as a loop, or one by itself."""
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
        if self.branches:
            found = leaving_condition(self.body, self.windows, self.carried, time)
        if found is not None:
            emit_condition(finals[self.carried.index(found)])
        elif self.body.steps == UNBOUNDED:
            raise CompileError(
                "while_loop: without max_steps a loop keeps nothing of its earlier steps, got one "
                "of which more is read, or that does more when it has ended; give max_steps=",
                source_location(self.body.op.location),
            )

    def _step(self, states: Values, time: Time) -> Values:
        """One step: every equation in order, on the latest states."""
        places = [self.body.state(k) for k in self.carried]
        known: Known = dict(zip(places, states, strict=True))
        for op in self.body.inner:
            if op not in self.body.equations:
                copy = op.clone().operation
                known.update(zip(op.results, copy.results, strict=True))
        choices = StepChoices(self.body, self.windows, time)
        self._perform(list(self.body.equations), known, choices, {})
        finals = [known[self.body.end.operands[k]] for k in self.carried]
        if isinstance(time, StaticTime):
            return finals
        self._say_whether_it_goes_on(finals, time)
        return [
            in_place(self.windows[k], final, state) if k in self.windows else final
            for k, final, state in zip(self.carried, finals, states, strict=True)
        ]

    def _perform(
        self, ops: list[ir.Operation], known: Known, choices: StepChoices, decided: Decided
    ) -> None:
        """Equations in order, those with one condition behind a test."""
        if not self.branches:
            for op in ops:
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
        equation = self.body.equations[op]
        if equation.begins:
            self._begin(equation.target, choices.time, known)
        copy = op.clone().operation
        use_known(copy, known)
        with op.location:
            answers = choices.answers(op, copy.regions[0].blocks[0], decided)
            results = self._equation(equation.on(copy), choices.time, answers)
        known.update(zip(op.results, results, strict=True))
        known.update(self._latest(op, results))
        copy.erase()

    def _choose(
        self, key: Key, run: list[ir.Operation], known: Known, choices: StepChoices,
        decided: Decided,
    ) -> None:  # fmt: skip
        """Equations with one condition: what others read of them is the result of a test."""
        wanted = [v for op in run for v in op.results if self._is_read_outside(v, run)]
        first = run[0].clone().operation
        use_known(first, known)
        equation = self.body.equations[run[0]].on(first)
        condition = choices.condition(run[0], equation, first, decided)
        first.erase()

        memory = [self._memory(self.body.history[v]) for v in wanted]

        def side(answer: bool) -> Values:
            inside = dict(known)
            self._perform(run, inside, choices, {**decided, key: answer})
            pairs = zip((inside[v] for v in wanted), memory, strict=True)
            return [value if place is None else written(value, place) for value, place in pairs]

        types = [self._type(self.body.history[v]) for v in wanted]
        found = conditional(condition, types, lambda: side(True), lambda: side(False))
        for value, result in zip(wanted, found, strict=True):
            known[value] = known[self.body.state(self.body.history[value])] = result

    def _is_read_outside(self, value: ir.Value, run: list[ir.Operation]) -> bool:
        """Whether other equations, or later steps, read what an equation of a run gives."""
        owners = {use.owner.operation for use in value.uses} - {*run}
        is_carried = self.body.history[value] in self.carried
        return bool(owners - {self.body.end}) or (is_carried and self.body.end in owners)

    def _memory(self, history: int) -> ir.Value | None:
        """Where both sides of a test write the slice of a step; None where there is a place."""
        window = self.windows.get(history)
        if window is None or window.size > 1:
            return None
        return no_slices(window, self.body.inits[history])

    def _type(self, history: int) -> ir.Type:
        init = self.body.inits[history]
        if history not in self.windows:
            return init.type
        return ir.RankedTensorType.get(
            slices_shape(self.windows[history], init), element_type(init)
        )

    def _begin(self, history: int, time: Time, known: Known) -> None:
        """Make room for the slice of this step, if only some slices are kept."""
        if history in self.windows:
            place, init = self.body.state(history), self.body.inits[history]
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
        if subdomain.is_empty:
            return list(subdomain.inits)
        if timestamp is None:
            return emit_at(subdomain, self.body.times[equation.target], time)
        subdomain = on_windows(equation, self.body, self.windows)
        if answers:
            subdomain = decide(subdomain, answers)
            if adds_nothing(subdomain):
                return list(subdomain.inits)
        used = [bool(list(r.uses)) for r in equation.op.results]
        return emit_step(subdomain, timestamp, time, used, equation.target in self.windows)
