"""A group of pieces -> one kernel: by cells along the memory, or its kernels side by side.

Residue classes of the last dim need cells, for neighbours to write side by side. Other pieces that
write all of a memory, each element once, keep their own kernels, whose blocks become those of one.
A fill that the pieces leave something of is made by the threads that find no piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.gpu.disjoint_stores import Pieces, Starts
from ted.gpu.horizontal_fusion import put_side_by_side
from ted.gpu.output_tiles import fits_cells
from ted.mlir import ir

Parts = list[tuple[ir.Operation, Starts]]
Emit = Callable[[], None]
MOST_TESTS = 8  # pieces that a thread looks for one by one


def apart(group: Pieces) -> Parts | str:
    """The operations that keep kernels of their own, as blocks of one; or why not."""
    bare = group.without_fills()
    if bare is None:
        return "pieces write elements twice, or leave some of a fill"
    if group.cells[-1] != 1:
        return f"pieces take turns in the last dim, every {group.cells[-1]} elements"
    return bare if len(bare) > 1 else "all but one are fills that it overwrites"


def why_no_cells(group: Pieces) -> str | None:
    """Why no kernel along the memory finds the piece of each element; None if one can."""
    if not fits_cells(group):
        return "cells are too large for a thread, or pieces depend on their order"
    if group.cells[-1] == 1 and not _is_padding(group):
        return f"no turns in the last dim, and no padding with at most {MOST_TESTS} pieces"
    return None


def _is_padding(group: Pieces) -> bool:
    """Whether fills come first, and few other pieces lie in them."""
    fills = [p for p in group.pieces if p.start is not None]
    return fills == list(group.pieces[: len(fills)]) and len(group.pieces) <= MOST_TESTS


def map_apart(place: ir.Operation, parts: Sequence[tuple[ir.Operation, Emit]]) -> None:
    """Build the kernels of parts at a place, each by its function, and make them one."""
    begin = place.block.operations
    known = {o.operation for o in begin if o.operation.name == "gpu.launch"}
    made: list[ir.Operation] = []
    for op, emit in parts:
        with ir.InsertionPoint(place), op.location:
            emit()
        new = [o.operation for o in place.block.operations if o.operation.name == "gpu.launch"]
        new = [o for o in new if o not in known]
        known.update(new)
        made += new if len(new) == 1 else []
    put_side_by_side(made)
