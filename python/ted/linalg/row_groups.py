"""Groups of tensor operations that walk over the same rows, found without operator knowledge.

A root is a generic whose leading loops are parallel and index its results first. Its group is what
produces the group's inputs, as long as every value that passes inside the group is written and read
at the row of the loop, and is wanted nowhere before the root.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from ted.linalg.contractions import MARK
from ted.linalg.transposes import transposed_accesses
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.generic import Generic, generic_of
from ted.mlir.locations import user_name
from ted.mlir.queries import count_inputs, is_inside, operands_inside
from ted.records import dataclass

# To fuse one more, the transform dialect looks at all: a cascade of choices has hundreds.
MOST_MEMBERS = 64
FILL, GENERIC = "linalg.fill", "linalg.generic"


@dataclass
class RowGroup:
    """Operations of one loop over rows, the root first; `depth` leading dims are common."""

    members: list[ir.Operation]
    depth: int = 1


@dataclass
class Candidates:
    """The operations of a block in order, who uses what, and which groups have them."""

    operations: list[ir.Operation]
    cpu: Cpu
    position: dict[ir.Operation, int] = field(default_factory=dict)
    taken: set[ir.Operation] = field(default_factory=set)
    # Why an operation whose result a group takes in did not join it.
    apart: dict[ir.Operation, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for k, op in enumerate(self.operations):
            self.position[op] = k

    def users(self, value: ir.Value) -> list[ir.Operation]:
        """The operations of this block that use a value, directly or in their regions."""
        return [self._top(use.owner.operation) for use in value.uses]

    def producers(self, op: ir.Operation) -> set[int]:
        """Where the operations of this block are whose results an operation uses."""
        owners = {value.owner for value in operands_inside(op)}
        made = {owner.operation for owner in owners if not isinstance(owner, ir.Block)}
        return {self.position[owner] for owner in made if owner in self.position}

    def _top(self, op: ir.Operation) -> ir.Operation:
        while op not in self.position:
            assert op.parent is not None, "a user is inside the block of the value"
            op = op.parent.operation
        return op


def candidates(block: ir.Block, cpu: Cpu) -> Candidates:
    """The operations of a block, in no group yet."""
    return Candidates([op.operation for op in block.operations], cpu)


def grow(
    root: ir.Operation, table: Candidates, among: Collection[ir.Operation] | None = None
) -> RowGroup:
    """The root with all that may join it, or with fills and those of `among` that may."""
    members = [root]
    depth = _leading_parallel(root)
    waiting = table.producers(root)  # the last one first, so that its users have been looked at
    while waiting:
        last = max(waiting)
        waiting.discard(last)
        op = table.operations[last]
        if op.name not in (FILL, GENERIC):
            continue
        is_free = op not in table.taken and (among is None or op.name == FILL)
        if not is_free and (among is None or op not in among):
            continue
        common = _common_depth(op, members, root, table, depth)
        if isinstance(common, int) and among is None and len(members) == MOST_MEMBERS:
            common = f"the group has {MOST_MEMBERS} members, the most there may be"
        if isinstance(common, int):
            members.append(op)
            waiting |= table.producers(op)
            depth = common
        else:
            table.apart[op] = common
    table.taken.update(members)
    # Something must be left inside the loop over rows.
    inner = min(rank(m) for m in members if m.name != FILL)
    return RowGroup(members, max(1, min(depth, max(rank(root), inner) - 1)))


def why_no_root(op: ir.Operation, cpu: Cpu) -> str | None:
    """Why no group ends with an operation; None where one may."""
    if op.name == FILL:
        return "a fill ends no group"
    return _why_no_rows(op, cpu) or ("it has a single loop" if rank(op) < 2 else None)


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


def _starts_several(op: ir.Operation, members: list[ir.Operation]) -> bool:
    """Whether several members go on from the value of an operation.

    The loop has a start for each result that leaves it, and the transform dialect fuses into one.
    """
    uses = [use for result in op.results for use in result.uses]
    return sum(use.owner.operation in members and _is_start(use) for use in uses) > 1


def _is_kept(op: ir.Operation, members: list[ir.Operation]) -> bool:
    """Whether a member goes on from the value of an operation that others want as it is.

    The transform dialect starts the loop where the operation starts, in memory that has the value.
    """
    uses = [use for result in op.results for use in result.uses]
    is_start = any(use.owner.operation in members and _is_start(use) for use in uses)
    return is_start and any(use.owner.operation not in members for use in uses)


def _is_start(use: ir.OpOperand) -> bool:
    op = use.owner.operation
    return use.operand_number >= count_inputs(op)


def _common_depth(
    op: ir.Operation, members: list[ir.Operation], root: ir.Operation, table: Candidates, depth: int
) -> int | str:
    """How many leading dims an operation shares with the group that uses it, or why none."""
    for result in op.results:
        for user in table.users(result):
            if user in members:
                depth = min(depth, _depth_of_use(user, result))
            elif table.position[user] < table.position[root]:
                return f"{_named(user)}, which is not in the group, uses it before the last member"
    # The transform dialect gives a loop the first result of an inner member only.
    if len(op.results) > 1:
        return "it has several results"
    if _starts_several(op, members):
        return "several members go on from its value"
    if op.name == GENERIC and _is_kept(op, members):
        return "a member goes on from its value, which is wanted as it is"
    why = _why_no_rows(op, table.cpu)
    if why is not None:
        return why
    depth = min(depth, _leading_parallel(op))
    return depth or f"{_named(root)}, or what joined it, reads it at other rows than its own"


def _named(op: ir.Operation) -> str:
    return user_name(op.location) or op.name


def _depth_of_use(op: ir.Operation, value: ir.Value) -> int:
    """With how many leading dims, in order, the operation indexes the value first."""
    if op.name == FILL:
        return rank(op)
    if op.name != GENERIC:
        return 0
    inside = [use for use in value.uses if use.owner.operation != op]
    depths = [_prefix(m) for v, m in zip(op.operands, Generic(op).maps, strict=True) if v == value]
    if not depths or any(is_inside(use.owner.operation, op) for use in inside):
        return 0
    return min(depths)


def _why_no_rows(op: ir.Operation, cpu: Cpu) -> str | None:
    """Why an operation has no rows: parallel leading loops that index every result first."""
    if MARK in op.attributes:
        return "it is a claimed contraction"
    if op.name not in (FILL, GENERIC) or not op.results:
        return "it is no linalg.generic or linalg.fill on tensors"
    if op.name == GENERIC and transposed_accesses(op, cpu):
        return "it reads or writes across rows, in tiles"
    return None if _leading_parallel(op) else "no parallel loop indexes its results first"


def _leading_parallel(op: ir.Operation) -> int:
    if op.name == FILL:
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
    if op.name == FILL:
        return len(ir.ShapedType(op.results[0].type).shape)
    return Generic(op).rank
