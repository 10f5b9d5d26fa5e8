"""Which equations may share a loop over rows: groups that grow from their last equation.

A root is an equation whose leading dims are parallel and index its result first. Its group is what
makes the group's inputs, as long as every tensor that passes inside is written and read at the row
of the loop, and is wanted nowhere before the root. At a row, all that an equation reads are slices.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from math import prod
from typing import NamedTuple

from ted.domain.linear import dot, term
from ted.linalg.arg_reductions import is_long_arg_reduction
from ted.linalg.branches import tested_condition
from ted.linalg.contraction_forms import why_no_sum_of_products
from ted.linalg.contractions import dense_strides
from ted.linalg.loop_order import loop_order
from ted.linalg.padded_kernels import Padded, padded_factor
from ted.linalg.sliced_dims import parts_read, rows_written
from ted.linalg.strategies import POINTS, is_of_boxes
from ted.linalg.subdomain import Subdomain, from_compute
from ted.linalg.unit_dims import without_unit_iterations
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, linear, single_dim
from ted.mlir.locations import user_name
from ted.mlir.queries import defining, is_inside, operands_inside
from ted.mlir.scalars import byte_width, element_type, shape_of
from ted.mlir.semiring import MULTIPLICATIONS
from ted.mlir.strategies import FORM, asked_for, wishes_of
from ted.records import dataclass

MOST_MEMBERS = 64
EQUATION, SCAN = "ted.compute", "ted.scan"
_STARTS = ("tensor.empty", "linalg.fill")


def init_of(value: ir.Value) -> ir.Value:
    """What the result of an equation or a scan starts from."""
    op = defining(value)
    assert op is not None, "a result"
    return op.operands[len(op.operands) - len(op.results) + ir.OpResult(value).result_number]


def goes_on(value: ir.Value) -> bool:
    """Whether a result is the only one that uses what it starts from, which is computed."""
    init = init_of(value)
    return defining(init, EQUATION, SCAN) is not None and len(list(init.uses)) == 1


class InPlace(NamedTuple):
    """A tensor that lies where a copy of it does: as all of that, or as its first elements."""

    source: ir.Value
    is_all: bool


def in_place(value: ir.Value) -> InPlace | None:
    """What an equation only gives another name, and shape: a tensor that nobody else reads.

    A history may be put in front of more elements as well.
    """
    source = _copied_in_order(value)
    if source is None:
        return None
    if prod(shape_of(source)) == prod(shape_of(value)):
        is_renamed = short_shape(source) == short_shape(value) or not _is_start(value)
        return InPlace(source, is_all=True) if is_renamed else None
    is_new = defining(init_of(value), "tensor.empty") is not None
    return InPlace(source, is_all=False) if is_new and defining(source, SCAN) is not None else None


def short_shape(value: ir.Value) -> list[int]:
    """The extents of a tensor that are more than one; all where there is no element."""
    shape = list(shape_of(value))
    return shape if 0 in shape else [extent for extent in shape if extent != 1]


def _copied_in_order(value: ir.Value) -> ir.Value | None:
    """The tensor whose elements an equation only copies, in their order, to be the first ones."""
    op = defining(value, EQUATION)
    if op is None or len(op.results) > 1 or len(op.operands) != 2 or wishes_of(op):
        return None
    subdomain = without_unit_iterations(from_compute(op))
    (read,) = subdomain.reads or (None,)
    if read is None or read.guard or subdomain.domain or subdomain.combiner != "set":
        return None
    source, body = read.tensor, op.regions[0].blocks[0]
    if defining(source, EQUATION, SCAN) is None or len(list(source.uses)) > 1:
        return None
    dims = [ir.AffineExpr.get_dim(k) for k in range(subdomain.rank)]
    yields = body.operations[len(body.operations) - 1].operands[0] == body.arguments[0]
    is_alike = yields and element_type(source) == element_type(value)
    shape, target = ([n for n in shape_of(v) if n != 1] for v in (source, value))
    if not is_alike or short(read.subscripts, source) != dims or shape != list(subdomain.extents):
        return None
    write = short(subdomain.write, value)
    if write == dims and target == shape:
        return source
    row = prod(target[1:])
    front = [prod(shape) // row, *target[1:]] if target and row else target
    return source if _is_reshaped(write, shape, front) else None


def _is_reshaped(write: Sequence[ir.AffineExpr], shape: list[int], target: list[int]) -> bool:
    """Whether elements stay in their order while neighbouring dims become one."""
    forms = [linear(e) for e in write]
    places = [f for f in forms if f is not None]
    if len(places) < len(forms) or prod(shape) != prod(target) or len(target) >= len(shape):
        return False
    address = dot(places, dense_strides(target))
    dims = dot([term(k) for k in range(len(shape))], dense_strides(shape))
    left = list(shape)
    for size in target:  # each is the product of the next ones
        while size > 1 and left and size % left[0] == 0:
            size //= left.pop(0)
        if size > 1:
            return False
    return address == dims


def _is_start(value: ir.Value) -> bool:
    """Whether something goes on from a tensor."""
    return any(map(is_init, value.uses))


def is_init(use: ir.OpOperand) -> bool:
    """Whether an equation or a scan starts from what it uses."""
    op = use.owner.operation
    return op.name in (EQUATION, SCAN) and use.operand_number >= len(op.operands) - len(op.results)


def read_inside(op: ir.Operation) -> set[ir.Value]:
    """The tensors from outside that are read in an equation at data, or in the steps of a scan.

    What an equation starts from is read if it is more than one number.
    """
    own = len(op.operands)
    values = operands_inside(op, lambda inner: own if inner == op else 0)
    return {
        v for v in values
        if isinstance(v.type, ir.RankedTensorType) and _is_outer(v, op)
        and not (defining(v, *_STARTS) and all(is_init(u) for u in v.uses))
    }  # fmt: skip


def captured(op: ir.Operation) -> set[ir.Value]:
    """All values from outside that the body of an equation uses."""
    return {v for v in operands_inside(op) if _is_outer(v, op)}


def _is_outer(value: ir.Value, op: ir.Operation) -> bool:
    owner = value.owner
    maker = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    if isinstance(owner, ir.Block):
        return maker != op and not is_inside(maker, op)
    return not is_inside(maker, op)


def top_of(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The operation of a block that another one is, or is in."""
    while op.block != block:
        assert op.parent is not None, "a user is inside the block of the value"
        op = op.parent.operation
    return op


