"""Contractions of a padded tensor, a block of its outermost dim at a time.

Before: a zero-filled copy of 8 images, then the convolution of all of them
After: a loop over images, with the copy of one and its convolution

The copy of a block stays in the second cache until it is read, and it is all the memory that the
padding takes. Threads share the blocks, so there must be some.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ted.linalg.boundary_strips import frames
from ted.linalg.contraction_forms import dense_form, why_no_sum_of_products
from ted.linalg.padding import subscript_windows
from ted.linalg.subdomain import Read, Subdomain
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used
from ted.mlir.affine_ranges import value_range
from ted.mlir.scalars import byte_width, element_type, shape_of
from ted.mlir.strategies import Declined
from ted.records import dataclass

FEWEST = 8  # blocks, for as many threads


Padded = tuple[Read, Subdomain]  # the factor with zeros around it, and the dense form


@dataclass(frozen=True)
class Blocks:
    """How many rows of the outermost dim a block has."""

    size: int


def padded_blocks(
    paddings: Mapping[ir.Operation, Padded], op: ir.Operation, cpu: Cpu
) -> Blocks | Declined:
    """The blocks of a contraction."""
    found = _padding(paddings, op)
    if isinstance(found, str):
        return Declined(found)
    shape, element = found
    row = prod(shape[1:]) * byte_width(element)
    if shape[0] * row <= cpu.second_cache.size:
        return Declined("the second cache holds the whole padding", Blocks(shape[0]))
    fitting = [
        size
        for size in range(1, shape[0] // FEWEST + 1)
        if shape[0] % size == 0 and size * row <= cpu.second_cache.size
    ]
    if not fitting:
        return Declined(f"the second cache holds no block of {FEWEST} or more equal ones")
    return Blocks(max(fitting))


def wrong_size(
    paddings: Mapping[ir.Operation, Padded], op: ir.Operation, blocks: Blocks
) -> str | None:
    """The rule that a size of the user's breaks."""
    found = _padding(paddings, op)
    if isinstance(found, str):
        return found
    extent = found[0][0]
    fits = 0 < blocks.size <= extent and extent % blocks.size == 0
    return None if fits else f"size divides the {extent} rows of the padding"


def _padding(
    paddings: Mapping[ir.Operation, Padded], op: ir.Operation
) -> tuple[tuple[int, ...], ir.Type] | str:
    """The shape of a padded factor, whose outermost dim is that of the result; or why not."""
    if op not in paddings:
        return "it reads no padding"
    read, dense = paddings[op]
    if any(o != op and other.tensor == read.tensor for o, (other, _) in paddings.items()):
        return "something else reads the padding"
    if not _is_outermost(dense, read):
        return "the outermost dim of the padding is no row of the result"
    ranges = [value_range(e, dense.extents) for e in read.subscripts]
    return tuple(high - low + 1 for low, high in ranges), element_type(read.tensor)


def padded_factor(subdomain: Subdomain) -> Padded | None:
    """The factor of a contraction that is read with zeros around it, and its dense form."""
    if subdomain.is_empty or why_no_sum_of_products(subdomain) is not None:
        return None
    guards = [c for r in subdomain.reads if r is not None for c in r.guard]
    if not (guards or subdomain.domain) or len(frames(subdomain)) > 1:
        return None
    dense = dense_form(subdomain, scattered=True)
    if isinstance(dense, Declined):
        return None
    guarded = [r for r in dense.reads if r is not None and r.guard]
    if len(guarded) != 1 or subscript_windows(guarded[0], guarded[0].guard) is None:
        return None
    return guarded[0], dense


def _is_outermost(dense: Subdomain, read: Read) -> bool:
    """Whether the first dim moves along the first dim of the factor and of the result alone."""
    first = ir.AffineExpr.get_dim(0)
    others = [r for r in dense.reads if r is not None and r is not read]
    return (
        dense.iterators[:1] == ("parallel",)
        and list(read.subscripts[:1]) == list(dense.write[:1]) == [first]
        and shape_of(read.tensor)[0] == dense.extents[0]
        and 0 not in dims_used(*read.subscripts[1:], *dense.write[1:])
        and not any(0 in dims_used(c.expr) for c in (*read.guard, *dense.domain))
        and not any(0 in dims_used(*r.subscripts) for r in others)
    )
