"""The plan of a contraction on a CPU, by what it multiplies: numbers, or matrices of pairs."""

from __future__ import annotations

from math import ceil

from ted.cpu.contraction_plan import Plan, plan_contraction
from ted.cpu.matrix_plan import plan_matrices
from ted.linalg.bf16_pairs import Layout, Products, as_they_lie, dims_in_pairs, for_matrices
from ted.linalg.contractions import ELEMENT_BYTES, LinalgContraction
from ted.linalg.strided_contractions import Dim
from ted.machine import Cpu
from ted.mlir.matrix_registers import SIDE


def plan_of(contraction: LinalgContraction, dims: tuple[Dim, ...], cpu: Cpu) -> Plan | None:
    """The cheapest plan; None where scalar loops and the loop vectoriser do as well.

    `dims` are those of `contraction.strided()`.
    """
    is_paired = contraction.factor != contraction.element
    halved = [side for side in range(2) if contraction.has_halves(side)]
    if is_paired and cpu.multiplies_matrices:
        return plan_matrices(dims, halved)
    if is_paired and (halved or not cpu.multiplies_pairs):
        return None
    return plan_contraction(dims, ELEMENT_BYTES[str(contraction.element)], cpu)


def registers_used(plan: Plan) -> int:
    """How many registers a tile needs: its sums, and what a step reads."""
    rows, vectors = plan.tile_rows, plan.tile_vectors
    if plan.depth is None:
        return rows * vectors + vectors + 1
    sides = ceil(rows / SIDE)
    return sides * vectors + sides + vectors


def pair_layout(products: Products, cpu: Cpu) -> Layout | None:
    """How pairs of bf16 lie best; None where numbers of f32 are multiplied in fewer cycles."""
    contraction = products.contraction
    strided = contraction.strided()
    if strided is None:
        return None
    single = plan_contraction(strided[0], ELEMENT_BYTES[str(contraction.element)], cpu)
    if not cpu.multiplies_matrices:
        return None if single is None else as_they_lie(products)
    layouts = {}
    for layout in for_matrices(products, SIDE):
        kept = [] if layout.kept is None else [layout.kept]
        plan = plan_matrices(dims_in_pairs(products, layout), kept)
        if plan is not None:
            layouts[layout] = plan.cycles
    best = min(layouts, key=layouts.__getitem__, default=None)
    if best is None or (single is not None and single.cycles <= layouts[best]):
        return None
    return best
