"""Claimed contractions -> kernels of the templates, launched from the host.

Before: `linalg.generic {ted.contraction} ins(%a, %b) outs(%c)`
After: `gpu.launch_func @kernels::@C_3f9a61c2`, on one-dimensional views of the memory

A template sees operands as one flat view each, and one stride per dim and operand. What no
template takes is summed like any other reduction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import prod
from typing import Any

from ted.gpu.epilogues import Finishing, finishing_of
from ted.gpu.flat_views import FlatView, flat_view_of
from ted.gpu.padded_views import bounds_of, shift_of
from ted.gpu.templates.contraction import emit, plan
from ted.gpu.templates.kernels import Launch
from ted.gpu.templates.problem import Operand, Problem
from ted.gpu.templates.schedule import Plan
from ted.gpu.templates.tensor_maps import TensorMap
from ted.gpu.tensor_map_values import tensor_map_value
from ted.gpu.wide_products import contraction_of
from ted.linalg.contractions import MARK, LinalgContraction
from ted.linalg.strided_contractions import Dim
from ted.mlir import gpu, ir, memref
from ted.mlir.dependences import Dependences
from ted.mlir.queries import is_zero, symbol_name
from ted.records import dataclass

MODULE = "kernels"  # where the kernels of a program are
# Fewer fill no tile, and plain sums compile in a tenth of the time.
LEAST_PRODUCTS = 1 << 16


NO_CONTRACTION = "no claimed contraction of strided memory"


@dataclass(frozen=True)
class Planned:
    """The template of a contraction and its tiles, `splits` of the sum, and what it works on."""

    template: str
    rows: int
    columns: int
    depth: int
    stages: int
    splits: int
    problem: Problem
    chosen: Plan
    views: dict[str, FlatView]
    finishing: Finishing | None = None


@dataclass
class Contractions:
    """The contractions of a module for one chip; equal ones share their kernels."""

    module: ir.Module
    chip: str
    tf32: bool = False  # whether factors in f32 may be rounded
    made: dict[Problem, list[Launch]] = field(default_factory=dict)
    plans: dict[Problem, Plan | str] = field(default_factory=dict)

    def match(self, op: ir.Operation, start: ir.Value | None) -> Planned | str:
        """The kernel of a contraction; or why none.

        `start`: what the result holds before, if that is known and was not written.
        """
        found = self._read(op, start)
        if found is None:
            return NO_CONTRACTION
        contraction, dims, operands, views = found
        problem = Problem(
            dims, *operands, accumulator=str(contraction.element), accumulate=start is None,
            bounds=bounds_of(contraction),
        )  # fmt: skip
        return self._planned(problem, dict(zip("abc", views, strict=True)))

    def planned(self, op: ir.Operation) -> Plan | str:
        """The kernel that a claimed contraction will have, but for its epilogue; or why none."""
        found = self._read(op, None)
        if found is None:
            return NO_CONTRACTION
        contraction, dims, operands, _ = found
        bounds = bounds_of(contraction)
        return self._plan(
            Problem(dims, *operands, accumulator=str(contraction.element), bounds=bounds)
        )

    def _plan(self, problem: Problem) -> Plan | str:
        if prod(d.extent for d in problem.dims) < LEAST_PRODUCTS:
            return "few products"
        if problem not in self.plans:
            self.plans[problem] = plan(problem, self.chip, tf32=self.tf32, tensor_maps=True)
        return self.plans[problem]

    def claims(self, op: ir.Operation) -> bool:
        """Whether a contraction is left to a template, as far as its size says."""
        found = contraction_of(op) if MARK in op.attributes else None
        return found is not None and prod(found.extents) >= LEAST_PRODUCTS

    def match_finished(
        self, op: ir.Operation, start: ir.Value | None, known: Dependences
    ) -> Planned | str:
        """The kernel of a contraction with the element-wise work behind it; or why none."""
        found = None if start is None else self._read(op, start)
        if found is None:
            return f"{NO_CONTRACTION}, or its result starts from something"
        finishing = finishing_of(op, found[0], known)
        if finishing is None:
            return "no short element-wise work alone reads the result"
        contraction, _, operands, views = found
        problem = Problem(
            finishing.dims, operands[0], operands[1], finishing.operands[0],
            accumulator=str(contraction.element), epilogue=finishing.epilogue,
            bounds=bounds_of(contraction),
        )  # fmt: skip
        memory = dict(zip("ab", views, strict=False)) | {"c": finishing.views[0]}
        memory |= {f"input {k}": view for k, view in enumerate(finishing.views[1:])}
        return self._planned(problem, memory, finishing)

    def _planned(
        self, problem: Problem, views: dict[str, FlatView], finishing: Finishing | None = None
    ) -> Planned | str:
        chosen = self._plan(problem)
        if isinstance(chosen, str):
            return chosen
        tiling = chosen.tiling
        return Planned(
            chosen.template, tiling.rows, tiling.columns, tiling.depth, tiling.stages,
            chosen.splits, problem, chosen, views, finishing,
        )  # fmt: skip

    def _read(
        self, op: ir.Operation, start: ir.Value | None
    ) -> tuple[LinalgContraction, tuple[Dim, ...], list[Operand], list[FlatView]] | None:
        """A claimed contraction as dims, operands and the flat views that these lie in."""
        if MARK not in op.attributes or not (start is None or is_zero(start)):
            return None
        found = contraction_of(op)
        strided = None if found is None else found.strided()
        if found is None or strided is None:
            return None
        views = [view for value in found.values if (view := flat_view_of(value)) is not None]
        if len(views) != len(found.values):
            return None
        operands = [
            Operand(
                str(view.element),
                view.size,
                view.start.constant + offset + shift_of(value),
                view.alignment,
            )
            for view, offset, value in zip(views, strided[1], found.values, strict=True)
        ]
        return found, strided[0], operands, views

    def launch(self, planned: Planned) -> None:
        """Launch the kernels of a contraction at the insertion point."""
        problem = planned.problem
        if problem not in self.made:
            name = f"contraction_{len(self.made)}"
            self.made[problem] = emit(planned.chosen, kernel_module(self.module), name)
        self._call(self.made[problem], planned.views)

    def _call(self, launches: list[Launch], views: dict[str, FlatView]) -> None:
        memory = {name: view.pointer() for name, view in views.items()}
        for launch in launches:
            operands = []
            for name in launch.arguments:
                if isinstance(name, TensorMap):
                    operands.append(tensor_map_value(memory[name.operand], name))
                    continue
                if name == "workspace" and name not in memory:
                    memory[name] = _workspace(self.module, launch.symbol, launch.arguments)
                operands.append(memory[name])
            kernel: Any = ir.SymbolRefAttr.get([MODULE, launch.symbol])
            shared = None
            if launch.dynamic_shared_bytes:
                i32 = ir.IntegerType.get_signless(32)
                shared = ir.Operation.create(
                    "arith.constant",
                    results=[i32],
                    attributes={"value": ir.IntegerAttr.get(i32, launch.dynamic_shared_bytes)},
                ).results[0]
            gpu.LaunchFuncOp(
                kernel, launch.grid, launch.block, operands, dynamic_shared_memory_size=shared
            )


def claimed_readers(operations: Sequence[ir.Operation], known: Dependences) -> set[ir.Operation]:
    """The element-wise operations that kernels of contractions may do before they store."""
    found: set[ir.Operation] = set()
    for op in operations:
        contraction = contraction_of(op) if MARK in op.attributes else None
        if contraction is None or prod(contraction.extents) < LEAST_PRODUCTS:
            continue
        finishing = finishing_of(op, contraction, known)
        if finishing is not None:
            found.add(finishing.consumer)
    return found


def _workspace(module: ir.Module, symbol: str, arguments: tuple[Any, ...]) -> ir.Value:
    """A buffer of the type that a kernel takes for its partial sums."""
    for op in kernel_module(module).regions[0].blocks[0].operations:
        if symbol_name(op) == symbol:
            kind = ir.FunctionType(ir.TypeAttr(op.operation.attributes["function_type"]).value)
            return memref.AllocOp(kind.inputs[arguments.index("workspace")], [], []).result
    raise AssertionError(f"the kernel {symbol} was just made")


def kernel_module(module: ir.Module) -> ir.Operation:
    """The module of kernels, made on first use."""
    for op in module.body.operations:
        is_module = op.operation.name == "gpu.module"
        if is_module and symbol_name(op) == MODULE:
            return op.operation
    with ir.InsertionPoint(module.body), ir.Location.unknown():
        made = gpu.GPUModuleOp(MODULE).operation
    if not len(made.regions[0].blocks):
        made.regions[0].blocks.append()
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    return made
