"""Contractions of a padded tensor, a block of its outermost dim at a time.

Before: a zero-filled copy of 8 images, then the convolution of all of them
After: `scf.forall (%n)` with the copy of one image and its convolution

The copy of a block stays in the second cache until it is read, and it is all the memory that the
padding takes. Threads share the blocks, so there must be some.
"""

from __future__ import annotations

from math import prod

from ted.linalg.contractions import ELEMENT_BYTES, MARK
from ted.linalg.generics import filled
from ted.machine import Cpu
from ted.mlir import ir, tensor
from ted.mlir.affine_forms import dims_used
from ted.mlir.generic import Generic
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, shape_of
from ted.mlir.strategies import Declined
from ted.records import dataclass

FEWEST = 8  # blocks, for as many threads


@dataclass(frozen=True)
class Blocks:
    """How many rows of the outermost dim a block has."""

    size: int


def planned(op: ir.Operation, cpu: Cpu) -> Blocks | Declined:
    """The blocks of a claimed contraction."""
    found = _padding(op)
    if isinstance(found, str):
        return Declined(found)
    shape = shape_of(found.results[0])
    row = prod(shape[1:]) * ELEMENT_BYTES[str(element_type(found.results[0]))]
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


def wrong_size(op: ir.Operation, blocks: Blocks) -> str | None:
    """The rule that a size of the user's breaks."""
    found = _padding(op)
    if isinstance(found, str):
        return found
    extent = shape_of(found.results[0])[0]
    fits = 0 < blocks.size <= extent and extent % blocks.size == 0
    return None if fits else f"size divides the {extent} rows of the padding"


def start_of(op: ir.Operation) -> ir.Operation | None:
    """The fill that only this contraction goes on from."""
    maker = defining(op.operands[len(op.operands) - 1], "linalg.fill")
    return maker if maker is not None and len(list(maker.results[0].uses)) == 1 else None


def padding_of(op: ir.Operation) -> ir.Operation:
    """The `tensor.insert_slice` of the operand that blocks are made of."""
    found = _padding(op)
    assert not isinstance(found, str), "planned"
    return found


def pad_in_blocks(padding: ir.Operation) -> None:
    """Make the padding where a loop over blocks cuts slices out of it."""
    for use in list(padding.results[0].uses):
        part = use.owner.operation
        with ir.InsertionPoint(part), part.location:
            part.results[0].replace_all_uses_with(_part(padding, part))
        part.erase()
    unused: ir.Operation | None = padding
    while unused is not None and not list(unused.results[0].uses):
        made_from = defining(unused.operands[1]) if len(unused.operands) > 1 else None
        unused.erase()
        unused = made_from


def _part(padding: ir.Operation, part: ir.Operation) -> ir.Value:
    """The padding of one block, `part` of the whole."""
    source, zeros = padding.operands[0], defining(padding.operands[1])
    assert zeros is not None, "a fill"
    size = shape_of(part.results[0])[0]
    inner = list(shape_of(source))[1:]
    ones = [1] * (len(inner) + 1)
    cut = ir.RankedTensorType.get([size, *inner], element_type(source))
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    given = tensor.ExtractSliceOp(
        cut, source, [part.operands[1]], [], [], [dynamic, *[0] * len(inner)], [size, *inner], ones
    ).result
    empty = tensor.EmptyOp(shape_of(part.results[0]), element_type(source)).result
    offsets = list(ir.DenseI64ArrayAttr(padding.attributes["static_offsets"]))
    return tensor.InsertSliceOp(
        given, filled(empty, zeros.operands[0]), [], [], [], offsets, [size, *inner], ones
    ).result


def _padding(op: ir.Operation) -> ir.Operation | str:
    """What makes a padded operand, of which the outermost dim is that of the result; or why not."""
    if MARK not in op.attributes:
        return "it is no claimed contraction"
    generic = Generic(op)
    for k in range(generic.count_inputs):
        made = defining(op.operands[k], "tensor.insert_slice")
        if made is None or defining(made.operands[1], "linalg.fill") is None:
            continue
        if len(list(made.results[0].uses)) > 1:
            return "something else reads the padding"
        if not _is_whole(made) or not _is_outermost(generic, k):
            return "the outermost dim of the padding is no row of the result"
        return made
    return "it reads no padding"


def _is_whole(padding: ir.Operation) -> bool:
    """Whether the outermost dim is not padded, and no dim is spread."""
    offsets = list(ir.DenseI64ArrayAttr(padding.attributes["static_offsets"]))
    strides = list(ir.DenseI64ArrayAttr(padding.attributes["static_strides"]))
    source, whole = shape_of(padding.operands[0]), shape_of(padding.results[0])
    same_rank = len(source) == len(whole)
    return same_rank and offsets[0] == 0 and source[0] == whole[0] and set(strides) == {1}


def _is_outermost(generic: Generic, operand: int) -> bool:
    """Whether the first loop is parallel and moves along the first dim of operand and result."""
    first = ir.AffineExpr.get_dim(0)
    others = [k for k in range(generic.count_inputs) if k != operand]
    return (
        not generic.reductions[0]
        and all(list(generic.maps[k].results)[:1] == [first] for k in (operand, -1))
        and all(0 not in dims_used(*list(generic.maps[k].results)[1:]) for k in (operand, -1))
        and all(0 not in dims_used(*generic.maps[k].results) for k in others)
    )
