"""Neighbouring points of one thread: operands that lie side by side move as vectors.

Before: four loads of one element      After: `vector.load ... {alignment = 16} : vector<4xf32>`

The code of a point stays scalar. An operand that does not move along the dim is loaded once, one
that jumps is loaded element by element.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.gpu.bodies import Operand, Values, Work, steps_along
from ted.gpu.flat_views import flat_view_of
from ted.gpu.points import plus
from ted.linalg.contractions import element_strides
from ted.machine import ACCESS_BYTES
from ted.mlir import ir, vector
from ted.mlir.affine_forms import dims_used
from ted.mlir.scalars import byte_width


def lanes_along(work: Work, dim: int) -> int:
    """Neighbouring points along a dim that one thread should take: what fills a vector."""
    runs = [o for o in (*work.inputs, *work.outputs) if _moves_by_one(work, o, dim)]
    if not runs:
        return 1
    lanes = ACCESS_BYTES // min(byte_width(o.element) for o in runs)
    while lanes > 1 and work.extents[dim] % lanes:
        lanes //= 2
    most = ACCESS_BYTES // max(byte_width(o.element) for o in runs)
    return min(lanes, max(most, 4))


def loads_of_run(work: Work, dims: Values, dim: int, lanes: int) -> list[Values]:
    """The inputs at `lanes` points from `dims` on along a dim, for each point."""
    columns = [
        _loaded(work, operand, dims, dim, lanes) if work.uses(k) else [operand.value] * lanes
        for k, operand in enumerate(work.inputs)
    ]
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[]] * lanes


def befores_of_run(work: Work, dims: Values, dim: int, lanes: int) -> list[Values]:
    """What the results hold at the points of a run."""
    return [work.before(moved(dims, dim, k)) for k in range(lanes)]


def store_run(work: Work, results: Sequence[Values], dims: Values, dim: int, lanes: int) -> None:
    """Put the results of a run away."""
    for n, operand in enumerate(work.outputs):
        values = [row[n] for row in results]
        width = _width(work, operand, dim, lanes)
        for k in range(0, lanes, width):
            at = moved(dims, dim, k)
            if width == 1:
                operand.store(values[k], at)
                continue
            kind = ir.VectorType.get([width], operand.element)
            whole = vector.FromElementsOp(kind, values[k : k + width]).result
            vector.StoreOp(
                whole, operand.value, operand.subscripts(at), alignment=_bytes(operand, width)
            )


def moved(dims: Values, dim: int, by: int) -> Values:
    """A point further along a dim."""
    return dims if by == 0 else [*dims[:dim], plus(dims[dim], by), *dims[dim + 1 :]]


def _loaded(work: Work, operand: Operand, dims: Values, dim: int, lanes: int) -> Values:
    if operand.amap is None or dim not in dims_used(*operand.amap.results):
        return [operand.load(dims)] * lanes
    width = _width(work, operand, dim, lanes)
    if width == 1:
        return [operand.load(moved(dims, dim, k)) for k in range(lanes)]
    found: Values = []
    kind = ir.VectorType.get([width], operand.element)
    for k in range(0, lanes, width):
        subscripts = operand.subscripts(moved(dims, dim, k))
        whole = vector.LoadOp(
            kind, operand.value, subscripts, alignment=_bytes(operand, width)
        ).result
        found += list(vector.ToElementsOp(whole).results)
    return found


def _bytes(operand: Operand, width: int) -> int:
    return width * byte_width(operand.element)


def _width(work: Work, operand: Operand, dim: int, lanes: int) -> int:
    """Elements of a vector of this operand: it must lie side by side, and be aligned."""
    if not _moves_by_one(work, operand, dim):
        return 1
    width = min(lanes, ACCESS_BYTES // byte_width(operand.element))
    while width > 1 and not _is_aligned(work, operand, dim, width):
        width //= 2
    return width


def _moves_by_one(work: Work, operand: Operand, dim: int) -> bool:
    """Whether neighbours along the dim are neighbours in memory, in its last subscript alone."""
    if operand.amap is None or not operand.amap.results or getattr(operand.element, "width", 1) < 8:
        return False
    *outer, last = operand.amap.results
    if dim in dims_used(*outer) or dim not in dims_used(last):
        return False
    strides = element_strides(operand.value.type)
    is_dense = strides is not None and strides[-1] == 1
    return is_dense and steps_along(operand, dim) == 1


def _is_aligned(work: Work, operand: Operand, dim: int, width: int) -> bool:
    flat, address = flat_view_of(operand.value), operand.address
    if flat is None or address is None:
        return False
    steps = [step for d, step in address.terms if d != dim and work.extents[d] > 1]
    if flat.size * byte_width(operand.element) < ACCESS_BYTES:  # smaller arrays may start anywhere
        return False
    starts = [flat.start.constant, address.constant, *(f for _, f in flat.start.terms)]
    return all(n % width == 0 for n in (*steps, *starts))
