"""How a reduction joins two partial results: found in the body of the operation, not in names.

Before: a body that yields `out + f(inputs)`      After: a `Combiner` for `+` with its identity

A body of another form, a pair for argmax say, has none: its points are then taken in order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from ted.mlir import ir
from ted.mlir.queries import defining
from ted.records import dataclass

# Operation -> what joins two partial results. Differences: out - a - b = out + (0 - a - b).
_JOINS = {
    "arith.addf": "arith.addf", "arith.subf": "arith.addf", "arith.mulf": "arith.mulf",
    "arith.maximumf": "arith.maximumf", "arith.minimumf": "arith.minimumf",
    "arith.maxnumf": "arith.maxnumf", "arith.minnumf": "arith.minnumf",
    "arith.addi": "arith.addi", "arith.subi": "arith.addi", "arith.muli": "arith.muli",
    "arith.maxsi": "arith.maxsi", "arith.minsi": "arith.minsi",
    "arith.maxui": "arith.maxui", "arith.minui": "arith.minui",
    "arith.ori": "arith.ori", "arith.andi": "arith.andi", "arith.xori": "arith.xori",
}  # fmt: skip
_IDENTITY_OF_FLOATS = {  # -0.0 + x is x for every x; 0.0 + -0.0 is not
    "arith.addf": -0.0, "arith.mulf": 1.0,
    "arith.maximumf": -math.inf, "arith.minimumf": math.inf,
    "arith.maxnumf": -math.inf, "arith.minnumf": math.inf,
}  # fmt: skip
_ORDERED = ("arith.subf", "arith.subi")  # the accumulator must be on the left


class Reducing(Protocol):
    """Work on elements: a body with an argument for each input, then for each result."""

    @property
    def body(self) -> ir.Block | None:
        """The code of a point; None where there is none."""
        ...

    @property
    def inputs(self) -> Sequence[object]:
        """What is only read."""
        ...


@dataclass(frozen=True)
class Combiner:
    """One operation of arith on one type."""

    operation: str
    kind: ir.Type
    fastmath: ir.Attribute | None = None

    def join(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """Both partial results in one."""
        flags = {} if self.fastmath is None else {"fastmath": self.fastmath}
        return ir.Operation.create(
            self.operation, results=[self.kind], operands=[left, right], attributes=flags
        ).results[0]

    def identity(self) -> ir.Value:
        """The result of no points."""
        if self.operation in _IDENTITY_OF_FLOATS:
            value = _IDENTITY_OF_FLOATS[self.operation]
            attribute: ir.Attribute = ir.FloatAttr.get(self.kind, value)
        else:
            attribute = ir.IntegerAttr.get(self.kind, self._identity_of_integers())
        return ir.Operation.create(
            "arith.constant", results=[self.kind], attributes={"value": attribute}
        ).results[0]

    def _identity_of_integers(self) -> int:
        width = ir.IntegerType(self.kind).width
        least = -(1 << (width - 1))
        return {
            "arith.addi": 0, "arith.muli": 1, "arith.ori": 0, "arith.xori": 0, "arith.andi": -1,
            "arith.maxsi": least, "arith.minsi": -least - 1,
            "arith.maxui": 0, "arith.minui": -1,
        }[self.operation]  # fmt: skip


def combiners(work: Reducing) -> list[Combiner] | None:
    """One per result; None if a result is not joined by one known operation."""
    if work.body is None:
        return None
    block = work.body
    outs = list(block.arguments)[len(work.inputs) :]
    found = []
    for argument, value in zip(outs, block.operations[-1].operands, strict=True):
        combiner = combiner_of(argument, value)
        if combiner is None:
            return None
        found.append(combiner)
    return found


def combiner_of(total: ir.Value, value: ir.Value) -> Combiner | None:
    """How a value is made of an accumulator that nothing else uses; None if by nothing known."""
    op = defining(value)
    if op is None or len(list(total.uses)) != 1 or total not in list(op.operands):
        return None
    return combiner_of_operation(op, is_left=op.operands[0] == total)


def combiner_of_operation(op: ir.Operation, *, is_left: bool) -> Combiner | None:
    """How an operation joins a value to an accumulator, its left operand or its right one."""
    if op.name not in _JOINS or (op.name in _ORDERED and not is_left):
        return None
    flags = op.attributes["fastmath"] if "fastmath" in list(op.attributes) else None
    return Combiner(_JOINS[op.name], op.results[0].type, flags)
