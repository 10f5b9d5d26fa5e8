"""The schedule of contractions: two steps of the pipeline, one on each side of bufferization."""

from __future__ import annotations

from ted.mlir import ir
from ted.schedules.schedule_contractions import ScheduleContractions
from ted.schedules.vectorize_contractions import VectorizeContractions


def schedule_tensors(module: ir.Module) -> None:
    """Claim the contractions of a module on tensors: see `schedule_contractions`."""
    ScheduleContractions().run(module)


def schedule_buffers(module: ir.Module) -> None:
    """Turn the claimed ones, now on memrefs, into vector code: see `vectorize_contractions`.

    After the buffers' own promotion and deallocation, before generics become scalar loops.
    """
    VectorizeContractions().run(module)
