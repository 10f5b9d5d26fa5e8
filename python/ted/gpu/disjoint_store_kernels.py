"""A group of pieces -> one kernel: by cells along the memory, or its kernels side by side.

Residue classes of the last dim need cells, for neighbours to write side by side. Other pieces that
write all of a memory, each element once, keep their own kernels, whose blocks become those of one.
A fill that the pieces leave something of is made by the threads that find no piece.
"""

from __future__ import annotations

from collections.abc import Callable

from ted.gpu.disjoint_stores import Pieces, Starts
from ted.gpu.horizontal_fusion import put_side_by_side
from ted.gpu.output_tiles import fits_cells, map_cells
from ted.mlir import ir

MOST_TESTS = 8  # pieces that a thread looks for one by one


def map_pieces(group: Pieces, map_one: Callable[[ir.Operation, Starts], None]) -> bool:
    """Build the kernel of a group in front of its last operation; False if it should have none.

    `map_one` builds the kernels of one operation, given what its results start from.
    """
    bare = group.without_fills()
    if group.cells[-1] == 1 and bare is not None:
        if len(bare) < 2:
            return False
        _map_each(bare, group.ops[-1], map_one)
        return True
    if not fits_cells(group) or (group.cells[-1] == 1 and not _is_padding(group)):
        return False
    with ir.InsertionPoint(group.ops[-1]), group.ops[-1].location:
        map_cells(group)
    return True


def _is_padding(group: Pieces) -> bool:
    """Whether fills come first, and few other pieces lie in them."""
    fills = [p for p in group.pieces if p.start is not None]
    return fills == list(group.pieces[: len(fills)]) and len(group.pieces) <= MOST_TESTS


def _map_each(
    parts: list[tuple[ir.Operation, Starts]],
    place: ir.Operation,
    map_one: Callable[[ir.Operation, Starts], None],
) -> None:
    begin = place.block.operations
    known = {o.operation for o in begin if o.operation.name == "gpu.launch"}
    made: list[ir.Operation] = []
    for op, starts in parts:
        with ir.InsertionPoint(place), op.location:
            map_one(op, starts)
        new = [o.operation for o in place.block.operations if o.operation.name == "gpu.launch"]
        new = [o for o in new if o not in known]
        known.update(new)
        made += new if len(new) == 1 else []
    put_side_by_side(made)
