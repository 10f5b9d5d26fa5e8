"""Compute pointwise tensors where they are used, when that costs no more than storing them.

Before: t[i, j] = x[i, j] + b[j]          After: y[i, j] = maximum(x[i, j] + b[j], 0)
        y[i, j] = maximum(t[i, j], 0)

A producer is fused when all its uses together evaluate it about once per element, as they do where
they meet in one equation, or when it is cheap and has few uses; a function of one element may have
more, since nothing more is read then, and so may a stencil of a stencil that no cache holds, as it
has most of its work in common.
Contractions keep plain operands: their reads are packed and reused many times, so only producers
that are pure re-indexing are folded into them, as affine reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ted.domain.sizes import estimate
from ted.ir.affine import NotAffine, canonical_indices, decide_selects, single_piece
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    is_contraction,
    is_recurrence,
    operands,
    reads,
    replace_operands,
    rewrite_system,
)
from ted.ir.expressions import Expr, postorder
from ted.ir.graphs import finished
from ted.ir.operations import OPERATIONS
from ted.ir.rewriting import SystemPass
from ted.ir.scalar import (
    dim,
    dims_used,
    is_const,
    loads,
    rebuild,
    rewrite,
    substitute,
    weight,
)
from ted.records import dataclass
from ted.transforms.copied_starts import read_starts
from ted.transforms.copies import parts_of_histories
from ted.transforms.index_checks import carried_dims, checked_reads

EVALUATIONS = 1.25  # evaluations per stored element up to which fusing is free
CHEAP = 4  # weight of a body that may be evaluated a few times instead of being stored
CHEAP_USES = 3
REPEATED = 8  # elements of a result for each of an operand, from which on that lies in registers
# Work in all places of a stencil that takes no longer than to store it and to read it from memory.
STENCIL, CACHED_BYTES = 80, 1 << 20
MAX_NODES = 400  # a fused body stays below this size
REPEATED_STEP = 64  # operations of a step that may stand twice, as the first one starts elsewhere
MAX_SHARED = 2500  # operations of one that computes all on the way to it, and stores none

# Canonical indices of equations by their domains: a body that grows link by link is met as often.
Use: TypeAlias = "tuple[Equation, Expr]"  # and how it reads
Forms: TypeAlias = "dict[Any, dict[Expr, Expr]]"


@dataclass(frozen=True)
class Cost:
    """What an element of a producer takes: weighted operations, and elements that it reads.

    It `spreads` where several of them are of one tensor.
    """

    work: int
    reads: int
    spreads: bool = False


def fuse_pointwise(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Fuse producers into their consumers; also old tensor -> new tensor."""
    recurrences = [group for group in components(system.outputs) if is_recurrence(group)]
    fused, short = _worth_fusing(system, recurrences)
    bodies: dict[Tensor, Expr] = {}
    became: dict[Tensor, Tensor] = {}
    forms: Forms = {}

    def fuse(tensor: Tensor, equations: Sequence[Equation]) -> tuple[Equation, ...]:
        return tuple(_fuse_into(e, bodies, forms, tensor in short) for e in equations)

    waiting = {t: group for group in recurrences for t in group}

    def fuse_steps(group: Sequence[Tensor]) -> None:
        """What is fused of a recurrence, whose tensors read the old ones."""
        for tensor in group:
            del waiting[tensor]
        of_steps = {t: None for t in group if t in fused}
        for tensor in finished(of_steps, lambda t: [o for o in operands(t) if o in of_steps]):
            read = [replace_operands(e, became) for e in tensor.equations]
            bodies[tensor] = fuse(tensor, read)[0].body

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> Tensor:
        if tensor in waiting:
            fuse_steps(waiting[tensor])
        new = fuse(tensor, equations)
        result = tensor if new == tensor.equations else replace(tensor, equations=new)
        if tensor in fused:
            bodies[result] = new[0].body
        return result

    return rewrite_system(system, visit, became)


# ------------------------------------------------------------------ which producers


def _worth_fusing(
    system: System, recurrences: Sequence[Sequence[Tensor]]
) -> tuple[set[Tensor], set[Tensor]]:
    users = _uses(system)
    stored = {*system.outputs}
    earlier: dict[Tensor, set[Tensor]] = {}  # of which histories a tensor reads other steps
    for group in recurrences:
        readers, members = {e: t for t in group for e in t.equations}, set(group)
        stored |= {t for t in group if not _is_of_a_step(t, users[t], readers) or _is_choice(t)}
        for tensor in group:
            pairs = ((e, r) for e in tensor.equations for r in reads(e) if r.attr in members)
            earlier[tensor] = {r.attr for e, r in pairs if _is_of_another(e, r, readers)}
    stored |= parts_of_histories(list(users), {t for group in recurrences for t in group})
    costs: dict[Tensor, Cost] = {}  # of what is fused, with what is fused into it
    carried: dict[Tensor, frozenset[int]] = {}  # dims in which it checks an index that is data
    checked = _checked(users)
    for tensor, found in users.items():
        if tensor in stored or not is_pointwise(tensor) or not found:
            continue
        cost = _cost(tensor, costs)
        dims = carried_dims(tensor, carried)
        if dims.issuperset(checked.get(tensor, ())) and _is_cheaper(tensor, cost, found):
            costs[tensor], carried[tensor] = cost, dims
    free = set() if any(checked.values()) else {t for t in users if t not in stored}
    return _meeting(users, costs.keys(), free, earlier)