def short(subscripts: Sequence[ir.AffineExpr], value: ir.Value) -> list[ir.AffineExpr]:
    """The subscripts of a tensor but for those of dims of one element."""
    return [e for e, n in zip(subscripts, shape_of(value), strict=True) if n != 1]


@dataclass
class EquationGroup:
    """Equations of one loop over rows, the root first; `depth` leading dims are common."""

    members: list[ir.Operation]
    depth: int


@dataclass
class Candidates:
    """The equations of a block in order, what they are, and which groups have them."""

    block: ir.Block
    cpu: Cpu
    gpu: bool = False
    equations: dict[ir.Operation, Subdomain] = field(default_factory=dict)
    position: dict[ir.Operation, int] = field(default_factory=dict)
    # Why an equation has no rows; how many leading dims the others have as rows.
    rowless: dict[ir.Operation, str] = field(default_factory=dict)
    depth: dict[ir.Operation, int] = field(default_factory=dict)
    # How many dims the last equation of a group may have as rows, whose result nobody reads there.
    last: dict[ir.Operation, int] = field(default_factory=dict)
    padded: dict[ir.Operation, Padded] = field(default_factory=dict)
    tested: set[ir.Operation] = field(default_factory=set)
    # What a value is another name of, without its name in between.
    names: dict[ir.Value, ir.Value] = field(default_factory=dict)
    taken: set[ir.Operation] = field(default_factory=set)
    # Why an equation whose result a group takes in did not join it.
    apart: dict[ir.Operation, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        order = [view.operation for view in self.block.operations]
        self.position = {op: k for k, op in enumerate(order)}
        for op in order:
            if op.name == "ted.stop_gradient":
                self._name(op.results[0], op.operands[0])
            if op.name != EQUATION:
                continue
            copy = in_place(op.results[0])
            if copy is not None:
                self._name(op.results[0], copy.source)
                continue
            subdomain = without_unit_iterations(from_compute(op))
            self.equations[op] = subdomain
            padded = padded_factor(subdomain)
            if padded is not None:
                self.padded[op] = padded
            if tested_condition(subdomain) is not None:
                self.tested.add(op)
            rows = self._rows(op, subdomain)
            if isinstance(rows, str):
                self.rowless[op] = rows
            else:
                self.depth[op], self.last[op] = rows

    def _name(self, value: ir.Value, source: ir.Value) -> None:
        self.names[value] = self.names.get(source, source)

    def producers(self, op: ir.Operation) -> set[int]:
        """Where the equations are whose results an equation uses."""
        owners = (defining(value, EQUATION) for value in op.operands)
        return {self.position[o] for o in owners if o is not None and o in self.equations}

    def users(self, value: ir.Value) -> list[ir.Operation]:
        """The operations of the block that use a value, directly or in their regions."""
        return [top_of(use.owner.operation, self.block) for use in value.uses]

    def _rows(self, op: ir.Operation, subdomain: Subdomain) -> tuple[int, int] | str:
        """How many leading dims index the result first and slice what is read, and how many only
        let each row have its own part of the result; or why none."""
        if subdomain.is_empty:
            return "it has no points"
        if fills_register_tiles(subdomain):
            return "it is a contraction"
        if len(op.results) > 1 and not self.gpu:
            return "it has several results"
        if op in self.tested and not self.gpu:
            return "a condition is tested in front of its points"
        if any(defining(init_of(r), *_STARTS) is None and not goes_on(r) for r in op.results):
            return "it starts from a copy"
        if is_across(subdomain, self.cpu):
            return "it reads or writes across rows, in tiles"
        last = self._leading(subdomain)
        write = short(subdomain.write, op.results[0])
        shape = [n for n in shape_of(op.results[0]) if n != 1]
        last = min(last, rows_written(subdomain, write, shape))
        if not last:
            return "no parallel loop indexes its results first"
        if self.gpu and _asks_for_points(op):
            return "it asks for its points"
        if self.gpu and not is_of_boxes(subdomain, last):  # nor at fewer rows, which are whole
            return "it takes several operations"
        dims = zip(write, shape, range(last), subdomain.extents, strict=False)
        alone = [_is_dim(e, k) and size == extent for e, size, k, extent in dims]
        return 0 if len(op.results) > 1 else (*alone, False).index(False), last

    def _leading(self, subdomain: Subdomain) -> int:
        """How many leading dims are parallel, and slice what is read."""
        found = (
            subdomain.iterators[k] == "parallel"
            and parts_read(subdomain, k, may_count=self.gpu) is not None
            for k in range(subdomain.rank)
        )
        return next((k for k, fits in enumerate(found) if not fits), subdomain.rank)


def _asks_for_points(op: ir.Operation) -> bool:
    wish = asked_for(op, FORM)
    return wish is not None and wish["name"] == POINTS


def fills_register_tiles(subdomain: Subdomain) -> bool:
    """Whether a sum of products gains from tiles of the result: neighbours of one factor lie along
    a dim that another factor lacks, or both have dims of the result for themselves."""
    if subdomain.combiner != "add" or subdomain.writes_at_data or not subdomain.reduction_dims:
        return False
    body = subdomain.body
    if defining(body.operations[len(body.operations) - 1].operands[0], *MULTIPLICATIONS) is None:
        return False
    reads = [r for r in subdomain.reads if r is not None]
    used = [dims_used(*r.subscripts) for r in reads]
    is_plain = why_no_sum_of_products(subdomain) is None
    if not is_plain and any(len(dims) == subdomain.rank for dims in used):
        return False  # a factor is computed at every point anyway
    own = {d: frozenset(k for k, dims in enumerate(used) if d in dims)
           for d in subdomain.parallel_dims}  # fmt: skip
    own = {d: some for d, some in own.items() if some and len(some) < len(used)}
    if any(not a & b for a in own.values() for b in own.values()):
        return True
    last = [(short(r.subscripts, r.tensor) or [None])[-1] for r in reads]
    return any(last[k] == ir.AffineExpr.get_dim(d) for d, some in own.items() for k in some)


def grow(
    root: ir.Operation, table: Candidates, among: Collection[ir.Operation] | None = None
) -> EquationGroup:
    """The root with all that may join it, or with those of `among` that may."""
    group = EquationGroup([root], table.last[root])
    waiting = table.producers(root)  # the last one first, so that its users have been looked at
    order = list(table.position)
    while waiting:
        last = max(waiting)
        waiting.discard(last)
        op = order[last]
        if op in table.taken if among is None else op not in among:
            continue
        common = _common_depth(op, group, table)
        if isinstance(common, int) and among is None and len(group.members) == MOST_MEMBERS:
            common = f"the group has {MOST_MEMBERS} members, the most there may be"
        if isinstance(common, int):
            group.members.append(op)
            waiting |= table.producers(op)
            group.depth = common
        else:
            table.apart[op] = common
    table.taken.update(group.members)
    # Something must be left inside the loop over rows.
    ranks = [table.equations[m].rank for m in group.members]
    group.depth = max(1, min(group.depth, max(ranks[0], min(ranks)) - 1))
    return group


def is_map(group: EquationGroup, table: Candidates) -> bool:
    """Whether all members have the same points, and read each other's results at their own."""
    members = [table.equations[op] for op in group.members]
    if any(m.reduction_dims for m in members) or len({m.extents for m in members}) > 1:
        return False
    made: dict[ir.Value, list[ir.AffineExpr]] = {}
    for op in group.members:
        made.update((r, short(table.equations[op].write, r)) for r in op.results)
    reads = [r for m in members for r in m.reads if r is not None and r.tensor in made]
    return all(short(r.subscripts, r.tensor) == made[r.tensor] for r in reads)


def is_single(group: EquationGroup, table: Candidates) -> bool:
    """Whether a group is one operation, which needs no loop over rows of its own."""
    if len(group.members) > 1:
        return False
    return not (table.gpu and is_long_arg_reduction(table.equations[group.members[0]]))


def why_no_root(op: ir.Operation, table: Candidates) -> str | None:
    """Why no group ends with an equation; None where one may."""
    if op in table.rowless:
        return table.rowless[op]
    return "it has a single loop" if table.equations[op].rank < 2 else None


def _common_depth(op: ir.Operation, group: EquationGroup, table: Candidates) -> int | str:
    """How many leading dims an equation shares with the group that uses it, or why none."""
    root, depth = group.members[0], group.depth
    for use in op.results[0].uses:
        user = top_of(use.owner.operation, table.block)
        if user in group.members:
            depth = min(depth, _depth_of_use(use, user, table))
        elif table.position[user] < table.position[root]:
            return f"{_named(user)}, which is not in the group, uses it before the last member"
    if op in table.rowless:
        return table.rowless[op]
    depth = min(depth, table.depth[op])
    mine, others = table.equations[op].extents, table.equations[root].extents
    while depth and mine[:depth] != others[:depth]:
        depth -= 1
    return depth or f"{_named(root)}, or what joined it, reads it at other rows than its own"


def _named(op: ir.Operation) -> str:
    return user_name(op.location) or op.name


def _depth_of_use(use: ir.OpOperand, user: ir.Operation, table: Candidates) -> int:
    """With how many leading dims, in order, an equation indexes a value first."""
    if use.owner.operation != user:
        return 0  # at data
    subdomain = table.equations[user]
    if use.operand_number >= len(subdomain.reads):
        return table.depth.get(user, 0) if goes_on(user.results[0]) else 0
    read = subdomain.reads[use.operand_number]
    if read is None:
        return subdomain.rank
    depth = 0
    for k, expr in enumerate(short(read.subscripts, read.tensor)):
        if not _is_dim(expr, k):
            break
        depth += 1
    return depth


def _is_dim(expr: ir.AffineExpr, dim: int) -> bool:
    return isinstance(expr, ir.AffineDimExpr) and expr.position == dim


def is_across(subdomain: Subdomain, cpu: Cpu) -> bool:
    """Whether a map is made in square tiles, as a read or its result lies across its rows."""
    if subdomain.reduction_dims or subdomain.rank < 2:
        return False
    inner = loop_order(subdomain)[-1]
    reads = [(r.tensor, r.subscripts) for r in subdomain.reads if r is not None]
    accesses = reads or [(subdomain.inits[0], subdomain.write)]
    for value, subscripts in accesses:
        exprs = short(subscripts, value)
        along = single_dim(exprs[-1]) if exprs else None
        if along is None or along[0] in (-1, inner) or inner not in dims_used(*exprs):
            continue
        lanes = cpu.lanes(max(1, byte_width(element_type(value))))
        if min(subdomain.extents[along[0]], subdomain.extents[inner]) >= lanes:
            return True
    return False
