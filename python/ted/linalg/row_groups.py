"""Groups of tensor operations that walk over the same rows, found without operator knowledge.

A root is a generic whose leading loops are parallel and index its results first. Its group is what
produces the group's inputs, as long as every value that passes inside the group is written and read
at the row of the loop, and is wanted nowhere before the root.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ted.linalg.contractions import MARK
from ted.linalg.transposes import transposed_reads
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.generic import Generic, generic_of
from ted.mlir.queries import count_inputs, is_inside


@dataclass
class RowGroup:
    """Operations of one loop over rows, the root first; `depth` leading dims are common."""

    members: list[ir.Operation]
    depth: int = 1


@dataclass
class _Block:
    """The candidates of a block, in order, and who uses what."""

    operations: list[ir.Operation]
    cpu: Cpu
    position: dict[ir.Operation, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for k, op in enumerate(self.operations):
            self.position[op] = k

    def users(self, value: ir.Value) -> list[ir.Operation]:
        """The operations of this block that use a value, directly or in their regions."""
        return [self._top(use.owner.operation) for use in value.uses]

    def _top(self, op: ir.Operation) -> ir.Operation:
        while op not in self.position:
            assert op.parent is not None, "a user is inside the block of the value"
            op = op.parent.operation
        return op


def row_groups(block: ir.Block, cpu: Cpu) -> list[RowGroup]:
    """The groups of more than one operation in a block, the last root first."""
    table = _Block([op.operation for op in block.operations], cpu)
    taken: set[ir.Operation] = set()
    groups = []
    for op in reversed(table.operations):
        if (
            op in taken
            or not is_row_operation(op, 1, table.cpu)
            or op.name == "linalg.fill"
            or rank(op) < 2
        ):
            continue
        group = _grow(op, table, taken)
        taken.update(group.members)
        if sum(m.name != "linalg.fill" for m in group.members) > 1:
            groups.append(group)
    return groups


def is_map(group: RowGroup) -> bool:
    """Whether all members have the same points, and read each other's results at their own."""
    members = [generic for m in group.members if (generic := generic_of(m)) is not None]
    boxes = {m.extents for m in members}
    if None in boxes or len(boxes) > 1 or not all(m.is_map for m in members):
        return False
    made: dict[ir.Value, ir.AffineMap] = {}
    for m in members:
        made.update(zip(m.op.results, m.maps[m.count_inputs :], strict=True))
    return all(
        made.get(value, amap) == amap
        for m in members
        for value, amap in zip(m.operands, m.maps, strict=True)
    )


def _grow(root: ir.Operation, table: _Block, taken: set[ir.Operation]) -> RowGroup:
    members = [root]
    depth = _leading_parallel(root)
    for k in reversed(range(table.position[root])):
        op = table.operations[k]
        # The transform dialect gives a loop the first result of an inner member only.
        if op in taken or len(op.results) > 1 or not is_row_operation(op, 1, table.cpu):
            continue
        if _starts_several(op, members):
            continue
        common = _common_depth(op, members, root, table, depth)
        if common:
            members.append(op)
            depth = common
    # Something must be left inside the loop over rows.
    inner = min(rank(m) for m in members if m.name != "linalg.fill")
    return RowGroup(members, max(1, min(depth, max(rank(root), inner) - 1)))


def _starts_several(op: ir.Operation, members: list[ir.Operation]) -> bool:
    """Whether several members go on from the value of an operation.

    The loop has a start for each result that leaves it, and the transform dialect fuses into one.
    """
    uses = [use for result in op.results for use in result.uses]
    return sum(use.owner.operation in members and _is_start(use) for use in uses) > 1


def _is_start(use: ir.OpOperand) -> bool:
    op = use.owner.operation
    return use.operand_number >= count_inputs(op)


def _common_depth(
    op: ir.Operation, members: list[ir.Operation], root: ir.Operation, table: _Block, depth: int
) -> int:
    """How many leading dims the operation shares with the group; 0 when it cannot join."""
    used = False
    for result in op.results:
        for user in table.users(result):
            if user in members:
                used = True
                depth = min(depth, _depth_of_use(user, result))
            elif table.position[user] < table.position[root]:
                return 0
    return min(depth, _leading_parallel(op)) if used else 0


def _depth_of_use(op: ir.Operation, value: ir.Value) -> int:
    """With how many leading dims, in order, the operation indexes the value first."""
    if op.name == "linalg.fill":
        return rank(op)
    if op.name != "linalg.generic":
        return 0
    inside = [use for use in value.uses if use.owner.operation != op]
    depths = [_prefix(m) for v, m in zip(op.operands, Generic(op).maps, strict=True) if v == value]
    if not depths or any(is_inside(use.owner.operation, op) for use in inside):
        return 0
    return min(depths)


def is_row_operation(op: ir.Operation, depth: int, cpu: Cpu) -> bool:
    """Whether the leading loops are parallel and index every result first."""
    if MARK in op.attributes or not op.results:
        return False
    if op.name == "linalg.fill":
        return rank(op) >= depth
    if op.name != "linalg.generic" or transposed_reads(op, cpu):
        return False
    return _leading_parallel(op) >= depth


def _leading_parallel(op: ir.Operation) -> int:
    if op.name == "linalg.fill":
        return rank(op)
    generic = Generic(op)
    count = (*generic.reductions, True).index(True)
    return min([count, *(_prefix(m) for m in generic.maps[generic.count_inputs :])])


def _prefix(amap: ir.AffineMap) -> int:
    """Length of the longest prefix (d0, d1, ...) of a map's results."""
    results = list(amap.results)
    for k, expr in enumerate(results):
        if not isinstance(expr, ir.AffineDimExpr) or expr.position != k:
            return k
    return len(results)


def rank(op: ir.Operation) -> int:
    """Number of loops."""
    if op.name == "linalg.fill":
        return len(ir.ShapedType(op.results[0].type).shape)
    return Generic(op).rank
