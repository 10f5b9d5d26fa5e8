"""Contractions of the shape of a matrix product -> `linalg.matmul` and `linalg.batch_matmul`.

Before: `C[i, j] += A[r, i] * B[j, r]`.  After: `linalg.matmul` whose indexing maps carry the
transpositions, so that schedules and readers see a matrix product, and nothing is moved.
"""

from __future__ import annotations

from ted.linalg.combiners import accumulator_type
from ted.linalg.generics import cast_tensor
from ted.linalg.slices import Operand, WrittenSlice, read_hull
from ted.linalg.subdomain import Subdomain
from ted.mlir import ir, linalg
from ted.mlir.generic import named_operation, written_by
from ted.mlir.scalars import element_type, is_float, narrowed, widened
from ted.mlir.strategies import attach


def emit_named(
    subdomain: Subdomain, target: WrittenSlice, results: list[ir.Value]
) -> list[ir.Value] | None:
    """Emit the matrix product, or return None when the subdomain is none."""
    kind = element_type(results[0])
    reads = [r for r in subdomain.reads if r is not None]
    if any(element_type(r.tensor) != kind for r in reads) or not is_float(kind):
        return None
    operands = [read_hull(r, subdomain.extents) for r in reads]
    written = list(target.dims)
    dims = _roles(operands, written, subdomain)
    if dims is None:
        return None
    left = next(k for k, o in enumerate(operands) if dims[-3] in _positions(o))
    a, b = operands[left], operands[1 - left]
    slice_ = target.of(results[0])
    total = accumulator_type("add", kind, repeats=True)
    start = cast_tensor(slice_, total, widened)
    product = _build(a, b, Operand(start, tuple(target.subscripts)), dims)
    attach(product, subdomain.wishes)
    rounded = cast_tensor(written_by(product)[0], kind, narrowed, into=slice_)
    return [target.back_into(rounded, results[0])]


def _positions(operand: Operand) -> list[int]:
    return [e.position for e in operand.subscripts if isinstance(e, ir.AffineDimExpr)]


def _roles(operands: list[Operand], written: list[int], subdomain: Subdomain) -> list[int] | None:
    """Dims in the order (batch..., m, n, k) of the named operation; None for another form."""
    left, right = (_positions(o) for o in operands)
    if len(left) != len(operands[0].subscripts) or len(right) != len(operands[1].subscripts):
        return None
    if len(subdomain.reduction_dims) != 1 or len(written) not in (2, 3):
        return None
    *batch, m, n = written
    (k,) = subdomain.reduction_dims
    if left[: len(batch)] != batch or right[: len(batch)] != batch:
        return None
    rows = [set(p[len(batch) :]) for p in (left, right)]
    if sorted(map(sorted, rows)) != sorted(map(sorted, ({m, k}, {n, k}))):
        return None
    return [*batch, m, n, k]


def _build(a: Operand, b: Operand, c: Operand, dims: list[int]) -> ir.Operation:
    place = {d: ir.AffineExpr.get_dim(k) for k, d in enumerate(dims)}
    maps = [
        ir.AffineMapAttr.get(ir.AffineMap.get(len(dims), 0, [place[d] for d in _positions(o)]))
        for o in (a, b, c)
    ]
    kind = linalg.MatmulOp if len(dims) == 3 else linalg.BatchMatmulOp
    return named_operation(kind, [a.value, b.value], c.value, indexing_maps=ir.ArrayAttr.get(maps))
