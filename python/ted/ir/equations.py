"""Tensors defined by equations, and systems of them: the form on which every transform works.

A tensor is `fill` everywhere, then its equations are applied in order:

    for p in box(extents) /\\ domain:  T[write(p)] = T[write(p)] (combiner) body(p)

A tensor without fill and equations is an input: an argument, or a constant if it has values.
Tensors are compared by identity.  An equation's dims are positional, the `parallel` ones first; it
is in *gather* form when `write` uses parallel dims only (then distinct parallel points write
distinct elements), else in *scatter* form.

Tensors that read each other, or themselves, form a recurrence: they have a time dim and are
computed time step by time step, forwards or in reverse.  Those that read each other inside of a
step as well are a recurrence there, along time dims of their own: time is lexicographic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from typing import Any, NamedTuple

from ted.domain import parameters, sets
from ted.domain.budget import bounded
from ted.domain.sizes import Extent, Symbol, estimate, numbers
from ted.errors import SourceLocation
from ted.forking import cached_property
from ted.ir.constants import Constant
from ted.ir.dtypes import DType
from ted.ir.expressions import Expr, Number
from ted.ir.graphs import circles, finished
from ted.ir.paths import path_conditions
from ted.ir.scalar import (
    add,
    dim,
    dims_used,
    index,
    loads,
    mul,
    reads_data,
    replace_tensors,
    substitute,
)
from ted.records import dataclass

COMBINERS = ("set", "add", "mul", "max", "min", "argmax", "argmin")


def identity(combiner: str, dtype: DType) -> Number:
    """The neutral element of a combiner on a type."""
    if combiner in ("add", "set"):
        return 0
    if combiner == "mul":
        return 1
    if combiner in ("argmax", "argmin"):
        return -1
    ends = (-math.inf, math.inf) if dtype.is_float else dtype.range
    found = ends[combiner == "min"]
    return bool(found) if dtype.kind == "bool" else found


class Clock(NamedTuple):
    """The dim of a tensor that is a time, and whether it runs from the last one."""

    dim: int
    reverse: bool


@dataclass(eq=False)
class Tensor:
    """A node of a system: a name, a shape, a type and the equations that define it.

    `time` is the dim along which a recurrence runs; a tensor of the graph's acyclic part may keep
    one from the recurrence it once was in, it means nothing there.  `inner` has the times of the
    recurrences inside of a step that it is in, outermost first.  What is `forgotten` is computed
    again for a derivative: 1 for what is then kept in a segment of steps, 2 for the rest of them
    (`transforms/forgotten.py`).  `equations` is assigned after
    construction for recurrences only, whose equations read the tensor itself.
    `given_name` is the name before it was numbered, to be another than those of other tensors.
    `born` grows from each tensor to those that are made after it.
    """

    name: str
    shape: tuple[Extent, ...]
    dtype: DType
    fill: Number | None = None
    equations: tuple[Equation, ...] = ()
    location: SourceLocation | None = None
    time: int | None = None
    reverse: bool = False
    given_name: str = ""
    values: Constant | None = None
    born: int = field(default_factory=count().__next__, init=False)
    inner: tuple[Clock, ...] = ()
    forgotten: int = 0

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """The times of the recurrences that the tensor is in, outermost first."""
        return () if self.time is None else (Clock(self.time, self.reverse), *self.inner)

    @clocks.setter
    def clocks(self, clocks: Sequence[Clock]) -> None:
        self.time, self.reverse = clocks[0] if clocks else (None, False)
        self.inner = tuple(clocks[1:])

    @property
    def time_dims(self) -> tuple[int, ...]:
        """The dims that are times, outermost first."""
        return tuple(clock.dim for clock in self.clocks)

    @property
    def is_input(self) -> bool:
        """Whether the tensor comes from outside: an argument, or a constant."""
        return self.fill is None and not self.equations

    @property
    def constant(self) -> Constant | None:
        """The array that the tensor is."""
        held = self.values  # first: to ask for equations may make them
        return held if held is not None and self.is_input else None

    @property
    def is_zero(self) -> bool:
        """Whether nothing is ever written to zeros."""
        return self.fill == 0 and not self.equations

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape where no size is symbolic.

        Raises: DomainError for a symbolic one.
        """
        return numbers(self.shape)

    @property
    def size(self) -> Extent:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, of symbolic sizes an estimate."""
        return int(estimate(self.size)) * max(8, self.dtype.bits) // 8

    def __repr__(self) -> str:
        return f"{self.name}{list(self.shape)}"


TIES = ("first", "even")


@dataclass(frozen=True, eq=False)
class Equation:
    """One equation; `domain` is an isl set over all dims, always inside the box of extents.

    A `domain` of None is the whole box, which becomes a set when somebody asks for it.

    `ties` says who gets the cotangent of a max or min reached at several points: the first one in
    row-major order, or all an equal part ("even"); a scatter has no order and is always even.
    A `recomputed` equation is never taken for an equal one that is not, or in a derivative of
    another order: the point is to compute again later instead of keeping the value.
    `scatter_reason` says why an affine write that is no gather stayed so.
    `wishes` are attributes that ask lowering for something, with their texts.
    For argmax/argmin the body is the value compared and the result is the row-major index over
    the extents of the reduction dims (-1 where no point exists).
    """

    extents: tuple[Extent, ...]
    parallel: int
    domain: Any
    write: tuple[Expr, ...]
    combiner: str
    body: Expr
    location: SourceLocation | None = None
    dim_names: tuple[str, ...] = field(default=())
    ties: str = TIES[0]
    recomputed: int = 0
    scatter_reason: str = ""
    wishes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.domain is None:
            del self.__dict__["domain"]
            self.__dict__["is_box"] = True

    @property
    def rank(self) -> int:
        """Number of iteration dims."""
        return len(self.extents)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The body, and the subscripts of the write."""
        return (self.body, *self.write)

    @property
    def reduction_dims(self) -> range:
        """Positions of the dims that the write may not use."""
        return range(self.parallel, self.rank)

    @property
    def box_size(self) -> int:
        """How many points its box has, an estimate where sizes are symbolic."""
        return estimate(math.prod(self.extents))

    @cached_property
    def is_box(self) -> bool:
        """Whether the domain is the whole box."""
        box = parameters.box(self.extents)
        return box is self.domain or bounded(box.is_subset, self.domain) is True

    @cached_property  # every order of a graph asks, and walking a body takes long
    def reads(self) -> tuple[Expr, ...]:
        """The distinct reads of body and write subscripts, in order of first use."""
        return tuple(loads(*self.expressions))

    @cached_property
    def sources(self) -> tuple[Tensor, ...]:
        """The distinct tensors that are read, in order of first use."""
        return tuple(dict.fromkeys(read.attr for read in self.reads))

    @cached_property
    def indexing(self) -> frozenset[Expr]:
        """The reads of data that subscripts, of other reads or of the write, are made of."""
        return frozenset(loads(*(a for read in self.reads for a in read.args), *self.write))

    @cached_property
    def paths(self) -> Mapping[Expr, Expr]:
        """For every node of body and write subscripts, where its value is used."""
        return path_conditions(*self.expressions)

    @property
    def is_scatter(self) -> bool:
        """Whether different iteration points may write the same element in parallel."""
        return bool(dims_used(*self.write) & set(self.reduction_dims)) or reads_data(*self.write)

    @property
    def is_identity_write(self) -> bool:
        """Whether the write is exactly (d0, ..., d(parallel-1))."""
        return self.write == tuple(dim(k) for k in range(self.parallel))

    def covers(self, shape: tuple[Extent, ...]) -> bool:
        """Whether every element of a tensor of `shape` is written (sufficient, not necessary)."""
        return self.is_identity_write and self.extents[: self.parallel] == shape and self.is_box


