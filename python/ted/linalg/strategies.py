"""Which way a subdomain goes: residue classes, frames, contraction, boxes, `linalg`, or loops."""

from __future__ import annotations

from collections.abc import Callable

from ted.linalg.arg_reductions import emit_arg_reduction, is_long_arg_reduction
from ted.linalg.boundary_strips import frames
from ted.linalg.contraction_forms import as_contraction, emit_contraction
from ted.linalg.dead_inits import without_superfluous_inits
from ted.linalg.expanded_results import expanded
from ted.linalg.generics import emit_generic
from ted.linalg.index_set_splitting import parts_of
from ted.linalg.loops import emit_loops
from ted.linalg.padding import Paddings
from ted.linalg.residue_classes import residue_subdomains
from ted.linalg.slices import written_slice
from ted.linalg.subdomain import Subdomain
from ted.linalg.unit_dims import squeezed, without_unit_iterations
from ted.linalg.wide_accumulators import in_wide_totals
from ted.mlir import ir


def lower_subdomain(subdomain: Subdomain, paddings: Paddings) -> list[ir.Value]:
    """Emit the subdomain at the insertion point; returns the new values of its results."""
    if subdomain.is_empty or 0 in _shape(subdomain.inits[0]):
        return list(subdomain.inits)
    subdomain, reshaped = squeezed(subdomain)
    subdomain, collapsed = expanded(subdomain)
    return reshaped(collapsed(_lower(without_superfluous_inits(subdomain), paddings)))


def _lower(subdomain: Subdomain, paddings: Paddings) -> list[ir.Value]:
    residues = map(without_unit_iterations, residue_subdomains(subdomain))
    subdomains = [frame for residue in residues for frame in frames(residue)]

    def emit(results: list[ir.Value]) -> list[ir.Value]:
        for frame in subdomains:
            results = _lower_frame(frame, paddings, results)
        return results

    return _once_rounded(subdomain, len(subdomains), list(subdomain.inits), emit)


def _lower_frame(
    subdomain: Subdomain, paddings: Paddings, results: list[ir.Value]
) -> list[ir.Value]:
    contraction = as_contraction(subdomain, paddings)
    if contraction is not None:
        return emit_contraction(contraction, results)
    parts = list(parts_of(subdomain))

    def emit(results: list[ir.Value]) -> list[ir.Value]:
        for part in parts:
            results = _emit(part.subdomain, part.points, results)
        return results

    return _once_rounded(subdomain, len(parts), results, emit)


def _once_rounded(
    subdomain: Subdomain,
    count: int,
    results: list[ir.Value],
    emit: Callable[[list[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """Several subdomains may add to one element."""
    if count > 1 and subdomain.combiner in ("add", "mul"):
        return in_wide_totals(subdomain, results, emit)
    return emit(results)


def _emit(subdomain: Subdomain, where: object, results: list[ir.Value]) -> list[ir.Value]:
    if where is None:
        subdomain = without_unit_iterations(subdomain)
    target = written_slice(subdomain)
    if where is None and target is not None:
        if is_long_arg_reduction(subdomain):
            return emit_arg_reduction(subdomain, target, results)
        return emit_generic(subdomain, target, results)
    return emit_loops(subdomain, where, results)


def _shape(value: ir.Value) -> tuple[int, ...]:
    return tuple(ir.ShapedType(value.type).shape)