def _is_of_a_step(tensor: Tensor, uses: Sequence[Use], readers: Mapping[Equation, Tensor]) -> bool:
    """Whether only steps of a recurrence read a tensor of it, each what it has made itself."""
    return all(
        e in readers
        and len(readers[e].clocks) == len(tensor.clocks)
        and not _is_of_another(e, read, readers)
        for e, read in uses
    )


def _is_choice(tensor: Tensor) -> bool:
    """Whether data choose once for all elements of a step: of several such choices in one equation
    each combination would be code of its own (`linalg/step_choices.py`)."""
    times = set(tensor.time_dims)
    choices = (n.args[0] for e in tensor.equations for n in postorder(e.body) if n.op == "select")
    return any(loads(condition) and dims_used(condition) <= times for condition in choices)


def _is_of_another(equation: Equation, read: Expr, readers: Mapping[Equation, Tensor]) -> bool:
    """Whether a tensor of a recurrence reads what is made in another step, of any of its times."""
    times = zip(readers[equation].time_dims, read.attr.time_dims, strict=False)
    return any(read.args[its] is not equation.write[mine] for mine, its in times)


def _meeting(
    users: Mapping[Tensor, Sequence[Use]], wanted: Collection[Tensor], free: Collection[Tensor],
    earlier: Mapping[Tensor, Collection[Tensor]],
) -> tuple[set[Tensor], set[Tensor]]:  # fmt: skip
    """The wanted producers and free ones whose readers meet; and what ends in one short equation.

    All that reads one of the free ones, each at its own point, is part of one equation in the end.
    That computes it once, as a node which several of its parts have. What reads earlier steps of a
    history is part of what makes that alone: another equation would have to be before it in a step,
    or both slices be kept.
    """
    ends: dict[Equation, Equation | None] = {}  # the one that computes what an equation does
    sizes: Counter[Equation] = Counter()
    found: set[Tensor] = set()
    for tensor in reversed(list(users)):  # what reads it first
        reached = {ends.get(e, e) for e, _ in users[tensor]}
        is_one = len(reached) == 1 and all(_is_own_point(tensor, use) for use in users[tensor])
        is_long = any(e and sizes[e] > REPEATED_STEP for e in reached)
        end = reached.pop() if is_one else None
        is_apart = tensor in earlier and is_long and _is_start(tensor)
        is_apart |= any(end not in history.equations for history in earlier.get(tensor, ()))
        may_meet = end is not None and tensor in free and is_pointwise(tensor)
        if not is_apart and (may_meet or tensor in wanted):
            found.add(tensor)
        for e in tensor.equations:
            ends[e] = end if tensor in found else e
            sizes[ends[e] or e] += _operations(e.body)
    short = {
        t for t in users
        if all((end := ends[e]) is not None and sizes[end] <= MAX_SHARED for e in t.equations)
    }  # fmt: skip
    return {t for t in found if t in wanted or t in short}, short


def _is_start(tensor: Tensor) -> bool:
    """Whether a tensor of a recurrence is what a step goes on from: another one in the first step
    than behind it."""
    if not is_pointwise(tensor) or tensor.equations[0].body.op != "select":
        return False
    condition = tensor.equations[0].body.args[0]
    return not loads(condition) and dims_used(condition) <= set(tensor.time_dims)


def _operations(body: Expr) -> int:
    return sum(node.op in OPERATIONS for node in postorder(body))


def _is_own_point(tensor: Tensor, use: Use) -> bool:
    """Whether an equation reads a tensor of as many elements as it has points, each at its own."""
    equation, read = use
    here = tuple(map(dim, range(equation.rank)))
    return not is_contraction(equation) and tensor.shape == equation.extents and read.args == here


def _checked(tensors: Iterable[Tensor]) -> dict[Tensor, set[int]]:
    """The dims of tensors at which somebody reads them at data that is checked."""
    found: dict[Tensor, set[int]] = {}
    for tensor in tensors:
        for equation in tensor.equations:
            for read, dims in checked_reads(equation).items():
                found.setdefault(read.attr, set()).update(dims)
    return found


def is_pointwise(tensor: Tensor) -> bool:
    """One equation that gives every element a value of its own, without a reduction.

    One about which somebody asks for something is not: it would be gone with its attribute.
    """
    if len(tensor.equations) != 1 or tensor.equations[0].wishes:
        return False
    (equation,) = tensor.equations
    once = equation.parallel == equation.rank and not equation.is_scatter
    starts = equation.combiner == "set" or (equation.combiner == "add" and tensor.fill == 0)
    return once and starts and equation.covers(tensor.shape)


