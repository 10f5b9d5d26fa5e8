"""A subdomain over any set of points -> loops with exact bounds.

Before: a subdomain on a triangle, with divisions in its subscripts, or with a write at data.
After: `scf.for` from `affine.max` to `affine.min`, loads and stores; of tensors, `tensor.extract`
and `tensor.insert` that loops carry. Trailing reduction loops carry the total as a scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from ted.domain.loops import LoopBounds, LoopNest, loop_nests
from ted.linalg.bodies import emit_body, read_value
from ted.linalg.combiners import combine
from ted.linalg.data_reads import AHEAD, Access, guarded
from ted.linalg.domain_forms import all_hold, constraints_from, from_plain
from ted.linalg.domain_forms import points as box_points
from ted.linalg.loop_order import loop_order
from ted.linalg.subdomain import Constraint, Subdomain
from ted.linalg.wide_accumulators import in_wide_totals
from ted.mlir import affine, arith, ir
from ted.mlir.affine_forms import dims_used, single_dim, substitute, symbols_used
from ted.mlir.affine_ranges import value_range
from ted.mlir.scalars import (
    affine_value,
    all_of,
    conditional,
    element_type,
    index,
    narrowed,
)
from ted.mlir.storage import element, loop, with_element
from ted.mlir.strategies import attach
from ted.records import dataclass

Values = list[ir.Value]
# Attribute of a loop whose iterations touch different elements of the results.
PARALLEL = "ted.parallel"
# Of a loop around loops that are parallel whatever it does: these may be the outermost ones.
PARALLEL_INSIDE = "ted.parallel_inside"
# Of a loop that would be parallel but for so many totals, and of the operations that add to these.
TOTAL = "ted.total"


def emit_loops(subdomain: Subdomain, where: Any, results: Values) -> Values:
    """Apply the subdomain at the points `where` (None: its whole box); returns the new results."""
    order = loop_order(subdomain, windows=where is None)
    where = box_points(subdomain.extents) if where is None else where
    order, nests = _bounded_nests(subdomain, where, order)
    subdomain = replace(subdomain, unordered=subdomain.unordered or len(nests) > 1)

    def emit(totals: Values) -> Values:
        for nest in nests:
            totals = _Nest(subdomain, nest, order).emit(totals)
        return totals

    return in_wide_totals(subdomain, results, emit)


def _bounded_nests(
    subdomain: Subdomain, where: Any, order: list[int]
) -> tuple[list[int], tuple[LoopNest, ...]]:
    """The nests in this order; with reductions innermost if only so no guard remains in them."""
    nests = loop_nests(where, order)
    if subdomain.reduction_dims and any(nest.guard for nest in nests):
        inner = [*(d for d in order if d in subdomain.parallel_dims), *subdomain.reduction_dims]
        bounded = loop_nests(where, inner)
        if not any(nest.guard for nest in bounded):
            return inner, bounded
    return order, nests


def emit_loops_at(
    subdomain: Subdomain,
    parts: Sequence[tuple[Subdomain, Any]],
    fixed: Sequence[tuple[int, ir.Value]],
) -> Values:
    """Apply the subdomain at points at which some dims have values known here.

    They come in disjoint parts, each with the subdomain as it is there.

    Reads of a result are made from its latest state: the subdomain is a step of a recurrence, which
    reads nothing that the step itself writes, and one state is all that memory has to hold.
    """
    known = [d for d, _ in fixed]
    found = []
    for part, some in parts:
        order = loop_order(part, windows=False, known=known)
        found += [(part, order, nest) for nest in loop_nests(some, order)]
    unordered = subdomain.unordered or len(found) > 1

    def emit(totals: Values) -> Values:
        for part, order, nest in found:
            part = replace(part, unordered=unordered, ahead=False)
            totals = _at(part, nest, order, dict(fixed), totals)
        return totals

    return in_wide_totals(subdomain, list(subdomain.inits), emit)


def emit_blocks_at(
    subdomain: Subdomain,
    where: Any,
    fixed: Sequence[tuple[int, ir.Value]],
    outer: Sequence[int],
    leaf: Callable[[Values, Values], Values],
) -> Values:
    """Loops over the `outer` dims of the points `where`, and in them what `leaf` makes of results.

    It gets the values of all dims, 0 for those that are neither fixed nor outer, and are a box.
    """
    known = [d for d, _ in fixed]
    order = [*known, *outer]
    order += [d for d in range(subdomain.rank) if d not in order]
    results = list(subdomain.inits)

    def emit(nest: _Nest, totals: Values) -> Values:
        def block(totals: Values) -> Values:
            return leaf([nest.dims.get(d) or index(0) for d in range(subdomain.rank)], totals)

        return nest.run(list(nest.nest.loops[: len(outer)]), totals, block)

    for nest in loop_nests(where, order):
        assert not nest.guard, "conditions are bounds of the loops over blocks"
        results = _at(subdomain, nest, order, dict(fixed), results, emit, len(outer))
    return results


def _at(
    subdomain: Subdomain,
    nest: LoopNest,
    order: list[int],
    fixed: dict[int, ir.Value],
    results: Values,
    emit: Callable[[_Nest, Values], Values] | None = None,
    blocks: int | None = None,
) -> Values:
    """The inner loops of a nest, or so many, run where its outer ones would reach the values."""
    outer, inner = nest.loops[: len(fixed)], nest.loops[len(fixed) :]
    left = replace(nest, loops=tuple(inner))
    latest = {t: t for t in subdomain.inits}
    body = _Nest(subdomain, left, order[len(fixed) :], dict(fixed), latest)
    types = [r.type for r in results]
    emit = _Nest.emit if emit is None else emit
    # What is around a total is read and written even if nothing is added to it.
    around = len(inner) if subdomain.writes_at_data else len(inner) - body.trailing_reductions()
    counted = inner[: around if blocks is None else blocks]
    reached = [c for bounds in outer for c in _reached(bounds, subdomain, fixed, counted)]
    if not reached:
        return emit(body, results)
    every: ir.Value = all_of(reached)
    return conditional(every, types, lambda: emit(body, results), lambda: results)


def _reached(
    bounds: LoopBounds,
    subdomain: Subdomain,
    fixed: dict[int, ir.Value],
    inner: Sequence[LoopBounds],
) -> list[ir.Value]:
    """The condition, if it is one, that a loop reaches the value that its dim has."""
    value, extent = fixed[bounds.dim], subdomain.extents[bounds.dim]
    if any(bound.terms for bound in (*bounds.lower, *bounds.upper)):
        lower, upper = loop_bounds(bounds, fixed)
        above = arith.CmpIOp(arith.CmpIPredicate.sge, value, lower).result
        return [above, arith.CmpIOp(arith.CmpIPredicate.slt, value, upper).result]
    begin = max(bound.const for bound in bounds.lower)
    end = min(bound.const for bound in bounds.upper)
    d = ir.AffineExpr.get_dim(0)
    sides = ((0, begin, Constraint(d - begin)), (end, extent, Constraint(d * -1 + (end - 1))))
    tests = [
        test
        for first, last, test in sides
        if first < last and not _is_idle(inner, subdomain.extents, bounds.dim, first, last)
    ]
    return [all_hold(tests, [value])] if tests else []


def _is_idle(
    loops: Sequence[LoopBounds], extents: Sequence[int], dim: int, first: int, last: int
) -> bool:
    """Whether one of the loops has no turns anyway where a dim has a value in a range."""
    there = [last - first if d == dim else extent for d, extent in enumerate(extents)]
    moved = [ir.AffineExpr.get_dim(d) + (first if d == dim else 0) for d in range(len(extents))]

    def never(lower: Any, upper: Any) -> bool:
        apart = from_plain(lower) - from_plain(upper)
        return value_range(substitute(moved, apart) if dims_used(apart) else apart, there)[0] >= 0

    return any(never(lower, upper) for one in loops for lower in one.lower for upper in one.upper)


@dataclass
class _Nest:
    subdomain: Subdomain
    nest: LoopNest
    order: list[int]
    dims: dict[int, ir.Value] = field(default_factory=dict)
    latest: dict[ir.Value, ir.Value] = field(default_factory=dict)  # states of results

    def __post_init__(self) -> None:
        self.fixed = len(self.dims)  # those that no loop here counts

    def emit(self, results: Values) -> Values:
        if self.subdomain.writes_at_data:
            return self.run(list(self.nest.loops), results, self._write_at_data)
        trailing = self.trailing_reductions()
        outer = self.nest.loops[: len(self.order) - trailing]
        return self.run(list(outer), results, self._element)

    def trailing_reductions(self) -> int:
        """How many innermost loops leave the written element alone."""
        moving = dims_used(*self.subdomain.write)
        count = 0
        for dim in reversed(self.order):
            if dim in moving or self.subdomain.iterators[dim] != "reduction":
                break
            count += 1
        return count

    def run(
        self, loops: list[LoopBounds], carried: Values, leaf: Callable[[Values], Values]
    ) -> Values:
        """The loops around `leaf`, which maps carried values to new ones."""
        if not loops:
            return leaf(carried)
        bounds, *inner = loops
        lower, upper = loop_bounds(bounds, self.dims)
        is_outermost = len(self.dims) == self.fixed

        def turn(at: ir.Value, inside: Values) -> Values:
            self.dims[bounds.dim] = at
            return self.run(inner, inside, leaf)

        made, results = loop((lower, upper), index(1), carried, turn)
        if is_outermost:
            attach(made, self.subdomain.wishes)
        if self._is_race_free(bounds.dim):
            made.attributes[PARALLEL] = ir.UnitAttr.get()
        elif any(self._is_race_free(one.dim) for one in inner):
            made.attributes[PARALLEL_INSIDE] = ir.UnitAttr.get()
        return results

    def _is_race_free(self, dim: int) -> bool:
        """Whether points that differ in this dim write different elements, whatever the others.

        True of all parallel dims of a write in gather form; of a dim that is a subscript by itself.
        """
        subdomain = self.subdomain
        if subdomain.iterators[dim] != "parallel":
            return False
        moving = dims_used(*subdomain.write)
        if not subdomain.writes_at_data and moving <= set(subdomain.parallel_dims):
            return True
        alone = [single_dim(e) for e in subdomain.write if not symbols_used(e)]
        return any(form is not None and form[0] == dim for form in alone)

    def _points(self) -> Values:
        return [self.dims[d] for d in range(self.subdomain.rank)]

    def _arguments(self, dims: Values) -> Values:
        reads = [
            r if r is None else replace(r, tensor=self.latest.get(r.tensor, r.tensor))
            for r in self.subdomain.reads
        ]
        return [
            read_value(r, a.type, dims)
            for r, a in zip(reads, self.subdomain.body.arguments, strict=True)
        ]

    def _follow(self, results: Values) -> None:
        """From here on these are the latest states of the results."""
        if self.latest:
            self.latest = dict(zip(self.subdomain.inits, results, strict=True))

    def _element(self, results: Values) -> Values:
        """One element of each result: start from its value, run the reductions, put it back."""
        subdomain = self.subdomain
        self._follow(results)
        rest = [loop for loop in self.nest.loops if loop.dim not in self.dims]
        # Subscripts of the write use the dims of the outer loops only.
        unknown = next(iter(self.dims.values()), None)
        known = [self.dims.get(d, unknown) for d in range(subdomain.rank)]
        place = [affine_value(e, [v for v in known if v is not None]) for e in subdomain.write]
        kinds = [element_type(r) for r in results]

        def update() -> Values:
            totals: Values = results
            if subdomain.combiner != "set":
                totals = [element(r, place) for r in results]
            totals = self.run(rest, totals, self._point)
            return [
                with_element(narrowed(t, kind), r, place)
                for t, kind, r in zip(totals, kinds, results, strict=True)
            ]

        # A guard without reductions inside decides whether the element is written at all.
        if self._guard() and not rest:
            inside = all_hold(self._guard(), self._points())
            types = [r.type for r in results]
            return conditional(inside, types, update, lambda: results)
        return update()

    def _guard(self) -> tuple[Constraint, ...]:
        return constraints_from(self.nest.guard)

    def _point(self, totals: Values) -> Values:
        """Combine the body at one point into the totals."""
        subdomain, dims = self.subdomain, self._points()

        def update() -> Values:
            values, _ = emit_body(subdomain, self._arguments(dims), dims, self.latest)
            if subdomain.combiner == "set":
                return values
            return combine(subdomain, totals, values)

        if self._guard() and subdomain.reduction_dims and self.trailing_reductions():
            inside = all_hold(self._guard(), dims)
            return conditional(inside, [t.type for t in totals], update, lambda: totals)
        return update()

    def _write_at_data(self, results: Values) -> Values:
        """A write whose subscripts the body computes."""
        subdomain, dims = self.subdomain, self._points()
        self._follow(results)

        def update() -> Values:
            values, symbols = emit_body(subdomain, self._arguments(dims), dims, self.latest)
            place = [affine_value(e, dims, symbols) for e in subdomain.write]

            def put(at: Values) -> Values:
                old: Values = [element(r, at) for r in results]
                new = combine(subdomain, old, values)
                return [with_element(n, r, at) for n, r in zip(new, results, strict=True)]

            types = [r.type for r in results]
            access = Access(results[0], tuple(place), subdomain.tested_subscripts)
            mode = AHEAD if subdomain.ahead and subdomain.mode == "check" else subdomain.mode
            return guarded(access, mode, types, put, lambda: results)

        if not self._guard():
            return update()
        inside = all_hold(self._guard(), dims)
        return conditional(inside, [r.type for r in results], update, lambda: results)


def loop_bounds(bounds: LoopBounds, dims: Mapping[int, ir.Value]) -> tuple[ir.Value, ir.Value]:
    """The values of both bounds of a loop, where the loops around it have these values."""
    lower = _bound(bounds.lower, affine.AffineMaxOp, dims)
    return lower, _bound(bounds.upper, affine.AffineMinOp, dims)


def _bound(values: Sequence[Any], operation: Any, dims: Mapping[int, ir.Value]) -> ir.Value:
    known = sorted(dims)
    place = {d: ir.AffineExpr.get_dim(k) for k, d in enumerate(known)}
    given = [place.get(d, ir.AffineExpr.get_constant(0)) for d in range(max(known, default=-1) + 1)]
    moved = [substitute(given, e) if dims_used(e) else e for e in map(from_plain, values)]
    operands = [dims[d] for d in known]
    if len(moved) == 1:
        return affine_value(moved[0], operands)
    return operation(ir.AffineMap.get(len(known), 0, moved), operands).result
