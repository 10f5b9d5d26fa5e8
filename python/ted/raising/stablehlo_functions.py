"""Ops of StableHLO that its pass to linalg leaves as they are -> functions of ted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ted
from ted.frontend.complex_pairs import is_complex
from ted.frontend.tensors import Tensor as Wrapped
from ted.frontend.tensors import wrap
from ted.mlir import ir
from ted.mlir.attributes import symbol
from ted.raising.algebra import CALLS
from ted.raising.complexes import each
from ted.raising.reading import Reader
from ted.raising.values import Value, type_of, unraisable


def _given(reader: Reader, op: ir.Operation) -> list[Any]:
    return [each(wrap, reader.value(v)) for v in op.operands]


def _flag(op: ir.Operation, name: str) -> bool:
    return name in op.attributes and ir.BoolAttr(op.attributes[name]).value


def _cast(op: ir.Operation, *found: Any) -> list[Value]:
    kinds = [type_of(result.type, op.location, op.name)[1] for result in op.results]
    rows = zip(found, kinds, strict=True)
    return [each(lambda t, kind=kind: ted.cast(t, kind).node, t) for t, kind in rows]


def _wide(x: Any) -> Any:
    """Halves as float32, in which factors and statistics are computed."""
    return each(lambda t: ted.cast(t, "float32") if t.dtype.bits < 32 else t, x)


# ------------------------------------------------------------------ linear algebra


def triangular_solve(reader: Reader, op: ir.Operation) -> list[Value]:
    """The x with op(a) x = b, or x op(a) = b."""
    a, b = map(_wide, _given(reader, op))
    way = str(op.attributes["transpose_a"]).rpartition(" ")[2].rstrip(">")
    found = CALLS["triangular_solve"](
        a,
        b,
        left_side=_flag(op, "left_side"),
        lower=_flag(op, "lower"),
        transpose_a=way in ("TRANSPOSE", "ADJOINT"),
        unit_diagonal=_flag(op, "unit_diagonal"),
        conjugate_a=way == "ADJOINT",
    )
    return _cast(op, found)


def cholesky(reader: Reader, op: ir.Operation) -> list[Value]:
    """The factor in one triangle, of which alone it reads the matrix.

    Raises: VerifyError for complex numbers.
    """
    (a,) = _given(reader, op)
    if is_complex(a):
        raise unraisable(op, f"the matrix must be real, got {op.operands[0].type}")
    is_lower = _flag(op, "lower")
    factor = ted.linalg.cholesky(_wide(a) if is_lower else _wide(a).mT)
    return _cast(op, factor if is_lower else factor.mT)


# ------------------------------------------------------------------ normalisation


def _along(op: ir.Operation, x: Wrapped) -> tuple[list[int], tuple[Any, ...]]:
    """The dims of a statistic, and the subscripts that give it those of the operand."""
    feature = ir.IntegerAttr(op.attributes["feature_index"]).value
    own = tuple(slice(None) if d == feature else None for d in range(x.ndim))
    return [d for d in range(x.ndim) if d != feature], own


def _epsilon(op: ir.Operation) -> float:
    return ir.FloatAttr(op.attributes["epsilon"]).value


def _normal(op: ir.Operation, given: Sequence[Any]) -> Wrapped:
    x, scale, offset, mean, variance = given
    _, own = _along(op, x)
    factor = scale * ted.rsqrt(variance + _epsilon(op))
    return (x - mean[own]) * factor[own] + offset[own]


def batch_norm_inference(reader: Reader, op: ir.Operation) -> list[Value]:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset, of each feature."""
    return _cast(op, _normal(op, [_wide(t) for t in _given(reader, op)]))


def batch_norm_training(reader: Reader, op: ir.Operation) -> list[Value]:
    """The same with the mean and the variance of the batch, and these."""
    x, scale, offset = (_wide(t) for t in _given(reader, op))
    dims, own = _along(op, x)
    mean = ted.mean(x, tuple(dims))
    variance = ted.mean((x - mean[own]) ** 2, tuple(dims))
    return _cast(op, _normal(op, [x, scale, offset, mean, variance]), mean, variance)


def batch_norm_grad(reader: Reader, op: ir.Operation) -> list[Value]:
    """The cotangents of operand, scale and offset in training, of the mean and the variance."""
    x, scale, mean, variance, head = (_wide(t) for t in _given(reader, op))
    axes, own = _along(op, x)
    dims = tuple(axes)
    deviation = ted.rsqrt(variance + _epsilon(op))
    normal = (x - mean[own]) * deviation[own]
    d_offset, d_scale = ted.sum(head, dims), ted.sum(head * normal, dims)
    rest = head - ted.mean(head, dims)[own] - normal * ted.mean(head * normal, dims)[own]
    return _cast(op, rest * (scale * deviation)[own], d_scale, d_offset)


# ------------------------------------------------------------------ structure


def composite(reader: Reader, op: ir.Operation) -> list[Value]:
    """What its decomposition computes, or the function of `calls` that has its name."""
    name = ir.StringAttr(op.attributes["name"]).value
    if name in reader.calls:
        found = reader.calls[name](*_given(reader, op))
        return _cast(op, *(found if isinstance(found, tuple) else (found,)))
    given = [reader.value(v) for v in op.operands]
    return list(reader.call(symbol(op, "decomposition"), given))


def same(reader: Reader, op: ir.Operation) -> list[Value]:
    """The operands."""
    return [reader.value(v) for v in op.operands]


def extent(reader: Reader, op: ir.Operation) -> list[Value]:
    """An extent, as a tensor of rank 0."""
    shape, _ = type_of(op.operands[0].type, op.location, op.name)
    size = shape[ir.IntegerAttr(op.attributes["dimension"]).value]
    del reader
    return _cast(op, ted.full((), size, dtype="int32"))


def bundle(reader: Reader, op: ir.Operation) -> list[Any]:
    """Several values as one."""
    return [tuple(reader.value(v) for v in op.operands)]


def unbundle(reader: Reader, op: ir.Operation) -> list[Any]:
    """One of several values."""
    values: Any = reader.value(op.operands[0])
    return [values[ir.IntegerAttr(op.attributes["index"]).value]]


RULES = {
    "stablehlo.batch_norm_grad": batch_norm_grad,
    "stablehlo.batch_norm_inference": batch_norm_inference,
    "stablehlo.batch_norm_training": batch_norm_training,
    "stablehlo.cholesky": cholesky,
    "stablehlo.composite": composite,
    "stablehlo.get_dimension_size": extent,
    "stablehlo.get_tuple_element": unbundle,
    "stablehlo.optimization_barrier": same,
    "stablehlo.triangular_solve": triangular_solve,
    "stablehlo.tuple": bundle,
}
