"""Which elements of a tensor have a slope at all: those that are read where a slope goes through.

Before: y[i, j] = where(0 < b[i, j], s[i] * a[i, j], 0)
After:  s_is_used[i] max= 0 < b[i, j] over all j

In a recurrence a step uses what it reads only where somebody uses the step, now or later: its mask
is a recurrence the other way round.

Before: c[t] = c[t - 1] + s[t]        y[t] = where(b[t], c[t], 0)
After:  c_is_used[t] max= b[t]        c_is_used[t - 1] max= c_is_used[t]
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ted.autodiff.steps import in_steps, written_at_data
from ted.autodiff.vjp import copy_of
from ted.domain import parameters, sets
from ted.domain.budget import BudgetExhausted, bounded
from ted.ir.affine import NotAffine, where_certain
from ted.ir.equations import Equation, Tensor, components, is_recurrence
from ted.ir.expressions import Expr
from ted.ir.paths import slope_conditions
from ted.ir.scalar import FALSE, TRUE, dim, dims_used, load, reads_data
from ted.transforms.demanded_elements import elements_read, points_writing
from ted.transforms.usage_masks import (
    Mask,
    Use,
    dims_that_matter,
    mask_of,
    over_dims,
    started,
    used_writes,
)


def usage_masks(
    tensors: Collection[Tensor], consumers: Mapping[Tensor, Sequence[Tensor]]
) -> dict[Tensor, Mask]:
    """The masks of tensors of which somebody uses a part only that data, or steps, decide."""
    return {t: mask for t, mask in usage(tensors, consumers).items() if mask is not None}


def usage(
    tensors: Collection[Tensor], consumers: Mapping[Tensor, Sequence[Tensor]]
) -> dict[Tensor, Mask | None]:
    """The usage masks of tensors, and None for each of which every element is always used.

    A tensor that is in no recurrence and of which no data decide is left out: its adjoint is known
    to be 0 elsewhere.
    """
    found: dict[Tensor, Mask | None] = {}
    readers = _Readers(consumers)
    for group in _groups(consumers):
        asked = [t for t in reversed(group) if t in tensors]
        if is_recurrence(group):
            found |= _recurrence_usage(asked, readers)
        elif asked:
            found |= _tensor_usage(asked[0], readers)
    return found


def _groups(consumers: Mapping[Tensor, Sequence[Tensor]]) -> list[list[Tensor]]:
    """The tensors in groups that read each other, consumers first."""
    return components(list(consumers))[::-1]


class _Readers:
    """Who reads a tensor where a slope goes through, as far as somebody uses the reader."""

    def __init__(self, consumers: Mapping[Tensor, Sequence[Tensor]]) -> None:
        self.consumers = consumers
        self.equations = {t: t.equations for t in consumers}  # of readers, those that are used
        # What reads many tensors is looked at once, and so is a read that more than one test asks.
        self._conditions = functools.cache(slope_conditions)
        self._elements = functools.cache(_elements)
        self._elements_at_least = functools.cache(_elements_at_least)

    def uses(self, tensor: Tensor) -> list[Use]:
        """The reads of a tensor that have a slope anywhere."""
        return [
            (equation, read, condition)
            for consumer in self.consumers[tensor]
            if consumer.dtype.is_float
            for equation in self.equations[consumer]
            for read, condition in self._conditions(equation.body).items()
            if read.op == "load" and read.attr is tensor and condition is not FALSE
        ]

    def cover(self, uses: Sequence[Use], tensor: Tensor) -> bool:
        """Whether the reads that are always made meet every element that is written at all."""
        if any(condition is TRUE and _reads_all(e, read) for e, read, condition in uses):
            return True
        met = [part for use in uses if (part := self._elements_at_least(use)) is not None]
        written = _written(tensor, self.equations[tensor])
        return bool(met) and bool(bounded(lambda: written.is_subset(_union(met))))

    def keep_used(self, tensor: Tensor, uses: Sequence[Use]) -> None:
        """Leave the equations where they make what is read; all of them where sets do not tell."""
        parts = [self._elements(use) for use in uses]
        known = [part for part in parts if part is not None]
        if known and len(known) == len(parts):
            used = _union(known)
            self.equations[tensor] = tuple(_making(e, used) for e in self.equations[tensor])

    def mask(self, tensor: Tensor, mask: Mask) -> None:
        """Leave the equations where a mask says so."""
        self.equations[tensor] = tuple(mask.applied(e) for e in self.equations[tensor])


def _tensor_usage(tensor: Tensor, readers: _Readers) -> dict[Tensor, Mask | None]:
    """What to know of a tensor that is no recurrence, if anything is."""
    uses = readers.uses(tensor)
    if not uses:
        readers.equations[tensor] = ()
    elif readers.cover(uses, tensor):
        return {tensor: None}
    elif any(reads_data(condition) for *_, condition in uses):
        mask = mask_of(tensor, dims_that_matter(tensor, uses, lambda _: set()))
        mask.equations = started(over_dims(used_writes(uses), mask.dims))
        readers.mask(tensor, mask)
        return {tensor: mask}
    else:
        readers.keep_used(tensor, uses)
    return {}


def narrowed(
    tensors: Collection[Tensor], consumers: Mapping[Tensor, Sequence[Tensor]]
) -> dict[Tensor, tuple[Equation, ...]]:
    """The equations of some recurrences where they make what is read, if that is less.

    Of a triangle of which nobody reads the rest, the rest needs no mask then.
    """
    readers = _Readers(consumers)
    for group in _groups(consumers):
        asked = [t for t in reversed(group) if t in tensors]
        if is_recurrence(group) and len(_always_used(asked, readers)[1]) < len(asked):
            for tensor in asked:
                readers.keep_used(tensor, readers.uses(tensor))
    return {t: e for t, e in readers.equations.items() if e is not t.equations}


def _recurrence_usage(group: Sequence[Tensor], readers: _Readers) -> dict[Tensor, Mask | None]:
    """What to know of tensors that read each other.

    Of their recurrence, those that nobody asks for are used everywhere, like what is outside.
    """
    uses, always = _always_used(group, readers)
    own = {e: t for t in group for e in t.equations}
    dims = _dims_that_matter({t: uses[t] for t in group if t not in always}, own)
    masks = {t: mask_of(t, kept) for t, kept in dims.items()}
    for tensor, mask in masks.items():
        readers.mask(tensor, mask)
    own = {e: t for t in masks for e in readers.equations[t]}
    for tensor, mask in masks.items():
        mask.equations = _defined_in_steps(tensor, mask, readers.uses(tensor), own)
    return dict.fromkeys(always) | masks


def _always_used(
    group: Sequence[Tensor], readers: _Readers
) -> tuple[dict[Tensor, list[Use]], list[Tensor]]:
    """The reads of the tensors of a recurrence, and those of which each element is always used.

    If each element is, or is read by a later one of them, then each is used: from the last on.
    """
    uses = {t: readers.uses(t) for t in group}
    own = {e: t for t in group for e in t.equations}
    always = list(group)
    while True:
        sure = {None, *always}
        found = [
            t for t in always if readers.cover([u for u in uses[t] if own.get(u[0]) in sure], t)
        ]
        if found == always:
            return uses, always
        always = found


def _dims_that_matter(
    uses: Mapping[Tensor, Sequence[Use]], own: Mapping[Equation, Tensor]
) -> dict[Tensor, set[int]]:
    """The dims of the masks of a recurrence: time, and what its other masks are about."""
    dims = {t: set(t.time_dims) for t in uses if t.clocks}

    def asked(equation: Equation) -> set[int]:
        tensor = own.get(equation)
        return dims_used(*(equation.write[d] for d in dims[tensor])) if tensor in dims else set()

    while True:
        more = {t: kept | dims_that_matter(t, uses[t], asked) for t, kept in dims.items()}
        if more == dims:
            return dims
        dims = more


def _defined_in_steps(
    tensor: Tensor, mask: Mask, uses: Sequence[Use], own: Mapping[Equation, Tensor]
) -> tuple[Equation, ...]:
    """The equations of the mask of a tensor of a recurrence, `own` being those of its tensors."""
    outside = over_dims(used_writes([use for use in uses if use[0] not in own]), mask.dims)
    if any(written_at_data(mask.tensor, equation) for equation in outside):
        total = replace(
            mask.tensor, name=f"{tensor.name}_is_read", equations=tuple(outside), time=None
        )
        outside = [replace(copy_of(total), combiner="max")]
    inside = [use for use in uses if use[0] in own]
    steps = [
        in_steps(tensor, written, own[use[0]], use[0])
        for use, written in zip(inside, used_writes(inside), strict=True)
    ]
    return started([*outside, *over_dims(steps, mask.dims)])


def _elements(use: Use) -> Any | None:
    """The elements that a read may meet: at a subscript that is data, any along its dim."""
    equation, read, condition = use
    rank, shape = equation.rank, read.attr.shape
    free = [k for k, at in enumerate(read.args) if reads_data(at)]
    if not free:
        return elements_read(read, condition, equation.domain)
    extents = (*equation.extents, *(shape[k] for k in free))
    inner = [sets.dim_aff(len(extents), d) for d in range(rank)]
    points = sets.preimage(equation.domain, len(extents), inner)
    places = {k: dim(rank + n) for n, k in enumerate(free)}
    anywhere = load(read.attr, [places.get(k, at) for k, at in enumerate(read.args)])
    return elements_read(anywhere, condition, points.intersect(parameters.box(extents)))


def _elements_at_least(use: Use) -> Any | None:
    equation, read, condition = use
    points = bounded(where_certain, condition, equation.domain)
    return None if points is None else elements_read(read, TRUE, points)


def _written(tensor: Tensor, equations: Sequence[Equation]) -> Any:
    """The elements that equations of a tensor write; all where that is not known."""
    parts = [_elements((e, load(tensor, e.write), TRUE)) for e in equations]
    known = [part for part in parts if part is not None]
    return _union(known) if known and len(known) == len(parts) else parameters.box(tensor.shape)


def _union(parts: Sequence[Any]) -> Any:
    return functools.reduce(lambda a, b: a.union(b), parts)


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
