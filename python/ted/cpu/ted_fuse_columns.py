"""`ted-fuse-columns`: sums over rows -> into the loop that makes the rows, or reads them again.

Before: a loop over rows that computes `dx[i, :]`, then `linalg.generic` for `db[j] += dy[i, j]`.
After: the sums advance by one row at the end of each iteration, while the row is in the first
cache. Where that is work for several threads, a loop over blocks of rows is around it, and each
block has totals of its own.

On memrefs, since no equation has a total of some rows. It is legal because the
loop touches what the sum reads only at its own row, nothing between touches the total, and views
that are made behind the loop move in front of it; a loop behind the sum changes nothing that it
reads. A sum with `ted.group = {name = "alone"}` stays
where it is; one with `{name = "column_sums"}` moves, or is refused.
"""

from __future__ import annotations

from dataclasses import field

from ted.cpu.row_blocks import block_rows
from ted.linalg.column_sums import is_by_row, is_column_sum
from ted.linalg.kernel_strategies import COLUMNS
from ted.linalg.loops import PARALLEL
from ted.linalg.shared_rows import ALONE
from ted.machine import DEFAULT, named_cpu
from ted.mlir import ir, memref
from ted.mlir.aliasing import VIEWS, Memory, root
from ted.mlir.effects import Effects, effects_of
from ted.mlir.generic import Generic
from ted.mlir.queries import constant_of, defining, functions, is_inside
from ted.mlir.strategies import GROUP, Declined, Plain, Strategy, check_is_seen, choose, forget
from ted.records import dataclass


@dataclass(frozen=True)
class TedFuseColumns:
    """Move each column reduction into the nearest loop over the same rows before it.

    `cpu` is a row of `ted.machine.CPUS`; `grain` stands for its `grain_cycles`.
    """

    cpu: str = DEFAULT
    grain: int = 0

    def run(self, module: ir.Module) -> None:
        """Rewrite the top level of every function.

        Raises: ScheduleError for a `ted.group` that does not fit.
        """
        with module.context:
            for function in functions(module):
                _fuse_block(function.entry_block)
                for op in [o.operation for o in function.entry_block.operations]:
                    if PARALLEL in op.attributes:
                        block_rows(op, named_cpu(self.cpu).with_grain(self.grain))
        check_is_seen(module.operation, (), GROUP)


@dataclass(frozen=True, eq=False)
class Site:
    """A sum over rows, what stands before it, and what behind; `known` has effects of these."""

    op: ir.Operation
    before: list[ir.Operation]
    behind: list[ir.Operation]
    known: dict[ir.Operation, Effects] = field(default_factory=dict)

    def effects(self, op: ir.Operation) -> Effects:
        """The effects of an operation, found once for all sums."""
        if op not in self.known:
            self.known[op] = effects_of(op)
        return self.known[op]


@dataclass(frozen=True)
class Into:
    """The loop that takes a sum in."""

    loop: ir.Operation


def _fuse_block(block: ir.Block) -> None:
    known: dict[ir.Operation, Effects] = {}
    operations = users = _users_of_memory(block)
    for op in operations:
        if op.results or not is_column_sum(op):
            continue
        place = users.index(op)
        site = Site(op, users[:place], users[place + 1 :], known)
        choice = choose(TABLE, site, GROUP)
        forget(op, GROUP)
        if isinstance(choice.plan, Into):
            for changed in (op, choice.plan.loop):
                known.pop(changed, None)
        choice.row.emit(site, choice.plan)
        if isinstance(choice.plan, Into):
            users = _users_of_memory(block)


def _users_of_memory(block: ir.Block) -> list[ir.Operation]:
    """The operations of a block but for views."""
    operations = (view.operation for view in block.operations)
    return [op for op in operations if op.name not in VIEWS and len(op.operands)]


def _row_loop(site: Site) -> Into | Declined:
    """The nearest loop over the rows of the sum into which it may move, sooner one before it."""
    found = _loop_before(site)
    return _loop_behind(site) or found if isinstance(found, Declined) else found


def _loop_before(site: Site) -> Into | Declined:
    op = site.op
    operands = list(op.operands)[: len(op.operands) - 1]
    mine = site.effects(op)
    for other in reversed(site.before):
        found = site.effects(other)
        if _is_over_rows(other, op):
            if mine.writes & found.touched:
                return Declined("the loop over its rows touches the total")
            if not _only_own_row(other, mine.reads):
                return Declined("the loop over its rows touches other rows than its own")
            if not _names(other, mine.reads & found.writes) <= {*operands}:
                return Declined("the loop over its rows makes them by another view")
            return Into(other)
        if not found.may_swap(mine) and not _is_start(other, op):
            return Declined(f"{other.name} before it uses the same memory, and is no such loop")
    return Declined("no loop over its rows stands before it")


