"""What segments of time do to the state of a scan, and how two that follow each other are one.

A segment of `h = h + x` adds a number; one of `h = a * h + b` is again a product and a sum.
"""

from __future__ import annotations

from ted.mlir import arith, ir, math
from ted.mlir.combining import Combiner
from ted.records import dataclass

Values = list[ir.Value]


@dataclass(frozen=True)
class Segments:
    """Segments that are one value each, which joins the state."""

    combiner: Combiner

    @property
    def kind(self) -> ir.Type:
        """Type of the states between segments."""
        return self.combiner.kind

    @property
    def kinds(self) -> list[ir.Type]:
        """Types of the values of a segment."""
        return [self.kind]

    def identity(self) -> Values:
        """A segment without steps."""
        return [self.combiner.identity()]

    def joined(self, first: Values, second: Values) -> Values:
        """Two segments that follow each other as one."""
        return [self.combiner.join(first[0], second[0])]

    def applied(self, state: ir.Value, segment: Values) -> ir.Value:
        """The state after a segment."""
        return self.combiner.join(state, segment[0])


@dataclass(frozen=True)
class LinearSegments(Segments):
    """Segments (a, b) that make a * h + b of a state h; the combiner is that of products."""

    @property
    def kinds(self) -> list[ir.Type]:
        """Types of the values of a segment."""
        return [self.kind, self.kind]

    def identity(self) -> Values:
        """A segment without steps."""
        return [self.combiner.identity(), arith.ConstantOp(self.kind, -0.0).result]

    def joined(self, first: Values, second: Values) -> Values:
        """Two segments that follow each other as one."""
        factor = self.combiner.join(first[0], second[0])
        return [factor, self.applied(first[1], second)]

    def applied(self, state: ir.Value, segment: Values) -> ir.Value:
        """The state after a segment; an infinite one times 0 is NaN, as it is step by step."""
        scaled, product = self.combiner.join(state, segment[0]), arith.MulFOp(state, segment[0])
        largest = arith.ConstantOp(self.kind, float("inf")).result
        size = math.AbsFOp(state).result
        is_infinite = arith.CmpFOp(arith.CmpFPredicate.OEQ, size, largest).result
        kept = arith.SelectOp(is_infinite, product.result, scaled).result
        return arith.AddFOp(kept, segment[1]).result


@dataclass(frozen=True)
class _Product(Combiner):
    """Products of segments of time, which may leave the range that the products from 0 on keep.

    So shorter types are multiplied as f64; and 0 times what is too large is 0.
    """

    def join(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """Both products in one."""
        product = arith.MulFOp(left, right).result
        is_bad = arith.CmpFOp(arith.CmpFPredicate.UNO, product, product).result
        is_good = arith.CmpFOp(arith.CmpFPredicate.ORD, left, right).result
        zero = arith.ConstantOp(self.kind, 0.0).result
        return arith.SelectOp(arith.AndIOp(is_bad, is_good).result, zero, product).result


def joining(combiner: Combiner) -> Segments:
    """The segments of steps that join a value."""
    is_product = combiner.operation == "arith.mulf"
    return Segments(_Product("arith.mulf", ir.F64Type.get()) if is_product else combiner)


def linear() -> Segments:
    """The segments of steps that multiply by a value and add one."""
    return LinearSegments(_Product("arith.mulf", ir.F64Type.get()))
