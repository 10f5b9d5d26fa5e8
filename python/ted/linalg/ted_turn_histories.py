"""Keep the histories of recurrences in the order of dims in which the program reads them.

Before: h[t, i] = h[t - 1, i] + x[i, t];  y[i, t] = h[t, i]
After:  h[i, t] = h[i, t - 1] + x[i, t], which is y

A step would touch one element of each row of `x`, and the result would be turned in a pass of its
own.  Turned, the rows are taken a few at a time with all their steps (`scan_rows.py`).  That is for
recurrences whose rows do not read each other, and whose other operands lie by rows as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from ted.ir.equations import (
    Clock,
    Equation,
    System,
    Tensor,
    components,
    in_written_order,
    is_recurrence,
    reads,
    rewrite_system,
    with_expressions,
)  # fmt: skip
from ted.ir.expressions import Expr
from ted.ir.rewriting import SystemPass
from ted.ir.scalar import dims_used, load, reads_data, rewrite
from ted.linalg.scan_rows import FEW
from ted.records import dataclass
from ted.transforms.ted_simplify import copied_tensor

Order = tuple[int, ...]  # for each dim of the turned tensor the dim that it was
Reader = tuple[Tensor, Equation, Expr]


def turn_histories(system: System) -> System:
    """The system with its histories turned, which are the results that were turned copies."""
    orders = _orders(system)
    if not orders:
        return system
    became: dict[Tensor, Tensor] = {}
    known, waiting = dict(orders), set(orders)  # orders of tensors old and new; of which new is not

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        for made in waiting & became.keys():
            waiting.remove(made)
            known[became[made]] = orders[made]
        read = tuple(_reading(e, known) for e in equations)
        return _turned(tensor, read, orders[tensor]) if tensor in orders else read

    turned, _ = rewrite_system(system, visit, became)
    return _without_copies(turned, {became[t] for t in orders})


def _without_copies(system: System, histories: Collection[Tensor]) -> System:
    """The system whose results are histories where they were copies of them."""

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        history = copied_tensor(tensor) if tensor in system.outputs else None
        return equations if history is None or history not in histories else history

    return rewrite_system(system, visit)[0]


def _turned(tensor: Tensor, equations: Sequence[Equation], order: Order) -> Tensor:
    """The tensor with its dims in an order; `equations` are its own, which read it so already."""
    clocks = [Clock(order.index(c.dim), c.reverse) for c in tensor.clocks]
    shape = tuple(tensor.shape[d] for d in order)
    turned = replace(tensor, shape=shape, equations=tuple(_writing(e, order) for e in equations))
    turned.clocks = clocks
    return turned


def _reading(equation: Equation, orders: Mapping[Tensor, Order]) -> Equation:
    """The equation with subscripts of turned tensors in their new order."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        order = orders.get(node.attr) if node.op == "load" else None
        return None if order is None else load(node.attr, [args[d] for d in order])

    return with_expressions(equation, rewrite(equation.expressions, visit))


def _writing(equation: Equation, order: Order) -> Equation:
    """The equation that writes a turned tensor, its own dims in that order if they are just it."""
    return in_written_order(replace(equation, write=tuple(equation.write[d] for d in order)))


# ------------------------------------------------------------------ which


def _orders(system: System) -> dict[Tensor, Order]:
    """The orders of the histories that are turned; of each other they think that they will be."""
    groups = [g for g in components(system.outputs) if is_recurrence(g) and _is_alike(g)]
    groups = [g for g in groups if not set(g) & set(system.outputs)]
    readers = _readers(system, {t for g in groups for t in g})
    while True:
        orders: dict[Tensor, Order] = {}
        for group in reversed(groups):  # who reads a history says how it lies
            order = _order(group, readers, orders)
            orders |= dict.fromkeys(group, order) if order else {}
        wrong = [g for g in groups if g[0] in orders and not _lie_by_rows(g, orders)]
        if not wrong:
            return orders
        groups = [g for g in groups if g not in wrong]


