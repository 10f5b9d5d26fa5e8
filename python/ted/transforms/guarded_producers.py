"""Mask producers that are read under conditions on data only, where they are no better inlined.

Before: s[i] = sqrt(x[i])                     y[i, j] = where(0 < b[i, j], s[i] * a[i, j], 0)
After:  u[i] max= 0 < b[i, j] over all j      (is s[i] used?)
        s[i] = where(u[i], sqrt(x[i]), 0)     y as before

`s` is what it was wherever it is read, and its derivative is 0, not 0 * inf, where nothing reads
it.  A sum of products gets no condition at each of its points: it reads masked copies instead.

This is a stage of differentiation, done to the copy that the sweep works on: the values that
adjoints read are those of the program itself, and no masked producer is ever evaluated.  Masks
read the program itself, too, so that one of a step of a recurrence, which may depend on later
steps, is no part of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ted.autodiff.data_writes import guarded_writes
from ted.autodiff.vjp import Override
from ted.domain import parameters, sets
from ted.domain.budget import BudgetExhausted, bounded
from ted.domain.sizes import Extent
from ted.ir.affine import NotAffine, where_possible
from ted.ir.dtypes import BOOL
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    identity_dims,
    replace_operands,
    rewrite_system,
    whole,
)  # fmt: skip
from ted.ir.expressions import Expr, postorder
from ted.ir.paths import slope_conditions
from ted.ir.scalar import (
    FALSE,
    TRUE,
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
from ted.transforms.demanded_boxes import elements_read, points_writing
from ted.transforms.ted_inline_pointwise import UNBOUNDED

Use = tuple[Equation, Expr, Expr]  # an equation, a read in its body, and the condition of the read
# An adjoint that is 0 goes through these as it is, whatever the values are.
LINEAR = frozenset({"load", "const", "add", "sub", "neg", "cast", "select", "stop_gradient"})


def mask_guarded_producers(
    system: System, opaque: Collection[Tensor] = ()
) -> tuple[System, dict[Tensor, Tensor]]:
    """Mask every such producer that can have a slope of infinity; also old tensor -> new tensor.

    `opaque` are tensors without equations that may have one, too.
    """
    consumers = system.consumers()
    fixed = {*system.inputs, *system.outputs}
    steep = [t for t in consumers if t in opaque or _operations(t) & UNBOUNDED]
    wanted = [t for t in _reached(steep, consumers) if t not in fixed]
    definitions = usage_masks(wanted, consumers)
    bent = [t for t in definitions if not _is_linear(t)]
    sums = [t for t in bent if t.time is None and _is_sum_of_products(t)]
    masks = {t: definitions[t][0] for t in bent if t not in sums}
    apart = [t for t in _reached(steep, consumers, sums) if t in definitions]

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        mask = masks.get(tensor)
        return equations if mask is None else tuple(_masked(e, mask) for e in equations)

    if not definitions:
        return system, {t: t for t in consumers}
    result, became = rewrite_system(system, visit)
    copies = {became[t]: _copy(became[t], definitions[t][0]) for t in apart}
    result, step = _reading(result, [became[t] for t in sums], copies)
    for mask, equations in definitions.values():  # only now: they read what was there before
        mask.equations = equations
    return result, {old: step.get(new, new) for old, new in became.items()}


def _reading(
    system: System, tensors: Sequence[Tensor], copies: dict[Tensor, Tensor]
) -> tuple[System, dict[Tensor, Tensor]]:
    """The system in which some tensors read copies: in a sum of products, a condition at each
    point would be in the way of all that knows contractions.
    """

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        if tensor not in tensors:
            return equations
        return tuple(replace_operands(e, copies) for e in equations)

    return rewrite_system(system, visit)


def _copy(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor that are read at all, else 0."""
    here = identity_dims(len(tensor.shape))
    body = select(load(mask, here), load(tensor, here), const(0, tensor.dtype))
    equation = whole(tensor.shape, body, tensor.location)
    return Tensor(
        f"{tensor.name}_used", tensor.shape, tensor.dtype, 0, (equation,), tensor.location
    )


def guarded_overrides(
    system: System, overrides: Mapping[Tensor, Override]
) -> dict[Tensor, Override]:
    """The overrides, with masks for those that can be guarded and are read under conditions."""
    dependencies = [d for o in overrides.values() for d in o.dependencies]
    fixed = {*system.inputs, *system.outputs, *dependencies}
    consumers = replace(system, outputs=(*system.outputs, *dependencies)).consumers()
    wanted = [t for t, o in overrides.items() if o.guarded is not None and t in consumers]
    found = dict(overrides)
    passing = [t for t in _reached(wanted, consumers) if t not in fixed]
    for tensor, (mask, equations) in usage_masks(passing, consumers).items():
        mask.equations = equations
        override = overrides.get(tensor)
        if override is not None and override.guarded is not None:
            found[tensor] = replace(override, adjoints=functools.partial(override.guarded, mask))
    return found


def usage_masks(
    tensors: Collection[Tensor], consumers: Mapping[Tensor, Sequence[Tensor]]
) -> dict[Tensor, tuple[Tensor, tuple[Equation, ...]]]:
    """Which elements have a slope at all: for each tensor of which data decide about some element,
    a mask without equations, and its equations.
    """
    return {t: mask for t, mask in usage(tensors, consumers).items() if mask is not None}


