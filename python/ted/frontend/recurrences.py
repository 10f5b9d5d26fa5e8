"""Recurrences as equations: tensors whose elements read earlier times of the same tensors.

Before: h = ted.recurrence((T, n), lambda h, t, i: ted.where(t > 0, h[t - 1, i], 0.0) + x[t, i])
After:  a tensor with a time dim whose equation reads itself; isl has proved that it reads the past

Any earlier time may be read, also all of them under a reduction, so running sums, wave equations,
triangular solves and factorisations are all of this form.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from ted.domain import bounds, sets
from ted.domain import parameters as symbolic
from ted.domain.budget import BudgetExhausted, bounded
from ted.errors import FrontendError, VerifyError
from ted.frontend import checks
from ted.frontend.axes import Axis
from ted.frontend.compute import closed, parameters
from ted.frontend.locations import fail, here
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, tracing, wrap
from ted.ir.affine import piecewise
from ted.ir.dtypes import promote
from ted.ir.equations import Clock, Equation, components, is_recurrence
from ted.ir.equations import Tensor as Node
from ted.ir.expressions import Expr
from ted.ir.recurrences import (
    enumerate_levels,
    future_points,
    history_reads,
    spread_times,
    step_count,
    step_order,
)
from ted.ir.scalar import reads_data
from ted.records import dataclass


def recurrence(
    shape: Any,
    fn: Any,
    dtype: Any = "float32",
    time_axis: Any = 0,
    reverse: bool = False,
    name: Any = None,
) -> Any:
    """The tensor whose element at (t, i, ...) is `fn(h, t, i, ...)`, where h is the tensor itself.

    Several tensors that read each other: `shape` and `fn` are lists, each function takes all the
    tensors and then its indices; `dtype`, `time_axis` and `name` may be lists too; a tuple is
    returned.  An element may read any earlier time (a later one if `reverse`), and tensors that are
    complete at its own time.  A `time_axis` that is a tuple has rising dims, the outer time first:
    a step takes all steps of the next one, and a block of rows is such a step.
    Raises: FrontendError, with a point at which it happens, for a read of the future.
    """
    several = isinstance(fn, (tuple, list))
    reverse = checks.flag(reverse, "recurrence: reverse")
    fns = tuple(fn) if several else (fn,)
    shapes = _one_each(shape if several else [shape], len(fns), "shape")
    types = _one_each(dtype, len(fns), "dtype")
    names = _one_each(name, len(fns), "name")
    nested = isinstance(time_axis, tuple)
    times_at = [time_axis] * len(fns) if nested else _one_each(time_axis, len(fns), "time_axis")
    rows = zip(fns, shapes, types, names, times_at, strict=True)
    loops = [_Loop.of(*row, reverse) for row in rows]
    histories = [wrap(loop.node) for loop in loops]
    made = [loop.body(histories) for loop in loops]
    for loop, node in zip(loops, made, strict=True):
        loop.node.fill, loop.node.equations = node.fill, node.equations
    settle([loop.node for loop in loops], reverse)
    return tuple(histories) if several else histories[0]


def _one_each(value: Any, count: int, what: str) -> list[Any]:
    several = isinstance(value, (tuple, list))
    items = list(value) if several else [value] * count
    if len(items) != count:
        fail(f"recurrence: one {what} for each of {count} functions, got {value!r}")
    return items


@dataclass(frozen=True)
class _Loop:
    """One tensor of a recurrence: the function of its elements, and its node to be defined."""

    fn: Callable[..., Any]
    what: str
    node: Node

    @staticmethod
    def of(
        fn: Callable[..., Any], shape: Any, dtype: Any, name: Any, time_axis: Any, reverse: bool
    ) -> _Loop:
        """The tensor without its equations."""
        what = "recurrence" if name is None else f"recurrence {name}"
        if not callable(fn):
            fail(f"{what}: the elements are given by a function, got {fn!r}")
        element = checks.dtype_of(dtype, what)
        extents = checks.shape_of(shape, element, what)
        hint = checks.name_of(name, what) or "h"
        several = time_axis if isinstance(time_axis, tuple) else (time_axis,)
        dims = [checks.axis_of(one, len(extents), f"{what}: time_axis") for one in several]
        if not dims or any(a >= b for a, b in pairwise(dims)):
            fail(f"{what}: a time_axis of several has rising dims, got {time_axis!r}")
        node = Node(hint, extents, element, None, (), here())
        node.clocks = [Clock(dim, bool(reverse)) for dim in dims]
        return _Loop(fn, what, node)

    def body(self, histories: Sequence[Tensor]) -> Node:
        """A node with the equations of this tensor."""
        node, element = self.node, functools.partial(self.fn, *histories)
        names = parameters(element, len(node.shape), self.what)
        directions = {clock.dim: clock.reverse for clock in node.clocks}
        axes = [
            Axis(n, 0, extent, False, directions.get(k))
            for k, (n, extent) in enumerate(zip(names, node.shape, strict=True))
        ]
        with tracing():
            value = checks.called(self.what, "fn(*histories, *indices)", self.fn, *histories, *axes)
        if isinstance(value, Scalar) and promote(value.dtype, node.dtype) != node.dtype:
            fail(
                f"{self.what}: elements have the type of the tensor, got {value.dtype} for "
                f"{node.dtype}; give dtype= or cast"
            )
        return closed(value, axes, node.name, node.dtype, self.what)


# ------------------------------------------------------------------ groups that read each other


def settle(roots: Sequence[Node], reverse: bool) -> None:
    """Give every tensor of the recurrences of `roots` its time, and prove that they read the past.

    Raises: FrontendError for a tensor without a time of its own, or a read of the future.
    """
    for group in components(roots):
        if is_recurrence(group) and any(root in group for root in roots):
            _check(group, reverse)


def _check(group: Sequence[Node], reverse: bool) -> None:
    try:
        spread_times(group)
        for tensor in group:
            outer, *inner = tensor.clocks  # steps inside of a step have a direction of their own
            tensor.clocks = [Clock(outer.dim, reverse or outer.reverse), *inner]
        step_count(group)
        for level, members in enumerate_levels(group):
            for tensor in members:
                for equation in tensor.equations:
                    for read, points in history_reads(equation, members):
                        _check_read(tensor, equation, read, points, level)
        step_order(group)
    except VerifyError as error:
        raise FrontendError(error.message, error.location) from None


def _check_read(tensor: Node, equation: Equation, read: Expr, points: Any, level: int) -> None:
    """A read is not of a time after the one that is written, at equal outer times."""
    try:
        seen, written, bad = future_points(tensor, equation, read, points, level)
    except BudgetExhausted as error:
        raise FrontendError(
            f"recurrence: {tensor.name} is not proved to read no future of {read.attr.name}: "
            f"{error}", equation.location,
        ) from None  # fmt: skip
    if bad.is_empty():
        return
    bad, sizes = symbolic.somewhere(bad)
    point = sets.point_of(bounded(bad.lexmin) or bad)
    assert point is not None, "a set that is not empty has a point"
    values = (symbolic.value_at(piecewise(e, bad), sizes) for e in (seen, written))
    at, step = (bounds.value_at(value, point) for value in values)
    names = equation.dim_names or [f"d{k}" for k in range(len(point))]
    where = ", ".join(f"{n} = {v}" for n, v in zip(names, point, strict=False))
    data = reads_data(read.args[read.attr.time_dims[level]])
    advice = "; read it under ted.where(index < time, ...)" if data else ""
    raise FrontendError(
        f"recurrence: {tensor.name} at time {step} must read the past, got {read.attr.name} at "
        f"time {at}, first at {where}{advice}",
        equation.location or tensor.location,
    )
