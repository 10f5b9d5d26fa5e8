"""The table of what an equation becomes: dense contractions, disjoint parts, or its points.

Before: `"ted.compute"(%A, %B, %init)`, a sum of products
After: what `{ted.form = {name = "contraction", boxes = 1}}` says: `linalg.matmul`

A contraction reads zeros where a condition does not hold; parts are boxes on which conditions are
decided, and loops over what is no box; points test every condition each time. An equation that
carries the attribute gets the row of that name, or is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from ted.forking import cached_property
from ted.linalg.arg_reductions import emit_arg_reduction, is_long_arg_reduction
from ted.linalg.boundary_strips import frames
from ted.linalg.contraction_forms import dense_form, emit_contraction
from ted.linalg.dead_inits import without_superfluous_inits
from ted.linalg.expanded_results import expanded
from ted.linalg.generics import emit_generic, filled
from ted.linalg.index_set_splitting import MOST_PARTS, Part, parts_of, whole
from ted.linalg.index_tests import with_tests
from ted.linalg.loops import emit_loops
from ted.linalg.padding import Paddings
from ted.linalg.residue_classes import residue_subdomains
from ted.linalg.slices import written_slice
from ted.linalg.subdomain import Subdomain
from ted.linalg.unit_dims import collapse, squeezed, without_unit_iterations
from ted.linalg.wide_accumulators import in_wide_totals
from ted.mlir import ir
from ted.mlir.scalars import shape_of
from ted.mlir.storage import is_memory
from ted.mlir.strategies import FORM, Choice, Declined, Plain, Strategy, choose, refused
from ted.records import dataclass

Values = list[ir.Value]
CONTRACTION, PARTS, POINTS = "contraction", "parts", "points"
LARGEST_MOST = 4096  # more parts make more code than anybody compiles


@dataclass(eq=False)
class Site:
    """An equation in its short form, the copies beside it, and its results so far."""

    op: ir.Operation
    subdomain: Subdomain
    paddings: Paddings
    results: Values

    @cached_property
    def boxes(self) -> list[Subdomain]:
        """Residue classes, with strips where a contraction would read mostly zeros."""
        residues = map(without_unit_iterations, residue_subdomains(self.subdomain))
        return [box for residue in residues for box in frames(residue)]


@dataclass(frozen=True)
class Contraction:
    """How many boxes there are, and which of them are dense; parts of others are few."""

    boxes: int
    dense: tuple[Subdomain | Declined, ...] = field(repr=False)


@dataclass(frozen=True)
class Parts:
    """Each box becomes at most so many parts, or stays whole."""

    most: int


def lower_subdomain(subdomain: Subdomain, paddings: Paddings) -> Values:
    """Emit the subdomain at the insertion point; returns the new values of its results."""
    return lower_equation(subdomain, paddings)[0]


def lower_equation(subdomain: Subdomain, paddings: Paddings) -> tuple[Values, Choice | None]:
    """Emit the subdomain; its new values, and its row, None where there is nothing to compute.

    Raises: ScheduleError for a `ted.form` that does not fit.
    """
    op = subdomain.body.owner.operation
    given = list(subdomain.inits)
    subdomain = subdomain.tight()
    if subdomain.is_empty or 0 in shape_of(subdomain.inits[0]):
        refuse_form(op, "an equation without points has no form")
        begun(subdomain)
        return list(subdomain.inits), None
    if subdomain.ahead:
        subdomain = with_tests(subdomain)
    subdomain, reshaped = squeezed(subdomain)
    subdomain, collapsed = expanded(subdomain)
    subdomain = without_superfluous_inits(subdomain)
    subdomain = begun(subdomain)
    site = Site(op, subdomain, paddings, list(subdomain.inits))
    choice = choose(TABLE, site, FORM)
    choice.row.emit(site, choice.plan)
    if is_memory(given[0]):
        return given, choice
    return reshaped(collapsed(site.results)), choice


def is_of_boxes(subdomain: Subdomain, rows: int) -> bool:
    """Whether an equation is computed by operations on all of a box of its result at a value of its
    first dims, and no loops around them."""
    subdomain = subdomain.tight()
    if subdomain.is_empty:
        return False
    boxes = [box for part in residue_subdomains(subdomain) for box in frames(part)]
    parts = [part for box in boxes for part in parts_of(box)]
    if len(parts) != 1 or parts[0].points is not None:
        return False
    one = parts[0].subdomain
    for _ in range(rows):
        one = one.without_dim(0)
    return written_slice(one) is not None


def begun(subdomain: Subdomain) -> Subdomain:
    """Give memory the value that it starts with, here; then it has it."""
    for start in subdomain.starts:
        if start is not None and start.value is not None and 0 not in shape_of(start.memory):
            filled(collapse(start.memory), start.value)
    begins = tuple(start and start.value for start in subdomain.starts)
    return replace(subdomain, starts=(None,) * len(subdomain.starts), begins=begins)


def refuse_form(op: ir.Operation, rule: str) -> None:
    """Refuse what an equation asks for where nothing is decided.

    Raises: ScheduleError if it asks for a form.
    """
    if FORM in op.attributes:
        raise refused(op, f"{rule}, got {op.attributes[FORM]}", FORM)


def _contraction(site: Site) -> Contraction | Declined:
    dense = tuple(dense_form(box, scattered=site.paddings.scattered) for box in site.boxes)
    declined = [d for d in dense if isinstance(d, Declined)]
    if len(declined) == len(dense):
        return declined[0] if declined else Declined("its conditions hold nowhere")
    return Contraction(len(dense), dense)


def _emit_contraction(site: Site, plan: Contraction) -> None:
    def emit(results: Values) -> Values:
        for box, dense in zip(site.boxes, plan.dense, strict=True):
            if isinstance(dense, Declined):
                box = _later(box, plan.boxes)
                results = _emit_parts(box, parts_of(box), results)
            else:
                results = emit_contraction(dense, site.paddings, results)
        return results

    site.results = _once_rounded(site.subdomain, plan.boxes, site.results, emit)


def _parts(site: Site, plan: Parts) -> None:
    _emit_boxes(site, site.boxes, lambda box: parts_of(box, plan.most))


def _points(site: Site, _: Plain) -> None:
    _emit_boxes(site, [without_unit_iterations(site.subdomain)], whole)


def _emit_boxes(
    site: Site, boxes: list[Subdomain], split: Callable[[Subdomain], list[Part]]
) -> None:
    def emit(results: Values) -> Values:
        for box in (_later(one, len(boxes)) for one in boxes):
            results = _emit_parts(box, split(box), results)
        return results

    site.results = _once_rounded(site.subdomain, len(boxes), site.results, emit)


def _emit_parts(subdomain: Subdomain, parts: list[Part], results: Values) -> Values:
    def emit(results: Values) -> Values:
        for part in parts:
            results = _emit(_later(part.subdomain, len(parts)), part.points, results)
        return results

    return _once_rounded(subdomain, len(parts), results, emit)


def _later(subdomain: Subdomain, count: int) -> Subdomain:
    """A subdomain that is one of several: others may have written before."""
    return subdomain if count == 1 else replace(subdomain, begins=())


def _once_rounded(
    subdomain: Subdomain, count: int, results: Values, emit: Callable[[Values], Values]
) -> Values:
    """Several subdomains may add to one element."""
    if count > 1 and subdomain.combiner in ("add", "mul"):
        return in_wide_totals(subdomain, results, emit)
    return emit(results)


def _emit(subdomain: Subdomain, where: object, results: Values) -> Values:
    if where is None:
        subdomain = without_unit_iterations(subdomain)
    target = written_slice(subdomain)
    if where is None and target is not None:
        if is_long_arg_reduction(subdomain):
            return emit_arg_reduction(subdomain, target, results)
        return emit_generic(subdomain, target, results)
    return emit_loops(subdomain, where, results)


def _check_most(_: Site, plan: Parts) -> str | None:
    return None if 1 <= plan.most <= LARGEST_MOST else f"there are 1 to {LARGEST_MOST} parts"


TABLE = (
    Strategy(CONTRACTION, _contraction, _emit_contraction,
             check=lambda *_: "its boxes follow from the conditions"),
    Strategy(PARTS, lambda _: Parts(MOST_PARTS), _parts, check=_check_most),
    Strategy(POINTS, lambda _: Plain(), _points),
)  # fmt: skip
