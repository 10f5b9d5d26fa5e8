"""Tensors that lie inside of zeros, where contractions read them with zeros around.

Before: relu into memory of 64 x 64, copied into zeros of 66 x 66 for each convolution that reads it
After: zeros around 64 x 64 of 66 x 66, and relu into what is inside
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ted.linalg.generics import filled
from ted.linalg.padded_kernels import Padded
from ted.linalg.padding import Hull, subscript_windows, whole_hull
from ted.linalg.slices import extract_slice
from ted.mlir import ir
from ted.mlir.affine_ranges import value_range
from ted.mlir.scalars import constant
from ted.mlir.storage import allocated, part


def hulls_of(padded: Mapping[ir.Operation, Padded]) -> dict[ir.Value, Hull]:
    """Where the tensors are read that contractions read with zeros around all of them."""
    found: dict[ir.Value, Hull] = {}
    for read, dense in padded.values():
        whole = whole_hull(read.tensor)
        if subscript_windows(read, read.guard) != whole:
            continue
        hull = found.get(read.tensor, whole)
        ranges = [value_range(e, dense.extents) for e in read.subscripts]
        found[read.tensor] = [
            (min(low, a), max(high, b)) for (low, high), (a, b) in zip(hull, ranges, strict=True)
        ]
    return found


def inside_of_zeros(hull: Hull, shape: Sequence[int], kind: ir.Type) -> ir.Value:
    """New memory of a shape, inside of zeros that reach from least to greatest subscripts."""
    sizes = [high - low + 1 for low, high in hull]
    around = allocated(sizes, kind)
    ones, first, left = [1] * len(sizes), [0] * len(sizes), list(sizes)
    for d, ((low, _), extent) in enumerate(zip(hull, shape, strict=True)):
        for offset, size in ((0, -low), (extent - low, sizes[d] + low - extent)):
            if size:
                begin = [*first[:d], offset, *first[d + 1 :]]
                slab = [*left[:d], size, *left[d + 1 :]]
                filled(extract_slice(around, begin, slab, ones), constant(kind, 0))
        first[d], left[d] = -low, extent  # the slabs of other dims are beside those of this one
    return part(around, first, left, ones, range(len(sizes)))
