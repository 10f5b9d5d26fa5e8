"""Ops of the tensor dialect -> equations: each one reads its source at other subscripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from ted.frontend.joining import concatenate
from ted.frontend.layout import reshape
from ted.frontend.tensors import wrap
from ted.ir import scalar
from ted.ir.constants import frozen
from ted.ir.dtypes import INDEX, INT64
from ted.ir.equations import Tensor, identity_dims
from ted.ir.expressions import Expr
from ted.mlir import ir, scalar_value
from ted.mlir.dense_elements import numbers_of
from ted.nn.activations import softmax as normalised
from ted.raising import complexes, scalars
from ted.raising.bodies import body_values
from ted.raising.reading import Reader
from ted.raising.refusals import REASONS
from ted.raising.values import (
    Value,
    element,
    extent_of,
    made,
    name_of,
    over_box,
    place_of,
    type_of,
    unraisable,
)

DYNAMIC = -(2**63)


def _shape(op: ir.Operation) -> tuple[int, ...]:
    return type_of(op.results[0].type, op.location, op.name)[0]


def _from(op: ir.Operation, body: Callable[[tuple[Expr, ...]], Expr]) -> list[Value]:
    """The result whose element at each point is `body` of it."""
    shape = _shape(op)
    return [made(op, 0, None, over_box(op, shape, body(identity_dims(len(shape)))))]


# ------------------------------------------------------------------ tensors from nothing


def empty(_: Reader, op: ir.Operation) -> list[Value]:
    """Zeros stand for what is not defined."""
    return [made(op, 0, None)]


def constant(reader: Reader, op: ir.Operation) -> list[Value]:
    """A scalar, a tensor of one value, or of many.

    Raises: VerifyError for elements that are elsewhere.
    """
    if not isinstance(op.results[0].type, ir.RankedTensorType):
        return [scalars.operation(op, [])]
    shape, dtype = type_of(op.results[0].type, op.location, op.name)
    if reader.part:
        numbers = getattr(complexes.constant_of(op), reader.part)
        held = frozen(numbers, dtype)
        return [Tensor(name_of(op), shape, dtype, None, (), place_of(op), values=held)]
    value = op.attributes["value"]
    if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
        number = scalar_value(value.get_splat_value())
        if dtype.is_index:  # no tensor has such elements
            return _from(op, lambda at: scalar.const(number, dtype))
        return [Tensor(name_of(op), shape, dtype, number, (), place_of(op))]
    if not isinstance(value, ir.DenseElementsAttr):
        raise unraisable(op, f"constants must have their elements in the text, got {type(value)}")
    held = frozen(numbers_of(value), INT64 if dtype.is_index else dtype)
    found = Tensor(name_of(op), shape, held.dtype, None, (), place_of(op), values=held)
    if dtype.is_index:  # data are integers
        return _from(op, lambda at: scalar.cast(scalar.load(found, at), dtype))
    return [found]


def splat(reader: Reader, op: ir.Operation) -> list[Value]:
    """One scalar everywhere."""
    return _from(op, lambda _: reader.scalar(op.operands[0]))


def from_elements(reader: Reader, op: ir.Operation) -> list[Value]:
    """One equation for each element."""
    points = product(*map(range, _shape(op)))
    parts = [
        over_box(op, (), reader.scalar(value), [scalar.index(k) for k in point])
        for point, value in zip(points, op.operands, strict=True)
    ]
    return [made(op, 0, None, *parts)]


def generate(reader: Reader, op: ir.Operation) -> list[Value]:
    """What a block gives for each point."""
    (block,) = op.regions[0].blocks
    return _from(op, lambda at: body_values(reader, block, at, at)[0])


# ------------------------------------------------------------------ slices


def _positions(
    reader: Reader, op: ir.Operation, name: str, given: Sequence[ir.Value]
) -> list[Expr]:
    """Offsets, sizes or strides: the operands in their turn where no number is static."""
    left = iter(given)
    static = ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"])
    return [reader.scalar(next(left)) if n == DYNAMIC else scalar.index(n) for n in static]


def _segments(op: ir.Operation) -> list[list[ir.Value]]:
    """The operands by what they are."""
    left = iter(op.operands)
    sizes = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return [[next(left) for _ in range(n)] for n in sizes]


def _slice(
    reader: Reader, op: ir.Operation, given: Sequence[Sequence[ir.Value]]
) -> list[list[Expr]]:
    """The offsets, the sizes and the strides of a slice."""
    rows = zip(("offsets", "sizes", "strides"), given, strict=True)
    return [_positions(reader, op, name, values) for name, values in rows]


def _kept(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The dims of a slice that a type of lower rank keeps: some of extent 1 go."""
    kept: list[int] = []
    for k, size in enumerate(sizes):
        left = shape[len(kept) :]
        if left and size == left[0] and _fits(sizes[k + 1 :], left[1:]):
            kept.append(k)
    return kept


