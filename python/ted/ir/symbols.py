"""Symbolic sizes in MLIR: symbol k of every map, set and tensor type of a function is its size k.

    func.func @f(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>)
        attributes {ted.sizes = [{min = 1 : i64, multiple_of = 1 : i64, name = "n"}]}

A tensor type with a symbolic extent carries all extents as its encoding, so that types are equal
where shapes are. A product of sizes is a semi-affine expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from ted.domain import affine, parameters, sizes
from ted.domain.affine import Aff
from ted.domain.sizes import Extent, Monomial, Quotient, Symbol, is_symbolic, symbolic
from ted.errors import VerifyError
from ted.mlir import ir
from ted.records import dataclass

ATTRIBUTE = "ted.sizes"


@dataclass(frozen=True)
class Symbols:
    """The sizes of a function in their order, and what is said with them in MLIR."""

    sizes: tuple[Symbol, ...] = ()

    def __len__(self) -> int:
        return len(self.sizes)

    # ---- sizes -> MLIR ---------------------------------------------------------------------------

    def expression(self, extent: Extent) -> ir.AffineExpr:
        """An extent as an expression of symbols."""
        if isinstance(extent, int):
            return ir.AffineExpr.get_constant(extent)
        total = ir.AffineExpr.get_constant(extent.const)
        for coefficient, monomial in extent.terms:
            ratio = Fraction(coefficient)
            term = self._monomial(monomial)
            if ratio.denominator > 1:
                term = ir.AffineExpr.get_floor_div(term, ratio.denominator)
            total = total + term * ratio.numerator
        return total

    def _monomial(self, monomial: Monomial) -> ir.AffineExpr:
        first, *others = map(self._factor, monomial)
        for other in others:
            first = ir.AffineExpr.get_mul(first, other)
        return first

    def _factor(self, factor: Symbol | Quotient) -> ir.AffineExpr:
        if isinstance(factor, Quotient):
            return ir.AffineExpr.get_floor_div(self.expression(factor.inner), factor.divisor)
        return ir.AffineExpr.get_symbol(self.sizes.index(factor))

    def parameter(self, name: str) -> ir.AffineExpr:
        """A parameter of an integer set as an expression of symbols."""
        return self.expression(parameters.value_of(name))

    def extents(self, shape: Sequence[Extent]) -> ir.AffineMap:
        """Extents as a map from the sizes."""
        return ir.AffineMap.get(0, len(self.sizes), [self.expression(n) for n in shape])

    def tensor_type(self, shape: Sequence[Extent], element: ir.Type) -> ir.RankedTensorType:
        """The type of a tensor."""
        if not is_symbolic(shape):
            return ir.RankedTensorType.get(list(sizes.numbers(shape)), element)
        dynamic = ir.ShapedType.get_dynamic_size()
        plain = [n if isinstance(n, int) else dynamic for n in shape]
        encoding = ir.AffineMapAttr.get(self.extents(shape))
        return ir.RankedTensorType.get(plain, element, encoding)

    def attribute(self) -> ir.Attribute:
        """The sizes as the attribute of a function."""
        i64 = ir.IntegerType.get_signless(64)
        rows = [
            {
                "name": ir.StringAttr.get(s.name),
                "min": ir.IntegerAttr.get(i64, s.minimum),
                "multiple_of": ir.IntegerAttr.get(i64, s.multiple_of),
            }
            for s in self.sizes
        ]
        return ir.ArrayAttr.get([ir.DictAttr.get(row) for row in rows])

    # ---- MLIR -> sizes ---------------------------------------------------------------------------

    def extent(self, expression: Any) -> Extent | None:
        """An expression of sizes alone as an extent; None for any other.

        Raises: VerifyError for a division by anything but a positive constant.
        """
        expression = expression.maybe_downcast()
        if isinstance(expression, ir.AffineConstantExpr):
            return expression.value
        if isinstance(expression, ir.AffineSymbolExpr):
            known = expression.position < len(self.sizes)
            return symbolic(self.sizes[expression.position]) if known else None
        if isinstance(expression, ir.AffineDimExpr):
            return None
        left, right = self.extent(expression.lhs), self.extent(expression.rhs)
        if left is None or right is None:
            return None
        name = type(expression).__name__
        if name in _DIVISIONS and not (isinstance(right, int) and right > 0):
            raise VerifyError(
                f"function: a size is divided by a positive constant, got {expression} of "
                f"{[s.name for s in self.sizes]}"
            )
        return _EXTENT[name](left, right)

    def shape(self, kind: ir.RankedTensorType) -> tuple[Extent, ...]:
        """The shape of a tensor type.

        Raises: VerifyError for an extent that is neither a number nor made of the sizes.
        """
        if kind.has_static_shape:
            return tuple(kind.shape)
        if not isinstance(kind.encoding, ir.AffineMapAttr):
            raise VerifyError(f"size: an extent must be a number or a symbolic size, got {kind}")
        return self.evaluated(kind.encoding.value)

    def evaluated(self, sizes: ir.AffineMap) -> tuple[Extent, ...]:
        """The extents that a map from the sizes gives.

        Raises: VerifyError for a symbol that is no size of the function.
        """
        found = tuple(self.extent(e) for e in sizes.results)
        extents = tuple(n for n in found if n is not None)
        if len(extents) < len(found):
            raise VerifyError(
                f"function: symbols must be sizes of its attribute {ATTRIBUTE}, got {sizes} and "
                f"{[s.name for s in self.sizes]}"
            )
        return extents

    def value(self, expression: Any) -> Aff | None:
        """A symbol, or a product of symbols, as a value in parameters."""
        extent = self.extent(expression)
        if extent is None or isinstance(extent, int):
            return None
        total = affine.constant(extent.const)
        for coefficient, monomial in extent.terms:
            if len(monomial) == 1 and isinstance(monomial[0], Quotient):
                return None
            factor = coefficient * parameters.unit(monomial)
            total = total + affine.parameter(parameters.parameter(monomial)) * int(factor)
        return total


_EXTENT: dict[str, Callable[..., Extent]] = {
    "AffineAddExpr": lambda a, b: a + b,
    "AffineMulExpr": lambda a, b: a * b,
    "AffineFloorDivExpr": lambda a, b: a // b,
    "AffineModExpr": lambda a, b: a % b,
    "AffineCeilDivExpr": lambda a, b: -(-a // b),
}
_DIVISIONS = ("AffineFloorDivExpr", "AffineModExpr", "AffineCeilDivExpr")


NONE = Symbols()


def symbols_of_function(function: ir.Operation) -> Symbols:
    """The sizes that a function declares.

    Raises: VerifyError for a malformed attribute.
    """
    if ATTRIBUTE not in function.attributes:
        return NONE
    given = function.attributes[ATTRIBUTE]
    rows = list(given) if isinstance(given, ir.ArrayAttr) else [given]
    found = tuple(map(_symbol, rows))
    names = [symbol.name for symbol in found]
    if len(set(names)) < len(names):
        raise VerifyError(f"function: {ATTRIBUTE} must name every size once, got {names}")
    return Symbols(found)


def _symbol(row: Any) -> Symbol:
    if not isinstance(row, ir.DictAttr) or sorted(named.name for named in row) != _FIELDS:
        _malformed(row)
    name, least, step = (row[field] for field in ("name", "min", "multiple_of"))
    if not (
        isinstance(name, ir.StringAttr)
        and isinstance(least, ir.IntegerAttr)
        and isinstance(step, ir.IntegerAttr)
    ):
        _malformed(row)
    if not name.value.isidentifier() or least.value < 0 or step.value < 1:
        raise VerifyError(
            f"function: a size must have an identifier as name, a min of at least 0 and a "
            f"multiple_of of at least 1, got {row}"
        )
    return Symbol(name.value, least.value, step.value)


def _malformed(row: Any) -> NoReturn:
    raise VerifyError(
        f'function: {ATTRIBUTE} must list sizes as {{name = "n", min = 1 : i64, '
        f"multiple_of = 1 : i64}}, got {row}"
    )


_FIELDS = ["min", "multiple_of", "name"]
