"""A piece whose init does not matter -> the same piece on an empty tensor.

Before: `add` into zeros, one point for each element.  After: `set`.
Before: `set` of every element of a filled tensor.  After: `set` on `tensor.empty`.

Gradients are full of both: each adjoint starts as zeros that its first summand covers.
"""

from __future__ import annotations

from dataclasses import replace

from ted.lowering.piece import Piece
from ted.lowering.scalars import element_type, shape_of
from ted.lowering.slices import written_slice
from ted.mlir import ir, tensor

# Combiner -> the fills that leave one combined value as it is.
_NEUTRAL = {"add": ("0.000000e+00", "0", "false"), "mul": ("1.000000e+00", "1", "true")}


def without_superfluous_inits(piece: Piece) -> Piece:
    """Simplify a piece; the elements that it leaves alone keep their init."""
    if piece.reduction_dims or piece.writes_at_data or written_slice(piece) is None:
        return piece
    if piece.combiner in _NEUTRAL and all(_is_neutral(i, piece.combiner) for i in piece.inits):
        piece = replace(piece, combiner="set")
    if piece.combiner != "set" or not _covers(piece):
        return piece
    return replace(piece, inits=tuple(_fresh(i) for i in piece.inits))


def _is_neutral(init: ir.Value, combiner: str) -> bool:
    owner = init.owner
    if _is_reshape(owner):
        return _is_neutral(owner.operation.operands[0], combiner)
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.fill":
        return False
    value = owner.operation.operands[0].owner
    if isinstance(value, ir.Block) or value.operation.name != "arith.constant":
        return False
    return str(value.operation.attributes["value"]).split(" ")[0] in _NEUTRAL[combiner]


def _covers(piece: Piece) -> bool:
    if piece.domain:
        return False
    target = written_slice(piece)
    assert target is not None, "a sliced write was asked for"
    return target.sizes == shape_of(piece.inits[0])


def _fresh(init: ir.Value) -> ir.Value:
    owner = init.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "tensor.empty":
        return init
    if _is_reshape(owner):
        # A view of the result's memory: a result that starts here must start with its own shape.
        source = _fresh(owner.operation.operands[0])
        reshape = owner.operation.clone()
        reshape.operands[0] = source
        return reshape.results[0]
    return tensor.EmptyOp(list(shape_of(init)), element_type(init)).result


def _is_reshape(owner: ir.Block | ir.OpView) -> bool:
    return not isinstance(owner, ir.Block) and owner.operation.name == "tensor.expand_shape"
