"""Triangles of temporaries -> strips, each with the columns that its rows reach.

Before: s[i, j] += q[i, r] * k[j, r] for j <= i < 128, which only equations over j <= i read
After:  s0[i, j] += .. for j <= i < 32;  s1[i, j] += q[i + 32, r] * .. for j <= i + 32, i < 32; ..

What reads a strip is cut along the same rows.  So a matrix product over a triangle is one over a
few boxes, of which only the corner is wasted, and no memory is held for what nobody reads: a strip
is as wide as its rows are long.  The equations ask for masks over their boxes
(`ted-mask-boxes`), where that is right.

A tensor is cut if a large product makes or reads it, if what is read of it is in four strips that
have at most three quarters of its box, and if every equation that reads or writes it moves along
the dim that is cut by one dim of its own.  Recurrences, outputs, results of arg-reductions, and
equations that carry an attribute stay whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from itertools import pairwise
from math import prod
from typing import Any

from ted.domain import parameters, sets
from ted.domain.budget import BudgetExhausted, required
from ted.domain.sizes import is_symbolic
from ted.ir.affine import NotAffine, canonical_index
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    is_contraction,
    operands,
    recurrent_tensors,
    rewrite_system,
    with_expressions,
)
from ted.ir.expressions import Expr
from ted.ir.rewriting import SystemPass
from ted.ir.scalar import TRUE, index, load, reads_data, rewrite, sub
from ted.records import dataclass
from ted.transforms.demanded_elements import elements_read, note_reads, points_writing
from ted.transforms.part_of_box import part_of_box

STRIPS = 4  # they have 5/8 of the box around a triangle; 8 have 9/16, and are twice the code
ROWS = 8  # of which strips are multiples: registers hold as many rows of a product
FEW = 1 << 20  # products that rows of scalars, which keep nothing, do in a tenth of a millisecond
SHARE = 0.75  # of the box, that strips may have
MASKED = ("ted.form", '{name = "masked", if_possible = true}')
Sides = Sequence[tuple[int, int]]  # first and last subscript of each dim


@dataclass(frozen=True, eq=False)
class Strips:
    """Along which dim a tensor is cut, what is read of each strip, and the boxes around that."""

    dim: int
    extent: int
    elements: tuple[Any, ...]
    boxes: tuple[Sides, ...]

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """First and last row of each strip; rows of which nothing is read are in one, too."""
        firsts = [0, *(box[self.dim][0] for box in self.boxes[1:]), self.extent]
        return tuple((low, high - 1) for low, high in pairwise(firsts))


Plan = dict[Tensor, Strips]


@dataclass(frozen=True)
class TedCutStrips(SystemPass):
    """The pass; products of less than `few` points stay as they are."""

    few: int = FEW

    def rewrite(self, system: System) -> System:
        """The system in strips."""
        return cut_strips(system, self.few)[0]


def cut_strips(system: System, few: int = FEW) -> tuple[System, dict[Tensor, Tensor]]:
    """Cut what may be cut; also old tensor -> new tensor."""
    plan = _planned(system, few)
    if not plan:
        return system, {}
    cutter = _Cutter(plan)
    return rewrite_system(system, cutter.visit)


# ---- which tensors -------------------------------------------------------------------------------


def _planned(system: System, few: int) -> Plan:
    """The tensors that are cut."""
    tensors = system.tensors()
    near = _near_products(tensors, few)
    if not near:
        return {}
    recurrent = recurrent_tensors(system.outputs)
    whole = {*system.outputs, *recurrent, *(o for t in recurrent for o in operands(t))}
    read: dict[Tensor, Any] = {}
    for tensor in tensors:
        for equation in tensor.equations:
            if near & {*equation.sources, tensor}:
                note_reads(equation, equation.domain, read, near)
    found = {
        t: s for t in tensors if t in near - whole and (s := _strips_of(t, read.get(t))) is not None
    }
    while True:
        kept = {t: s for t, s in found.items() if t not in _misfits(tensors, found)}
        if len(kept) == len(found):
            return _with_rows(tensors, found, whole)
        found = kept


def _near_products(tensors: Sequence[Tensor], few: int) -> set[Tensor]:
    """What large products over a part of their box make or read, and what is between those."""
    seeds = {
        t
        for tensor in tensors
        for e in tensor.equations
        if not is_symbolic(e.extents) and is_contraction(e) and prod(e.extents) >= few
        if not e.is_box
        for t in (tensor, *e.sources)
    }
    shapes = {t.shape for t in seeds if not is_symbolic(t.shape) and len(t.shape) > 1}
    return {t for t in tensors if t.equations and t.shape in shapes} if seeds else set()


def _strips_of(tensor: Tensor, elements: Any | None) -> Strips | None:
    """The strips with the least elements in all, if these are much less than all."""
    if elements is None or elements.is_empty():
        return None
    try:
        sides = required(sets.dim_ranges, elements)
        if sides is None:
            return None
        cuts = [s for k in range(len(tensor.shape)) if (s := _cut_along(tensor, elements, k))]
    except (BudgetExhausted, NotAffine):
        return None
    best = min(cuts, key=_volume, default=None)
    return best if best is not None and _volume(best) <= SHARE * _box(sides) else None


def _cut_along(tensor: Tensor, elements: Any, k: int) -> Strips | None:
    extent = tensor.static_shape[k]
    size = -(-extent // (STRIPS * ROWS)) * ROWS
    starts = range(0, extent, size)
    found = [sets.within(elements, k, first, first + size - 1) for first in starts]
    parts = [part for part in found if not part.is_empty()]
    boxes = [tuple(box) for part in parts if (box := required(sets.dim_ranges, part)) is not None]
    if len(boxes) < max(2, len(parts)):
        return None
    return Strips(k, extent, tuple(parts), tuple(boxes))


def _box(sides: Sides) -> int:
    return prod(high - low + 1 for low, high in sides)


def _volume(strips: Strips) -> int:
    return sum(map(_box, strips.boxes))


def _misfits(tensors: Sequence[Tensor], plan: Plan) -> set[Tensor]:
    """What some equation cannot be cut with."""
    found: set[Tensor] = set()
    for tensor in tensors:
        for equation in tensor.equations:
            concerned = {t for t in (*equation.sources, tensor) if t in plan}
            if concerned and _dim_of_cuts(tensor, equation, plan) is None:
                found |= concerned
    return found


def _dim_of_cuts(tensor: Tensor, equation: Equation, plan: Plan) -> int | None:
    """The dim along which an equation moves through the cuts of all its tensors, if that is one."""
    if "arg" in equation.combiner or equation.wishes or equation.is_scatter:
        return None
    places = [(r.attr, r.args) for r in equation.reads if r.attr in plan]
    places += [(tensor, equation.write)] if tensor in plan else []
    dims = {args[plan[t].dim] for t, args in places}
    cuts = {plan[t].ranges for t, _ in places}
    (found, *others) = dims
    if others or len(cuts) > 1 or found.op != "dim":
        return None
    if any(reads_data(*args) for _, args in places):
        return None
    k, extent = int(found.attr), cuts.pop()[-1][1] + 1
    return k if equation.extents[k] == extent else None


def _with_rows(tensors: Sequence[Tensor], plan: Plan, whole: set[Tensor]) -> Plan:
    """Also what all its equations meet at the rows of strips: maxima of rows, their sums."""
    users: dict[Tensor, list[tuple[Tensor, Equation]]] = {t: [] for t in tensors}
    for tensor in tensors:
        for equation in tensor.equations:
            for t in {tensor, *equation.sources}:
                users[t].append((tensor, equation))
    plan, grown = dict(plan), True
    while grown:
        grown = False
        for tensor in (t for t in tensors if t.equations and t not in {*plan, *whole}):
            near = {t for _, e in users[tensor] for t in e.sources} | {t for t, _ in users[tensor]}
            for strips in (s for t in near if t in plan for s in _like(tensor, plan[t])):
                trial = {**plan, tensor: strips}
                if all(_dim_of_cuts(t, e, trial) is not None for t, e in users[tensor]):
                    plan, grown = trial, True
                    break
    return plan


def _like(tensor: Tensor, strips: Strips) -> Iterator[Strips]:
    """The same cuts of all elements of a tensor, along each dim that is as long."""
    if is_symbolic(tensor.shape):
        return
    everything = sets.box(tensor.static_shape)
    for k, extent in enumerate(tensor.static_shape):
        if extent == strips.extent:
            parts = tuple(sets.within(everything, k, *rows) for rows in strips.ranges)
            sides = [(0, n - 1) for n in tensor.static_shape]
            boxes = tuple((*sides[:k], rows, *sides[k + 1 :]) for rows in strips.ranges)
            yield Strips(k, extent, parts, boxes)


# ---- cutting -------------------------------------------------------------------------------------


@dataclass
class _Cutter:
    """Cuts tensors in the order of a system; `parts` has the strips of what was cut."""

    plan: Plan
    parts: dict[Tensor, tuple[Strips, list[Tensor]]] = field(default_factory=dict)

    def visit(
        self, tensor: Tensor, equations: tuple[Equation, ...]
    ) -> tuple[Equation, ...] | Tensor:
        """The equations of a tensor in strips; a stand-in for a tensor that is cut itself."""
        strips = self.plan.get(tensor)
        if strips is None:
            return tuple(piece for e in equations for piece in self._pieces(e))
        made = [self._part(tensor, equations, strips, k) for k in range(len(strips.boxes))]
        stand_in = replace(tensor)
        self.parts[stand_in] = strips, made
        return stand_in

    def _part(
        self, tensor: Tensor, equations: Sequence[Equation], strips: Strips, k: int
    ) -> Tensor:
        """A strip: maps have zeros where nobody reads, sums are over all of it."""
        box = strips.boxes[k]
        around, kept, fill = sets.bounding_box(box), list[Equation](), tensor.fill
        for equation in equations:
            is_map = equation.combiner == "set"
            points = points_writing(equation, strips.elements[k] if is_map else around)
            if not is_map and not equation.is_box:
                more = points_writing(_everywhere(equation), around)
                if self._may_widen(equation, more, strips.elements[k], k):
                    points = more
            if not points.is_empty():
                kept.append(self._moved(equation, points, k, [low for low, _ in box]))
        if fill is None:
            fill = 0
        shape = tuple(high - low + 1 for low, high in box)
        made = replace(tensor, shape=shape, equations=tuple(kept), fill=fill)
        if len(kept) == 1 and kept[0].combiner == "set" and kept[0].covers(shape):
            return replace(made, fill=None)
        return made

    def _may_widen(self, equation: Equation, points: Any, elements: Any, k: int) -> bool:
        """Whether a sum may be taken at more points: no element that is read gets more of them.

        What it reads there has to be in its tensor, or in its strip.
        """
        if any(reads_data(*r.args) for r in equation.reads):
            return False
        if not points_writing(_everywhere(equation), elements).is_subset(equation.domain):
            return False
        met = [(self._room(r.attr, k), elements_read(r, TRUE, points)) for r in equation.reads]
        return all(e is not None and e.is_subset(room) for room, e in met)

    def _room(self, tensor: Tensor, k: int) -> Any:
        """The elements that are held of a tensor, or of its strip."""
        if tensor not in self.parts:
            return sets.box(tensor.static_shape)
        return sets.bounding_box(self.parts[tensor][0].boxes[k])

    def _pieces(self, equation: Equation) -> Iterator[Equation]:
        """The equation for each strip that it reads; itself where it reads none."""
        read = [r for r in equation.reads if r.attr in self.parts]
        if not read:
            yield equation
            return
        strips, _ = self.parts[read[0].attr]
        place = read[0].args[strips.dim]
        for k, rows in enumerate(strips.ranges):
            points = sets.within(sets.anonymous(equation.domain), int(place.attr), *rows)
            if not points.is_empty():
                yield self._moved(equation, points, k, [0] * len(equation.write))

    def _moved(self, equation: Equation, points: Any, k: int, origin: Sequence[int]) -> Equation:
        """The equation over the box around some points, which read and write in strip k."""
        write = [sub(w, index(low)) for w, low in zip(equation.write, origin, strict=True)]
        (body,) = rewrite([equation.body], lambda node, args: self._read(node, args, k))
        ranges = enumerate(sets.dim_ranges(points) or ())
        sides = {d: range(low, high + 1) for d, (low, high) in ranges}
        reading = with_expressions(equation, (body, *write))
        made = part_of_box(reading, sets.anonymous(points), sides)
        write = [canonical_index(w, made.domain) for w in made.write]
        made = replace(made, write=tuple(write))
        return made if made.is_box else replace(made, wishes=(MASKED,))

    def _read(self, node: Expr, args: tuple[Expr, ...], k: int) -> Expr | None:
        if node.op != "load" or node.attr not in self.parts:
            return None
        strips, made = self.parts[node.attr]
        lows = [low for low, _ in strips.boxes[k]]
        return load(made[k], [sub(a, index(low)) for a, low in zip(args, lows, strict=True)])


def _everywhere(equation: Equation) -> Equation:
    return replace(equation, domain=parameters.box(equation.extents))
