"""Products of bf16 -> products of pairs, for CPUs that multiply and add two of them at once.

Before: `C[i, j] += extf(A[i, k]) * extf(B[k, j])` over k < 5
After: `A2[i, p]` of i32, `A[i, 2 * p]` in its lower half and `A[i, 2 * p + 1]` in the upper one,
zero behind the last; `B2` alike; `C[i, j] += high(A2) * high(B2) + low(A2) * low(B2)` over p < 3

A pair is an element like any other to all that packs, transposes and tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ted.linalg.contraction_factors import have_extents
from ted.linalg.contractions import (
    LinalgContraction,
    added_value,
    contraction_of_factors,
    reduction_of,
)
from ted.linalg.slices import extract_slice, insert_slice
from ted.mlir import ir, linalg, tensor
from ted.mlir.affine_forms import dims_used
from ted.mlir.generic import Generic, empty_generic
from ted.mlir.pairs import pair, product_of_pairs
from ted.mlir.queries import defining
from ted.mlir.scalars import shape_of


@dataclass(frozen=True)
class Products:
    """A sum of products of bf16: the operands, and which dims of them lie in pairs."""

    generic: Generic
    factors: tuple[int, int]
    dims: tuple[int, int]
    contraction: LinalgContraction


def products_of_bf16(op: ir.Operation) -> Products | None:
    """The op as a sum of products whose longest loop with subscripts of its own is in pairs."""
    generic = reduction_of(op)
    factors = None if generic is None else _factors(generic.body)
    contraction = contraction_of_factors(generic, *factors) if generic and factors else None
    if generic is None or factors is None or contraction is None:
        return None
    maps = [generic.maps[k] for k in factors]
    longest = max(
        _own_loops(generic, maps), key=lambda found: contraction.extents[found[0]], default=None
    )
    if longest is None or not have_extents([*maps, generic.maps[-1]]):
        return None
    if contraction.extents[longest[0]] == 1:
        return None
    return Products(generic, factors, longest[1], contraction)


def in_pairs(op: ir.Operation, products: Products) -> ir.Operation:
    """The op with pairs in place of factors."""
    generic, numbers = products.generic, products.factors
    maps = [generic.maps[k] for k in numbers]
    with ir.InsertionPoint(op), op.location:
        places = [(generic.operands[k], dim) for k, dim in zip(numbers, products.dims, strict=True)]
        paired = {place: _paired(*place) for place in dict.fromkeys(places)}
        made = empty_generic(
            [paired[place] for place in places],
            generic.outputs,
            [*maps, generic.maps[-1]],
            generic.reductions,
        )
        body = made.regions[0].blocks[0]
        with ir.InsertionPoint(body):
            linalg.YieldOp([product_of_pairs(*body.arguments)])
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()
    return made


def _factors(block: ir.Block) -> tuple[int, int] | None:
    """Which inputs a body `out + extf(a) * extf(b)` of bf16 multiplies."""
    added = added_value(block)
    product = None if added is None else defining(added, "arith.mulf")
    casts = [] if product is None else [defining(v, "arith.extf") for v in product.operands]
    sources = [c.operands[0] for c in casts if c is not None]
    arguments: list[ir.Value] = list(block.arguments)
    if len(sources) != 2 or any(s not in arguments for s in sources):
        return None
    if any(not isinstance(s.type, ir.BF16Type) for s in sources):
        return None
    return arguments.index(sources[0]), arguments.index(sources[1])


def _own_loops(
    generic: Generic, maps: Sequence[ir.AffineMap]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Summed loops that are subscripts by themselves of two operands, and of which dims."""
    for loop in (d for d, is_summed in enumerate(generic.reductions) if is_summed):
        left, right = (_subscript(loop, m) for m in maps)
        if left is not None and right is not None:
            yield loop, (left, right)


def _subscript(loop: int, map_: ir.AffineMap) -> int | None:
    """The dim that a loop reads by itself, where no other one depends on the loop."""
    using = [k for k, e in enumerate(map_.results) if loop in dims_used(e)]
    if len(using) != 1 or not isinstance(map_.results[using[0]], ir.AffineDimExpr):
        return None
    return using[0]


def _paired(value: ir.Value, dim: int) -> ir.Value:
    """The tensor with neighbours along a dim as pairs."""
    shape = list(shape_of(value))
    pairs, rest = divmod(shape[dim], 2)
    shape[dim] = pairs + rest
    result = tensor.EmptyOp(shape, ir.IntegerType.get_signless(32)).result
    if pairs:
        halves = [_along(value, dim, start, pairs, 2) for start in (0, 1)]
        result = _stored(halves, result, dim, 0)
    if rest:
        result = _stored([_along(value, dim, 2 * pairs, 1, 1)], result, dim, pairs)
    return result


def _along(value: ir.Value, dim: int, start: int, size: int, step: int) -> ir.Value:
    """Elements `start + step * k` along a dim, for so many k."""
    rank = len(shape_of(value))
    offsets = [start if d == dim else 0 for d in range(rank)]
    sizes = [size if d == dim else extent for d, extent in enumerate(shape_of(value))]
    strides = [step if d == dim else 1 for d in range(rank)]
    return extract_slice(value, offsets, sizes, strides)


def _stored(halves: Sequence[ir.Value], into: ir.Value, dim: int, start: int) -> ir.Value:
    """Pairs of halves from `start` on along a dim of what is there."""
    sizes = shape_of(halves[0])
    offsets = [start if d == dim else 0 for d in range(len(sizes))]
    part = _along(into, dim, start, sizes[dim], 1)
    identity = ir.AffineMap.get_identity(len(sizes))
    maps = [identity] * (len(halves) + 1)
    made = empty_generic(halves, [part], maps, [False] * len(sizes))
    body = made.regions[0].blocks[0]
    with ir.InsertionPoint(body):
        low, *high = list(body.arguments)[:-1]
        linalg.YieldOp([pair(low, high[0] if high else None)])
    return insert_slice(made.results[0], into, offsets, sizes, [1] * len(sizes))
