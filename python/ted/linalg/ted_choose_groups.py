"""`ted-choose-groups`: which equations share a loop over rows, or have one over blocks.

Before: a row maximum and a division by it, each over the whole matrix
After: both with `ted.group = {name = "common_rows", group = 1, depth = 1}`

Nothing is emitted: `ted-emit-kernels` does what the attributes say. One that is there before stays.
"""

from __future__ import annotations

from ted.linalg.equation_groups import EQUATION, SCAN
from ted.linalg.kernel_strategies import decide, note
from ted.linalg.ted_check_sizes import check_is_static
from ted.machine import DEFAULT, named_cpu
from ted.mlir import ir
from ted.mlir.queries import functions, operations
from ted.records import dataclass


@dataclass(frozen=True)
class TedChooseGroups:
    """Write `ted.group`; the options are those of `ted-emit-kernels`."""

    cpu: str = DEFAULT
    gpu: bool = False

    def run(self, module: ir.Module) -> None:
        """Annotate every equation that is no part of a step.

        Raises: ScheduleError for a `ted.group` that does not fit, CompileError for a tensor of
        symbolic size.
        """
        for op in operations(module.operation, EQUATION, SCAN):
            for result in op.results:
                check_is_static(result)
        for function in functions(module):
            note(decide(function.entry_block, named_cpu(self.cpu), self.gpu))
