"""Arithmetic on IR values with Python operators, for writing numerical formulas readably.

A `Num` is a float or integer value, scalar or vector; Python numbers become constants of its type.
No fast-math flags are set: the formulas rely on the exact rounding of every step.
"""

from __future__ import annotations

from ted.mlir import arith, ir, math
from ted.mlir.scalars import constant_from, is_float
from ted.records import dataclass

Number = float | int
_HORNER, _LONG = 2, 6  # terms of a polynomial: the first, and how many more make it long


def element(kind: ir.Type) -> ir.Type:
    """The scalar type of a scalar or vector type."""
    return ir.VectorType(kind).element_type if isinstance(kind, ir.VectorType) else kind


def like(kind: ir.Type, new: ir.Type) -> ir.Type:
    """`new` with the vector shape of `kind`."""
    return ir.VectorType.get(ir.VectorType(kind).shape, new) \
        if isinstance(kind, ir.VectorType) else new  # fmt: skip


@dataclass(frozen=True)
class Num:
    """One value; comparisons give the i1 value that `where` takes."""

    value: ir.Value

    def const(self, number: Number) -> Num:
        """A constant of the same type."""
        kind = element(self.value.type)
        attribute = ir.FloatAttr.get(kind, float(number)) if is_float(kind) \
            else ir.IntegerAttr.get(kind, int(number))  # fmt: skip
        if isinstance(self.value.type, ir.VectorType):
            attribute = ir.DenseElementsAttr.get_splat(self.value.type, attribute)
        return Num(constant_from(self.value.type, attribute))

    def _lift(self, other: Num | Number) -> ir.Value:
        return (other if isinstance(other, Num) else self.const(other)).value

    def _binary(self, other: Num | Number, floats: str, integers: str) -> Num:
        name = floats if is_float(element(self.value.type)) else integers
        return Num(getattr(arith, name)(self.value, self._lift(other)).result)

    def __add__(self, other: Num | Number) -> Num:
        return self._binary(other, "AddFOp", "AddIOp")

    def __sub__(self, other: Num | Number) -> Num:
        return self._binary(other, "SubFOp", "SubIOp")

    def __mul__(self, other: Num | Number) -> Num:
        return self._binary(other, "MulFOp", "MulIOp")

    def __truediv__(self, other: Num | Number) -> Num:
        return Num(arith.DivFOp(self.value, self._lift(other)).result)

    def __radd__(self, other: Number) -> Num:
        return self.const(other) + self

    def __rsub__(self, other: Number) -> Num:
        return self.const(other) - self

    def __rmul__(self, other: Number) -> Num:
        return self.const(other) * self

    def __rtruediv__(self, other: Number) -> Num:
        return self.const(other) / self

    def __neg__(self) -> Num:
        return Num(arith.NegFOp(self.value).result)

    def __and__(self, other: Num | Number) -> Num:
        return Num(arith.AndIOp(self.value, self._lift(other)).result)

    def __or__(self, other: Num | Number) -> Num:
        return Num(arith.OrIOp(self.value, self._lift(other)).result)

    def __xor__(self, other: Num | Number) -> Num:
        return Num(arith.XOrIOp(self.value, self._lift(other)).result)

    def __lshift__(self, bits: int) -> Num:
        return Num(arith.ShLIOp(self.value, self._lift(bits)).result)

    def __rshift__(self, bits: int) -> Num:
        return Num(arith.ShRSIOp(self.value, self._lift(bits)).result)

    def shift_right(self, count: Num | int) -> Num:
        """Shifted to the right, with zeros."""
        return Num(arith.ShRUIOp(self.value, self._lift(count)).result)

    def compare(self, predicate: str, other: Num | Number) -> Num:
        """An ordered float comparison (olt, ogt, oeq, ...) or `uno`."""
        found = getattr(arith.CmpFPredicate, predicate.upper())
        return Num(arith.CmpFOp(found, self.value, self._lift(other)).result)

    def equals(self, number: int) -> Num:
        """Whether an integer is equal to another."""
        code = arith.CmpIPredicate.eq
        return Num(arith.CmpIOp(code, self.value, self._lift(number)).result)

    def where(self, then: Num | Number, otherwise: Num | Number) -> Num:
        """`then if self else otherwise`, for a condition."""
        known = then if isinstance(then, Num) else otherwise
        assert isinstance(known, Num), "one branch gives the type"
        a, b = known._lift(then), known._lift(otherwise)
        return Num(arith.SelectOp(self.value, a, b).result)

    def fma(self, factor: Num | Number, addend: Num | Number) -> Num:
        """`self * factor + addend`, rounded once."""
        return Num(math.FmaOp(self.value, self._lift(factor), self._lift(addend)).result)

    def bits(self) -> Num:
        """The float's bits as a signed integer of its width."""
        width = ir.IntegerType.get_signless(32 if self._is32 else 64)
        return Num(arith.BitcastOp(like(self.value.type, width), self.value).result)

    def from_bits(self, kind: ir.Type) -> Num:
        """The float that has these bits."""
        return Num(arith.BitcastOp(kind, self.value).result)

    def to(self, kind: ir.Type) -> Num:
        """Another float type."""
        if self.value.type == kind:
            return self
        wider = ir.FloatType(element(kind)).width > ir.FloatType(element(self.value.type)).width
        operation = arith.ExtFOp if wider else arith.TruncFOp
        return Num(operation(kind, self.value).result)

    def number_from(self, kind: ir.Type) -> Num:
        """An integer as a float."""
        return Num(arith.SIToFPOp(kind, self.value).result)

    @property
    def _is32(self) -> bool:
        return str(element(self.value.type)) == "f32"

    def abs(self) -> Num:
        """Magnitude."""
        return Num(math.AbsFOp(self.value).result)

    def copysign(self, sign: Num) -> Num:
        """This number, whose own sign is not set, with the sign of another.

        Not `math.copysign`, in which LLVM would round the sign from f64 to f16, by a function,
        where f16 is stored in the end; nor a mask of both, of which it makes that.
        """
        top = -(1 << (31 if self._is32 else 63))
        return (self.bits() ^ (sign.bits() & top)).from_bits(self.value.type)

    def least(self, other: Number) -> Num:
        """At most `other`; NaN stays NaN, in one instruction."""
        return self.compare("ogt", other).where(other, self)

    def most(self, other: Number) -> Num:
        """At least `other`; NaN stays NaN, in one instruction."""
        return self.compare("olt", other).where(other, self)

    def polynomial(self, coefficients: tuple[float, ...]) -> Num:
        """`sum(c[k] * self**k)`: short ones by Horner's rule, which long ones are at both ends.

        A step of Horner's rule waits for the one before. So the terms behind the first two, which
        alone are large enough for their rounding to be seen, are even and odd ones, in the square.
        """
        first, rest = coefficients[:_HORNER], coefficients[_HORNER:]
        if len(rest) < _LONG:
            return self._horner(coefficients)
        square = self * self
        odd = square._horner(rest[1::2])
        return self._horner(first, odd.fma(self, square._horner(rest[::2])))

    def _horner(self, coefficients: tuple[float, ...], total: Num | float | None = None) -> Num:
        """`sum(c[k] * self**k)`, and `total` as the coefficient behind the last."""
        lower = coefficients
        if total is None:
            *lower, total = coefficients
        for c in reversed(lower):
            total = (total if isinstance(total, Num) else self.const(total)).fma(self, c)
        return total if isinstance(total, Num) else self.const(total)

    def copysign_bit(self) -> Num:
        """Whether the sign bit is set (also for -0)."""
        return Num(arith.CmpIOp(arith.CmpIPredicate.slt, (b := self.bits()).value,
                                b.const(0).value).result)  # fmt: skip

    def negated(self) -> Num:
        """The opposite of a condition."""
        return self ^ self.const(1)


def joined(a: Num, b: Num) -> tuple[Num, Num]:
    """The sum of two numbers, rounded, and what it lacks; the second is smaller or the first 0."""
    total = a + b
    return total, (a - total) + b
