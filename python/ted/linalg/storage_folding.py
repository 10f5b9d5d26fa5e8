"""Which slices of a recurrence's histories are kept: the last few, where nothing reads others.

Before: `%h: tensor<1000x128xf64>`, of which steps read times t and t-1, and the program time 999
After: a window: `tensor<1x128xf64>`, or of as many slices as are wanted at once

The slices of a window move by one place before a step writes its history, so that each stands at a
place that is known: no index depends on the time.  What a step reads before it writes needs no
place beside the new slice, and what only the step itself reads is not carried to the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ted.domain.linear import Form
from ted.linalg.scan_bodies import ScanBody, StepEquation, loads_in
from ted.linalg.subdomain import Read, Subdomain, from_compute
from ted.mlir import ir
from ted.mlir.affine_forms import down, linear
from ted.mlir.affine_ranges import value_range
from ted.mlir.index_values import form_of
from ted.mlir.queries import constant_of, defining
from ted.mlir.scalars import index
from ted.records import dataclass

MOST = 4  # slices of a window: each is copied in every step


@dataclass(frozen=True)
class Window:
    """The last `size` slices of a history along dim `axis`, in the order of their times.

    Where it `carries` on, the slice of a step begins as that of the step before.
    """

    axis: int
    size: int
    is_carried: bool
    steps: int
    reverse: bool
    carries: bool = False

    @property
    def newest(self) -> int:
        """The place of the slice that a step writes."""
        return 0 if self.reverse else self.size - 1

    @property
    def first_time(self) -> int:
        """The time of place 0 after the last step."""
        return 0 if self.reverse else self.steps - self.size

    def place(self, steps_ago: int) -> int:
        """Where the slice stands that was written some steps ago."""
        return self.newest + (steps_ago if self.reverse else -steps_ago)

    def moves(self) -> Iterator[tuple[int, int]]:
        """From where to where slices go, one after the other, to make room for a new one."""
        for steps_ago in reversed(range(self.size - 1)):
            yield self.place(steps_ago), self.place(steps_ago + 1)


@dataclass
class Wanted:
    """How many slices of a history are wanted at once, and whether one outlives its step."""

    slices: int = 1
    outlives: bool = False

    def add(self, slices: int, outlives: bool) -> None:
        """Some read wants the last `slices`."""
        self.slices = max(self.slices, slices)
        self.outlives |= outlives


def find_windows(body: ScanBody) -> dict[int, Window]:
    """The windows of the histories of which little enough is read."""
    return windows_within(body, [list(result.uses) for result in body.op.results])


def windows_within(body: ScanBody, uses: Sequence[Iterable[Any]]) -> dict[int, Window]:
    """The windows of the histories, of which `uses` are outside of the steps."""
    equations = list(body.equations.values())
    if any(e.timestamp is None and not e.subdomain.is_empty for e in equations):
        return {}
    wanted = {k: Wanted() for k in range(len(body.inits))}
    for equation in equations:
        for k, slices, outlives in _inside(equation, body):
            wanted[k].add(slices, outlives)
    for k, those in enumerate(uses):
        for slices in _outside(those, body.times[k], body):
            wanted[k].add(slices, True)
    carries = body.carrying | {e.target for e in equations if e.updates}
    return {
        k: Window(body.times[k], w.slices, w.outlives, body.steps, body.reverse, k in carries)
        for k, w in wanted.items()
        if k not in body.indivisible and w.slices <= MOST and w.slices < body.steps
    }


def _inside(equation: StepEquation, body: ScanBody) -> Iterator[tuple[int, int, bool]]:
    """Histories that an equation reads: how many slices that needs, and whether of other steps."""
    if equation.carries:
        yield equation.target, 1, True
        return
    reads = [
        (source, steps_ago(equation, read, source, body.times, body.reverse))
        for read, source in history_reads(equation)
    ]
    reads += [
        (source, load_ago(equation, load, source, body.times, body.reverse))
        for load, source in history_loads(equation)
    ]
    for source, ago in reads:
        is_begun = equation.has_begun(source)
        if ago is None or ago < (not is_begun):
            yield source, body.steps, True  # the latter in a guard that never holds
        else:
            yield source, ago + is_begun, ago > 0


def _outside(uses: Iterable[Any], axis: int, body: ScanBody) -> Iterator[int]:
    """How many of the last slices each use after the last step wants."""
    for use in uses:
        times = _times_read(use.owner.operation, use.operand_number, axis, body.steps)
        if times is not None:
            low, high = times
            yield high + 1 if body.reverse else body.steps - low


def _times_read(op: ir.Operation, position: int, axis: int, steps: int) -> tuple[int, int] | None:
    """The first and the last time that an operand is read at; None for one that is not read."""
    if op.name == "ted.load":
        at = constant_of(op.operands[2 + axis])
        return (0, steps - 1) if at is None else (at, at)
    if op.name == "tensor.extract_slice":
        names = ("static_offsets", "static_sizes", "static_strides")
        at, size, stride = (ir.DenseI64ArrayAttr(op.attributes[name])[axis] for name in names)
        known = min(at, size, stride) >= 0  # what is no number is below 0
        return (at, at + (size - 1) * stride) if known else (0, steps - 1)
    if op.name != "ted.compute" or position >= len(ir.ArrayAttr(op.attributes["reads"])):
        return 0, steps - 1
    subdomain = from_compute(op)
    read = None if subdomain.is_empty else subdomain.reads[position]
    return None if read is None else value_range(read.subscripts[axis], subdomain.extents)


def history_reads(equation: StepEquation) -> Iterator[tuple[Read, int]]:
    """The reads of histories that an equation makes."""
    for read, source in zip(equation.subdomain.reads, equation.sources, strict=False):
        if read is not None and source is not None:
            yield read, source


def history_loads(equation: StepEquation) -> Iterator[tuple[ir.Operation, int]]:
    """The reads of histories at data that an equation makes."""
    if equation.subdomain.is_empty:
        return
    for load in loads_in(equation.subdomain.body.owner.operation):
        if load in equation.loads:
            yield load, equation.loads[load]


def steps_ago(
    equation: StepEquation, read: Read, source: int, times: Sequence[int], reverse: bool
) -> int | None:
    """How many steps before its own an equation reads a history; None if that varies."""
    now = equation.subdomain.write[times[equation.target]]
    return _steps(linear(down(now - read.subscripts[times[source]])), reverse)


def load_ago(
    equation: StepEquation, load: ir.Operation, source: int, times: Sequence[int], reverse: bool
) -> int | None:
    """The same of a read at data, whose time is a form of what `ted.index` gives."""

    def leaf(value: ir.Value) -> Form[int] | None:
        op = defining(value, "ted.index")
        if op is None:
            return None
        return linear(equation.subdomain.coordinates[ir.IntegerAttr(op.attributes["dim"]).value])

    now = linear(equation.subdomain.write[times[equation.target]])
    then = form_of(load.operands[2 + times[source]], leaf)
    return None if now is None or then is None else _steps(now - then, reverse)


def _steps(apart: Form[int] | None, reverse: bool) -> int | None:
    if apart is None or apart.terms:
        return None
    return -apart.constant if reverse else apart.constant


def on_windows(
    equation: StepEquation, times: Sequence[int], reverse: bool, windows: Mapping[int, Window]
) -> Subdomain:
    """The subdomain with places in windows as subscripts, where histories have any.

    Its body, which is its own, reads at data there as well.
    """

    def place(source: int, ago: int | None) -> int:
        assert ago is not None, "windows are of histories that are read at known distances"
        return windows[source].place(ago if equation.has_begun(source) else ago - 1)

    def moved(read: Read | None, source: int | None) -> Read | None:
        if read is None or source is None or source not in windows:
            return read
        at = place(source, steps_ago(equation, read, source, times, reverse))
        return replace(read, subscripts=_put(read.subscripts, windows[source].axis, at))

    for load, source in history_loads(equation):
        if source in windows:
            at = place(source, load_ago(equation, load, source, times, reverse))
            with ir.InsertionPoint(load), load.location:
                load.operands[2 + windows[source].axis] = index(at)

    subdomain, target = equation.subdomain, windows.get(equation.target)
    reads = tuple(moved(r, s) for r, s in zip(subdomain.reads, equation.sources, strict=False))
    write = subdomain.write if target is None else _put(subdomain.write, target.axis, target.newest)
    return replace(subdomain, reads=reads, write=write)


def _put(subscripts: tuple[ir.AffineExpr, ...], at: int, value: int) -> tuple[ir.AffineExpr, ...]:
    return (*subscripts[:at], ir.AffineExpr.get_constant(value), *subscripts[at + 1 :])


def read_from_window(uses: Iterable[Any], window: Window) -> None:
    """Let the equations that read a history after the last step read its window instead."""
    for use in uses:
        op, position = use.owner.operation, use.operand_number
        if op.name == "ted.load":
            _read_at_place(op, window)
            continue
        if op.name == "tensor.extract_slice":
            _slice_at_place(op, window)
            continue
        maps = list(ir.ArrayAttr(op.attributes["reads"]))
        old = ir.AffineMapAttr(maps[position]).value
        exprs = list(old.results)
        exprs[window.axis] = exprs[window.axis] - window.first_time
        new = ir.AffineMap.get(old.n_dims, old.n_symbols, exprs)
        maps[position] = ir.AffineMapAttr.get(new)
        op.attributes["reads"] = ir.ArrayAttr.get(maps)


def _read_at_place(load: ir.Operation, window: Window) -> None:
    """Let a read at data, whose time is a number, read a window instead."""
    at = constant_of(load.operands[2 + window.axis])
    assert at is not None, "windows are of histories that are read at known times"
    with ir.InsertionPoint(load), load.location:
        load.operands[2 + window.axis] = index(at - window.first_time)


def _slice_at_place(op: ir.Operation, window: Window) -> None:
    offsets = list(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
    offsets[window.axis] -= window.first_time
    op.attributes["static_offsets"] = ir.DenseI64ArrayAttr.get(offsets)
