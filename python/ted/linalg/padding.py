"""Reads of contractions that indexing maps cannot express -> tensors of their own.

A guard that says only that a read lies inside its tensor becomes one zero-filled copy, or a view of
what its tensor lies inside of, if these are zeros; a read that
runs backwards, divides or takes remainders becomes one copy, in the order of its tensor; windows
read backwards are read forwards of a copy that is turned round. Equal copies are shared by all
subdomains of a block.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from fractions import Fraction
from math import prod
from typing import Any, TypeAlias

from ted.domain.linear import Form
from ted.linalg.bodies import read_value
from ted.linalg.generics import build_generic, filled, linalg_indices
from ted.linalg.slices import Operand, extract_slice, insert_slice
from ted.linalg.subdomain import Constraint, Read
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, down, linear, substitute
from ted.mlir.affine_ranges import value_range
from ted.mlir.aliasing import whole
from ted.mlir.queries import defining, is_inside
from ted.mlir.scalars import constant, element_type, shape_of
from ted.mlir.storage import empty
from ted.records import dataclass

Hull: TypeAlias = "list[tuple[int, int]]"  # the least and the greatest subscript in each dim
LARGEST_GROWTH = 4  # a copy may have this many times the elements of its source


@dataclass
class Paddings:
    """The copies made so far in one block, by what they are a copy of.

    `scattered`: they are worth it for borders of which few elements lie next to each other, as on
    CPUs; threads of a GPU test conditions instead.
    """

    made: dict[tuple[Any, ...], ir.Value] = field(default_factory=dict)
    scattered: bool = False
    # Copies of what no turn of the loops makes are made in front of them, where there are any.
    in_front: ir.Operation | None = None
    of_turns: frozenset[ir.Value] = frozenset()
    # Memory that lies inside of zeros, and the subscripts for which there are some.
    borders: Mapping[ir.Value, Hull] = field(default_factory=dict)

    def padded(self, read: Read, extents: tuple[int, ...]) -> Read:
        """The read without its guard, which has `subscript_windows`, of zeros around its tensor."""
        windows = subscript_windows(read, read.guard)
        assert windows is not None, "the guard says where the tensor is read"
        hulls = [value_range(e, extents) for e in read.subscripts]
        own = self.borders.get(read.tensor)
        if own is not None and _reaches(own, hulls) and windows == whole_hull(read.tensor):
            return _moved(read, _with_zeros(read.tensor, hulls, own), hulls, len(extents))
        key = (read.tensor, tuple(windows), tuple(hulls))
        if key not in self.made:
            with self._place(read.tensor):
                self.made[key] = _zero_filled(read.tensor, windows, hulls)
        return _moved(read, self.made[key], hulls, len(extents))

    def gathered(self, read: Read, extents: tuple[int, ...]) -> Read:
        """The read as a tensor over just the dims that it uses."""
        used = _used(read)
        shape = [extents[d] for d in used]
        key = (read.tensor, str(read.subscripts), str(read.guard), tuple(shape))
        if key not in self.made:
            with self._place(read.tensor):
                self.made[key] = _gather(read, used, len(extents), shape)
        return Read(self.made[key], tuple(ir.AffineExpr.get_dim(d) for d in used))

    def forget(self, written: Collection[ir.Value]) -> None:
        """Forget copies of memory that is written from here on, by whatever view."""
        self.made = {key: copy for key, copy in self.made.items() if whole(key[0]) not in written}

    def _place(self, source: ir.Value) -> ir.InsertionPoint:
        """Where a copy is made."""
        maker, loops = defining(source), self.in_front
        of_turn = source in self.of_turns or (maker is not None and loops is not None
                                              and is_inside(maker, loops))  # fmt: skip
        return ir.InsertionPoint.current if loops is None or of_turn else ir.InsertionPoint(loops)

    def turned(self, read: Read) -> Read:
        """The read `forwards`, of a copy of its tensor that is turned round where it has to be."""
        shape = tuple(shape_of(read.tensor))
        dims = [ir.AffineExpr.get_dim(k) for k in range(len(shape))]
        there = tuple(
            _turned(dim, n) if is_backward_window(e) else dim
            for dim, e, n in zip(dims, read.subscripts, shape, strict=True)
        )
        copy = self.gathered(Read(read.tensor, there), shape)
        return replace(forwards(read), tensor=copy.tensor)


def _moved(read: Read, padded: ir.Value, hulls: Hull, rank: int) -> Read:
    """The read of what begins where the least subscripts are."""
    place = [ir.AffineExpr.get_dim(k) for k in range(rank)]
    moved = [e - low for e, (low, _) in zip(read.subscripts, hulls, strict=True)]
    return Read(padded, tuple(substitute(place, e) for e in moved))


def _with_zeros(memory: ir.Value, hull: Hull, own: Hull) -> ir.Value:
    """The memory of a tensor with the zeros around it, of which it has those of `own`."""
    view = defining(memory, "memref.subview")
    assert view is not None, "it lies inside of others"
    offsets = [low - least for (low, _), (least, _) in zip(hull, own, strict=True)]
    sizes = [high - low + 1 for low, high in hull]
    return extract_slice(view.operands[0], offsets, sizes, [1] * len(sizes))


def _reaches(own: Hull, hulls: Hull) -> bool:
    """Whether there are zeros wherever a read wants some."""
    return all(a <= low and high <= b for (low, high), (a, b) in zip(hulls, own, strict=True))


def may_gather(read: Read, extents: tuple[int, ...]) -> bool:
    """Whether the tensor over the dims that a read uses is not too large."""
    size = prod(extents[d] for d in _used(read))
    return size <= LARGEST_GROWTH * max(1, prod(shape_of(read.tensor)))


def forwards(read: Read) -> Read:
    """The read from a tensor turned round in each dim of which windows are read backwards."""
    pairs = zip(read.subscripts, shape_of(read.tensor), strict=True)
    turned = tuple(_turned(e, n) if is_backward_window(e) else e for e, n in pairs)
    return replace(read, subscripts=turned)


def is_backward_window(expr: ir.AffineExpr) -> bool:
    """Whether a subscript is a sum of several dims, all of them counted backwards."""
    form = linear(expr)
    return form is not None and len(form.terms) > 1 and all(f < 0 for _, f in form.terms)


def _turned(expr: ir.AffineExpr, extent: int) -> ir.AffineExpr:
    return down(ir.AffineExpr.get_constant(extent - 1) - expr)


def _used(read: Read) -> list[int]:
    """The dims of a read, in the order of its tensor."""
    dims = (
        d for e in (*read.subscripts, *(c.expr for c in read.guard)) for d in sorted(dims_used(e))
    )
    return list(dict.fromkeys(dims))


def whole_hull(tensor: ir.Value) -> Hull:
    """The subscripts of all elements."""
    return [(0, extent - 1) for extent in shape_of(tensor)]


def subscript_windows(read: Read, guard: tuple[Constraint, ...]) -> list[tuple[int, int]] | None:
    """Per tensor dim, the range of subscripts that the constraints allow; None if they say more.

    The ranges are also inside the tensor, since a guard never lets a read leave it.
    """
    windows = whole_hull(read.tensor)
    forms = [linear(e) for e in read.subscripts] if guard else []
    for constraint in guard:
        wanted = None if constraint.is_equality else linear(constraint.expr)
        found = [
            (k, window)
            for k, form in enumerate(forms)
            if (window := _window(wanted, form)) is not None
        ]
        if not found:
            return None
        for k, (low, high) in found:
            windows[k] = (max(windows[k][0], low), min(windows[k][1], high))
    return windows


def _window(wanted: Form[int] | None, form: Form[int] | None) -> tuple[int, int] | None:
    """The values of a subscript at which `wanted >= 0` holds, if that is about nothing else."""
    if form is None or wanted is None or not form.terms:
        return None
    pivot, step = form.terms[0]
    # A constraint may be shorter than the subscript: i - 1 >= 0 of 2 * i - 2 >= 0.
    ratio = Fraction(wanted[pivot], step)
    factor, rest = ratio.numerator, wanted * ratio.denominator - form * ratio.numerator
    if factor == 0 or rest.terms:
        return None
    offset = rest.constant  # factor * subscript + offset >= 0
    infinite = 1 << 62
    if factor > 0:
        return -(offset // factor), infinite
    return -infinite, offset // -factor


def _zero_filled(source: ir.Value, windows: Hull, hulls: Hull) -> ir.Value:
    kind = element_type(source)
    sizes = [high - low + 1 for low, high in hulls]
    zeros = filled(empty(sizes, kind, source), constant(kind, 0))
    lows = [max(w[0], h[0]) for w, h in zip(windows, hulls, strict=True)]
    highs = [min(w[1], h[1]) for w, h in zip(windows, hulls, strict=True)]
    inner = [high - low + 1 for low, high in zip(lows, highs, strict=True)]
    if min(inner, default=1) <= 0:
        return zeros
    ones = [1] * len(inner)
    there = extract_slice(source, lows, inner, ones)
    offsets = [low - h[0] for low, h in zip(lows, hulls, strict=True)]
    return insert_slice(there, zeros, offsets, inner, ones)


def _gather(read: Read, used: list[int], rank: int, shape: list[int]) -> ir.Value:
    place = [ir.AffineExpr.get_dim(used.index(d) if d in used else 0) for d in range(rank)]
    own = replace(
        read,
        subscripts=tuple(substitute(place, e) for e in read.subscripts),
        guard=tuple(replace(c, expr=substitute(place, c.expr)) for c in read.guard),
    )
    kind = element_type(read.tensor)
    room = empty(shape, kind, read.tensor)
    dims = tuple(ir.AffineExpr.get_dim(k) for k in range(len(shape)))
    order = range(len(shape))
    return build_generic(
        [], [Operand(room, dims)], order, ["parallel"] * len(shape),
        lambda _: [read_value(own, kind, linalg_indices(len(shape), order))],
    )[0]  # fmt: skip
