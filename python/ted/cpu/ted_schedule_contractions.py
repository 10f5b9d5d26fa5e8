"""`ted-schedule-contractions`: find contractions and claim them for the vector route.

Before: named matrix products and convolutions, and generics that sum products of anything.
After: `linalg.generic {ted.contraction}` with a body `out + a * b` for each that `plan_contraction`
has a plan for, of pairs of bf16 where the CPU multiplies those; element-wise work in its factors
stands before it as maps, and copies of operands that would be read across far lines
(operand_layouts.py). Other ops are not touched. What has the mark must be left alone until `ted-
tile-loops`.
"""

from __future__ import annotations

from typing import Any

from ted.cpu.operand_layouts import LAYOUT, Site, lay_out
from ted.cpu.plans import pair_layout, plan_of
from ted.linalg.bf16_pairs import in_pairs, products_of_bf16
from ted.linalg.contraction_factors import split_factors
from ted.linalg.contractions import MARK, recognise
from ted.linalg.generalizing import generalize, generics
from ted.machine import DEFAULT, Cpu, named_cpu
from ted.mlir import ir
from ted.mlir.semiring import FASTMATH, FLOAT_OPERATIONS
from ted.mlir.strategies import check_is_seen
from ted.records import dataclass


@dataclass(frozen=True)
class TedScheduleContractions:
    """The pass. `cpu` is a row of `ted.machine.CPUS`."""

    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Mark every contraction that has a plan.

        Raises: ScheduleError for a `ted.layout` that does not fit.
        """
        cpu = named_cpu(self.cpu)
        with module.context, ir.Location.unknown(module.context):
            generalize(module)
            copies: dict[Any, ir.Value] = {}
            for op in generics(module.operation):
                if MARK in op.attributes:
                    continue
                contraction = _in_pairs(op, cpu) or split_factors(op) or op
                site = _planned(contraction, cpu, copies)
                if site is not None:
                    contraction.attributes[MARK] = ir.UnitAttr.get()
                    lay_out(site)
                elif recognise(contraction) is not None:
                    _allow_reassociation(contraction)
            check_is_seen(module.operation, (), LAYOUT)


def _in_pairs(op: ir.Operation, cpu: Cpu) -> ir.Operation | None:
    """Products of bf16 as products of pairs, where the CPU has those and there is a plan."""
    takes_pairs = cpu.multiplies_pairs or cpu.multiplies_matrices
    products = products_of_bf16(op) if takes_pairs else None
    layout = None if products is None else pair_layout(products, cpu)
    return None if products is None or layout is None else in_pairs(op, products, layout)


def _allow_reassociation(op: ir.Operation) -> None:
    """Let the loop vectoriser sum in lanes what stays a scalar loop, a matrix times a vector."""
    for inner in op.regions[0].blocks[0].operations:
        if inner.operation.name in FLOAT_OPERATIONS:
            inner.operation.attributes["fastmath"] = ir.Attribute.parse(FASTMATH)


def _planned(op: ir.Operation, cpu: Cpu, copies: dict[Any, ir.Value]) -> Site | None:
    """The op with its plan when its operands are dense; layouts are known only later."""
    contraction = recognise(op)
    strided = None if contraction is None else contraction.strided()
    if contraction is None or strided is None:
        return None
    plan = plan_of(contraction, strided[0], cpu)
    return None if plan is None else Site(op, contraction, plan, cpu, copies)
