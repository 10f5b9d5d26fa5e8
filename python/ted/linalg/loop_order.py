"""The order of loops: which dim runs innermost, and what runs around it.

Innermost goes a dim along which the written element and most reads are contiguous or fixed; a
parallel one if it is as good as a reduction.  Around it: parallel dims in the order of the result,
then reductions, so that a running total stays in a register or in the first cache. Reductions over
a small window go inside even the innermost dim: they are unrolled there, and the total of a window
then never leaves its register. So do two or three points between neighbours of the innermost dim,
as of images with colours: their vectors are written interleaved.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.linalg.contractions import element_strides
from ted.linalg.subdomain import Subdomain
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, linear

STRIDED = 8  # cost of an access that jumps along the dim, in contiguous ones
SHORT = 4  # a loop of fewer points is unrolled, whatever is in it
WINDOW = 16  # most points of a window that is unrolled inside the innermost loop


def loop_order(
    subdomain: Subdomain, *, windows: bool = True, known: Sequence[int] = ()
) -> list[int]:
    """Dims from the outermost to the innermost, first those that are `known`: no loop counts them.

    `windows`: small reductions may go innermost, because their bounds are constants.
    """
    if not subdomain.rank:
        return []
    parallel = sorted(subdomain.parallel_dims, key=lambda d: _place_in_result(subdomain, d))
    reductions = subdomain.reduction_dims
    if subdomain.combiner in ("argmax", "argmin"):
        reductions = reductions[-1:]  # the first of equals wins, so their order stays
    candidates = [d for d in (*reductions, *parallel) if d not in known]
    if not candidates:
        return list(range(subdomain.rank))
    inner = min(candidates, key=lambda d: (_cost(subdomain, d), -candidates.index(d)))
    around = [d for d in (*parallel, *subdomain.reduction_dims) if d != inner]
    window = _window(subdomain) if windows and inner in parallel else []
    window += [d for d in parallel if d not in known and _is_interleaved(subdomain, inner, d)]
    order = [d for d in around if d not in window] + [inner, *window]
    return [*known, *(d for d in order if d not in known)]


def _window(subdomain: Subdomain) -> list[int]:
    """The innermost reductions that are few points altogether."""
    window: list[int] = []
    for dim in reversed(subdomain.reduction_dims):
        extents = [subdomain.extents[d] for d in (dim, *window)]
        if prod(extents) > WINDOW or max(extents) > 8:
            break
        window.insert(0, dim)
    return window


def _is_interleaved(subdomain: Subdomain, inner: int, dim: int) -> bool:
    """Whether a few points of a dim lie between two neighbours of the innermost one."""
    points = subdomain.extents[dim]
    steps = [_step(subdomain.write, subdomain.inits[0], d) for d in (dim, inner)]
    return 1 < points < SHORT and steps == [1, points]


def _place_in_result(subdomain: Subdomain, dim: int) -> int:
    uses = [k for k, e in enumerate(subdomain.write) if dim in dims_used(e)]
    return uses[0] if uses else len(subdomain.write)


def _cost(subdomain: Subdomain, dim: int) -> int:
    reads = sum(_price(r.subscripts, r.tensor, dim) for r in subdomain.reads if r is not None)
    short = 64 * STRIDED if subdomain.extents[dim] < SHORT else 0
    return reads + 2 * _price(subdomain.write, subdomain.inits[0], dim) + short


def _price(subscripts: tuple[ir.AffineExpr, ...], source: ir.Value, dim: int) -> int:
    """The cost of an access when the dim advances; of a jump where that depends on the point."""
    step = _step(subscripts, source, dim)
    return STRIDED if step is None or abs(step) > 1 else abs(step)


def _step(subscripts: tuple[ir.AffineExpr, ...], source: ir.Value, dim: int) -> int | None:
    """How far an access goes in memory when the dim advances; None if that depends on the point."""
    step = 0
    for expr, stride in zip(subscripts, element_strides(source.type) or (), strict=True):
        form = linear(expr)
        if form is not None:
            step += form[dim] * stride
        elif dim in dims_used(expr):
            return None
    return step