def _loop_behind(site: Site) -> Into | None:
    op, mine = site.op, site.effects(site.op)
    for other in site.behind:
        found = site.effects(other)
        if not found.may_swap(mine):
            return None
        shared = mine.reads & found.touched
        if shared and _is_over_rows(other, op) and _only_own_row(other, shared):
            return Into(other)
    return None


def _is_over_rows(other: ir.Operation, op: ir.Operation) -> bool:
    """Whether an operation is a loop with an iteration for each row of a sum."""
    return other.name == "scf.for" and _trips(other) == (Generic(op).extents or (0,))[0]


def _is_start(other: ir.Operation, op: ir.Operation) -> bool:
    """Whether the operation fills the total of `op`: it then moves in front of the loop."""
    return other.name == "linalg.fill" and other.operands[1] == op.operands[len(op.operands) - 1]


def _trips(loop: ir.Operation) -> int:
    """How often a loop from 0 by 1 runs; 0 for any other loop."""
    lower, upper, step = (constant_of(v) for v in list(loop.operands)[:3])
    return upper or 0 if (lower, step) == (0, 1) else 0


def _only_own_row(loop: ir.Operation, memory: set[Memory]) -> bool:
    """Whether the loop touches the memory by slices of one row, that of the iteration."""
    row = loop.regions[0].blocks[0].arguments[0]
    return all(_is_row_slice(op, row) for op, _ in _entries(loop, memory))


def _names(loop: ir.Operation, memory: set[Memory]) -> set[ir.Value]:
    """The memrefs by which the loop knows the memory: their rows need not be those of others."""
    return {value for _, value in _entries(loop, memory)}


def _entries(loop: ir.Operation, memory: set[Memory]) -> list[tuple[ir.Operation, ir.Value]]:
    """Where operations in the loop use a memref of the memory that is made outside."""
    found = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        for value in op.operands:
            owner = defining(value)
            is_outer = owner is None or not is_inside(owner, loop)
            if is_outer and root(value) in memory:
                found.append((op, value))
        return ir.WalkResult.ADVANCE

    loop.walk(visit)
    return found


def _is_row_slice(op: ir.Operation, row: ir.Value) -> bool:
    if op.name != "memref.subview":
        return False
    offsets = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
    sizes = ir.DenseI64ArrayAttr(op.attributes["static_sizes"])
    is_dynamic = offsets[0] == ir.ShapedType.get_dynamic_stride_or_offset()
    return is_dynamic and sizes[0] == 1 and op.operands[1] == row


def _move_into(op: ir.Operation, loop: ir.Operation) -> None:
    total = op.operands[len(op.operands) - 1]
    for use in list(total.uses):
        other = use.owner.operation
        if _is_start(other, op) and loop.is_before_in_block(other):
            _hoist(total, loop)
            other.move_before(loop)
    for operand in op.operands:
        _hoist(operand, loop)
    block = loop.regions[0].blocks[0]
    with ir.InsertionPoint(block.operations[len(block.operations) - 1]), op.location:
        row = block.arguments[0]
        operands = [
            _row(v, row) if is_by_row(m) else v
            for v, m in zip(op.operands, Generic(op).maps, strict=True)
        ]
        clone = op.clone().operation
        for k, operand in enumerate(operands):
            clone.operands[k] = operand
    op.erase()


def _hoist(value: ir.Value, loop: ir.Operation) -> None:
    """Move what makes a memref in front of the loop."""
    owner = defining(value)
    if owner is None:
        return
    for operand in owner.operands:
        _hoist(operand, loop)
    if owner.block == loop.block and loop.is_before_in_block(owner):
        owner.move_before(loop)


def _row(value: ir.Value, row: ir.Value) -> ir.Value:
    shape = list(ir.MemRefType(value.type).shape)
    rest = [0] * (len(shape) - 1)
    return memref.subview(value, [row, *rest], [1, *shape[1:]], [1] * len(shape))


TABLE = (
    Strategy(COLUMNS, _row_loop, lambda site, plan: _move_into(site.op, plan.loop)),
    Strategy(ALONE, lambda _: Plain(), lambda *_: None),
)
