"""Work on memrefs -> kernels: the pass `ted-map-to-gpu`.

Before: `linalg.generic ins(%a : memref<1024xf32>) outs(%b : memref<1024xf32>) {...}`
After: `gpu.launch blocks(%i) in (4) threads(%t) in (256)` around the code of one point.

Every operation of the host function that computes becomes one kernel or a few; loops over time
stay on the host. What is left there is allocations, loops with known bounds, launches and copies.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.errors import CompileError
from ted.lowering.gpu.bodies import work_of
from ted.lowering.gpu.maps import map_points
from ted.lowering.gpu.reductions import map_reduction
from ted.mlir import ir
from ted.schedules.memory_roots import VIEWS
from ted.schedules.walking import functions

_STRUCTURED = ("linalg.generic", "linalg.fill", "linalg.copy", "memref.copy")
_HOST = ("memref.alloc", "memref.dealloc", "memref.get_global", "gpu.launch", "func.return")


@dataclass(frozen=True)
class TedMapToGpu:
    """Turn everything that computes into kernels."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            _map_block(function.entry_block)


def _map_block(block: ir.Block) -> None:
    for op in [o.operation for o in block.operations]:
        if op.name in VIEWS or op.name in _HOST or op.name.startswith(("arith.", "affine.")):
            continue
        with ir.InsertionPoint(op), op.location:
            _map(op)
        op.erase()


def _map(op: ir.Operation) -> None:
    work = work_of(op)
    if work is None:
        raise CompileError(f"gpu: no kernel for {op.name}, got {op}")
    if work.reductions:
        map_reduction(work)
    else:
        map_points(work)
