"""Mask producers that are read under conditions on data only, where they are no better inlined.

Before: s[i] = sqrt(x[i])                     y[i, j] = where(0 < b[i, j], s[i] * a[i, j], 0)
After:  u[i] max= 0 < b[i, j] over all j      (is s[i] used?)
        s[i] = where(u[i], sqrt(x[i]), 0)     y as before

`s` is what it was wherever it is read, and its derivative is 0, not 0 * inf, where nothing reads
it (`used_elements.py`).  A sum of products gets no condition at each of its points: it reads masked
copies instead.

This is a stage of differentiation, done to the copy that the sweep works on: the values that
adjoints read are those of the program itself, and no masked producer is ever evaluated.  Masks
read the program itself, too, so that one of a step of a recurrence, which may depend on later
steps, is no part of it.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ted.autodiff.override import Override
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    identity_dims,
    reads,
    replace_operands,
    rewrite_system,
    whole,
)  # fmt: skip
from ted.ir.expressions import postorder
from ted.ir.scalar import const, load, select
from ted.transforms.ted_inline_pointwise import UNBOUNDED, has_unbounded_slope, inline_pointwise
from ted.transforms.usage_masks import Mask
from ted.transforms.used_elements import narrowed, usage, usage_masks

# An adjoint that is 0 goes through these as it is, whatever the values are.
LINEAR = frozenset({"load", "const", "add", "sub", "neg", "cast", "select", "stop_gradient"})


def narrow_recurrences(
    system: System, opaque: Collection[Tensor] = ()
) -> tuple[System, dict[Tensor, Tensor]]:
    """Leave out of recurrences what nobody reads; also old tensor -> new tensor.

    Only where there can be a slope of infinity: else an adjoint of 0 is no harm.
    """
    consumers = system.consumers()
    parts = narrowed(_wanted(system, consumers, opaque)[1], consumers)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        kept = parts.get(tensor, tensor.equations)
        pairs = zip(equations, tensor.equations, kept, strict=True)
        return tuple(e if k is old else replace(e, domain=k.domain) for e, old, k in pairs)

    return rewrite_system(system, visit) if parts else (system, {t: t for t in consumers})


def _wanted(
    system: System, consumers: Mapping[Tensor, Sequence[Tensor]], opaque: Collection[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """The tensors that can have a slope of infinity, and those that they reach."""
    fixed = {*system.inputs, *system.outputs}
    steep = [t for t in consumers if t in opaque or _operations(t) & UNBOUNDED]
    return steep, [t for t in _reached(steep, consumers) if t not in fixed]


def mask_guarded_producers(
    system: System, opaque: Collection[Tensor] = ()
) -> tuple[System, dict[Tensor, Tensor]]:
    """Mask every such producer that can have a slope of infinity; also old tensor -> new tensor.

    `opaque` are tensors without equations that may have one, too.
    """
    consumers = system.consumers()
    steep, wanted = _wanted(system, consumers, opaque)
    definitions = usage_masks(wanted, consumers)
    bent = [t for t in definitions if not _is_linear(t)]
    sums = [t for t in bent if t.time is None and _is_sum_of_products(t)]
    masks = {t: definitions[t] for t in bent if t not in sums}
    apart = [t for t in _reached(steep, consumers, sums) if t in definitions]

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        mask = masks.get(tensor)
        return equations if mask is None else tuple(mask.applied(e) for e in equations)

    if not definitions:
        return system, {t: t for t in consumers}
    result, became = rewrite_system(system, visit)
    copies = {became[t]: _copy(became[t], definitions[t]) for t in apart}
    result, step = _reading(result, [became[t] for t in sums], copies)
    for mask in definitions.values():  # only now: they read what was there before
        mask.tensor.equations = mask.equations
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


def _copy(tensor: Tensor, mask: Mask) -> Tensor:
    """The elements of a tensor that are read at all, else 0."""
    here = identity_dims(len(tensor.shape))
    body = select(mask.at(here), load(tensor, here), const(0, tensor.dtype))
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
    for tensor, mask in usage_masks(passing, consumers).items():
        mask.tensor.equations = mask.equations
        override = overrides.get(tensor)
        if override is not None and override.guarded is not None:
            found[tensor] = replace(
                override, adjoints=functools.partial(override.guarded, mask.whole(tensor))
            )
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


def inline_guarded_producers(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Inline all but what `mask_guarded_producers` is for; also old tensor -> new tensor.

    Copies of a producer in all its consumers, and theirs in their consumers, would be evaluated,
    and differentiated, once for each way that leads to them.  In what the reverse sweep makes of a
    chain of choices there are as many ways as pairs of links.  Nor is a producer inlined that has a
    slope everywhere, through another consumer: the condition of one keeps nothing from its
    derivative.
    """
    consumers = system.consumers()
    fixed = {*system.inputs, *system.outputs}
    steep = {t for t in consumers if t not in fixed and has_unbounded_slope(t)}
    readers: dict[Tensor, int] = {}
    for equation in (e for t in consumers for e in t.equations):
        for read in {r.attr for r in reads(equation)}:
            readers[read] = readers.get(read, 0) + 1
    masks = usage(steep, consumers)
    keep = {t for t, mask in masks.items() if mask is None or readers[t] > 1}
    return inline_pointwise(system, keep=keep)
