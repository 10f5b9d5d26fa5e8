"""`ted-parallelize-kernels`: kernels with work for more than one thread -> units of work.

Before: a kernel with `linalg.generic` over 4096 x 1024 points
After: it calls a function with `ted.units = 64`, which calls another one for each of 64 units

What is outermost and parallel is cut, inside of loops over time as well. Where nothing pays for a
thread the kernel stays as it is. An attribute `ted.threads` at an operation says how: by the rows
of the table and their parameters.
"""

from __future__ import annotations

from functools import partial

from ted.cpu.unit_loops import outline
from ted.cpu.unit_strategies import THREADS, decide
from ted.machine import DEFAULT, named_cpu
from ted.mlir import ir
from ted.mlir.queries import functions
from ted.mlir.strategies import check_is_seen, forget
from ted.records import dataclass


@dataclass(frozen=True)
class TedParallelizeKernels:
    """The pass. `cpu` is a row of `ted.machine.CPUS`; `grain` stands for its `grain_cycles`."""

    cpu: str = DEFAULT
    grain: int = 0

    def run(self, module: ir.Module) -> None:
        """Rewrite every function.

        Raises: ScheduleError for a `ted.threads` that does not fit.
        """
        cpu = named_cpu(self.cpu).with_grain(self.grain)
        with module.context:
            for function in list(functions(module)):
                made = partial(outline, module=module, function=function, known={})
                for decision in list(decide(function, cpu, made)):
                    site, choice = decision.site, decision.choice
                    forget(site.op, THREADS)
                    with ir.InsertionPoint(site.outer), site.op.location:
                        choice.row.emit(site, choice.plan)
            check_is_seen(module.operation, (), THREADS)
