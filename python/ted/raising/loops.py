"""Loops with a condition -> scans, where the number of steps is known.

Before: i = 0; ys = 0; while i < 9: x = f(x); ys[i] = x; i = i + 1
After:  ted.scan of 9 steps over (i, x), which gives the stacked x

A state that each step writes one row of, and nobody reads before the end, is no state: it is what
the steps give.  So a history of such a stack, the square of its size, is not made; neither is one
of a state that no step changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.api.control_flow import while_loop
from ted.api.lifting import Lifted, placeholder_like
from ted.api.scanning import scan
from ted.domain import parameters
from ted.frontend.creation import arange, full
from ted.frontend.layout import flip
from ted.frontend.tensors import Tensor, wrap
from ted.ir import scalar
from ted.ir.affine import is_affine, where_possible
from ted.ir.dtypes import BOOL, INT64, DType
from ted.ir.equations import Tensor as Node
from ted.ir.equations import identity_dims, topological, whole
from ted.ir.exact_indices import exact_indices
from ted.ir.expressions import Expr
from ted.records import dataclass

States = list[Tensor]


def looped(
    starts: States, going: Callable[[States], Tensor], body: Callable[[States], States]
) -> States:
    """The states after the last step of `while going(states): states = body(states)`.

    A loop that does not count to a number has no reverse mode.
    """
    if not starts:
        return []
    states = [placeholder_like(s) for s in starts]
    after = body(states)
    condition = going(states)
    if plain(condition.node) is scalar.FALSE:  # no number without a sign is below 0
        return list(starts)
    count = _count(starts, states, condition, after)
    if count is None:
        return _while(starts, states, after, going, body)
    return _scanned(starts, states, after, count)


def _while(
    starts: States, states: States, after: States, going: Callable[[States], Tensor],
    body: Callable[[States], States],
) -> States:  # fmt: skip
    """The states after a loop that is not counted; those that no step changes are not carried."""
    left = [k for k, s in enumerate(states) if not _is_same(after[k].node, s.node)]
    if not left:
        return while_loop(going, body, starts)

    def whole(carried: States) -> States:
        known = dict(zip(left, carried, strict=True))
        return [known.get(k, start) for k, start in enumerate(starts)]

    last = while_loop(
        lambda carried: going(whole(carried)),
        lambda carried: [body(whole(carried))[k] for k in left],
        [starts[k] for k in left],
    )
    return whole(list(last))


def _is_same(after: Node, state: Node) -> bool:
    """Whether a step leaves a state as it is, or copies it."""
    if after is state or len(after.equations) != 1:
        return after is state
    (equation,) = after.equations
    copy = scalar.load(state, identity_dims(len(state.shape)))
    return equation.combiner == "set" and equation.covers(after.shape) and equation.body is copy


# ------------------------------------------------------------------ the number of steps


@dataclass(frozen=True)
class _Count:
    """The state that counts, and how often a loop runs."""

    state: int
    steps: int
    first: int
    step: int


def _count(starts: States, states: States, going: Tensor, after: States) -> _Count | None:
    """How often a loop runs whose condition compares a state that counts with a number."""
    condition = plain(going.node)
    if condition.op not in ("lt", "le", "ne"):
        return None
    down = scalar.is_const(condition.args[0])  # of `number < state`
    number, tested = condition.args if down else condition.args[::-1]
    if not scalar.is_const(number):
        return None
    counter, kinds = _uncast(tested)
    own = [k for k, s in enumerate(states) if not s.ndim and scalar.load(s.node, ()) is counter]
    if not own or counter.dtype.is_float:  # sums of floats are rounded
        return None
    (k,) = own
    first, next_one = plain(starts[k].node), plain(after[k].node)
    step = _added(next_one, scalar.load(states[k].node, ()))
    if not scalar.is_const(first) or not step:
        return None
    way = 1 if step > 0 else -1
    if condition.op == "ne":
        if (number.attr - first.attr) % step:
            return None
    elif down != (step < 0):
        return None
    end = number.attr + (condition.op == "le") * way
    if condition.op == "ne" and (end - first.attr) * way < 0:
        return None  # it ends where its type does
    found = _Count(k, max(0, -(-(end - first.attr) * way // (step * way))), first.attr, step)
    return found if all(_holds(kind, found) for kind in kinds) else None


def _uncast(value: Expr) -> tuple[Expr, list[DType]]:
    """What is counted, without its casts, and the types that it has on the way."""
    kinds = [value.dtype]
    while value.op == "cast" and value.dtype.kind in ("int", "index"):
        (value,) = value.args
        kinds.append(value.dtype)
    return value, kinds


def _holds(kind: DType, count: _Count) -> bool:
    """Whether a type has all numbers of a count, so that none is another one there."""
    least, greatest = (INT64 if kind.is_index else kind).range
    ends = count.first, count.first + count.steps * count.step
    return least <= min(ends) and max(ends) <= greatest


def _added(value: Expr, state: Expr) -> int | None:
    """c where a value is `state + c`, of the same bits with a sign or without."""
    value, state = _bits(value), _bits(state)
    if value.op not in ("add", "sub") or _bits(value.args[0]) is not state:
        return None
    if not scalar.is_const(value.args[1]):
        return None
    return int(value.args[1].attr) * (1 if value.op == "add" else -1)


def _bits(value: Expr) -> Expr:
    """An integer without casts that change nothing but its sign."""
    while value.op == "cast" and value.args[0].dtype.kind == value.dtype.kind == "int":
        if value.args[0].dtype.bits != value.dtype.bits:
            break
        (value,) = value.args
    return value


def plain(tensor: Node) -> Expr:
    """The element of a tensor of rank 0, through the tensors of rank 0 that it is made of."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op == "load" and not args and node.attr is not tensor:
            return plain(node.attr)
        return None

    if tensor.is_input and tensor.constant is not None:
        return scalar.const(tensor.constant.array.item(), tensor.dtype)
    if tensor.fill is not None and not tensor.equations:
        return scalar.const(tensor.fill, tensor.dtype)
    if len(tensor.equations) == 1 and tensor.equations[0].covers(()) and tensor.time is None:
        return scalar.rewrite([tensor.equations[0].body], visit)[0]
    return scalar.load(tensor, ())


