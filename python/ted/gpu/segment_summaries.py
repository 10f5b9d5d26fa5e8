"""What stretches of time do to a running total, and how two that follow each other are one.

A stretch of `h = h + x` adds a number; one of `h = a * h + b` is again a product and a sum.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.gpu.combining import Combiner
from ted.mlir import arith, ir, math

Values = list[ir.Value]


@dataclass(frozen=True)
class Stretches:
    """Stretches that are one value each, which joins the total."""

    combiner: Combiner

    @property
    def kind(self) -> ir.Type:
        """Type of totals between stretches."""
        return self.combiner.kind

    @property
    def kinds(self) -> list[ir.Type]:
        """Types of the values of a stretch."""
        return [self.kind]

    def nothing(self) -> Values:
        """A stretch without steps."""
        return [self.combiner.identity()]

    def joined(self, first: Values, second: Values) -> Values:
        """Two stretches that follow each other as one."""
        return [self.combiner.join(first[0], second[0])]

    def applied(self, total: ir.Value, stretch: Values) -> ir.Value:
        """The total after a stretch."""
        return self.combiner.join(total, stretch[0])


@dataclass(frozen=True)
class LinearStretches(Stretches):
    """Stretches (a, b) that make a * h + b of a total h; the combiner is that of products."""

    @property
    def kinds(self) -> list[ir.Type]:
        """Types of the values of a stretch."""
        return [self.kind, self.kind]

    def nothing(self) -> Values:
        """A stretch without steps."""
        return [self.combiner.identity(), arith.ConstantOp(self.kind, -0.0).result]

    def joined(self, first: Values, second: Values) -> Values:
        """Two stretches that follow each other as one."""
        factor = self.combiner.join(first[0], second[0])
        return [factor, self.applied(first[1], second)]

    def applied(self, total: ir.Value, stretch: Values) -> ir.Value:
        """The total after a stretch; an infinite one times 0 is NaN, as it is step by step."""
        scaled, product = self.combiner.join(total, stretch[0]), arith.MulFOp(total, stretch[0])
        largest = arith.ConstantOp(self.kind, float("inf")).result
        size = math.AbsFOp(total).result
        is_infinite = arith.CmpFOp(arith.CmpFPredicate.OEQ, size, largest).result
        kept = arith.SelectOp(is_infinite, product.result, scaled).result
        return arith.AddFOp(kept, stretch[1]).result


@dataclass(frozen=True)
class _Product(Combiner):
    """Products of stretches of time, which may leave the range that the products from 0 on keep.

    So shorter types are multiplied as f64; and 0 times what is too large is 0.
    """

    def join(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """Both products in one."""
        product = arith.MulFOp(left, right).result
        is_bad = arith.CmpFOp(arith.CmpFPredicate.UNO, product, product).result
        is_good = arith.CmpFOp(arith.CmpFPredicate.ORD, left, right).result
        zero = arith.ConstantOp(self.kind, 0.0).result
        return arith.SelectOp(arith.AndIOp(is_bad, is_good).result, zero, product).result


def joining(combiner: Combiner) -> Stretches:
    """The stretches of steps that join a value."""
    is_product = combiner.operation == "arith.mulf"
    return Stretches(_Product("arith.mulf", ir.F64Type.get()) if is_product else combiner)


def linear() -> Stretches:
    """The stretches of steps that multiply by a value and add one."""
    return LinearStretches(_Product("arith.mulf", ir.F64Type.get()))
