"""`ted.scan` on tensors -> loops over time whose body is one step of the recurrence.

Before: `"ted.scan"(%init) ({ ... %h1 = "ted.compute"(%h0, ...) ... })`
After: an `scf.for` over each stretch of time in which every guard on the time alone is decided; the
histories are carried, and an equation of one step is a piece without its time dim (`steps.py`), so
that contractions, rows and maps of a step take the same roads as outside of a recurrence.
"""

from __future__ import annotations

from itertools import pairwise

from ted.lowering.clocks import Clock, with_clock
from ted.lowering.piece import Piece, from_compute
from ted.lowering.scalars import index
from ted.lowering.steps import DynamicTime, StaticTime, Time, emit_at, emit_step
from ted.mlir import arith, ir, scf

Values = list[ir.Value]


def lower_scan(op: ir.Operation) -> Values:
    """Emit the recurrence at the insertion point; returns the final histories."""
    scan = _Scan(op)
    states = list(op.operands)
    stretches = scan.stretches()
    for begin, end in reversed(stretches) if scan.reverse else stretches:
        states = scan.emit(begin, end, states)
    return states


class _Scan:
    """The attributes and equations of one `ted.scan`."""

    def __init__(self, op: ir.Operation) -> None:
        self.times = list(ir.DenseI64ArrayAttr(op.attributes["times"]))
        self.steps = ir.IntegerAttr(op.attributes["steps"]).value
        self.reverse = ir.BoolAttr(op.attributes["reverse"]).value
        self.block = op.regions[0].blocks[0]
        *inner, self.end = [view.operation for view in self.block.operations]
        self.inner = inner
        self.history = self._histories()

    def _histories(self) -> dict[ir.Value, int]:
        """The history that each value of the body is a state of."""
        found = {argument: k for k, argument in enumerate(self.block.arguments)}
        for op in self.inner:
            if op.name != "ted.compute":
                continue
            results = list(op.results)
            for init, result in zip(list(op.operands)[-len(results) :], results, strict=True):
                if init in found:
                    found[result] = found[init]
        return found

    def _timed(self, op: ir.Operation, original: ir.Operation) -> tuple[Piece, Clock | None]:
        """The piece of an equation, or of a copy of it, and its clock."""
        axis = next(self.times[self.history[r]] for r in original.results if r in self.history)
        piece = from_compute(op)
        return (piece, None) if piece.is_empty else with_clock(piece, axis)

    def stretches(self) -> list[tuple[int, int]]:
        """Stretches of time in which every condition on the time alone has one answer.

        When the time of some equation is no form of one dim, every step is a stretch of its own.
        """
        cuts = {0, self.steps}
        for op in self.inner:
            if op.name != "ted.compute":
                continue
            piece, clock = self._timed(op, op)
            if piece.is_empty:
                continue
            if clock is None:
                return [(t, t + 1) for t in range(self.steps)]
            cuts |= clock.cuts(piece)
        ordered = sorted(c for c in cuts if 0 <= c <= self.steps)
        return list(pairwise(ordered))

    # ------------------------------------------------------------------ emission

    def emit(self, begin: int, end: int, states: Values) -> Values:
        """The steps from `begin` to before `end`: as a loop, or one by itself."""
        if end - begin == 1:
            return self._body(states, StaticTime(begin))
        loop = scf.ForOp(index(0), index(end - begin), index(1), states)
        with ir.InsertionPoint(loop.body):
            count = loop.induction_variable
            if self.reverse:
                count = arith.SubIOp(index(end - begin - 1), count).result
            now = arith.AddIOp(count, index(begin)).result
            time = DynamicTime(begin, end, count, now)
            scf.YieldOp(self._body(list(loop.inner_iter_args), time))
        return list(loop.results)

    def _body(self, states: Values, time: Time) -> Values:
        """One step: every equation in order, on the latest states."""
        known: dict[ir.Value, ir.Value] = dict(zip(self.block.arguments, states, strict=True))
        for op in self.inner:
            copy = op.clone().operation
            _use_states(copy, known)
            if op.name != "ted.compute":
                known.update(zip(op.results, copy.results, strict=True))
                continue
            with op.location:
                results = self._equation(op, copy, time)
            known.update(zip(op.results, results, strict=True))
            known.update(self._latest(op, results))
            copy.erase()
        return [known[v] for v in self.end.operands]

    def _latest(self, op: ir.Operation, results: Values) -> dict[ir.Value, ir.Value]:
        """What stands for histories after an equation, so that one buffer holds all states.

        The step changes nothing at the earlier times at which the block arguments are read.
        """
        pairs = zip(op.results, results, strict=True)
        return {self.block.arguments[self.history[r]]: v for r, v in pairs if r in self.history}

    def _equation(self, op: ir.Operation, copy: ir.Operation, time: Time) -> Values:
        piece, clock = self._timed(copy, op)
        if piece.is_empty:
            return list(piece.inits)
        if clock is None:
            axis = next(self.times[self.history[r]] for r in op.results if r in self.history)
            return emit_at(piece, axis, time)
        return emit_step(piece, clock, time, [bool(list(r.uses)) for r in op.results])


def _use_states(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> None:
    """Let a copied op, and what is inside it, use the current states."""
    for k, operand in enumerate(op.operands):
        if operand in known:
            op.operands[k] = known[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _use_states(inner.operation, known)