def _uses(system: System) -> dict[Tensor, list[tuple[Equation, Expr]]]:
    uses: dict[Tensor, list[tuple[Equation, Expr]]] = {t: [] for t in system.tensors()}
    for tensor in list(uses):
        for equation in tensor.equations:
            for read in reads(equation):
                uses[read.attr].append((equation, read))
    return uses


def _cost(tensor: Tensor, fused: Mapping[Tensor, Cost]) -> Cost:
    body, size = tensor.equations[0].body, estimate(tensor.size)
    read = [one.attr for one in loads(body)]
    parts = [fused.get(r, Cost(0, int(estimate(r.size) * REPEATED > size))) for r in read]
    spreads = len(set(read)) < len(read) or any(p.spreads for p in parts)
    return Cost(weight(body) + sum(p.work for p in parts), sum(p.reads for p in parts), spreads)


def _is_cheaper(tensor: Tensor, cost: Cost, uses: list[tuple[Equation, Expr]]) -> bool:
    body = tensor.equations[0].body
    if any(is_contraction(e) or r in e.indexing for e, r in uses):  # which stay tensors
        cheap = cost.work == 0 or _widens(body)
        return cheap and len(loads(body)) == 1 and _stays_affine(tensor)
    points, elements = sum(e.box_size for e, _ in uses), estimate(tensor.size)
    if cost.work == 0 and len(loads(body)) <= 1:
        return True
    most = _cheap_uses(cost)
    few = cost.work <= CHEAP and len(uses) <= most and points <= most * elements
    return few or points <= EVALUATIONS * elements or _is_stencil(tensor, cost, uses)


def _is_stencil(tensor: Tensor, cost: Cost, uses: list[tuple[Equation, Expr]]) -> bool:
    """Whether maps read a stencil that no cache holds, or beside their points, and it is cheap.

    What points beside each other have in common is computed once.
    """
    size = estimate(tensor.size) * tensor.dtype.bits // 8
    evaluated = len(uses) * max(cost.work, cost.reads)
    if size <= CACHED_BYTES or evaluated > STENCIL:
        return False
    moves = [_moves(equation, read) for equation, read in uses]
    return None not in moves and (cost.spreads or any(moves))


def _moves(equation: Equation, read: Expr) -> bool | None:
    """Whether a map reads beside its own point, by a constant; None where it reads elsewhere."""
    places = [_without_constant(a) for a in read.args]
    here = equation.parallel == equation.rank and places == list(map(dim, range(equation.rank)))
    return places != list(read.args) if here else None


def _without_constant(subscript: Expr) -> Expr:
    if subscript.op in ("add", "sub") and is_const(subscript.args[1]):
        return subscript.args[0]
    return subscript


def _cheap_uses(cost: Cost) -> int:
    """How often a cheap body may be evaluated: that of one read up to the same work altogether."""
    return CHEAP_USES * CHEAP // max(cost.work, 1) if cost.reads <= 1 else CHEAP_USES


def _widens(body: Expr) -> bool:
    """Whether a body is an element of 16 bits as a wider float: tensor cores do that themselves."""
    if body.op != "cast" or body.args[0].op != "load":
        return False
    narrow, wide = body.args[0].dtype, body.dtype
    return narrow.is_float and wide.is_float and narrow.bits == 16 < wide.bits


def _stays_affine(tensor: Tensor) -> bool:
    (equation,) = tensor.equations
    (read,) = loads(equation.body)
    if equation.body is not read and not _widens(equation.body):
        return False
    try:
        places = [single_piece(place, equation.domain) for place in read.args]
    except NotAffine:
        return False
    return all(place is not None and place.is_affine for place in places)


# ------------------------------------------------------------------ rewriting


def _is_long(body: Expr, is_short: bool) -> bool:
    """Whether a body is too large, by the measure by which what ends in one equation is short."""
    return _operations(body) > MAX_SHARED if is_short else len(postorder(body)) > MAX_NODES


def _fuse_into(
    equation: Equation, bodies: Mapping[Tensor, Expr], forms: Forms, is_short: bool
) -> Equation:
    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "load" or node.attr not in bodies:
            return None
        new = rebuild(node, args)
        return substitute([bodies[new.attr]], new.args)[0]

    (body,) = rewrite([equation.body], visit)
    if body is equation.body or _is_long(body, is_short):
        return equation
    known = forms.setdefault(equation.domain, {})
    (body,) = canonical_indices([body], equation.domain, known)
    (body,) = decide_selects([body], equation.domain)
    return replace(equation, body=body)


@dataclass(frozen=True)
class TedFusePointwise(SystemPass):
    """Fuse pointwise producers into their consumers."""

    def rewrite(self, system: System) -> System:
        """The system after the pass."""
        return read_starts(fuse_pointwise(system)[0])[0]
