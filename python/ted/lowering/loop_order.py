"""The order of loops: which dim runs innermost, and what runs around it.

Innermost goes a dim along which the written element and most reads are contiguous or fixed; a
parallel one if it is as good as a reduction.  Around it: parallel dims in the order of the result,
then reductions, so that a running total stays in a register or in the first cache. Reductions over
a small window go inside even the innermost dim: they are unrolled there, and the total of a window
then never leaves its register.
"""

from __future__ import annotations

from math import prod

from ted.lowering.affine_forms import dims_used, element_strides, linear
from ted.lowering.piece import Piece
from ted.lowering.scalars import shape_of
from ted.mlir import ir

STRIDED = 8  # cost of an access that jumps along the dim, in contiguous ones
SHORT = 4  # a loop of fewer points is unrolled, whatever is in it
WINDOW = 16  # most points of a window that is unrolled inside the innermost loop


def loop_order(piece: Piece, *, windows: bool = True) -> list[int]:
    """Dims from the outermost to the innermost.

    `windows`: small reductions may go innermost, because their bounds are constants.
    """
    if not piece.rank:
        return []
    parallel = sorted(piece.parallel_dims, key=lambda d: _place_in_result(piece, d))
    reductions = piece.reduction_dims
    if piece.combiner in ("argmax", "argmin"):
        reductions = reductions[-1:]  # the first of equals wins, so their order stays
    candidates = [*reductions, *parallel]
    inner = min(candidates, key=lambda d: (_cost(piece, d), -candidates.index(d)))
    around = [d for d in (*parallel, *piece.reduction_dims) if d != inner]
    window = _window(piece) if windows and inner in parallel else []
    return [d for d in around if d not in window] + [inner, *window]


def _window(piece: Piece) -> list[int]:
    """The reductions, when they are few points altogether."""
    extents = [piece.extents[d] for d in piece.reduction_dims]
    return piece.reduction_dims if prod(extents) <= WINDOW and max(extents, default=0) <= 8 else []


def _place_in_result(piece: Piece, dim: int) -> int:
    uses = [k for k, e in enumerate(piece.write) if dim in dims_used(e)]
    return uses[0] if uses else len(piece.write)


def _cost(piece: Piece, dim: int) -> int:
    reads = sum(
        _price(r.subscripts, r.tensor, dim, piece.rank) for r in piece.reads if r is not None
    )
    short = 64 * STRIDED if piece.extents[dim] < SHORT else 0
    return reads + 2 * _price(piece.write, piece.inits[0], dim, piece.rank) + short


def _price(subscripts: tuple[ir.AffineExpr, ...], source: ir.Value, dim: int, rank: int) -> int:
    """The cost of an access when the dim advances; of a jump where that depends on the point."""
    step = 0
    for expr, stride in zip(subscripts, element_strides(shape_of(source)), strict=True):
        form = linear(expr, rank)
        if form is not None:
            step += form[0][dim] * stride
        elif dim in dims_used(expr):
            return STRIDED
    distance = abs(step)
    return STRIDED if distance > 1 else distance
