"""The bound on work: adjoint factors that several reads share become tensors of their own.

Every read gets an adjoint expression, and those of one body share most of their nodes.  Evaluating
each by itself costs (number of reads) x (size of the body); storing the shared nodes once over the
parallel dims makes each constant.  Nodes that depend on reduction dims are recomputed; where that
is too much work those are stored, too, whose tensor is no larger than the largest one around.
What is left would be a tensor of the size of the iteration space: a remark says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ted.autodiff.masking import shareable
from ted.domain import sets
from ted.domain.budget import bounded
from ted.domain.sizes import surely_at_most
from ted.ir.affine import where_possible
from ted.ir.affine_attributes import expr_to_aff
from ted.ir.equations import Clock, Equation, Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.operations import OPERATIONS
from ted.ir.paths import implied_of_indices, path_conditions
from ted.ir.remarks import remark
from ted.ir.scalar import (
    dim,
    dims_used,
    index,
    is_work,
    land,
    load,
    loads,
    reads_data,
    rebuild,
    substitute,
    weight,
)
from ted.records import dataclass

SLACK = 1.4  # recomputing this much more than the shared evaluation is cheaper than storing
SEPARATE_BOUND = 3  # but adjoints that share parts cost at most so many times the body
WORK_BOUND = 4  # and with additions so many, else parts that the body shares are stored as well
LIMIT = 5  # what is promised; what cannot be kept is said

_Choice = Callable[[Expr], bool]
Pair = tuple[Expr, Expr]  # a read and its adjoint
_Group = tuple[Any, list[Expr]]  # a domain, and adjoints that are evaluated on it


def materialise_shared(
    equation: Equation,
    pairs: list[Pair],
    domains: Sequence[Any],
    like: Tensor,
    additions: int = 0,
) -> list[Pair]:
    """The same adjoints, reading stored factors where sharing pays.

    Each adjoint may be evaluated on its own domain only: elsewhere its reads can be out of bounds.
    The factors are called after `like` and run along its time dim. So many `additions` of adjoints
    to what is there already count as work of the gradient.
    """
    if not _is_worth_sharing([g for _, g in pairs], equation.body):
        return pairs
    forward = weight(equation.body) + (equation.combiner != "set")
    most = WORK_BOUND * forward - additions

    def sharing(is_storable: _Choice) -> list[Pair]:
        return _sharing(_Sharing(equation, like, additions, is_storable), pairs, domains)

    found = sharing(lambda node: not dims_used(node) & {*equation.reduction_dims})
    if not equation.reduction_dims or _work(found, equation) <= most:
        return found
    found = sharing(lambda node: _is_small(node, equation, like))
    if (work := _work(found, equation) + additions) > LIMIT * forward:
        text = (
            f"ted-differentiate: {len(pairs)} gradients compute parts of {forward} operations "
            f"again, {work} together; stored they are larger than any tensor around"
        )
        remark(text, equation.location)
    return found


@dataclass(frozen=True)
class _Sharing:
    """An equation, what its factors are called after and have to obey."""

    equation: Equation
    like: Tensor
    additions: int
    is_storable: _Choice


def _sharing(own: _Sharing, pairs: list[Pair], domains: Sequence[Any]) -> list[Pair]:
    groups = _by_domain([g for _, g in pairs], domains)
    found = _shared(own, groups)
    if found is not None:
        return [(read, found.get(g, g)) for read, g in pairs]
    # What is used under conditions of several domains is not shared between them.
    names = [replace(own.like, name=f"{own.like.name}_{k}") for k in range(len(groups))]
    apart = [
        (group[0], _shared(replace(own, like=name), [group]) or {})
        for group, name in zip(groups, names, strict=True)
    ]

    def one(g: Expr, domain: Any) -> Expr:
        known = (found for points, found in apart if points.plain_is_equal(domain))
        return next(known, {}).get(g, g)

    return [(read, one(g, points)) for (read, g), points in zip(pairs, domains, strict=True)]


def _work(pairs: Sequence[Pair], equation: Equation) -> int:
    """The operations of all adjoints at one point, with those of the factors made for them."""
    known = {read.attr for read in loads(equation.body)}
    stack = [g for _, g in pairs]
    total = sum(map(weight, stack))
    while stack:
        for factor in [read.attr for read in loads(stack.pop()) if read.attr not in known]:
            known.add(factor)
            bodies = [e.body for e in factor.equations]
            total += sum(map(weight, bodies))
            stack += bodies
    return total


def _is_small(node: Expr, equation: Equation, like: Tensor) -> bool:
    """Whether a tensor of the node is no larger than the largest that is read or written here."""
    size = math.prod(equation.extents[d] for d in dims_used(node))
    around = [like, *(read.attr for read in loads(equation.body))]
    return any(surely_at_most(size, tensor.size) for tensor in around)


def _by_domain(roots: Sequence[Expr], domains: Sequence[Any]) -> list[_Group]:
    """The adjoints that are evaluated anywhere, those with equal domains together."""
    groups: list[_Group] = []
    for root, domain in zip(roots, domains, strict=True):
        same = next((g for points, g in groups if points.plain_is_equal(domain)), None)
        if same is not None:
            same.append(root)
        elif not bounded(domain.is_empty):
            groups.append((domain, [root]))
    return groups


def _shared(own: _Sharing, groups: Sequence[_Group]) -> dict[Expr, Expr] | None:
    """Adjoint -> the same one reading stored factors; None where they cannot be masked."""
    equation, like, body = own.equation, own.like, own.equation.body
    old = [g for _, group in groups for g in group]
    conditions = [path_conditions(*group) for _, group in groups]
    roots = shareable(old, conditions, body, _shared_nodes(own, old))
    if roots is None:
        return None
    known = [points for points, group in groups for _ in group]
    units = list(roots)
    if weight(*roots) + own.additions > WORK_BOUND * weight(body):
        units.append(body)
        known.append(equation.domain)
    shared, used = _shared_nodes(own, units), _where_used(_by_domain(units, known))
    stored: dict[Expr, Expr] = {}
    for node in postorder(*roots):
        new = rebuild(node, [stored[a] for a in node.args])
        if node in shared:
            name = f"{like.name}_{len(stored)}"
            new = _store(new, equation, used(node), replace(like, name=name))
            if node.dtype.kind == "bool":  # a stored mask would hide the guards in it
                new = land(implied_of_indices(node), new)
        stored[node] = new
    return {g: stored[root] for g, root in zip(old, roots, strict=True)}


def _is_worth_sharing(roots: Sequence[Expr], body: Expr) -> bool:
    separate, together, forward = sum(map(weight, roots)), weight(*roots), weight(body)
    if separate == together:
        return False
    return separate > SEPARATE_BOUND * forward or separate > SLACK * max(together, forward)


def _shared_nodes(own: _Sharing, roots: Sequence[Expr]) -> set[Expr]:
    """Nodes to store so that each is evaluated for one root, or for one other stored node, only."""
    users: dict[Expr, frozenset[int | Expr]] = {}  # the roots and stored nodes it is evaluated for
    for position, root in enumerate(roots):
        users[root] = users.get(root, frozenset()) | {position}
    stored: set[Expr] = set()
    for node in reversed(postorder(*roots)):
        if len(users[node]) > 1 and _is_work(node) and own.is_storable(node):
            stored.add(node)
            users[node] = frozenset({node})
        for argument in node.args:
            users[argument] = users.get(argument, frozenset()) | users[node]
    return stored


def _is_work(node: Expr) -> bool:
    return _is_value(node) and node.op in OPERATIONS and is_work(node)


def _is_value(node: Expr) -> bool:
    """A number, or whether something holds: `x[t] <= y[t]` is worth a mask, `t < 3` is not."""
    return node.dtype.is_float or (node.dtype.kind == "bool" and reads_data(node))


def _where_used(groups: Sequence[_Group]) -> Callable[[Expr], Any]:
    """Node -> the points at which some root needs it; conditions on data count as true."""
    uses = [(path_conditions(*group), points) for points, group in groups]

    def used(node: Expr) -> Any:
        found = groups[0][0].subtract(groups[0][0])
        for conditions, points in uses:
            if node in conditions:
                found = found.union(where_possible(conditions[node], points))
        return found

    return used


def _store(node: Expr, equation: Equation, domain: Any, like: Tensor) -> Expr:
    """A tensor holding `node` over the dims that it mentions; the node if it has no place.

    A dim that the node does not mention is left out, so a factor constant along it stays small.
    What follows a recurrence has a time dim and is written at the time that its user writes.
    """
    clocks = _clocks(node, equation, like)
    moving = [dims_used(clock) for clock in clocks]
    affs = [expr_to_aff(clock) for clock in clocks]
    told = len(set().union(*moving)) == sum(map(len, moving)) <= len(clocks)
    if not told or any(a is None or not a.is_affine for a in affs):
        return node
    used = sorted(dims_used(node).union(*moving))
    position: list[Expr] = [index(0)] * equation.rank
    for place, d in enumerate(used):
        position[d] = dim(place)
    write, at = [dim(k) for k in range(len(used))], [dim(d) for d in used]
    extents = [equation.extents[d] for d in used]
    shape, times = list(extents), dict[int, int]()
    fixed = [k for k, dims in enumerate(moving) if not dims]  # these subscripts stand in front
    for k in sorted(range(len(clocks)), key=fixed.__contains__):
        clock, dims = clocks[k], moving[k]
        time = used.index(*dims) if dims else 0
        replaced = slice(time, time + len(dims))
        write[replaced] = substitute([clock], position)
        at[replaced], shape[replaced] = [clock], [like.shape[like.time_dims[k]]]
        times[k] = len(fixed) + time if dims else len(fixed) - 1 - fixed.index(k)
    (body,) = substitute([node], position)
    definition = Equation(
        tuple(extents), len(used), sets.project(domain, used).coalesce(), tuple(write), "set", body,
        equation.location,
    )  # fmt: skip
    tensor = Tensor(like.name, tuple(shape), node.dtype, 0, (definition,), equation.location)
    tensor.clocks = [Clock(times[k], like.clocks[k].reverse) for k in range(len(clocks))]
    return load(tensor, at)


def _clocks(node: Expr, equation: Equation, like: Tensor) -> list[Expr]:
    """The times at which the equation writes, if the node may be part of a recurrence."""
    follows = any(r.attr.time is not None for r in loads(node))
    return [equation.write[at] for at in like.time_dims] if follows else []
