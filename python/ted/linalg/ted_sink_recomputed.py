"""Recomputed tensors that only the steps of one scan read -> equations of those steps.

Before: `%a = "ted.compute"(%h) {ted.recomputed}` of all times, read by each step at its own time
After: the same equation in the body of the `ted.scan`, with a history of its own

`ted.checkpoint` of a step computes its values again in the gradient.  They depend on no step of the
adjoints, so that they stand before the loop, for all times at once; which takes the memory that the
user wanted back.  As histories of which steps read their own time they are a slice (`windows.py`).
Other tensors stay outside: one operation over all times is faster than one in each step.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.dialects.ted import MAX_RUNS, ScanOp
from ted.dialects.ted.operand_types import type_runs
from ted.linalg.scan_bodies import ScanBody
from ted.mlir import ir
from ted.mlir.queries import defining, operations, use_known


@dataclass(frozen=True)
class TedSinkRecomputed:
    """Move recomputed equations into the steps that read them."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every scan."""
        for op in operations(module.operation, "ted.scan"):
            steps = _Steps(op)
            steps.find()
            if steps.sunk and len(type_runs([*op.operands, *steps.starts()])) <= MAX_RUNS:
                _rebuild(op, steps)


@dataclass(frozen=True)
class _Chain:
    """The equations that make a tensor, in order, and its dim that is the time."""

    tensor: ir.Value
    equations: tuple[ir.Operation, ...]
    time: int

    @property
    def start(self) -> ir.Value:
        """What the first equation starts from."""
        return _init(self.equations[0])


class _Steps:
    """A scan, and the chains of equations that can be a part of its steps, users first."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.body = ScanBody(op)
        self.times = {e: self.body.times[x.target] for e, x in self.body.equations.items()}
        self.sunk: list[_Chain] = []

    def find(self) -> None:
        """Collect chains until nothing that they or the steps read can be one."""
        waiting = list(self.body.equations)
        while waiting:
            for operand in list(waiting.pop(0).operands):
                chain = self._chain(operand)
                if chain is not None and all(c.tensor != operand for c in self.sunk):
                    self.sunk.append(chain)
                    self.times.update(dict.fromkeys(chain.equations, chain.time))
                    waiting.extend(chain.equations)

    def starts(self) -> list[ir.Value]:
        """The inits of the new histories."""
        return [chain.start for chain in reversed(self.sunk)]

    def _chain(self, tensor: ir.Value) -> _Chain | None:
        time = self._time_of(tensor)
        equations: list[ir.Operation] = []
        value = tensor
        while time is not None:
            op = defining(value)
            if op is None or not _is_recomputed(op) or op.block != self.op.block:
                break
            if value != tensor and len(list(value.uses)) > 1:
                return None
            equations.insert(0, op)
            value = _init(op)
        return _Chain(tensor, tuple(equations), time) if equations and time is not None else None

    def _time_of(self, tensor: ir.Value) -> int | None:
        """The one dim of a tensor whose subscript in every use is the time of the step."""
        shape = list(ir.ShapedType(tensor.type).shape) if _is_tensor(tensor) else []
        dims = {k for k, extent in enumerate(shape) if extent == self.body.steps}
        for use in tensor.uses:
            op, position = use.owner.operation, use.operand_number
            if op not in self.times or position >= len(ir.ArrayAttr(op.attributes["reads"])):
                return None
            now = _map(op.attributes["write"])[self.times[op]]
            subscripts = _map(ir.ArrayAttr(op.attributes["reads"])[position])
            dims = {k for k in dims if subscripts[k] == now}
        return min(dims, default=None)


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _is_recomputed(op: ir.Operation) -> bool:
    if op.name != "ted.compute" or "ted.recomputed" not in op.attributes or len(op.results) > 1:
        return False
    return not ir.AffineMapAttr(op.attributes["write"]).value.n_symbols


def _init(op: ir.Operation) -> ir.Value:
    return op.operands[len(op.operands) - 1]


def _map(attribute: ir.Attribute) -> list[ir.AffineExpr]:
    return list(ir.AffineMapAttr(attribute).value.results)


def _rebuild(op: ir.Operation, steps: _Steps) -> None:
    """The scan with the equations of the chains in front of its own."""
    chains, old = list(reversed(steps.sunk)), steps.body

    def body(*histories: ir.Value) -> list[ir.Value]:
        known = dict(zip(old.block.arguments, histories, strict=False))
        for chain, history in zip(chains, histories[len(old.inits) :], strict=True):
            for op in chain.equations:
                history = _copy(op, known, history)
            known[chain.tensor] = history
        for op in old.inner:
            _copy(op, known)
        return [known[v] for v in (*old.end.operands, *(c.tensor for c in chains))]

    new = ScanOp.build(
        [*old.inits, *steps.starts()],
        times=[*old.times, *(chain.time for chain in chains)],
        steps=old.steps,
        body=body,
        reverse=old.reverse,
        locations=[a.location for a in old.block.arguments] + [c.tensor.location for c in chains],
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    for before, after in zip(op.results, new.operation.results, strict=False):
        before.replace_all_uses_with(after)
    op.erase()
    for chain in steps.sunk:
        for equation in reversed(chain.equations):
            equation.erase()


def _copy(
    op: ir.Operation, known: dict[ir.Value, ir.Value], init: ir.Value | None = None
) -> ir.Value:
    """Copy an operation here, from another init if one is given; its last result."""
    copy = op.clone().operation
    use_known(copy, known)
    if init is not None:
        copy.operands[len(copy.operands) - 1] = init
    known.update(zip(op.results, copy.results, strict=True))
    return copy.results[len(copy.results) - 1]