def usage(
    tensors: Collection[Tensor], consumers: Mapping[Tensor, Sequence[Tensor]]
) -> dict[Tensor, tuple[Tensor, tuple[Equation, ...]] | None]:
    """The usage masks of tensors, and None for each of which every element is always used."""
    found: dict[Tensor, tuple[Tensor, tuple[Equation, ...]] | None] = {}
    equations = {t: t.equations for t in consumers}
    conditions = functools.cache(slope_conditions)  # what reads many tensors is looked at once
    for tensor in [t for t in reversed(list(consumers)) if t in tensors]:
        # Consumers came first: their equations are left where they have a slope themselves.
        readers = [e for c in consumers[tensor] if c.dtype.is_float for e in equations[c]]
        uses = _uses(tensor, readers, conditions)
        if not uses:
            equations[tensor] = ()
        elif _cover(uses, tensor.shape):
            found[tensor] = None
        elif any(reads_data(condition) for *_, condition in uses):
            name = f"{tensor.name}_is_used"
            mask = Tensor(name, tensor.shape, BOOL, 0, (), tensor.location)
            found[tensor] = mask, _definition(uses)
            equations[tensor] = tuple(_masked(e, mask) for e in tensor.equations)
        else:
            equations[tensor] = _used_part(tensor, uses)
    return found


def _reached(
    starts: Sequence[Tensor],
    consumers: Mapping[Tensor, Sequence[Tensor]],
    stop: Collection[Tensor] = (),
) -> dict[Tensor, None]:
    """The float tensors among some, and those with values that depend on them, not through some."""
    found: dict[Tensor, None] = dict.fromkeys(stop)
    stack = list(starts)
    while stack:
        tensor = stack.pop()
        if tensor.dtype.is_float and tensor not in found:
            found[tensor] = None
            stack += consumers[tensor]
    return {t: None for t in found if t not in stop}


def _operations(tensor: Tensor) -> set[str]:
    return {n.op for e in tensor.equations for n in postorder(e.body) if n.dtype.is_float}


def _is_linear(tensor: Tensor) -> bool:
    return _operations(tensor) <= LINEAR and all(e.combiner != "mul" for e in tensor.equations)


def _is_sum_of_products(tensor: Tensor) -> bool:
    sums = all(e.combiner == "add" and e.parallel < e.rank for e in tensor.equations)
    return sums and _operations(tensor) <= LINEAR | {"mul"}


def _uses(
    tensor: Tensor,
    readers: Sequence[Equation],
    conditions: Callable[[Expr], Mapping[Expr, Expr]],
) -> list[Use]:
    """The reads of a tensor that have a slope anywhere."""
    return [
        (equation, read, condition)
        for equation in readers
        for read, condition in conditions(equation.body).items()
        if read.op == "load" and read.attr is tensor and condition is not FALSE
    ]


def _cover(uses: Sequence[Use], shape: Sequence[Extent]) -> bool:
    """Whether the reads that are always made meet every element, as far as sets tell."""
    always = [use for use in uses if use[2] is TRUE]
    if any(_reads_all(equation, read) for equation, read, _ in always):
        return True
    met = [part for part in map(_elements, always) if part is not None]
    elements = parameters.box(shape)
    return bool(met) and bool(bounded(lambda: elements.is_subset(_union(met))))


def _elements(use: Use) -> Any | None:
    equation, read, condition = use
    return elements_read(read, condition, equation.domain)


def _union(parts: Sequence[Any]) -> Any:
    return functools.reduce(lambda a, b: a.union(b), parts)


def _used_part(tensor: Tensor, uses: Sequence[Use]) -> tuple[Equation, ...]:
    """The equations where they make what is read; all of them where sets do not tell."""
    parts = [_elements(use) for use in uses]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or tensor.time is not None:
        return tensor.equations
    return tuple(_making(e, _union(known)) for e in tensor.equations)


def _making(equation: Equation, part: Any) -> Equation:
    try:
        return replace(equation, domain=points_writing(equation, part))
    except (NotAffine, BudgetExhausted):
        return equation


def _reads_all(equation: Equation, read: Expr) -> bool:
    """Whether a read meets every element, told by its dims alone: most do, and sets take time."""
    dims = [a.attr for a in read.args if a.op == "dim"]
    extents = [equation.extents[d] for d in dims]
    is_direct = len(set(dims)) == len(read.args) and extents == list(read.attr.shape)
    return is_direct and equation.is_box


def _masked(equation: Equation, mask: Tensor) -> Equation:
    used = load(mask, equation.write)
    return replace(equation, body=select(used, equation.body, const(0, equation.body.dtype)))


def _definition(uses: Sequence[Use]) -> tuple[Equation, ...]:
    """The equations that find out which elements are read at all."""
    first, *rest = (_alone(*use) or _anywhere(*use) for use in map(_where_possible, uses))
    if first.parallel == first.rank:
        first = replace(first, combiner="set")  # which a copy of another mask is seen to be
    return first, *rest


def _where_possible(use: Use) -> Use:
    """Elsewhere the subscripts of the read need not be inside."""
    equation, read, condition = use
    points = where_possible(condition, equation.domain).coalesce()
    return replace(equation, domain=points), read, condition


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
