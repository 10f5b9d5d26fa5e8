"""A step that sums products of blocks -> loops over blocks, and a contraction in them.

Before: at time J, `C[j, I, i] += U[R, r, J, j] * U[R, r, I, i]` for all R < J <= I and all j, r, i
After: loops over I and R from and to bounds of the step; in them a contraction over j, i and r, of
slices at R, r and I

Dims that conditions are about, and times, are counted by loops; what remains is a box. So blocked
factorisations spend their time in register tiles, and the code does not grow with the number of
blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ted.linalg.contraction_forms import dense_form
from ted.linalg.domain_forms import points
from ted.linalg.loops import emit_blocks_at
from ted.linalg.padding import Paddings
from ted.linalg.slices import extract_slice, insert_slice
from ted.linalg.strategies import lower_subdomain
from ted.linalg.subdomain import Expr, Read, Subdomain
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, down, linear, substitute
from ted.mlir.affine_ranges import value_range
from ted.mlir.scalars import affine_value, element_type, shape_of
from ted.mlir.storage import is_memory
from ted.mlir.strategies import Declined
from ted.records import dataclass

Values = list[ir.Value]
# Points of a block from which a register tile gains more than the loops around it cost.
LEAST = 512


@dataclass(frozen=True)
class Blocks:
    """The dims that loops count, those of the block, and what is summed over one."""

    outer: tuple[int, ...]
    inner: tuple[int, ...]

    def at_origin(self, expr: Expr, rank: int) -> Expr:
        """An expression in the dims of the block, the others being 0."""
        new: list[Expr] = [ir.AffineExpr.get_constant(0)] * rank
        for k, d in enumerate(self.inner):
            new[d] = ir.AffineExpr.get_dim(k)
        return substitute(new, expr) if dims_used(expr) else expr

    def base(self, expr: Expr, rank: int) -> Expr:
        """What the other dims add to it."""
        zero = ir.AffineExpr.get_constant(0)
        new = [zero if d in self.inner else ir.AffineExpr.get_dim(d) for d in range(rank)]
        constant = linear(self.at_origin(expr, rank))
        assert constant is not None, "subscripts of blocks are linear"
        moved = substitute(new, expr) if dims_used(expr) else expr
        return down(moved - constant.constant)


def blocks_of(subdomain: Subdomain, fixed: Sequence[int]) -> Blocks | None:
    """The blocks of a step whose times are `fixed`; None where there is no contraction of any."""
    if subdomain.combiner != "add" or subdomain.writes_at_data:
        return None
    kinds = {str(element_type(v)) for v in _tensors(subdomain)}
    if len(kinds) != 1 or not kinds <= {"f32", "f64"}:
        return None
    guards = [c for r in subdomain.reads if r is not None for c in r.guard]
    outer = {*fixed, *dims_used(*(c.expr for c in (*subdomain.domain, *guards)))}
    inner = tuple(d for d in range(subdomain.rank) if d not in outer)
    blocks = Blocks(_in_order(subdomain, outer, fixed), inner)
    accesses = [subdomain.write, *(r.subscripts for r in subdomain.reads if r is not None)]
    if any(linear(e) is None for a in accesses for e in a) or not inner:
        return None
    extents = tuple(subdomain.extents[d] for d in inner)
    if prod(extents) < LEAST:
        return None
    block = _block(subdomain, blocks, subdomain.reads, subdomain.inits)
    return None if isinstance(dense_form(block), Declined) else blocks


def _tensors(subdomain: Subdomain) -> list[ir.Value]:
    return [*(r.tensor for r in subdomain.reads if r is not None), *subdomain.inits]


def _in_order(subdomain: Subdomain, outer: set[int], fixed: Sequence[int]) -> tuple[int, ...]:
    """Dims of the result around those that are summed over, whose totals then stay near."""
    both = (*subdomain.parallel_dims, *subdomain.reduction_dims)
    return tuple(d for d in both if d in outer and d not in fixed)


def _block(
    subdomain: Subdomain, blocks: Blocks, reads: Sequence[Read | None], inits: Sequence[ir.Value]
) -> Subdomain:
    """The subdomain over a block alone."""
    rank = subdomain.rank

    def local(exprs: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(blocks.at_origin(e, rank) for e in exprs)

    return replace(
        subdomain,
        extents=tuple(subdomain.extents[d] for d in blocks.inner),
        iterators=tuple(subdomain.iterators[d] for d in blocks.inner),
        domain=(),
        reads=tuple(r and Read(r.tensor, local(r.subscripts)) for r in reads),
        write=local(subdomain.write),
        coordinates=local(subdomain.coordinates),
        place=blocks.at_origin(subdomain.place, rank),
        inits=tuple(inits),
    )


def emit_blocks(
    subdomain: Subdomain, blocks: Blocks, fixed: Sequence[tuple[int, ir.Value]]
) -> Values:
    """Emit the loops over blocks, and a contraction in them.

    A product is nothing where a factor is not read, so conditions of reads bound the loops.
    """
    guards = [c for r in subdomain.reads if r is not None for c in r.guard]
    where = points(subdomain.extents, (*subdomain.domain, *guards))

    def leaf(dims: Sequence[ir.Value], results: Values) -> Values:
        latest = dict(zip(subdomain.inits, results, strict=True))
        reads = [r and replace(r, tensor=latest.get(r.tensor, r.tensor)) for r in subdomain.reads]
        return _contract(subdomain, blocks, reads, dims, results)

    return emit_blocks_at(subdomain, where, fixed, blocks.outer, leaf)


def _contract(
    subdomain: Subdomain,
    blocks: Blocks,
    reads: Sequence[Read | None],
    dims: Sequence[ir.Value],
    results: Values,
) -> Values:
    parts = [r and _slice(subdomain, blocks, r.tensor, r.subscripts, dims) for r in reads]
    outs = [_slice(subdomain, blocks, result, subdomain.write, dims) for result in results]
    block = replace(
        _block(subdomain, blocks, (), [out.value for out in outs]),
        reads=tuple(p and Read(p.value, p.subscripts) for p in parts),
        write=outs[0].subscripts,
    )
    finished = lower_subdomain(block, Paddings())
    return [o.back_into(f, r) for o, f, r in zip(outs, finished, results, strict=True)]


@dataclass(frozen=True)
class _Slice:
    """The elements that a block reads or writes, and its subscripts in them."""

    value: ir.Value
    subscripts: tuple[Expr, ...]
    offsets: tuple[ir.Value, ...]
    sizes: tuple[int, ...]

    def back_into(self, part: ir.Value, whole: ir.Value) -> ir.Value:
        """The whole with the slice replaced, which in memory it is."""
        if is_memory(whole):
            return whole
        return insert_slice(part, whole, self.offsets, self.sizes, [1] * len(self.sizes))


def _slice(
    subdomain: Subdomain,
    blocks: Blocks,
    whole: ir.Value,
    exprs: Sequence[Expr],
    dims: Sequence[ir.Value],
) -> _Slice:
    extents = tuple(subdomain.extents[d] for d in blocks.inner)
    offsets, sizes, subscripts = [], [], []
    for expr in exprs:
        local = blocks.at_origin(expr, subdomain.rank)
        low, high = value_range(local, extents)
        offsets.append(affine_value(down(blocks.base(expr, subdomain.rank) + low), dims))
        sizes.append(high - low + 1)
        subscripts.append(down(local - low))
    kept = [k for k, e in enumerate(subscripts) if not isinstance(e, ir.AffineConstantExpr)]
    assert len(shape_of(whole)) == len(sizes), "a subscript for each dim"
    value = extract_slice(whole, offsets, sizes, [1] * len(sizes), kept)
    return _Slice(value, tuple(subscripts[k] for k in kept), tuple(offsets), tuple(sizes))
