"""An equation at values of some of its dims: what it reads and writes there are slices.

Before: `y[i, j] = x[i, j] * w[j]`, and a value of i
After: `y'[j] = x'[j] * w[j]`, with row i of x and of y

So a row, a block of rows and a step of a recurrence are equations like any other, with fewer dims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ted.linalg.slices import extract_slice
from ted.linalg.subdomain import Read, Subdomain
from ted.mlir import arith, ir
from ted.mlir.affine_forms import dims_used, down, linear, single_dim
from ted.mlir.affine_ranges import value_range
from ted.mlir.scalars import index, shape_of
from ted.records import dataclass

INDEX = "ted.index"


@dataclass(frozen=True)
class Part:
    """What is accessed along a dim: `size` places from `factor * value + offset`."""

    factor: int
    offset: int
    size: int
    subscript: ir.AffineExpr  # in the part

    @property
    def is_place(self) -> bool:
        """Whether it is one place, whatever the other dims are: the part has no such dim."""
        return isinstance(self.subscript, ir.AffineConstantExpr)


Slice: TypeAlias = dict[int, tuple[Part, ir.Value]]  # by dims of a tensor; where a part is


def reads_sliced(subdomain: Subdomain, dim: int, count: ir.Value) -> Subdomain | None:
    """The subdomain with reads of slices at a value of a dim; None where more depends on it."""
    return _all_sliced(subdomain, {dim: count})


def _all_sliced(subdomain: Subdomain, at: Mapping[int, ir.Value]) -> Subdomain | None:
    """The subdomain with reads of slices at values of dims, each of one dim alone."""
    slices: list[Slice] = [{} for _ in subdomain.reads]
    for dim, count in at.items():
        parts = None if dim in dims_used(*subdomain.write) else parts_read(subdomain, dim)
        for slice_, part in zip(slices, parts or (), strict=False):
            if slice_.keys() & part.keys():
                return None
            slice_.update((k, (one, count)) for k, one in part.items())
        if parts is None:
            return None
    found = [_sliced_read(r, one) for r, one in zip(subdomain.reads, slices, strict=True)]
    return replace(subdomain, reads=tuple(found))


def parts_read(
    subdomain: Subdomain, dim: int, may_count: bool = False
) -> list[dict[int, Part]] | None:
    """What each read is at a value of a dim; None where one is no part, or more depends on it.

    The body `may_count` the dim where the value stands in for it.
    """
    reads = [r for r in subdomain.reads if r is not None]
    constraints = [*subdomain.domain, *(c for r in reads for c in r.guard)]
    if any(dim in dims_used(c.expr) for c in constraints):
        return None
    if counts_dim(subdomain, dim, otherwise=may_count):
        return None
    parts = [_parts(r, dim, subdomain.extents) for r in subdomain.reads]
    found = [part for part in parts if part is not None]
    return found if len(found) == len(parts) else None


def in_block(
    subdomain: Subdomain, at: Sequence[ir.Value], sizes: Sequence[int]
) -> Subdomain:  # fmt: skip
    """The subdomain in a block of `sizes` points of its leading dims, the others being slices; of
    one point a dim goes. Nothing else depends on these dims."""
    counts: dict[int, ir.Value] = {}
    for now, size in zip(at, sizes, strict=True):
        dim = len(counts) + sum(n > 1 for n in sizes[: len(counts)])
        counts[dim] = now
        if size > 1:
            subdomain = _split(subdomain, dim, size)
    sliced = _all_sliced(subdomain, counts) or _sliced_in_turn(subdomain, counts)
    for dim in reversed(counts):
        sliced = sliced.without_dim(dim)
    return sliced


def _sliced_in_turn(subdomain: Subdomain, at: Mapping[int, ir.Value]) -> Subdomain:
    """The same where a part along one dim is part of that along another."""
    for dim, count in at.items():
        sliced = reads_sliced(subdomain, dim, count)
        assert sliced is not None, "what is read in a block are slices"
        subdomain = sliced
    return subdomain


def _split(subdomain: Subdomain, dim: int, size: int) -> Subdomain:
    """The subdomain with a dim of blocks, and behind it one of their points."""
    exprs: list[ir.AffineExpr] = [
        ir.AffineExpr.get_dim(k if k <= dim else k + 1) for k in range(subdomain.rank)
    ]
    exprs[dim] = ir.AffineExpr.get_dim(dim) * size + ir.AffineExpr.get_dim(dim + 1)
    extents = list(subdomain.extents)
    extents[dim : dim + 1] = extents[dim] // size, size
    kinds = list(subdomain.iterators)
    kinds.insert(dim, kinds[dim])
    return replace(subdomain.substituted(exprs, tuple(extents)), iterators=tuple(kinds))


def rows_written(
    subdomain: Subdomain, write: Sequence[ir.AffineExpr], shape: Sequence[int]
) -> int:  # fmt: skip
    """How many leading dims each cut a dim of a result, of this shape, into equal parts."""
    seen: set[int] = set()
    for dim in range(len(subdomain.parallel_dims)):
        used = [k for k, e in enumerate(write) if dim in dims_used(e)]
        part = _part(write[used[0]], dim, subdomain.extents) if len(used) == 1 else None
        if part is None or used[0] in seen:
            return dim
        count = part.factor * subdomain.extents[dim]
        is_whole = part.factor == part.size and count == shape[used[0]]
        if part.offset or not is_whole:
            return dim
        seen.update(used)
    return len(subdomain.parallel_dims)


def write_at(
    subdomain: Subdomain, at: Sequence[ir.Value]
) -> tuple[list[ir.Value], tuple[ir.AffineExpr, ...]]:  # fmt: skip
    """The parts of memory that a subdomain writes at values of its leading dims, and where."""
    parts: Slice = {}
    for dim, count in enumerate(at):
        (k,) = [k for k, e in enumerate(subdomain.write) if dim in dims_used(e)]
        part = _part(subdomain.write[k], dim, subdomain.extents)
        assert part is not None, "rows have parts of their own"
        parts[k] = (part, count)
    made = [_sliced_read(Read(init, subdomain.write), parts) for init in subdomain.inits]
    reads = [read for read in made if read is not None]
    return [read.tensor for read in reads], reads[0].subscripts


def with_counters(subdomain: Subdomain, at: Mapping[int, ir.Value]) -> Subdomain:
    """The subdomain, in whose body values stand for dims that it counts: in a copy."""
    if not any(dim in at for dim in _counted(subdomain).values()):
        return subdomain
    copy = subdomain.body.owner.operation.clone().operation
    own = replace(subdomain, body=copy.regions[0].blocks[0])
    for op, dim in _counted(own).items():
        if dim in at:
            op.results[0].replace_all_uses_with(at[dim])
            op.erase()
    return own


def _counted(subdomain: Subdomain) -> dict[ir.Operation, int]:
    """The operations of the body that ask for the value of a dim, and for nothing else."""
    asked = [view.operation for view in subdomain.body.operations if view.operation.name == INDEX]
    forms = ((op, single_dim(_coordinate(subdomain, op))) for op in asked)
    return {op: form[0] for op, form in forms if form is not None and form[1:] == (1, 0)}


def _coordinate(subdomain: Subdomain, op: ir.Operation) -> ir.AffineExpr:
    return subdomain.coordinates[ir.IntegerAttr(op.attributes["dim"]).value]


def counts_dim(subdomain: Subdomain, dim: int, otherwise: bool = False) -> bool:
    """Whether the body asks for the value of a dim, or `otherwise` than by itself."""
    known = _counted(subdomain) if otherwise else {}
    asked = [view.operation for view in subdomain.body.operations if view.operation.name == INDEX]
    return any(dim in dims_used(_coordinate(subdomain, op)) for op in asked if op not in known)


def _parts(read: Read | None, dim: int, extents: Sequence[int]) -> dict[int, Part] | None:
    """The parts along the dims in which a read moves with another one; None if one is no part."""
    found: dict[int, Part] = {}
    for k, expr in enumerate(() if read is None else read.subscripts):
        if dim in dims_used(expr):
            part = _part(expr, dim, extents)
            if part is None:
                return None
            found[k] = part
    shape = () if read is None else shape_of(read.tensor)
    return found if all(_is_inside(found[k], extents[dim], shape[k]) for k in found) else None


def _part(expr: ir.AffineExpr, dim: int, extents: Sequence[int]) -> Part | None:
    """The part that a subscript touches at a value of a dim; None if it is not linear."""
    form = linear(expr)
    if form is None:
        return None
    rest = down(ir.AffineExpr.simplify_affine_expr(
        expr - ir.AffineExpr.get_dim(dim) * form[dim], len(extents), 0
    ))  # fmt: skip
    low, high = value_range(rest, extents)
    return Part(form[dim], low, high - low + 1, down(rest - low))


def _is_inside(part: Part, steps: int, extent: int) -> bool:
    """Whether a part is in its tensor at all times: where a guard holds, less may be read of it."""
    ends = 0, part.factor * (steps - 1)
    return part.is_place or (
        min(ends) + part.offset >= 0 and max(ends) + part.offset + part.size <= extent
    )


def _sliced_read(read: Read | None, parts: Slice) -> Read | None:
    """The read of a slice."""
    if read is None or not parts:
        return read
    shape = shape_of(read.tensor)
    kept = [k for k in range(len(shape)) if k not in parts or not parts[k][0].is_place]
    offsets = [_begin(*parts[k]) if k in parts else 0 for k in range(len(shape))]
    sizes = [parts[k][0].size if k in parts else n for k, n in enumerate(shape)]
    part = extract_slice(read.tensor, offsets, sizes, [1] * len(shape), kept)
    subscripts = [parts[k][0].subscript if k in parts else read.subscripts[k] for k in kept]
    return replace(read, tensor=part, subscripts=tuple(subscripts))


def _begin(part: Part, count: ir.Value) -> ir.Value:
    """`factor * count + offset`."""
    value = count
    if part.factor != 1:
        value = arith.MulIOp(value, index(part.factor)).result
    return value if part.offset == 0 else arith.AddIOp(value, index(part.offset)).result
