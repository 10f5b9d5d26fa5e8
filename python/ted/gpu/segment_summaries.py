"""What segments of time do to the state of a scan, and how two that follow each other are one.

A segment of `h = h + x` adds a number; one of `h = a * h + b` is again a product and a sum.
"""

from __future__ import annotations

from sys import float_info

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
class ProductSegments(Segments):
    """Segments that are a factor each."""

    def applied(self, state: ir.Value, segment: Values) -> ir.Value:
        """The state after a segment: infinite where the product is too large."""
        product = self.combiner.join(state, segment[0])
        infinity = math.CopySignOp(_number(self.kind, float("inf")), product).result
        is_over = _compared("OGE", math.AbsFOp(product).result, _number(self.kind, float_info.max))
        return arith.SelectOp(is_over, infinity, product).result


@dataclass(frozen=True)
class LinearSegments(ProductSegments):
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
        """The state after a segment."""
        return arith.AddFOp(ProductSegments.applied(self, state, segment), segment[1]).result


@dataclass(frozen=True)
class _Product(Combiner):
    """Products of segments of time, which may leave the range that the products from 0 on keep.

    So shorter types are multiplied as f64. What is too large becomes the largest number, and stays
    so but for 0, of which the product is 0; that of an infinity that was there and 0 is NaN.
    """

    def join(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """Both products in one."""
        product = arith.MulFOp(left, right).result
        infinity, largest, zero = (
            _number(self.kind, number) for number in (float("inf"), float_info.max, 0.0)
        )
        sizes = [math.AbsFOp(value).result for value in (left, right, product)]
        finite = arith.AndIOp(*(_compared("OLT", size, infinity) for size in sizes[:2])).result
        was_over = arith.OrIOp(*(_compared("OEQ", size, largest) for size in sizes[:2])).result
        is_some = _compared("OGT", sizes[2], zero)
        grew = _compared("OGE", sizes[2], largest)
        is_over = arith.OrIOp(grew, arith.AndIOp(was_over, is_some).result).result
        most = math.CopySignOp(largest, product).result
        return arith.SelectOp(arith.AndIOp(finite, is_over).result, most, product).result


def _number(kind: ir.Type, value: float) -> ir.Value:
    return arith.ConstantOp(kind, value).result


def _compared(rule: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.CmpFOp(getattr(arith.CmpFPredicate, rule), left, right).result


def joining(combiner: Combiner) -> Segments:
    """The segments of steps that join a value."""
    is_product = combiner.operation == "arith.mulf"
    if is_product:
        return ProductSegments(_Product("arith.mulf", ir.F64Type.get()))
    return Segments(combiner)


def linear() -> Segments:
    """The segments of steps that multiply by a value and add one."""
    return LinearSegments(_Product("arith.mulf", ir.F64Type.get()))
