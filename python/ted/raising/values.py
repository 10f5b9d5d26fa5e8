"""What a value of the program that is raised is: a tensor of equations, or a scalar expression.

A complex one is a pair of these.
A scalar outside of bodies is an expression without dims: a constant, or an element of a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ted.domain import parameters
from ted.errors import SourceLocation, VerifyError
from ted.frontend.complex_pairs import Complex
from ted.ir import scalar
from ted.ir.affine_attributes import mlir_to_expr
from ted.ir.dtypes import BY_MLIR, INDEX, INT64, DType
from ted.ir.equations import Equation, Tensor, identity_dims, whole
from ted.ir.exact_indices import exact_indices
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.mlir.locations import source_location, user_name

Value = Tensor | Expr | Complex


def unraisable(op: ir.Operation, rule: str) -> VerifyError:
    """The error of an op that breaks a rule of what can be raised."""
    return VerifyError(f"{op.name}: {rule}", source_location(op.location))


def type_of(kind: ir.Type, place: ir.Location, what: str) -> tuple[tuple[int, ...], DType]:
    """The shape and the type of a tensor of static sizes, or of a scalar as one of rank 0.

    Of complex numbers it is the type of their parts.

    Raises: VerifyError for any other type.
    """
    shape: tuple[int, ...] = ()
    element = kind
    if isinstance(kind, ir.RankedTensorType):
        if not kind.has_static_shape:
            raise VerifyError(
                f"{what}: tensors must have static sizes, got {kind}; give the sizes before "
                "raising, as with an example of each input",
                source_location(place),
            )
        shape, element = tuple(kind.shape), kind.element_type
    if isinstance(element, ir.ComplexType):
        element = element.element_type
    if str(element) not in BY_MLIR:
        known = ", ".join(name for name in BY_MLIR)
        raise VerifyError(
            f"{what}: values must be tensors or scalars of {known}, got {kind}",
            source_location(place),
        )
    return shape, BY_MLIR[str(element)]


def place_of(op: ir.Operation) -> SourceLocation | None:
    """The line of an op."""
    return source_location(op.location)


def name_of(op: ir.Operation) -> str:
    """The name of what an op gives: that in its location, or its own last word."""
    return user_name(op.location) or op.name.rpartition(".")[2]


def made(op: ir.Operation, position: int, start: Tensor | None, *equations: Equation) -> Tensor:
    """The result of an op at a position: `equations` on top of `start`, or of zeros."""
    shape, dtype = type_of(op.results[position].type, op.location, op.name)
    dtype = INT64 if dtype.is_index else dtype
    fill, first = _begun(start)
    given = [_exact(e, dtype) for e in equations]
    if len(given) == 1 and given[0].combiner == "set" and given[0].covers(shape):
        fill, first = 0, ()
        if scalar.is_const(given[0].body):
            fill, given = given[0].body.attr, []
    return Tensor(name_of(op), shape, dtype, fill, (*first, *given), place_of(op))


def _begun(start: Tensor | None) -> tuple[float | int | bool | None, tuple[Equation, ...]]:
    if start is None:
        return 0, ()
    if start.fill is not None and not start.equations:
        return start.fill, ()
    copy = scalar.load(start, identity_dims(len(start.shape)))
    return None, (whole(start.shape, copy, start.location),)


def _exact(equation: Equation, dtype: DType) -> Equation:
    """The equation with plain index arithmetic where it is exact, its body of the tensor's type."""
    terms = [scalar.cast(equation.body, dtype), *equation.write]
    body, *write = exact_indices(terms, equation.extents)
    return replace(equation, body=body, write=tuple(write))


def over_box(
    op: ir.Operation,
    extents: Sequence[int],
    body: Expr,
    write: Sequence[Expr] | None = None,
    parallel: int | None = None,
    combiner: str = "set",
) -> Equation:
    """An equation of an op over a box; `write` is the point itself unless said."""
    box, rank = tuple(extents), len(extents)
    at = identity_dims(rank) if write is None else tuple(write)
    own = rank if parallel is None else parallel
    return Equation(box, own, parameters.box(box), at, combiner, body, place_of(op))


def mapped(access: ir.AffineMap, dims: Sequence[Expr]) -> list[Expr]:
    """The results of an affine map at a point."""
    found = [mlir_to_expr(e, ()) for e in access.results]
    return scalar.substitute(found, dims)


def element(value: Value, at: Sequence[Expr]) -> Any:
    """An element of a tensor, or the scalar that stands for all of them."""
    if isinstance(value, Complex):
        return Complex(element(value.real, at), element(value.imag, at))
    return scalar.load(value, at) if isinstance(value, Tensor) else value


def as_tensor(value: Tensor | Expr, place: SourceLocation | None, name: str = "t") -> Tensor:
    """A scalar as a tensor of rank 0."""
    if isinstance(value, Tensor):
        return value
    if value.dtype.is_index:
        value = scalar.cast(value, INT64)
    if scalar.is_const(value):
        return Tensor(name, (), value.dtype, value.attr, (), place)
    return Tensor(name, (), value.dtype, 0, (whole((), value, place),), place)


def as_typed(value: Value, kind: ir.Type) -> Value:
    """A value as one of a type: a tensor of rank 0 as its element, an integer as an index."""
    if isinstance(kind, ir.RankedTensorType):
        return value
    number = element(value, ())
    return scalar.cast(number, INDEX) if isinstance(kind, ir.IndexType) else number


def extent_of(op: ir.Operation, at: Expr) -> Expr:
    """The extent that a `tensor.dim` gives.

    Raises: VerifyError for a dim that is data, or that the tensor has not.
    """
    shape = ir.RankedTensorType(op.operands[0].type).shape
    if not scalar.is_const(at) or not 0 <= at.attr < len(shape):
        raise unraisable(op, f"the dim must be one of {len(shape)}, and static, got {at}")
    return scalar.index(shape[at.attr])
