"""One equation of a recurrence at one step of time.

At a time known here the time dim is one point, and the subdomain an ordinary one.  At a time known
when the program runs, tensors are sliced at it (a place of a history, a block of columns) and the
subdomain loses the dim; where what is read is no slice (all earlier rows), the subdomain becomes
loops in which the time is a known value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from ted.linalg.blocked_contractions import blocks_of, emit_blocks
from ted.linalg.decided_parts import decided_parts
from ted.linalg.domain_forms import points
from ted.linalg.folded_predicates import decide_selects
from ted.linalg.loops import emit_loops_at
from ted.linalg.padding import Paddings
from ted.linalg.slices import along, extract_slice, insert_slice
from ted.linalg.strategies import begun, lower_subdomain, refuse_form
from ted.linalg.subdomain import Constraint, Read, Subdomain
from ted.linalg.timestamps import Timestamp
from ted.mlir import arith, ir
from ted.mlir.affine_forms import dims_used, down, linear
from ted.mlir.affine_ranges import value_range
from ted.mlir.scalars import conditional, index, shape_of
from ted.mlir.storage import Offset, is_memory
from ted.records import dataclass

Values = list[ir.Value]
Fixed: TypeAlias = "tuple[tuple[int, ir.Value], ...]"


@dataclass(frozen=True)
class StaticTime:
    """A step whose time is a number."""

    time: int

    @property
    def span(self) -> tuple[int, int]:
        """The times, as a half-open range."""
        return self.time, self.time + 1


@dataclass(frozen=True)
class DynamicTime:
    """A step of a loop over the times [begin, end): `now` = begin + `count`."""

    begin: int
    end: int
    count: ir.Value
    now: ir.Value

    @property
    def span(self) -> tuple[int, int]:
        """The times, as a half-open range."""
        return self.begin, self.end


Time: TypeAlias = "StaticTime | DynamicTime"


def emit_step(
    subdomain: Subdomain,
    timestamp: Timestamp,
    time: Time,
    needed: Sequence[bool],
    in_window: bool,
    fixed: Fixed = (),
    blocks: bool = False,
) -> Values:
    """The subdomain's points whose time is `time`.

    Results that are not needed may be returned as they were. A subdomain that writes in a window
    does so at a place that does not depend on the time. Dims that are `fixed` have values already.
    With `blocks`, loops from and to bounds of the step may have contractions in them.
    """
    part = at_time(subdomain, timestamp, time)
    if part is None:
        return list(begun(subdomain).inits)
    subdomain, begin = part
    if isinstance(time, StaticTime):
        return _static(subdomain, fixed, blocks)
    if timestamp.factor > 1:
        since = replace(timestamp, offset=timestamp.offset + timestamp.factor * begin)
        return _now_and_then(subdomain, since, time, fixed, blocks)
    sliced = None if fixed else _sliced(subdomain, timestamp, time, in_window)
    if sliced is None:
        return _loops(subdomain, (*fixed, (timestamp.dim, time.count)), blocks)
    if in_window:
        return lower_subdomain(sliced, Paddings())
    results = lower_subdomain(sliced, Paddings())
    return [
        put_at(part, init, timestamp.axis, time.now) if used else init
        for part, init, used in zip(results, subdomain.inits, needed, strict=True)
    ]


def at_time(subdomain: Subdomain, timestamp: Timestamp, time: Time) -> tuple[Subdomain, int] | None:
    """The part of a subdomain in a stretch of time, and the first value of its time dim."""
    if not timestamp.factor:  # stretches end before and after the one time
        at = isinstance(time, StaticTime) and time.time == timestamp.offset
        return (subdomain, 0) if at else None
    found = within(subdomain, timestamp, time)
    if found is None:
        return None
    decide_selects(found)
    return found, timestamp.values(*time.span)[0]


def within(subdomain: Subdomain, timestamp: Timestamp, time: Time) -> Subdomain | None:
    """The points of a subdomain in a stretch of time; None for none, or only now and then."""
    begin, end = timestamp.values(*time.span)
    if begin < 0 or end > subdomain.extents[timestamp.dim] or begin >= end:
        return None  # stretches end where boxes do
    lower, extents = [0] * subdomain.rank, list(subdomain.extents)
    lower[timestamp.dim], extents[timestamp.dim] = begin, end - begin
    part = subdomain.cut(tuple(lower), tuple(extents))
    return None if part.is_empty else part


def emit_at(
    subdomain: Subdomain, axis: int, time: Time, fixed: Fixed = (), blocks: bool = False
) -> Values:
    """The points of a subdomain without a timestamp that write at a known time along dim `axis`."""
    return _static(only_at(subdomain, axis, time), fixed, blocks)


def _static(subdomain: Subdomain, fixed: Fixed, blocks: bool) -> Values:
    """A subdomain at a known time."""
    return _loops(subdomain, fixed, blocks) if fixed else lower_subdomain(subdomain, Paddings())


def only_at(subdomain: Subdomain, axis: int, time: Time) -> Subdomain:
    """The points of a subdomain without a timestamp that write at a known time along dim `axis`."""
    assert isinstance(time, StaticTime), "stretches of several steps have timestamps"
    here = Constraint(subdomain.write[axis] - time.time, is_equality=True)
    return replace(subdomain, domain=(*subdomain.domain, here)).settled()


def _loops(subdomain: Subdomain, fixed: Fixed, blocks: bool) -> Values:
    subdomain = begun(subdomain)
    if subdomain.is_empty:
        return list(subdomain.inits)
    rule = "an equation that reads or writes at several times of a step becomes loops"
    refuse_form(subdomain.body.owner.operation, rule)
    found = blocks_of(subdomain, [d for d, _ in fixed]) if blocks else None
    if found is not None:
        return emit_blocks(subdomain, found, fixed)
    where = points(subdomain.extents, subdomain.domain)
    parts = decided_parts(subdomain, where) if blocks else [(subdomain, where)]
    return emit_loops_at(subdomain, parts, fixed)


def _now_and_then(
    subdomain: Subdomain, timestamp: Timestamp, time: DynamicTime, fixed: Fixed, blocks: bool
) -> Values:
    """A subdomain that is performed in every factor-th step."""
    since = arith.SubIOp(time.now, index(timestamp.offset)).result
    factor = index(timestamp.factor)
    rest = arith.RemSIOp(since, factor).result
    due = arith.CmpIOp(arith.CmpIPredicate.eq, rest, index(0)).result
    inits = list(subdomain.inits)

    def perform() -> Values:
        now = arith.DivSIOp(since, factor).result
        return _loops(subdomain, (*fixed, (timestamp.dim, now)), blocks)

    return conditional(due, [i.type for i in inits], perform, lambda: inits)


# ------------------------------------------------------------------ slices at a dynamic time


def _sliced(
    subdomain: Subdomain, timestamp: Timestamp, time: DynamicTime, in_window: bool
) -> Subdomain | None:
    """The subdomain without its time dim, over slices; None where something is no slice."""
    axis, dim = timestamp.axis, timestamp.dim
    if _extends_itself(subdomain):
        return None
    rest = replace(subdomain, write=without(subdomain.write, axis))
    bare = reads_sliced(rest, dim, time.count)
    if bare is None:
        return None
    if in_window:
        bare = replace(bare, write=subdomain.write)
    else:
        inits = tuple(slice_at(t, axis, time.now) for t in subdomain.inits)
        bare = replace(bare, inits=inits)
    return without_dim(bare, dim)


def reads_sliced(subdomain: Subdomain, dim: int, count: ir.Value) -> Subdomain | None:
    """The subdomain with reads of slices at a value of a dim; None where more depends on it."""
    parts = None if dim in dims_used(*subdomain.write) else parts_read(subdomain, dim)
    if parts is None:
        return None
    found = [_sliced_read(r, part, count) for r, part in zip(subdomain.reads, parts, strict=True)]
    return replace(subdomain, reads=tuple(found))


def parts_read(subdomain: Subdomain, dim: int) -> list[dict[int, _Part]] | None:
    """What each read is at a value of a dim; None where one is no part, or more depends on it."""
    reads = [r for r in subdomain.reads if r is not None]
    constraints = [*subdomain.domain, *(c for r in reads for c in r.guard)]
    if any(dim in dims_used(c.expr) for c in constraints) or counts_dim(subdomain, dim):
        return None
    parts = [_parts(r, dim, subdomain.extents) for r in subdomain.reads]
    found = [part for part in parts if part is not None]
    return found if len(found) == len(parts) else None


def in_block(subdomain: Subdomain, dim: int, block: ir.Value, size: int) -> Subdomain:
    """The subdomain in a block of `size` points of a dim, the others being slices; of one point the
    dim goes. Nothing else depends on the dim."""
    if size > 1:
        exprs: list[ir.AffineExpr] = [
            ir.AffineExpr.get_dim(k if k <= dim else k + 1) for k in range(subdomain.rank)
        ]
        exprs[dim] = ir.AffineExpr.get_dim(dim) * size + ir.AffineExpr.get_dim(dim + 1)
        extents = list(subdomain.extents)
        extents[dim : dim + 1] = extents[dim] // size, size
        kinds = list(subdomain.iterators)
        kinds.insert(dim, kinds[dim])
        subdomain = replace(
            subdomain.substituted(exprs, tuple(extents)), iterators=tuple(kinds)
        )  # fmt: skip
    sliced = reads_sliced(subdomain, dim, block)
    assert sliced is not None, "what is read in a block are slices"
    return without_dim(sliced, dim)


def without_dim(subdomain: Subdomain, dim: int) -> Subdomain:
    """The subdomain without a dim that is 0, or that nothing uses."""
    rest: list[ir.AffineExpr] = [
        ir.AffineExpr.get_dim(k if k < dim else k - 1) for k in range(subdomain.rank)
    ]
    rest[dim] = ir.AffineExpr.get_constant(0)
    bare = replace(subdomain, iterators=without(subdomain.iterators, dim))
    return bare.substituted(rest, without(subdomain.extents, dim))


Item = TypeVar("Item")


def without(items: tuple[Item, ...], at: int) -> tuple[Item, ...]:
    """A tuple without one of its items."""
    return (*items[:at], *items[at + 1 :])


def _extends_itself(subdomain: Subdomain) -> bool:
    """Whether each point reads the history that it writes: as a slice, it would be copied."""
    if subdomain.reduction_dims:
        return False
    return any(r is not None and r.tensor in subdomain.inits for r in subdomain.reads)


def counts_dim(subdomain: Subdomain, dim: int) -> bool:
    """Whether the body asks for the value of a dim."""
    for view in subdomain.body.operations:
        if view.operation.name != "ted.index":
            continue
        which = ir.IntegerAttr(view.operation.attributes["dim"]).value
        if dim in dims_used(subdomain.coordinates[which]):
            return True
    return False


@dataclass(frozen=True)
class _Part:
    """What a step reads along a dim: `size` places from `factor * time + offset`."""

    factor: int
    offset: int
    size: int
    subscript: ir.AffineExpr  # in the part

    @property
    def is_place(self) -> bool:
        """Whether it is one place, whatever the other dims are: the part has no such dim."""
        return isinstance(self.subscript, ir.AffineConstantExpr)


def _parts(read: Read | None, dim: int, extents: Sequence[int]) -> dict[int, _Part] | None:
    """The parts along the dims in which a read moves with the time; None if one is no part."""
    found: dict[int, _Part] = {}
    for k, expr in enumerate(() if read is None else read.subscripts):
        if dim in dims_used(expr):
            form = linear(expr)
            if form is None:
                return None
            found[k] = _part(expr, dim, form[dim], extents)
    shape = () if read is None else shape_of(read.tensor)
    return found if all(_is_inside(found[k], extents[dim], shape[k]) for k in found) else None


def _part(expr: ir.AffineExpr, dim: int, factor: int, extents: Sequence[int]) -> _Part:
    rest = down(ir.AffineExpr.simplify_affine_expr(
        expr - ir.AffineExpr.get_dim(dim) * factor, len(extents), 0
    ))  # fmt: skip
    low, high = value_range(rest, extents)
    return _Part(factor, low, high - low + 1, down(rest - low))


def _is_inside(part: _Part, steps: int, extent: int) -> bool:
    """Whether a part is in its tensor at all times: where a guard holds, less may be read of it."""
    ends = 0, part.factor * (steps - 1)
    return part.is_place or (
        min(ends) + part.offset >= 0 and max(ends) + part.offset + part.size <= extent
    )


def _sliced_read(read: Read | None, parts: Mapping[int, _Part], count: ir.Value) -> Read | None:
    """The read of a slice at a value of a dim."""
    if read is None or not parts:
        return read
    shape = shape_of(read.tensor)
    kept = [k for k in range(len(shape)) if k not in parts or not parts[k].is_place]
    offsets = [_begin(parts[k], count) if k in parts else 0 for k in range(len(shape))]
    sizes = [parts[k].size if k in parts else n for k, n in enumerate(shape)]
    part = extract_slice(read.tensor, offsets, sizes, [1] * len(shape), kept)
    subscripts = [parts[k].subscript if k in parts else read.subscripts[k] for k in kept]
    return replace(read, tensor=part, subscripts=tuple(subscripts))


def _begin(part: _Part, count: ir.Value) -> ir.Value:
    """`factor * count + offset`."""
    value = count
    if part.factor != 1:
        value = arith.MulIOp(value, index(part.factor)).result
    return value if part.offset == 0 else arith.AddIOp(value, index(part.offset)).result


def slice_at(source: ir.Value, axis: int, at: Offset) -> ir.Value:
    """The tensor at one place of a dim, without the dim."""
    shape = shape_of(source)
    kept = [k for k in range(len(shape)) if k != axis]
    return extract_slice(source, *along(shape, axis, at), kept)


def put_at(part: ir.Value, whole: ir.Value, axis: int, at: Offset) -> ir.Value:
    """The inverse of `slice_at`, which of memory is written in place."""
    return whole if is_memory(whole) else with_slice(part, whole, axis, at)


def with_slice(part: ir.Value, whole: ir.Value, axis: int, at: Offset) -> ir.Value:
    """A tensor, or memory, with another slice."""
    return insert_slice(part, whole, *along(shape_of(whole), axis, at))
