"""`ted-choose-rows`: which operations on tensors share a loop over rows, as attributes.

Before: a row maximum and a division by it, each over the whole matrix
After: both with `ted.group = {name = "common_rows", group = 1, depth = 1}`

Nothing is fused: `ted-fuse-rows` does what the attributes say. One that is there before stays.
"""

from __future__ import annotations

from ted.linalg.row_strategies import decide, note
from ted.machine import DEFAULT, named_cpu
from ted.mlir import ir
from ted.records import dataclass


@dataclass(frozen=True)
class TedChooseRows:
    """Write `ted.group`; the options are those of `ted-fuse-rows`."""

    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Annotate every operation that may be in a group.

        Raises: ScheduleError for a `ted.group` that does not fit.
        """
        note(decide(module, named_cpu(self.cpu)))