def _is_alike(group: Sequence[Tensor]) -> bool:
    """Whether histories have one shape, of numbers, and one time, and nobody asks for more."""
    first = group[0]
    alike = all(t.shape == first.shape and t.clocks == first.clocks for t in group)
    plain = not any(e.recomputed or e.wishes for t in group for e in t.equations)
    return alike and plain and not first.inner and all(isinstance(n, int) for n in first.shape)


def _readers(system: System, histories: Collection[Tensor]) -> dict[Tensor, list[Reader]]:
    """What reads each history: a tensor, its equation and the read."""
    found: dict[Tensor, list[Reader]] = {t: [] for t in histories}
    for tensor in system.tensors() if histories else ():
        for equation, read in _reads_of(tensor.equations, histories):
            found[read.attr].append((tensor, equation, read))
    return found


def _order(
    group: Sequence[Tensor],
    readers: Mapping[Tensor, Sequence[Reader]],
    orders: Mapping[Tensor, Order],
) -> Order | None:
    """The order in which everything outside reads the histories of a recurrence, if that pays."""
    first = group[0]
    found = {
        _read_order(e, read, orders.get(t))
        for history in group
        for t, e, read in readers[history]
        if t not in group
    }
    (order,) = found if len(found) == 1 else (None,)
    if order is None:
        return None
    rows = _rows(first, order)
    after = prod(first.static_shape[d] for d in order[len(rows) + 1 :])
    return order if after < FEW and any(_are_apart(group, d) for d in rows) else None


def _rows(history: Tensor, order: Order) -> Order:
    """The dims before the time."""
    return order[: order.index(history.time_dims[0])]


def _reads_of(
    equations: Iterable[Equation], group: Collection[Tensor]
) -> list[tuple[Equation, Expr]]:
    return [(e, read) for e in equations for read in reads(e) if read.attr in group]


def _read_order(equation: Equation, read: Expr, turned: Order | None) -> Order | None:
    """The dims of a history by the loops over the elements of a result that they are read in."""
    write = [equation.write[d] for d in turned or range(len(equation.write))]
    loops = [w.attr if w.op == "dim" else None for w in write]
    dims = [min(a.dims, default=None) if len(a.dims) == 1 else None for a in read.args]
    if None in dims or len(set(dims)) < len(dims) or not set(dims) <= set(loops):
        return None
    return tuple(sorted(range(len(dims)), key=lambda k: loops.index(dims[k])))


def _are_apart(group: Sequence[Tensor], axis: int) -> bool:
    """Whether nothing of a recurrence reads another place of it along a dim than it writes."""
    equations = [e for t in group for e in t.equations]
    return not any(reads_data(*e.write) for e in equations) and all(
        e.write[axis].op == "dim" and read.args[axis] is e.write[axis]
        for e, read in _reads_of(equations, group)
    )


def _lie_by_rows(group: Sequence[Tensor], orders: Mapping[Tensor, Order]) -> bool:
    """Whether the steps of a row are neighbours in what a recurrence reads of others."""
    (time,), rows = group[0].time_dims, _rows(group[0], orders[group[0]])
    for equation in (e for t in group for e in t.equations):
        steps, row = dims_used(equation.write[time]), dims_used(*(equation.write[d] for d in rows))
        for read in reads(equation):
            used = [dims_used(read.args[d]) for d in orders.get(read.attr, range(len(read.args)))]
            at = [k for k, dims in enumerate(used) if dims & steps]
            if at and any(dims & row for dims in used[at[0] :]):
                return False
    return True


@dataclass(frozen=True)
class TedTurnHistories(SystemPass):
    """Turn the histories whose rows are apart, and that are read turned."""

    def rewrite(self, system: System) -> System:
        """The system after the pass."""
        return turn_histories(system)
