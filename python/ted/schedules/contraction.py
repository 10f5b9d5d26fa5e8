"""The schedule of contractions: two steps of a pipeline, one on each side of bufferization."""

from __future__ import annotations

from ted.mlir import ir
from ted.schedules.ted_schedule_contractions import TedScheduleContractions
from ted.schedules.ted_vectorize_contractions import TedVectorizeContractions


def schedule_tensors(module: ir.Module) -> None:
    """Claim the contractions of a module on tensors, as `ted-schedule-contractions`."""
    TedScheduleContractions().run(module)


def schedule_buffers(module: ir.Module) -> None:
    """Turn the claimed ones, now on memrefs, into vector code, as `ted-vectorize-contractions`.

    It comes after buffers were promoted and deallocated, before generics become scalar loops.
    """
    TedVectorizeContractions().run(module)
