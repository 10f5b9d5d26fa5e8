"""Mask producers that are read under conditions on data only, where they are no better inlined.

Before: s[i] = sqrt(x[i])                     y[i, j] = where(0 < b[i, j], s[i] * a[i, j], 0)
After:  u[i] max= 0 < b[i, j] over all j      (is s[i] used?)
        s[i] = where(u[i], sqrt(x[i]), 0)     y as before

`s` is what it was wherever it is read, and its derivative is 0, not 0 * inf, where nothing reads
it.  This is a stage of differentiation, done to the copy that the sweep works on: the values that
adjoints read are those of the program itself, and no masked producer is ever evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ted.autodiff.data_writes import guarded_writes
from ted.domain import sets
from ted.ir.dtypes import BOOL
from ted.ir.equations import Equation, System, Tensor, reads, recurrent_tensors, rewrite_system
from ted.ir.paths import path_conditions
from ted.ir.scalar import (
    TRUE,
    Expr,
    add,
    const,
    dim,
    dims_used,
    is_const,
    load,
    reads_data,
    select,
    substitute,
)
from ted.transforms.ted_inline_pointwise import has_unbounded_slope

Use = tuple[Equation, Expr, Expr]  # an equation, a read in its body, and the condition of the read
Equations = Mapping[Tensor, tuple[Equation, ...]]


def mask_guarded_producers(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Mask every such producer that can have a slope of infinity; also old tensor -> new tensor."""
    masks: dict[Tensor, Tensor] = {}
    fixed = {*system.inputs, *system.outputs, *recurrent_tensors(system.outputs)}
    consumers = system.consumers()
    equations = {t: t.equations for t in consumers}
    for tensor in reversed(list(consumers)):  # consumers first: they pass their masks on
        if tensor in fixed or not has_unbounded_slope(tensor):
            continue
        uses = _uses(tensor, consumers[tensor], equations)
        if uses and not any(t in fixed and t not in system.outputs for t in consumers[tensor]):
            masks[tensor] = _mask(tensor, uses)
            equations[tensor] = tuple(_masked(e, masks[tensor]) for e in tensor.equations)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        mask = masks.get(tensor)
        return equations if mask is None else tuple(_masked(e, mask) for e in equations)

    return rewrite_system(system, visit) if masks else (system, {t: t for t in consumers})


def _uses(tensor: Tensor, consumers: Sequence[Tensor], equations: Equations) -> list[Use]:
    """The reads of a tensor; none where one is always made, or where no data decides about any."""
    found: list[Use] = []
    for equation in (e for c in consumers for e in equations[c]):
        conditions = path_conditions(equation.body)
        here = [r for r in reads(equation) if r.attr is tensor]
        if any(conditions.get(read, TRUE) is TRUE for read in here):
            return []
        found += [(equation, read, conditions[read]) for read in here]
    return found if any(reads_data(condition) for *_, condition in found) else []


def _masked(equation: Equation, mask: Tensor) -> Equation:
    used = load(mask, equation.write)
    return replace(equation, body=select(used, equation.body, const(0, equation.body.dtype)))


def _mask(tensor: Tensor, uses: Sequence[Use]) -> Tensor:
    """Which elements of a tensor are read at all."""
    name = f"{tensor.name}_is_used"
    first, *rest = (_alone(*use) or _anywhere(*use) for use in uses)
    if first.parallel == first.rank:
        first = replace(first, combiner="set")  # which a copy of another mask is seen to be
    return Tensor(name, tensor.shape, BOOL, 0, (first, *rest), tensor.location)


def _alone(equation: Equation, read: Expr, condition: Expr) -> Equation | None:
    """The condition over the dims of the read alone, where it is about no other dims."""
    place = {a.attr: k for k, a in enumerate(read.args) if a.op == "dim"}
    fixed = [k for k, a in enumerate(read.args) if is_const(a)]
    if len(place) + len(fixed) < len(read.args) or not dims_used(condition) <= place.keys():
        return None
    rank, order = len(read.args), sorted(place)
    points = sets.project(equation.domain, order)
    domain = sets.preimage(points, rank, [sets.dim_aff(rank, place[d]) for d in order])
    for k in fixed:
        domain = sets.within(domain, k, 0, 0)
    (body,) = substitute([condition], [dim(place.get(d, 0)) for d in range(equation.rank)])
    extents = tuple(1 if is_const(a) else equation.extents[a.attr] for a in read.args)
    write = tuple(add(dim(k), a) if k in fixed else dim(k) for k, a in enumerate(read.args))
    return Equation(extents, rank, domain, write, "max", body, equation.location)


def _anywhere(equation: Equation, read: Expr, condition: Expr) -> Equation:
    """Whether the condition holds at any point that reads the element."""
    (write,) = guarded_writes(equation, [read])
    return Equation(
        equation.extents, 0, equation.domain, write, "max", condition,
        equation.location, equation.dim_names,
    )  # fmt: skip