def _fits(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether dropping some dims of extent 1 makes the one shape of the other."""
    if not sizes:
        return not shape
    if shape and sizes[0] == shape[0] and _fits(sizes[1:], shape[1:]):
        return True
    return sizes[0] == 1 and _fits(sizes[1:], shape)


def _slice_dims(sizes: Sequence[int], shape: Sequence[int], dims: Sequence[Expr]) -> list[Expr]:
    """For each dim of a slice, its dim in the type; 0 where that has none."""
    kept = _kept(sizes, shape)
    return [dims[kept.index(k)] if k in kept else scalar.index(0) for k in range(len(sizes))]


def _static(op: ir.Operation, values: Sequence[Expr], what: str) -> list[int]:
    if not all(scalar.is_const(v) for v in values):
        raise unraisable(op, f"{what} must be static, got {[str(v) for v in values]}")
    return [v.attr for v in values]


def extract_slice(reader: Reader, op: ir.Operation) -> list[Value]:
    """Reads at `offset + stride * point`.

    Raises: VerifyError for sizes that are data.
    """
    (source,), *given = _segments(op)
    offsets, sizes, strides = _slice(reader, op, given)
    shape = _shape(op)
    tensor, extents = reader.tensor(source), _static(op, sizes, "sizes")

    def body(at: tuple[Expr, ...]) -> Expr:
        inner = _slice_dims(extents, shape, at)
        rows = zip(offsets, strides, inner, strict=True)
        return scalar.load(tensor, [_moved(*row) for row in rows])

    return _from(op, body)


def _moved(offset: Expr, stride: Expr, at: Expr) -> Expr:
    return scalar.add(offset, scalar.mul(stride, at))


def insert_slice(reader: Reader, op: ir.Operation) -> list[Value]:
    """A slice where the point is in it, else what was there.

    With static offsets an equation on top; with offsets that are data, a choice in each element.
    Raises: VerifyError for sizes or strides that are data.
    """
    (source,), (target,), *given = _segments(op)
    offsets, sizes, strides = _slice(reader, op, given)
    new, old = reader.value(source), reader.tensor(target)
    extents, steps = _static(op, sizes, "sizes"), _static(op, strides, "strides")
    shape = () if isinstance(new, Expr) else new.static_shape
    if all(scalar.is_const(o) for o in offsets):
        own = identity_dims(len(shape))
        inner = _slice_dims(extents, shape, own)
        write = [_moved(*row) for row in zip(offsets, strides, inner, strict=True)]
        return [made(op, 0, old, over_box(op, shape, element(new, own), write))]
    at = identity_dims(len(extents))
    places, is_inside = [], scalar.TRUE
    for point, offset, extent, step in zip(at, offsets, extents, steps, strict=True):
        distance = scalar.sub(point, offset)
        for test in _tests(distance, extent, step):
            is_inside = scalar.land(is_inside, test)
        places.append(scalar.floordiv(distance, scalar.index(step)))
    kept = _kept(extents, shape)
    value = element(new, [places[k] for k in kept])
    body = scalar.select(is_inside, value, scalar.load(old, at))
    return [made(op, 0, None, over_box(op, old.static_shape, body))]


def _tests(distance: Expr, extent: int, step: int) -> list[Expr]:
    """That a distance from the offset is one of a slice."""
    least = scalar.compare("le", scalar.index(0), distance)
    most = scalar.compare("lt", distance, scalar.index(extent * step))
    rest = scalar.mod(distance, scalar.index(step))
    return [least, most, scalar.compare("eq", rest, scalar.index(0))]


def pad(reader: Reader, op: ir.Operation) -> list[Value]:
    """The source in the middle of what the block gives; a negative width cuts off elements.

    Raises: VerifyError for widths that are data.
    """
    (source,), *given = _segments(op)
    low = _static(op, _positions(reader, op, "low", given[0]), "widths")
    tensor, shape = reader.tensor(source), _shape(op)
    (block,) = op.regions[0].blocks
    at = identity_dims(len(shape))
    (around,) = body_values(reader, block, at, at)
    border = made(op, 0, None, over_box(op, shape, around))
    sizes = zip(low, tensor.static_shape, shape, strict=True)
    extents = [max(0, min(n, most - width) - max(0, -width)) for width, n, most in sizes]
    read, write = ([scalar.add(d, scalar.index(max(0, n))) for d, n in zip(at, by, strict=True)]
                   for by in ([-n for n in low], low))  # fmt: skip
    return [made(op, 0, border, over_box(op, extents, scalar.load(tensor, read), write))]


def insert(reader: Reader, op: ir.Operation) -> list[Value]:
    """One element more."""
    value, target, *at = op.operands
    old, places = reader.tensor(target), [reader.scalar(i) for i in at]
    if all(scalar.is_const(p) for p in places):
        return [made(op, 0, old, over_box(op, (), reader.scalar(value), places))]

    def body(point: tuple[Expr, ...]) -> Expr:
        is_it = scalar.TRUE
        for d, p in zip(point, places, strict=True):
            is_it = scalar.land(is_it, scalar.compare("eq", d, p))
        return scalar.select(is_it, reader.scalar(value), scalar.load(old, point))

    return _from(op, body)


# ------------------------------------------------------------------ other shapes


def reshaped(reader: Reader, op: ir.Operation) -> list[Value]:
    """The same elements in row-major order."""
    return [reshape(wrap(reader.tensor(op.operands[0])), _shape(op)).node]


def same(reader: Reader, op: ir.Operation) -> list[Value]:
    """The same tensor under another type, which may not say its sizes."""
    return [reader.tensor(op.operands[0])]


def reinterpreted(reader: Reader, op: ir.Operation) -> list[Value]:
    """The same bits of integers with or without a sign, as StableHLO's pass leaves them.

    Raises: VerifyError for other types.
    """
    tensor = reader.value(op.operands[0]) if len(op.operands) == 1 else None
    shape, dtype = type_of(op.results[0].type, op.location, op.name)
    if not isinstance(tensor, Tensor) or (tensor.static_shape, tensor.dtype.kind) != (shape, "int"):
        raise unraisable(op, f"must be between integers of one size, got {op.results[0].type}")
    if dtype.kind != "int" or dtype.bits != tensor.dtype.bits:
        raise unraisable(op, f"must be between integers of one size, got {tensor.dtype}, {dtype}")
    return _from(op, lambda at: scalar.cast(scalar.load(tensor, at), dtype))


def concat(reader: Reader, op: ir.Operation) -> list[Value]:
    """One behind the other."""
    axis = ir.IntegerAttr(op.attributes["dim"]).value
    return [concatenate([wrap(reader.tensor(v)) for v in op.operands], axis).node]


def extract(reader: Reader, op: ir.Operation) -> list[Value]:
    """One element as a scalar."""
    source, *at = op.operands
    return [scalar.load(reader.tensor(source), [reader.scalar(i) for i in at])]


def dim(reader: Reader, op: ir.Operation) -> list[Value]:
    """An extent.

    Raises: VerifyError for a dim that is data, or that the tensor has not.
    """
    return [extent_of(op, reader.scalar(op.operands[1]))]


def rank(_: Reader, op: ir.Operation) -> list[Value]:
    """The number of dims."""
    return [scalar.const(ir.RankedTensorType(op.operands[0].type).rank, INDEX)]


def softmax(reader: Reader, op: ir.Operation) -> list[Value]:
    """Exponentials along a dim over their sum: of the named ops the one that is no loop."""
    dim = ir.IntegerAttr(op.attributes["dimension"]).value
    return [normalised(wrap(reader.tensor(op.operands[0])), dim).node]


def on_elements(reader: Reader, op: ir.Operation) -> list[Value]:
    """An op of arith, math or complex: on scalars, or on tensors element by element.

    Raises: VerifyError for any other op.
    """
    dialect = op.name.partition(".")[0]
    if dialect == "complex":
        return [complexes.operation(op, [reader.value(v) for v in op.operands])]
    if dialect not in ("arith", "math") or len(op.results) != 1:
        if op.name in REASONS:
            raise unraisable(op, REASONS[op.name])
        known = [name for name in sorted(reader.rules) if name.startswith(f"{dialect}.")]
        listed = ", ".join(known) or "none; those of arith, linalg, math, scf and tensor have"
        raise unraisable(op, f"has no equations; of {dialect} those that have are {listed}")
    if not isinstance(op.results[0].type, ir.RankedTensorType):
        return [scalars.operation(op, [reader.scalar(v) for v in op.operands])]
    return _from(
        op, lambda at: scalars.operation(op, [element(reader.value(v), at) for v in op.operands])
    )
