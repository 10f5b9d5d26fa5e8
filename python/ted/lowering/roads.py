"""Which way a piece goes: residue classes, frames, contraction, boxes, `linalg`, or loops."""

from __future__ import annotations

from collections.abc import Callable

from ted.lowering.arg_reductions import emit_arg_reduction, is_long_arg_reduction
from ted.lowering.contraction_forms import as_contraction, emit_contraction
from ted.lowering.expanded_results import expanded
from ted.lowering.frames import frames
from ted.lowering.generic import emit_generic
from ted.lowering.loops import emit_loops
from ted.lowering.padding import Paddings
from ted.lowering.parts import parts_of
from ted.lowering.piece import Piece
from ted.lowering.residues import residue_pieces
from ted.lowering.slices import written_slice
from ted.lowering.superfluous_inits import without_superfluous_inits
from ted.lowering.unit_dims import squeezed, without_unit_iterations
from ted.lowering.wide_totals import in_wide_totals
from ted.mlir import ir


def lower_piece(piece: Piece, paddings: Paddings) -> list[ir.Value]:
    """Emit the piece at the insertion point; returns the new values of its results."""
    if piece.is_empty or 0 in _shape(piece.inits[0]):
        return list(piece.inits)
    piece, reshaped = squeezed(piece)
    piece, collapsed = expanded(piece)
    return reshaped(collapsed(_lower(without_superfluous_inits(piece), paddings)))


def _lower(piece: Piece, paddings: Paddings) -> list[ir.Value]:
    residues = map(without_unit_iterations, residue_pieces(piece))
    pieces = [frame for residue in residues for frame in frames(residue)]

    def emit(results: list[ir.Value]) -> list[ir.Value]:
        for frame in pieces:
            results = _lower_frame(frame, paddings, results)
        return results

    return _once_rounded(piece, len(pieces), list(piece.inits), emit)


def _lower_frame(piece: Piece, paddings: Paddings, results: list[ir.Value]) -> list[ir.Value]:
    contraction = as_contraction(piece, paddings)
    if contraction is not None:
        return emit_contraction(contraction, results)
    parts = list(parts_of(piece))

    def emit(results: list[ir.Value]) -> list[ir.Value]:
        for part in parts:
            results = _emit(part.piece, part.points, results)
        return results

    return _once_rounded(piece, len(parts), results, emit)


def _once_rounded(
    piece: Piece,
    count: int,
    results: list[ir.Value],
    emit: Callable[[list[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """Several pieces may add to one element."""
    if count > 1 and piece.combiner in ("add", "mul"):
        return in_wide_totals(piece, results, emit)
    return emit(results)


def _emit(piece: Piece, where: object, results: list[ir.Value]) -> list[ir.Value]:
    if where is None:
        piece = without_unit_iterations(piece)
    target = written_slice(piece)
    if where is None and target is not None:
        if is_long_arg_reduction(piece):
            return emit_arg_reduction(piece, target, results)
        return emit_generic(piece, target, results)
    return emit_loops(piece, where, results)


def _shape(value: ir.Value) -> tuple[int, ...]:
    return tuple(ir.ShapedType(value.type).shape)
