"""Programs that hold at most so many bytes: what is computed again for `memory_limit=`.

Before: a program, and stages that hold 9 MiB at most      After: stages that hold 4 MiB

The pass `ted-limit-memory` decides on equations, where it is known what can be made again; what
lowering adds (packed operands, padding) or saves (rows that are fused) shows only at the end, so
that is measured, and the pass is asked for less where it was too much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.api.memory_timelines import INPUT, MemoryTimeline
from ted.errors import CompileError
from ted.ir.pipelines import Stage

ATTEMPTS = 7  # each is a lowering of the program
STEP = 7 / 8  # less is asked for each time, at least
SHOWN = 5  # of what is held, in an error


def stages_within(
    limit: int, stages: Callable[[int | None], Sequence[Stage]],
    timeline: Callable[[Sequence[Stage]], MemoryTimeline], modelled: Callable[[], int], name: str,
) -> Sequence[Stage]:  # fmt: skip
    """The stages, for some bytes that equations should hold, by which a program keeps to a limit.

    `modelled` is what equations hold where nothing is computed again, by the model of the pass.
    Raises: CompileError, which names the least peak that was found and what is held then.
    """
    asked: int | None = None
    least: MemoryTimeline | None = None
    for _ in range(ATTEMPTS):
        made = stages(asked)
        found = timeline(made)
        if found.peak_bytes <= limit:
            return made
        if least is None or found.peak_bytes < least.peak_bytes:
            least = found
        # At first nothing is computed again, but loops over blocks may cost more.
        less = min(limit / found.peak_bytes, STEP)
        asked = modelled() if asked is None else int(less * asked)
    assert least is not None, "a first attempt"
    raise CompileError(
        f"{name}: memory_limit is {limit} bytes, the least that was found is {least.peak_bytes}, "
        f"{_holders(least)}; give more, or compile for smaller arrays"
    )


def _holders(timeline: MemoryTimeline) -> str:
    """Where the peak is, and the largest of what is held there."""
    where = timeline.peak_step
    held = [b for b in timeline.held_in(where) if b.kind != INPUT]
    largest = sorted(held, key=lambda b: -b.nbytes)[:SHOWN]
    told = ", ".join(f"{b.tensor} {b.nbytes}" for b in largest)
    kernel = f"kernel {timeline.steps[where].tensor}" if timeline.steps else "the results"
    return f"in {kernel}, of which {told}{', ...' if len(held) > SHOWN else ''}"
