"""Programs compiled for CPUs: machine code in this process, and what there is to see of it.

Before: ted.compile([x], [y])      After: a `CompiledFunction`: f(x), f.ir("loops")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ted.api.programs import Program
from ted.api.staged_functions import StagedFunction
from ted.codegen.assembly import disassemble
from ted.codegen.jit import link
from ted.codegen.objects import unpacked
from ted.codegen.watching import Watch
from ted.cpu.pipeline import CPU_STAGES, cpu_stages
from ted.cpu.strategies import explained
from ted.ir.equations import System
from ted.ir.pipelines import run_stages
from ted.ir.to_ops import to_module
from ted.linalg.pipeline import EQUATIONS
from ted.linalg.row_strategies import decide, explained_groups
from ted.linalg.ted_choose_forms import explained_forms
from ted.machine import Cpu
from ted.mlir import ir
from ted.options import CompileOptions
from ted.runtime.calls import bind
from ted.runtime.library import library_path


class CompiledFunction(StagedFunction):
    """A program compiled for one target: call it with arrays, look at its IR.

    `f(*arrays)` returns a tuple of arrays, or one array when it was compiled for a single tensor;
    `out=` gives arrays to fill, an entry that is None leaves the array to the function.
    """

    stages = (*(stage.name for stage in CPU_STAGES), "asm")

    def __init__(self, program: Program, single: bool, options: CompileOptions) -> None:
        assert isinstance(options.machine, Cpu), "a program for a CPU"
        super().__init__(program, single, options, cpu_stages(options.machine))
        self._cpu = options.machine
        self.compile_times = {}
        files = (library_path(),)
        with Watch(program.name, self.compile_times) as watch:
            call = program.call(
                lambda: self._request("cpu", {"libraries": files}, files), files, watch
            )
            watch("linking")
            self._code = link(unpacked(call.code), _symbol(program.name), files)
        self._call = bind(
            self._code.address,
            call.inputs,
            call.outputs,
            name=program.name,
            accesses=dict(enumerate(self._code.made.indexed)),
            donated=call.donated,
            owner=self._code,
        )

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on one array per input.

        Raises: ExecutionError naming the argument, or the tensor and index that is out of range.
        """
        results = self._call(*arrays, out=out)
        return results[0] if self._single else results

    @property
    def peak_bytes(self) -> int:
        """Bytes of results and temporary buffers that the latest call held at most at once.

        Small buffers in the frame of the call, at most 256 KiB in all, are not counted.
        """
        return self._call.peak_bytes

    def _written(self, system: System, donated: Mapping[int, int]) -> ir.Module:
        del donated  # the caller's memory is chosen by the call
        return to_module(replace(system, name=_symbol(system.name)))

    def _translated(self) -> str:
        return disassemble(self._code.made.code)

    def _explained(self, module: ir.Module) -> str:
        run_stages(module, self._pipeline, EQUATIONS.name)
        forms = explained_forms(module)
        run_stages(module, self._pipeline, "tensors", after=EQUATIONS.name)
        groups = explained_groups(decide(module, self._cpu, maps=True))
        run_stages(module, self._pipeline, "buffers", after="tensors")
        return "\n\n".join(filter(None, [forms, groups, explained(module, self._cpu)]))


def _symbol(name: str) -> str:
    """A name that no library has: a function `sin` would be what its own `math.sin` calls."""
    return name if name == "main" else f"ted.{name}"
