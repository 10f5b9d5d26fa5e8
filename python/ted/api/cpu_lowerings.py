"""How a program is lowered for CPUs: what workers are asked for, and what there is to see of it.

Before: a program      After: a request for its kernels, `f.explain()`, `f.memory()`, `f.profile()`

A request needs equations and their text alone; what looks at a program loads what it asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ted import dialects
from ted.api.lowerings import Lowering
from ted.api.programs import Program
from ted.codegen.requests import Request
from ted.cpu.pipeline import KERNELS, cpu_stages
from ted.forking import cached_property
from ted.ir.equations import System
from ted.ir.pipelines import Stage, run_stages
from ted.ir.remarks import collected
from ted.ir.to_ops import to_module
from ted.linalg.pipeline import EQUATIONS
from ted.linalg.results_in_memory import IN_PLACE
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.queries import functions
from ted.options import CompileOptions
from ted.runtime.calls import BoundFunction

if TYPE_CHECKING:
    from ted.api.memory_timelines import MemoryTimeline
    from ted.api.profiles import TimedProgram


class CpuLowering(Lowering):
    """A program and a row of CPUs; `limit` is what a call may hold, in bytes."""

    def __init__(self, program: Program, cpu: Cpu, limit: int | None) -> None:
        super().__init__(program, cpu_stages(cpu))
        self._cpu = cpu
        self._limit = limit

    @property
    def stages(self) -> Sequence[Stage]:
        """The stages of this program, by which it keeps to its limit."""
        return self._stages if self._limit is None else self._stages_within

    @cached_property
    def _stages_within(self) -> Sequence[Stage]:
        from ted.api.memory_limits import stages_within

        assert self._limit is not None, "asked for"
        stages = partial(cpu_stages, self._cpu)
        return stages_within(self._limit, stages, self._timeline, self._modelled, self.program.name)

    def kernels_request(self) -> Request:
        """What a worker is asked for: the program to where each kernel goes its own way."""
        return self.request("cpu", {}, until=KERNELS)

    @cached_property
    def memory(self) -> MemoryTimeline:
        """What the program holds while it runs."""
        return self._timeline(self.stages)

    def _timeline(self, stages: Sequence[Stage]) -> MemoryTimeline:
        from ted.api.memory_timelines import memory_timeline

        with dialects.session():
            return memory_timeline(self.parsed(), stages, *self.program.arrays)

    def _modelled(self) -> int:
        from ted.ir.from_ops import from_function
        from ted.transforms.live_memory import LiveMemory

        with dialects.session():
            module = run_stages(self.parsed(), self._stages, EQUATIONS.name)
            return sum(LiveMemory.of(from_function(f)).most for f in functions(module))

    def timed(self, like: BoundFunction, options: CompileOptions) -> TimedProgram:
        """The program with the times of its kernels as one more result, called like another."""
        from ted.api.profiles import timed_program

        arrays = self.program.constants
        specs = self.program.arrays[0]
        brought = dict(zip(specs[len(specs) - len(arrays) :], arrays, strict=True))
        with dialects.session():
            return timed_program(
                self.parsed(), self.stages, self.program.symbol, like, options, brought
            )

    def _written(self, system: System, donated: Mapping[int, int]) -> ir.Module:
        del donated  # the caller's memory is chosen by the call
        module = to_module(replace(system, name=self.program.symbol))
        _mark(module, self.program.in_place)
        return module

    def _explained(self, module: ir.Module) -> str:
        from ted.cpu.strategies import explained
        from ted.cpu.unit_strategies import explained as explained_threads
        from ted.linalg.kernel_strategies import decide, explained_kernels
        from ted.linalg.ted_choose_forms import explained_forms
        from ted.plan.ted_loop_over_blocks import NAME as BLOCKS

        with collected() as remarks:
            run_stages(module, self.stages, EQUATIONS.name)
        blocks = "\n".join(str(r) for r in remarks if r.message.startswith(BLOCKS))
        forms = explained_forms(module, self._cpu.chains)
        blocks_of = (decide(f.entry_block, self._cpu) for f in functions(module))
        groups = "\n".join(map(explained_kernels, blocks_of))
        run_stages(module, self.stages, "buffers", after=EQUATIONS.name)
        threads = explained_threads(module, self._cpu)
        return "\n\n".join(
            filter(None, [blocks, forms, groups, threads, explained(module, self._cpu)])
        )


def _mark(module: ir.Module, in_place: Mapping[int, int]) -> None:
    """Say to `ted-emit-kernels` which arguments are what memory of results holds."""
    pairs = [k for result, argument in in_place.items() for k in (argument, result)]
    (function,) = functions(module)
    if pairs:
        with module.context:
            function.operation.attributes[IN_PLACE] = ir.DenseI64ArrayAttr.get(pairs)
