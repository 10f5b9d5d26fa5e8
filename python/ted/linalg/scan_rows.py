"""A recurrence whose rows do not read each other -> loops over rows, all steps of a few inside.

Before: `"ted.scan"(%init)` over `tensor<4096x1024xf32>`, with the time along dim 1
After: `scf.for` over blocks of rows, with `"ted.scan"` over a slice, `tensor<8x1024xf32>`

A step by itself would touch one element of each row, and so a line of memory, or a page, for each.
The rows of a block are several chains of operations that do not wait for each other.  Where steps
of all rows go over more than a first cache holds, and but for their last slices histories are
forgotten, rows are taken one by one, whatever they have of elements.  Of rows of 4096 bytes, whose
lines have one place in a cache, fewer are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from math import gcd, prod
from typing import Any

from ted.linalg.generics import started, starts_alike
from ted.linalg.loops import PARALLEL
from ted.linalg.rolling_buffers import beginning, no_slices, slices_shape, window_of
from ted.linalg.scan_bodies import ScanBody
from ted.linalg.slices import along
from ted.linalg.storage_folding import Window, find_windows, read_from_window
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, linear
from ted.mlir.queries import defining, replace_op
from ted.mlir.scalars import affine_value, byte_width, element_type, index, shape_of
from ted.mlir.storage import Offset, is_memory, loop, part, saved, with_part
from ted.mlir.strategies import Declined
from ted.records import dataclass

Values = list[ir.Value]
HELD = 1 << 12  # elements that a first cache holds
PAGE = 4096  # bytes; of memory that begins at one place of a page a first cache holds 8 lines or 12
TOGETHER = 12  # such lines of a block: tensors themselves rarely begin at one place
FEW = 16  # elements that a step has of a row, from which on they fill vectors, and lines of memory


@dataclass(frozen=True)
class Rows:
    """The dims of the histories that are looped over, the last of them in blocks.

    `windows`: of which slices are kept, where steps are cut because they fill a cache.
    """

    block: int
    axes: tuple[int, ...] = field(repr=False)
    windows: Mapping[int, Window] = field(default_factory=dict, repr=False)


def rows_of(body: ScanBody, block: int) -> Rows | Declined:
    """The dims before the time along which no equation reads another place than its own."""
    if not block:
        return Declined("this target takes all rows at once")
    times = min(body.times)
    if not times:
        return Declined("time is the first dim of a history")
    axes = tuple(axis for axis in range(times) if _is_apart(body, axis))
    kept = {k: w for k, w in find_windows(body).items() if list(body.op.results[k].uses)}
    overflows = bool(axes) and _overflows(body, kept, axes)
    pairs = zip(body.inits, body.times, strict=True)
    if not overflows and any(prod(shape_of(v)[t + 1 :]) >= FEW for v, t in pairs):
        return Declined(f"a step has {FEW} elements of a row and more")
    if kept and not overflows:
        return Declined("of a history only some slices are kept")
    if not axes:
        return Declined("rows read each other, or where they are")
    rows = prod(shape_of(body.inits[0])[axis] for axis in axes)
    block = 1 if overflows else block
    if rows <= block:
        return Declined(f"there are no more than {block} rows")
    return Rows(_at_different_places(body, axes[-1], block), axes, kept)


def _at_different_places(body: ScanBody, axis: int, block: int) -> int:
    """The rows of a block, fewer where more begin at one place of a page than a cache has lines."""
    steps = _bytes_between_rows(body, axis)
    while block > 1 and sum(-(-block * gcd(step, PAGE) // PAGE) for step in steps) > TOGETHER:
        block //= 2
    return block


def _bytes_between_rows(body: ScanBody, axis: int) -> list[int]:
    """From a row to the next one, of each tensor that has rows."""
    found = {value: _bytes_behind(value, axis) for value in body.inits}
    for op in body.equations:
        equation: Any = op.opview
        row = _dim_of(op, body, axis)
        for value, places in zip(op.operands, equation.read_maps, strict=False):
            for place, expr in enumerate(places.results):
                if value not in body.history and row in dims_used(expr):
                    found[value] = _bytes_behind(value, place) * _stride(expr, row)
    return [*found.values()]


def _bytes_behind(value: ir.Value, axis: int) -> int:
    """Of an index of a dim, in dense memory."""
    return prod(shape_of(value)[axis + 1 :]) * byte_width(element_type(value))


def _overflows(body: ScanBody, kept: Mapping[int, Window], axes: Sequence[int]) -> bool:
    """Whether each step goes over more than a cache holds, of which rows have parts of their own.

    Nothing is if a sum reads the same for each row, as a product with a matrix does.
    """
    held = sum(prod(slices_shape(w, shape_of(body.inits[k]))) for k, w in kept.items())
    for op, step in body.equations.items():
        equation: Any = op.opview
        rows = {_dim_of(op, body, axis) for axis in axes}
        time = _plain(equation.write_map.results[body.times[step.target]])
        for value, places in zip(op.operands, equation.read_maps, strict=False):
            if value in body.history:
                continue
            dims = set(dims_used(*places.results))
            if not dims & rows and len(_parallel(equation)) < len(equation.box):
                return False
            held += prod(shape_of(value)) if dims & rows and time not in dims else 0
    return bool(kept) and held > HELD


def _is_apart(body: ScanBody, axis: int) -> bool:
    if len({shape_of(value)[axis] for value in body.inits}) > 1:
        return False
    if any(op.name != "ted.compute" and _has_tensors(op) for op in body.inner):
        return False
    return all(_dim_of(op, body, axis) is not None for op in body.equations)


def _has_tensors(op: ir.Operation) -> bool:
    return any(isinstance(r.type, ir.RankedTensorType) for r in op.results)


def _dim_of(op: ir.Operation, body: ScanBody, axis: int) -> int | None:
    """The dim of an equation that counts rows, where it does nothing else."""
    equation: Any = op.opview
    write, shape = equation.write_map, shape_of(op.results[0])
    dim = _plain(write.results[axis])
    if write.n_symbols or dim is None or dim not in _parallel(equation):
        return None
    if equation.box[dim] != shape[axis] or _is_asked(op, dim, body, axis):
        return None
    rest = [e for k, e in enumerate(write.results) if k != axis]
    sets = [equation.domain_set, *equation.guard_sets]
    if dim in dims_used(*rest, *(c.expr for one in sets for c in one.constraints)):
        return None
    reads = zip(op.operands, equation.read_maps, strict=False)
    return dim if all(_reads_its_row(v, m, dim, body, axis) for v, m in reads) else None


def _plain(expr: ir.AffineExpr) -> int | None:
    """The dim that an expression is."""
    found = expr.maybe_downcast()
    return found.position if isinstance(found, ir.AffineDimExpr) else None


def _parallel(equation: Any) -> list[int]:
    return [k for k, kind in enumerate(equation.iterator_kinds) if kind == "parallel"]


def _is_asked(op: ir.Operation, dim: int, body: ScanBody, axis: int) -> bool:
    """Whether the body asks for the value of a dim, but to read histories at data in its row."""
    for one in (view.operation for view in op.regions[0].blocks[0].operations):
        if _is_index(one, dim):
            if not all(_is_of_row(use.owner.operation, use.operand_number, body, axis)
                       for use in one.results[0].uses):  # fmt: skip
                return True
        elif one.name == "ted.load" and one.operands[0] in body.history:
            at = defining(one.operands[2 + axis], "ted.index")
            if at is None or not _is_index(at, dim):
                return True
    return False


def _is_index(op: ir.Operation, dim: int) -> bool:
    return op.name == "ted.index" and ir.IntegerAttr(op.attributes["dim"]).value == dim


def _is_of_row(op: ir.Operation, operand: int, body: ScanBody, axis: int) -> bool:
    return op.name == "ted.load" and op.operands[0] in body.history and operand == 2 + axis


def _reads_its_row(
    value: ir.Value, places: ir.AffineMap, dim: int, body: ScanBody, axis: int
) -> bool:
    using = [k for k, expr in enumerate(places.results) if dim in dims_used(expr)]
    if value in body.history:
        return using == [axis] and _plain(places.results[axis]) == dim
    return not using or (len(using) == 1 and _stride(places.results[using[0]], dim) > 0)


def _stride(expr: ir.AffineExpr, dim: int) -> int:
    """By how much a subscript grows with a dim; 0 where that is no number."""
    form = linear(expr)
    return 0 if form is None else dict(form.terms).get(dim, 0)


# ------------------------------------------------------------------ emission


def read_from_windows(op: ir.Operation, windows: Mapping[int, Window]) -> None:
    """Let what reads histories behind the last step read the slices that are kept."""
    for k, window in windows.items():
        read_from_window(list(op.results[k].uses), window)


def emit_rows(
    op: ir.Operation,
    plan: Rows,
    lower: Callable[[ir.Operation], Values],
    known: Mapping[ir.Value, ir.Value] | None = None,
    lie_in: Mapping[int, ir.Value] | None = None,
) -> Values:
    """The final histories, or the slices of them that are kept.

    `lower` emits a scan over few rows where it stands. On memory `known` has that of tensors from
    outside, and `lie_in` where slices shall lie; for tensors it is None.
    """
    return _Emission(plan, lower, known).run(op, plan.axes, lie_in or {})


@dataclass(frozen=True, eq=False)
class _Emission:
    plan: Rows
    lower: Callable[[ir.Operation], Values]
    known: Mapping[ir.Value, ir.Value] | None

    @property
    def on_memory(self) -> bool:
        return self.known is not None

    def of(self, value: ir.Value) -> ir.Value:
        """What a tensor from outside is here."""
        return value if self.known is None else self.known.get(value, value)

    def run(
        self, op: ir.Operation, axes: Sequence[int], lie_in: Mapping[int, ir.Value]
    ) -> Values:  # fmt: skip
        """The scan looped over some dims."""
        states = [
            lie_in[k] if k in lie_in
            else no_slices(self.plan.windows[k], beginning(init, self.on_memory))
            if k in self.plan.windows else self.of(init)
            for k, init in enumerate(op.operands)
        ]  # fmt: skip
        axis, *inner = axes
        size = 1 if inner else self.plan.block
        count, rest = divmod(shape_of(states[0])[axis], size)

        def turn(at: ir.Value, carried: Values) -> Values:
            first = affine_value(ir.AffineExpr.get_dim(0) * size, [at])
            after = self._on_rows(op, axis, first, size, carried or states, inner)
            return [] if self.on_memory else after

        if count:
            given = [] if self.on_memory else states  # nothing on memory, what nobody reads neither
            made, after = loop((index(0), index(count)), index(1), given, turn)
            states = after or states
            made.attributes[PARALLEL] = ir.UnitAttr.get()
        if rest:
            states = self._on_rows(op, axis, count * size, rest, states, inner)
        return states

    def _inside(self, op: ir.Operation, axes: Sequence[int]) -> Values:
        """The final histories of a scan over a block, by loops over other dims, or by steps."""
        with ir.InsertionPoint(op), op.location:
            if not axes:
                return self.lower(op)
            results = self.run(op, axes, {})
            read_from_windows(op, self.plan.windows)
            return results

    def _on_rows(
        self, op: ir.Operation, axis: int, at: Offset, rows: int, states: Values,
        inner: Sequence[int],
    ) -> Values:  # fmt: skip
        """The states after the scan on some rows; those that nobody reads are not put back."""
        body, windows = ScanBody(op), self.plan.windows
        used = [
            bool(list(result.uses)) or is_memory(init)
            for result, init in zip(op.results, op.operands, strict=True)
        ]
        whole = [self.of(v) if k in windows else states[k] for k, v in enumerate(body.inits)]
        slices = [
            _taken(state, axis, at, rows) if is_used and k not in windows
            else _apart(body.inits[k], state, axis, at, rows)
            for k, (state, is_used) in enumerate(zip(whole, used, strict=True))
        ]  # fmt: skip
        copy = self._copied(body, axis, at, rows, slices)
        kept = [
            window_of(made, windows[k]) if k in windows else made
            for k, made in enumerate(copy.results)
        ]
        if self.on_memory:
            self._put_windows(copy, kept, states, used, axis, at, inner)
            return states
        after = [
            _put(made, state, axis, at) if is_used else state
            for made, state, is_used in zip(kept, states, used, strict=True)
        ]
        replace_op(copy, self._inside(copy, inner))
        return after

    def _put_windows(
        self, copy: ir.Operation, kept: Values, states: Values, used: Sequence[bool], axis: int,
        at: Offset, inner: Sequence[int],
    ) -> None:  # fmt: skip
        """Emit the scan on some rows of memory, and keep the slices of its last steps."""
        for k, final in enumerate(self._inside(copy, inner)):
            window = self.plan.windows.get(k)
            if window is None or not used[k]:
                continue
            if shape_of(final)[window.axis] != window.size:
                final = window_of(final, window)
            _put(final, states[k], axis, at)
        for mark in kept:
            if mark not in list(copy.results) and (maker := defining(mark)) is not None:
                maker.erase()
        copy.erase()

    def _copied(
        self, body: ScanBody, axis: int, at: Offset, rows: int, slices: Values
    ) -> ir.Operation:  # fmt: skip
        """The scan on slices of its histories, and of what its equations read of the same rows."""
        dims = {op: _dim_of(op, body, axis) for op in body.equations}
        taken: dict[tuple[ir.Value, int, int], ir.Value] = {}
        operands: list[tuple[int, int, ir.Value]] = []
        for n, op in enumerate(body.inner):
            if (row := dims.get(op)) is None:
                continue
            equation: Any = op.opview
            for k, (value, places) in enumerate(zip(op.operands, equation.read_maps, strict=False)):
                using = [p for p, e in enumerate(places.results) if row in dims_used(e)]
                if value in body.history or not using:
                    continue
                stride = _stride(places.results[using[0]], row)
                key = value, using[0], stride
                if key not in taken:
                    others = stride * (equation.box[row] - rows)
                    first = (
                        at * stride
                        if isinstance(at, int)
                        else affine_value(ir.AffineExpr.get_dim(0) * stride, [at])
                    )
                    size = shape_of(value)[using[0]] - others
                    taken[key] = _taken(self.of(value), using[0], first, size)
                operands.append((n, k, taken[key]))
        copy = body.op.clone().operation
        for k, own in enumerate(slices):
            copy.operands[k] = own
        inside = ScanBody(copy)
        for n, k, value in operands:
            inside.inner[n].operands[k] = value
        _shorten(body, inside, dims, rows, [own.type for own in slices])
        return copy


def _shorten(
    body: ScanBody,
    copy: ScanBody,
    dims: dict[ir.Operation, int | None],
    rows: int,
    types: Sequence[ir.Type],
) -> None:
    """Give equations their extents, and states their types."""
    for old, new in zip(body.inner, copy.inner, strict=True):
        if (dim := dims.get(old)) is not None:
            equation: Any = old.opview
            extents = [rows if k == dim else n for k, n in enumerate(equation.box)]
            new.attributes["extents"] = ir.DenseI64ArrayAttr.get(extents)
    for value, history in copy.history.items():
        value.set_type(types[history])
    for result, kind in zip(copy.op.results, types, strict=True):
        result.set_type(kind)


def _taken(source: ir.Value, axis: int, at: Offset, rows: int) -> ir.Value:
    """The slice of some rows along a dim."""
    return part(source, *along(shape_of(source), axis, at, rows), range(len(shape_of(source))))


def _apart(init: ir.Value, state: ir.Value, axis: int, at: Offset, rows: int) -> ir.Value:
    """The slice of a state that is not put back, in memory of its own where it starts alike."""
    if not starts_alike(init):
        return saved(_taken(state, axis, at, rows))
    return started([rows if k == axis else n for k, n in enumerate(shape_of(state))], init)


def _put(made: ir.Value, whole: ir.Value, axis: int, at: Offset) -> ir.Value:
    rows = shape_of(made)[axis]
    return with_part(made, whole, *along(shape_of(whole), axis, at, rows))
