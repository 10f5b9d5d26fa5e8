"""Programs that hold at most so many bytes: what is computed again for `memory_limit=`.

Before: a program, and stages that hold 9 MiB at most      After: stages that hold 4 MiB

The pass `ted-limit-memory` decides on equations, where it is known what can be made again; what
lowering adds (packed operands, padding) or saves (rows that are fused) shows only at the end, so
that is measured, and the pass is asked for less where it was too much. Before anything is computed
again, what is large is made in loops over blocks, and these get smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.api.memory_timelines import INPUT, RESULT, MemoryTimeline
from ted.cpu.pipeline import Held
from ted.errors import CompileError
from ted.ir.pipelines import Stage

ATTEMPTS = 8  # each is a lowering of the program
SHARES = (1, 2, 4, 16)  # of what results leave, for a block: in the first attempts with loops
STEP = 7 / 8  # less is asked for each time, at least
SHOWN = 5  # of what is held, in an error


def stages_within(
    limit: int, stages: Callable[[Held | None], Sequence[Stage]],
    timeline: Callable[[Sequence[Stage]], MemoryTimeline], modelled: Callable[[], int], name: str,
) -> Sequence[Stage]:  # fmt: skip
    """The stages, for what equations should hold, by which a program keeps to a limit.

    `modelled` is what equations hold where nothing is computed again, by the model of the pass.
    Raises: CompileError, which names the least peak that was found and what is held then.
    """
    asked: Held | None = None
    least: MemoryTimeline | None = None
    block = 0  # of the attempt with the least peak
    for attempt in range(ATTEMPTS):
        made = stages(asked)
        found = timeline(made)
        if found.peak_bytes <= limit:
            return made
        if least is None or found.peak_bytes < least.peak_bytes:
            least, block = found, asked.block if asked is not None else 0
        # At first nothing is computed again, but loops over blocks may cost more.
        most = modelled() if asked is None else asked.most
        if attempt < len(SHARES):
            asked = Held(most, _left(found, limit) // SHARES[attempt])
        else:
            less = min(limit / least.peak_bytes, STEP)
            asked = Held(int(less * most), block)
    assert least is not None, "a first attempt"
    raise CompileError(
        f"{name}: memory_limit is {limit} bytes, the least that was found is {least.peak_bytes}, "
        f"{_holders(least)}; give more, or compile for smaller arrays"
    )


def _left(found: MemoryTimeline, limit: int) -> int:
    """Bytes that results leave of a limit, at least an eighth of it."""
    results = sum(b.nbytes for b in found.buffers if b.kind == RESULT)
    return max(limit - results, limit // 8, max(SHARES))


def _holders(timeline: MemoryTimeline) -> str:
    """Where the peak is, and the largest of what is held there."""
    where = timeline.peak_step
    held = [b for b in timeline.held_in(where) if b.kind != INPUT]
    largest = sorted(held, key=lambda b: -b.nbytes)[:SHOWN]
    told = [f"{b.tensor} {b.nbytes}" for b in largest] + ["..."] * (len(held) > SHOWN)
    if not timeline.steps:
        return f"in the results, of which {', '.join(told)}"
    step = timeline.steps[where]
    own = [f"{step.nbytes} of its own"] if step.nbytes else []
    return f"in kernel {step.tensor}, of which {', '.join(own + told)}"