def _domain(equation: Equation) -> Any:
    return parameters.box(equation.extents)


_domain.__name__ = "domain"
Equation.domain = cached_property(_domain)


def reads(equation: Equation) -> list[Expr]:
    """The distinct reads of an equation: body and write subscripts."""
    return list(equation.reads)


def identity_dims(rank: int) -> tuple[Expr, ...]:
    """The subscripts (d0, ..., d(rank-1))."""
    return tuple(dim(k) for k in range(rank))


def whole(
    shape: tuple[Extent, ...], body: Expr, location: SourceLocation | None, combiner: str = "set"
) -> Equation:
    """The equation that gives `body` to every element of a tensor of `shape`."""
    rank = len(shape)
    return Equation(
        shape, rank, parameters.box(shape), identity_dims(rank), combiner, body, location
    )


def row_major(equation: Equation) -> Expr:
    """The row-major number of a point over the reduction dims."""
    number = index(0)
    for d in equation.reduction_dims:
        number = add(mul(number, index(equation.extents[d])), dim(d))
    return number


def is_contraction(equation: Equation) -> bool:
    """A sum of products of two reads, each of which is reused along some dim of the other."""
    if equation.combiner != "add" or equation.parallel == equation.rank:
        return False
    body = _taken(equation.body)
    found = loads(body) if body.op == "mul" else []
    if len(found) != 2:
        return False
    return all(dims_used(*read.args) != set(range(equation.rank)) for read in found)


