"""Masks: tensors of bools that say which elements of another tensor have a slope at all.

Before: y[i, j] = where(0 < b[i], s[i, j] * a[j], 0)
After:  s_is_used[i] max= 0 < b[i]

Along a dim that all reads run through alike a mask has the same value, and no dim: what a product
of matrices takes in needs a mask of its rows, which is little beside the product.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from ted.autodiff.data_writes import guarded_writes
from ted.domain import parameters, sets
from ted.domain.budget import bounded
from ted.ir.affine import where_possible
from ted.ir.dtypes import BOOL
from ted.ir.equations import Clock, Equation, Tensor, identity_dims, whole
from ted.ir.expressions import Expr
from ted.ir.scalar import add, const, dim, dims_used, is_const, load, reads_data, select, substitute
from ted.records import dataclass

Use = tuple[Equation, Expr, Expr]  # an equation, a read in its body, and the condition of the read


@dataclass
class Mask:
    """A tensor over some dims of another one; its equations are given to it last."""

    tensor: Tensor
    dims: tuple[int, ...]
    equations: tuple[Equation, ...] = ()

    def at(self, subscripts: Sequence[Expr]) -> Expr:
        """Whether an element of the other tensor is used."""
        return load(self.tensor, [subscripts[d] for d in self.dims])

    def applied(self, equation: Equation) -> Equation:
        """An equation of the other tensor, with 0 for what is not used."""
        zero = const(0, equation.body.dtype)
        return replace(equation, body=select(self.at(equation.write), equation.body, zero))

    def whole(self, tensor: Tensor) -> Tensor:
        """The mask over all dims of the other tensor."""
        body = self.at(identity_dims(len(tensor.shape)))
        equation = whole(tensor.shape, body, tensor.location)
        return replace(self.tensor, shape=tensor.shape, equations=(equation,), time=None)


def mask_of(tensor: Tensor, dims: Collection[int]) -> Mask:
    """A mask over some dims, along time the other way round, without equations yet."""
    kept = tuple(sorted(dims))
    shape = tuple(tensor.shape[d] for d in kept)
    mask = Tensor(f"{tensor.name}_is_used", shape, BOOL, 0, (), tensor.location)
    times = [Clock(kept.index(at), not reverse) for at, reverse in tensor.clocks if at in kept]
    if len(times) == len(tensor.clocks):
        mask.clocks = times
    return Mask(mask, kept)


def dims_that_matter(
    tensor: Tensor, uses: Iterable[Use], asked: Callable[[Equation], set[int]]
) -> set[int]:
    """The dims of a tensor along which what is used may differ.

    `asked` are dims of an equation on which it depends whether the equation is used.  A mask with
    fewer dims says of more elements that they are used, never of less.
    """
    rank = len(tensor.shape)
    return {k for use in uses for k in range(rank) if not _runs_through(use, k, asked(use[0]))}


def _runs_through(use: Use, k: int, asked: set[int]) -> bool:
    """Whether a read meets a whole dim of its tensor alike wherever it is made."""
    equation, read, condition = use
    subscript, others = read.args[k], [a for n, a in enumerate(read.args) if n != k]
    if subscript.op != "dim" or subscript.attr in asked | dims_used(condition, *others):
        return False
    along = subscript.attr
    if equation.extents[along] != read.attr.shape[k]:
        return False
    return equation.is_box or bounded(_is_box_along, equation, along) is True


def _is_box_along(equation: Equation, along: int) -> bool:
    rank = equation.rank
    rest = [d for d in range(rank) if d != along]
    points = sets.preimage(
        sets.project(equation.domain, rest), rank, [sets.dim_aff(rank, d) for d in rest]
    )
    return bool(points.intersect(parameters.box(equation.extents)).is_subset(equation.domain))


def used_writes(uses: Sequence[Use]) -> list[Equation]:
    """For each use the equation that finds out which elements it reads at all."""
    return [_anywhere(*use) for use in map(_where_possible, uses)]


def over_dims(equations: Iterable[Equation], dims: Sequence[int]) -> list[Equation]:
    """Equations of a mask that has only some dims of its tensor."""
    return [_alone(e) or e for e in (_projected(e, dims) for e in equations)]


def started(equations: Sequence[Equation]) -> tuple[Equation, ...]:
    """The equations of a mask, the first of which need not ask what was there before."""
    first, rest = equations[:1], equations[1:]
    if first and first[0].parallel == first[0].rank and not any(map(reads_data, first[0].write)):
        first = [replace(first[0], combiner="set")]  # which a copy of another mask is seen to be
    return *first, *rest


def _where_possible(use: Use) -> Use:
    """Elsewhere the subscripts of the read need not be inside."""
    equation, read, condition = use
    points = where_possible(condition, equation.domain).coalesce()
    return replace(equation, domain=points), read, condition


def _anywhere(equation: Equation, read: Expr, condition: Expr) -> Equation:
    """Whether the condition holds at any point that reads the element."""
    (write,) = guarded_writes(equation, [read])
    return Equation(
        equation.extents, 0, equation.domain, write, "max", condition,
        equation.location, equation.dim_names,
    )  # fmt: skip


def _projected(equation: Equation, dims: Sequence[int]) -> Equation:
    """The equation with some subscripts, over the dims that they and the body are about."""
    write = [equation.write[d] for d in dims]
    order = sorted(dims_used(equation.body, *write))
    place = {d: dim(n) for n, d in enumerate(order)}
    body, *write = substitute(
        [equation.body, *write], [place.get(d, dim(0)) for d in range(equation.rank)]
    )
    names = equation.dim_names
    return replace(
        equation, body=body, write=tuple(write),
        extents=tuple(equation.extents[d] for d in order),
        domain=sets.project(equation.domain, order),
        dim_names=tuple(names[d] for d in order) if names else (),
    )  # fmt: skip


def _alone(equation: Equation) -> Equation | None:
    """The equation over the dims of its tensor, where it is about no others."""
    write, condition = equation.write, equation.body
    place = {a.attr: k for k, a in enumerate(write) if a.op == "dim"}
    fixed = [k for k, a in enumerate(write) if is_const(a)]
    if len(place) + len(fixed) < len(write) or not dims_used(condition) <= place.keys():
        return None
    rank, order = len(write), sorted(place)
    domain = sets.preimage(equation.domain, rank, [sets.dim_aff(rank, place[d]) for d in order])
    for k in fixed:
        domain = sets.within(domain, k, 0, 0)
    (body,) = substitute([condition], [dim(place[d]) for d in range(equation.rank)])
    extents = tuple(1 if is_const(a) else equation.extents[a.attr] for a in write)
    target = tuple(add(dim(k), a) if k in fixed else dim(k) for k, a in enumerate(write))
    return Equation(extents, rank, domain, target, "max", body, equation.location)
