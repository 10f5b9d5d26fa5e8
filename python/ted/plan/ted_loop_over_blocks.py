"""Make what outgrows a cache in loops over blocks of rows, where that costs fewer bytes.

Before: z[i, j] of 64 MB; m[i] max= z[i, j]; p[i, j] = exp(z[i, j] - m[i])
After:  a `ted.scan` over blocks of i, of which a step holds 32 rows of `z` and `p`
"""

from __future__ import annotations

from ted.ir.equations import System
from ted.ir.remarks import remark
from ted.ir.rewriting import SystemPass
from ted.machine import DEFAULT, named_cpu
from ted.plan.block_choices import NAME, Bounds, choices
from ted.plan.block_loops import in_loops
from ted.plan.repeated_rows import with_repeated_rows
from ted.records import dataclass


@dataclass(frozen=True)
class TedLoopOverBlocks(SystemPass):
    """Tensors are large that the second cache of `cpu` does not hold.

    With `always` loops are made where they can be, whatever they cost; with `bytes` no block of
    several rows takes more than so many, either, and what does is made in a loop.
    """

    cpu: str = DEFAULT
    bytes: int = 0
    always: bool = False

    def rewrite(self, system: System) -> System:
        """The system with loops over blocks."""
        cache = named_cpu(self.cpu).second_cache.size
        bounds = Bounds(cache, self.always or self.bytes > 0, self.bytes)
        if bounds.always:
            system = with_repeated_rows(system, bounds)
        found = list(choices(system, bounds))
        for choice in found:
            remark(f"{NAME}: {choice}", choice.tensor.location)
        loops = [choice.loop for choice in found if choice.loop is not None]
        return in_loops(system, loops) if loops else system