# ------------------------------------------------------------------ the scan


def _scanned(starts: States, states: States, after: States, count: _Count) -> States:
    """The states after the last step; what is stacked is given by the steps.

    The state that counts is the number of the step, so that what it subscribes is affine.
    """
    fixed = [k for k, s in enumerate(states) if _is_same(after[k].node, s.node)]
    rest = [k for k in range(len(states)) if k not in fixed and k != count.state]
    found = {k: _row(states, after, k, count) for k in rest}
    rows = {k: row for k, row in found.items() if row is not None}
    carried = [k for k, row in found.items() if row is None]
    outer = {states[k].node: starts[k].node for k in fixed}
    counter = states[count.state]

    def step(carry: States, now: Tensor) -> tuple[States, list[Tensor]]:
        inner = {states[k].node: c.node for k, c in zip(carried, carry, strict=True)}
        given = ([after[k] for k in carried], [row.tensor for row in rows.values()])
        return Lifted((), {**outer, **inner, counter.node: now.node}, 0).lowered(given)

    end = count.first + count.steps * count.step
    numbers = arange(count.first, end, count.step, counter.dtype)
    last, stacks = scan(step, [starts[k] for k in carried], numbers)
    made = {k: starts[k] for k in fixed} | dict(zip(carried, last, strict=True))
    made[count.state] = full((), end, counter.dtype)
    for (k, row), stack in zip(rows.items(), stacks, strict=True):
        made[k] = flip(stack, 0) if row.reverse else stack
    return [made[k] for k in range(len(states))]


@dataclass(frozen=True)
class _Row:
    """What a step writes into a stack, from its first row on or from its last."""

    tensor: Tensor
    reverse: bool


def _row(states: States, after: States, k: int, count: _Count) -> _Row | None:
    """The row that a step writes of a state which is nothing but a stack of them, else None."""
    state, node = states[k].node, after[k].node
    shape = states[k].shape
    if not shape or shape[0] != count.steps or len(node.equations) != 1:
        return None
    (equation,) = node.equations
    body = equation.body
    is_choice = body.op == "select" and equation.covers(node.shape) and equation.combiner == "set"
    at = identity_dims(len(shape))
    if not is_choice or body.args[2] is not scalar.load(state, at):
        return None
    condition, value, _ = body.args
    others = [t.node for j, t in enumerate(after) if j != k]
    if state in topological([*others, *(read.attr for read in scalar.loads(condition, value))]):
        return None
    counter = scalar.load(states[count.state].node, ())
    row = _written_row(condition, counter, node.static_shape, count)
    if row is None:
        return None
    reverse, number = row
    own = [number, *identity_dims(len(shape) - 1)]
    element = exact_indices(scalar.substitute([value], own), shape[1:])[0]
    name = f"{node.name}_row"
    made = Node(name, shape[1:], node.dtype, 0, (whole(shape[1:], element, node.location),))
    return _Row(wrap(made), reverse)


def _written_row(
    condition: Expr, counter: Expr, shape: Sequence[int], count: _Count
) -> tuple[bool, Expr] | None:
    """Whether rows are written backwards, and the one of a step; None if a step writes others."""
    rank = len(shape)
    time = scalar.dim(rank)
    number = scalar.add(scalar.index(count.first), scalar.mul(scalar.index(count.step), time))
    box = (*shape, count.steps)
    at_time = scalar.replace_nodes(condition, {counter: scalar.cast(number, counter.dtype)})
    (test,) = exact_indices([at_time], box)
    points = parameters.box(box)
    if test.dtype != BOOL or not is_affine(test, points):
        return None
    taken = where_possible(test, points)
    now, first = scalar.cast(counter, time.dtype), scalar.index(count.first)
    way = scalar.sub(now, first) if count.step > 0 else scalar.sub(first, now)
    step = scalar.floordiv(way, scalar.index(abs(count.step)))
    last = scalar.index(count.steps - 1)
    for reverse, row in ((False, time), (True, scalar.sub(last, time))):
        wanted = where_possible(scalar.compare("eq", scalar.dim(0), row), points)
        if taken.is_equal(wanted):
            return reverse, scalar.sub(last, step) if reverse else step
    return None