def _taken(body: Expr) -> Expr:
    """What a body computes where a condition that is the same at every point holds; else a number.

    Lowering tests such a condition once (`linalg/branches.py`).
    """
    if body.op != "select" or dims_used(body.args[0]):
        return body
    sides = [side for side in body.args[1:] if side.op != "const"]
    return _taken(sides[0]) if len(sides) == 1 else body


def operands(tensor: Tensor) -> tuple[Tensor, ...]:
    """The distinct tensors that the equations of `tensor` read, in order of first use."""
    if len(tensor.equations) == 1:
        return tensor.equations[0].sources
    return tuple(dict.fromkeys(t for equation in tensor.equations for t in equation.sources))


@dataclass(frozen=True, eq=False)
class System:
    """A program: ordered inputs and outputs; everything between is reached through reads.

    Tensors that are `together` are computed step by step in one loop, as a recurrence is, although
    no step of them need read another one: the last rewriting of a program says so.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    name: str = "main"
    sizes: tuple[Symbol, ...] = ()  # where their order matters; see ted.ir.specialising.sizes_of
    together: tuple[tuple[Tensor, ...], ...] = ()

    def tensors(self) -> list[Tensor]:
        """Every tensor that the outputs need, operands before their users."""
        return topological(self.outputs)

    def consumers(self) -> dict[Tensor, list[Tensor]]:
        """For every tensor, the tensors whose equations read it."""
        users: dict[Tensor, list[Tensor]] = {t: [] for t in self.tensors()}
        for tensor in list(users):
            for operand in operands(tensor):
                users[operand].append(tensor)
        return users


def with_loops(system: System, loops: Iterable[Iterable[Tensor]]) -> System:
    """The system with loops of tensors that are together, as far as it has these."""
    found = [tuple(dict.fromkeys(loop)) for loop in loops]
    used = set(system.tensors()) if found else set()
    kept = (tuple(t for t in loop if t in used) for loop in found)
    return replace(system, together=tuple(loop for loop in kept if loop))


def topological(roots: Sequence[Tensor], stop: Collection[Tensor] = ()) -> list[Tensor]:
    """The tensors reachable from the roots, operands first; no recursion, so depth is free.

    What only tensors in `stop` read is left out.
    """
    return finished(roots, lambda tensor: () if tensor in stop else operands(tensor))


def components(
    roots: Sequence[Tensor], together: Sequence[Sequence[Tensor]] = ()
) -> list[list[Tensor]]:
    """The tensors reachable from the roots in groups that read each other, operands first.

    A group of several tensors, or of one that reads itself, is a recurrence (`is_recurrence`), or
    some that are `together`.
    """
    if not together:
        return circles(roots, operands)
    others = {t: tuple(group) for group in together for t in group}
    return circles(roots, lambda t: (*operands(t), *others.get(t, ())))


def is_recurrence(group: Sequence[Tensor]) -> bool:
    """Whether a group of `components` has to be computed step by step."""
    return len(group) > 1 or group[0] in operands(group[0])


def recurrent_tensors(roots: Sequence[Tensor]) -> set[Tensor]:
    """The tensors reachable from the roots that are part of a recurrence."""
    return {t for group in components(roots) if is_recurrence(group) for t in group}


def reads_itself(tensor: Tensor) -> bool:
    """Whether some chain of reads leads from a tensor back to it."""
    if tensor.time is None:
        return False
    return any(tensor in operands(t) for t in topological([tensor]))


Rewriter = Callable[[Tensor, tuple["Equation", ...]], "tuple[Equation, ...] | Tensor"]


def rewrite_system(
    system: System, rewriter: Rewriter, became: dict[Tensor, Tensor] | None = None
) -> tuple[System, dict[Tensor, Tensor]]:
    """Rebuild a system operands first; also return what each old tensor became.

    `rewriter(tensor, equations)` gets the tensor and its equations already reading rewritten
    operands; it returns the new equations, or another tensor to use in its place.  A tensor whose
    equations do not change is kept, so that identity survives.  It may look into `became`, which
    has what all before it became; tensors of one recurrence read the old ones of it.
    """
    new: dict[Tensor, Tensor] = {} if became is None else became
    for group in components(system.outputs):
        if is_recurrence(group):
            _rewrite_recurrence(group, rewriter, new)
            continue
        (tensor,) = group
        equations = tuple(replace_operands(e, new) for e in tensor.equations)
        result = rewriter(tensor, equations)
        if isinstance(result, Tensor):
            new[tensor] = result
        elif _same(result, tensor.equations):
            new[tensor] = tensor
        else:
            new[tensor] = replace(tensor, equations=result)
    made = replace(system, outputs=tuple(new[t] for t in system.outputs))
    loops = [[new[t] for t in loop if t in new] for loop in system.together]
    return with_loops(made, loops), new


def _rewrite_recurrence(
    group: Sequence[Tensor], rewriter: Rewriter, new: dict[Tensor, Tensor]
) -> None:
    """Rewrite tensors that read each other: reading the old ones first, then their successors.

    A tensor that the rewriter gives in place of one of them becomes its successor, or replaces it
    altogether if it does not read the group.
    """
    results: dict[Tensor, tuple[Equation, ...] | Tensor] = {}
    for tensor in group:
        equations = tuple(replace_operands(e, new) for e in tensor.equations)
        results[tensor] = rewriter(tensor, equations)
    successors = {t: _followed(t, results) for t in group}
    readers = _readers(results.values(), group, new)
    heirs = set(successors.values())
    aliases = {
        t: r
        for t in heirs
        if isinstance(r := results[t], Tensor) and r not in group and r not in readers
    }
    rest = {
        t: (r if isinstance(r := results[t], Tensor) else replace(t, equations=r))
        for t in group
        if t in heirs and t not in aliases
    }
    if len(rest) == len(group) and all(_same(r.equations, t.equations) for t, r in rest.items()):
        new.update({t: t for t in group})
        return
    defined = {**{t: t for t in readers if t not in rest.values()}, **rest}
    shells = {**aliases, **{t: replace(r, equations=()) for t, r in defined.items()}}
    shells.update({t: shells[heir] for t, heir in successors.items()})
    for tensor, result in defined.items():
        shells[tensor].equations = tuple(replace_operands(e, shells) for e in result.equations)
    new.update({t: shells[t] for t in group})


def _readers(
    results: Collection[tuple[Equation, ...] | Tensor],
    group: Sequence[Tensor],
    new: dict[Tensor, Tensor],
) -> set[Tensor]:
    """The tensors that a rewriter made, and that read a recurrence, be it through each other."""
    roots = [r for r in results if isinstance(r, Tensor)]
    roots += [
        read.attr for r in results if not isinstance(r, Tensor) for e in r for read in reads(e)
    ]
    found: set[Tensor] = set()
    for tensor in topological(roots, {*group, *new.values()}):
        if tensor not in group and any(o in group or o in found for o in operands(tensor)):
            found.add(tensor)
    return found


def _followed(tensor: Tensor, results: dict[Tensor, tuple[Equation, ...] | Tensor]) -> Tensor:
    """The member of a recurrence that a rewriter put in place of another, or the first of equals.

    A member that copies another may be replaced by it, and what that becomes.
    """
    seen = [tensor]
    while (result := results[seen[-1]]) in results and result not in seen:
        assert isinstance(result, Tensor), "a key of the results"
        seen.append(result)
    last = results[seen[-1]]
    return next((t for t in results if isinstance(last, Tensor) and results[t] is last), seen[-1])


def _same(a: tuple[Equation, ...], b: tuple[Equation, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def replace_operands(equation: Equation, mapping: dict[Tensor, Tensor]) -> Equation:
    """The equation reading `mapping[t]` in place of `t`; itself when nothing changes."""
    if all(mapping.get(t, t) is t for t in equation.sources):
        return equation
    return with_expressions(equation, replace_tensors(equation.expressions, mapping))


def with_expressions(equation: Equation, expressions: Sequence[Expr]) -> Equation:
    """The equation with another body and other subscripts; itself where they are its own."""
    body, *write = expressions
    if body is equation.body and tuple(write) == equation.write:
        return equation
    domain = vars(equation).get("domain")  # no set is made of a box for this
    return replace(equation, domain=domain, body=body, write=tuple(write))


def reorder_dims(equation: Equation, order: Sequence[int]) -> Equation:
    """The same equation with old dim `order[k]` as dim k."""
    position = {old: new for new, old in enumerate(order)}
    rank = equation.rank
    moved = [dim(position[d]) for d in range(rank)]
    body, *write = substitute(equation.expressions, moved)
    affs = [sets.dim_aff(rank, position[d]) for d in range(rank)]
    names = equation.dim_names
    return replace(
        equation, body=body, write=tuple(write),
        extents=tuple(equation.extents[d] for d in order),
        domain=sets.preimage(equation.domain, rank, affs),
        dim_names=tuple(names[d] for d in order) if names else (),
    )  # fmt: skip


def in_written_order(equation: Equation) -> Equation:
    """The equation with parallel dims in the order of its subscripts, if these are just them."""
    order = [w.attr for w in equation.write if w.op == "dim"]
    if sorted(order) != list(range(equation.parallel)):
        return equation
    return reorder_dims(equation, [*order, *equation.reduction_dims])
