"""Claimed contractions -> kernels of the templates, launched from the host.

Before: `linalg.generic {ted.contraction} ins(%a, %b) outs(%c)`
After: `gpu.launch_func @kernels::@contraction_0`, on one-dimensional views of the memory

A template sees operands as one line of elements each, and one stride per dim and operand. What no
template takes is summed like any other reduction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ted.errors import CompileError
from ted.gpu.epilogues import Finishing, finishing_of
from ted.gpu.flat_views import Line, line_of
from ted.gpu.padded_views import bounds_of, is_padded, shift_of
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
from ted.mlir.queries import is_zero

MODULE = "kernels"  # where the kernels of a program are
# Fewer fill no tile, and plain sums compile in a tenth of the time.
LEAST_PRODUCTS = 1 << 16


@dataclass
class Contractions:
    """The contractions of a module for one chip; equal ones share their kernels."""

    module: ir.Module
    chip: str
    tf32: bool = False  # whether factors in f32 may be rounded
    made: dict[Problem, list[Launch] | None] = field(default_factory=dict)
    plans: dict[Problem, Plan] = field(default_factory=dict)

    def launch(self, op: ir.Operation, start: ir.Value | None) -> bool:
        """Launch the kernels of a contraction at the insertion point; False if there are none.

        `start`: what the result holds before, if that is known and was not written.
        """
        found, launched = self._read(op, start), False
        if found is not None:
            contraction, dims, operands, lines = found
            problem = Problem(
                dims, *operands, accumulator=str(contraction.element), accumulate=start is None,
                bounds=bounds_of(contraction),
            )  # fmt: skip
            launched = self._launch(problem, dict(zip("abc", lines, strict=True)))
        if not launched and any(map(is_padded, op.operands)):
            raise CompileError(f"gpu: only templates read a padding that is no memory, got {op}")
        return launched

    def planned(self, op: ir.Operation) -> Plan | str:
        """The kernel that a claimed contraction will have, but for its epilogue; or why none."""
        found = self._read(op, None)
        if found is None:
            return "not a contraction of strided memory"
        contraction, dims, operands, _ = found
        bounds = bounds_of(contraction)
        return self._plan(
            Problem(dims, *operands, accumulator=str(contraction.element), bounds=bounds)
        )

    def _plan(self, problem: Problem) -> Plan | str:
        if prod(d.extent for d in problem.dims) < LEAST_PRODUCTS:
            return "few products"
        return plan(problem, self.chip, tf32=self.tf32, tensor_maps=True)

    def claims(self, op: ir.Operation) -> bool:
        """Whether a contraction is left to a template, as far as its size says."""
        found = contraction_of(op) if MARK in op.attributes else None
        return found is not None and prod(found.extents) >= LEAST_PRODUCTS

    def launch_finished(
        self, op: ir.Operation, start: ir.Value | None, later: Sequence[ir.Operation]
    ) -> Finishing | None:
        """Launch a contraction with the element-wise work behind it, where that is.

        None if there is no such work, or no kernel that does both.
        """
        found = None if start is None else self._read(op, start)
        finishing = None if found is None else finishing_of(op, found[0], later)
        if found is None or finishing is None:
            return None
        contraction, _, operands, lines = found
        problem = Problem(
            finishing.dims, operands[0], operands[1], finishing.operands[0],
            accumulator=str(contraction.element), epilogue=finishing.epilogue,
            bounds=bounds_of(contraction),
        )  # fmt: skip
        memory = dict(zip("ab", lines, strict=False)) | {"c": finishing.lines[0]}
        memory |= {f"input {k}": line for k, line in enumerate(finishing.lines[1:])}
        with ir.InsertionPoint(finishing.consumer), finishing.consumer.location:
            return finishing if self._launch(problem, memory) else None

    def _read(
        self, op: ir.Operation, start: ir.Value | None
    ) -> tuple[LinalgContraction, tuple[Dim, ...], list[Operand], list[Line]] | None:
        """A claimed contraction as dims, operands and the lines that these lie in."""
        if MARK not in op.attributes or not (start is None or is_zero(start)):
            return None
        found = contraction_of(op)
        strided = None if found is None else found.strided()
        if found is None or strided is None:
            return None
        lines = [line for value in found.values if (line := line_of(value)) is not None]
        if len(lines) != len(found.values):
            return None
        operands = [
            Operand(
                str(line.element), line.size, line.offset + offset + shift_of(value), line.alignment
            )
            for line, offset, value in zip(lines, strided[1], found.values, strict=True)
        ]
        return found, strided[0], operands, lines

    def _launch(self, problem: Problem, lines: dict[str, Line]) -> bool:
        launches = self._launches(problem)
        if launches is None:
            return False
        self._call(launches, lines, self.plans[problem])
        return True

    def _launches(self, problem: Problem) -> list[Launch] | None:
        if problem not in self.made:
            chosen = self._plan(problem)
            if isinstance(chosen, str):
                self.made[problem] = None
            else:
                name = f"contraction_{len(self.plans)}"
                self.plans[problem] = chosen
                self.made[problem] = emit(chosen, kernel_module(self.module), name)
        return self.made[problem]

    def _call(self, launches: list[Launch], lines: dict[str, Line], chosen: Plan) -> None:
        memory = {name: line.pointer() for name, line in lines.items()}
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


def claimed_readers(operations: Sequence[ir.Operation]) -> set[ir.Operation]:
    """The element-wise operations that kernels of contractions may do before they store."""
    found: set[ir.Operation] = set()
    for k, op in enumerate(operations):
        contraction = contraction_of(op) if MARK in op.attributes else None
        if contraction is None or prod(contraction.extents) < LEAST_PRODUCTS:
            continue
        finishing = finishing_of(op, contraction, operations[k + 1 :])
        if finishing is not None:
            found.add(finishing.consumer)
    return found


def _workspace(module: ir.Module, symbol: str, arguments: tuple[Any, ...]) -> ir.Value:
    """A buffer of the type that a kernel takes for its partial sums."""
    for op in kernel_module(module).regions[0].blocks[0].operations:
        if ir.StringAttr(op.operation.attributes["sym_name"]).value == symbol:
            kind = ir.FunctionType(ir.TypeAttr(op.operation.attributes["function_type"]).value)
            return memref.AllocOp(kind.inputs[arguments.index("workspace")], [], []).result
    raise AssertionError(f"the kernel {symbol} was just made")


def kernel_module(module: ir.Module) -> ir.Operation:
    """The module of kernels, made on first use."""
    for op in module.body.operations:
        is_module = op.operation.name == "gpu.module"
        if is_module and ir.StringAttr(op.operation.attributes["sym_name"]).value == MODULE:
            return op.operation
    with ir.InsertionPoint(module.body), ir.Location.unknown():
        made = gpu.GPUModuleOp(MODULE).operation
    if not len(made.regions[0].blocks):
        made.regions[0].blocks.append()
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    return made
