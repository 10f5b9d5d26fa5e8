"""Which way a piece goes: contraction, boxes, `linalg.generic` or loops, tried in this order."""

from __future__ import annotations

from ted.lowering.generic import emit_generic
from ted.lowering.piece import Piece
from ted.lowering.slices import written_slice
from ted.mlir import ir


def lower_piece(piece: Piece) -> list[ir.Value]:
    """Emit the piece at the insertion point; returns the new values of its results."""
    return _lower(piece, list(piece.inits))


def _lower(piece: Piece, results: list[ir.Value]) -> list[ir.Value]:
    if piece.is_empty:
        return results
    target = written_slice(piece)
    assert target is not None and not piece.domain
    return emit_generic(piece, target, results)
