"""The bound on work: adjoint factors that several reads share become tensors of their own.

Every read gets an adjoint expression, and those of one body share most of their nodes.  Evaluating
each by itself costs (number of reads) x (size of the body); storing the shared nodes once over the
parallel dims makes each constant.  Nodes that depend on reduction dims are recomputed, since
storing them would make a tensor of the size of the iteration space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ted.autodiff.masking import shareable
from ted.domain import sets
from ted.ir.affine import where_possible
from ted.ir.affine_attributes import expr_to_aff
from ted.ir.equations import Equation, Tensor
from ted.ir.operations import OPERATIONS
from ted.ir.paths import implied_of_indices, path_conditions
from ted.ir.scalar import (
    Expr,
    dim,
    dims_used,
    index,
    land,
    load,
    loads,
    postorder,
    reads_data,
    rebuild,
    substitute,
    weight,
)  # fmt: skip

SLACK = 1.4  # recomputing this much more than the shared evaluation is cheaper than storing
SEPARATE_BOUND = 3  # but adjoints that share parts cost at most so many times the body
WORK_BOUND = 4  # and with additions so many, else parts that the body shares are stored as well

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
    roots = [g for _, g in pairs]
    if not _is_worth_sharing(roots, equation.body):
        return pairs
    groups = _by_domain(roots, domains)
    found = _shared(equation, groups, like, additions)
    if found is not None:
        return [(read, found.get(g, g)) for read, g in pairs]
    # What is used under conditions of several domains is not shared between them.
    names = [replace(like, name=f"{like.name}_{k}") for k in range(len(groups))]
    apart = [
        (group[0], _shared(equation, [group], name, additions) or {})
        for group, name in zip(groups, names, strict=True)
    ]

    def own(g: Expr, domain: Any) -> Expr:
        known = (found for points, found in apart if points.plain_is_equal(domain))
        return next(known, {}).get(g, g)

    return [(read, own(g, points)) for (read, g), points in zip(pairs, domains, strict=True)]


def _by_domain(roots: Sequence[Expr], domains: Sequence[Any]) -> list[_Group]:
    """The adjoints that are evaluated anywhere, those with equal domains together."""
    groups: list[_Group] = []
    for root, domain in zip(roots, domains, strict=True):
        same = next((g for points, g in groups if points.plain_is_equal(domain)), None)
        if same is not None:
            same.append(root)
        elif not domain.is_empty():
            groups.append((domain, [root]))
    return groups


def _shared(
    equation: Equation, groups: Sequence[_Group], like: Tensor, additions: int
) -> dict[Expr, Expr] | None:
    """Adjoint -> the same one reading stored factors; None where they cannot be masked."""
    old, body = [g for _, group in groups for g in group], equation.body
    conditions = [path_conditions(*group) for _, group in groups]
    roots = shareable(old, conditions, body, _shared_nodes(equation, old))
    if roots is None:
        return None
    known = [points for points, group in groups for _ in group]
    units = list(roots)
    if weight(*roots) + additions > WORK_BOUND * weight(body):
        units.append(body)
        known.append(equation.domain)
    shared, used = _shared_nodes(equation, units), _where_used(_by_domain(units, known))
    stored: dict[Expr, Expr] = {}
    for node in postorder(*roots):
        new = rebuild(node, [stored[a] for a in node.args])
        if node in shared:
            points = sets.project(used(node), range(equation.parallel)).coalesce()
            name = f"{like.name}_{len(stored)}"
            new = _store(new, equation, points, replace(like, name=name))
            if node.dtype.kind == "bool":  # a stored mask would hide the guards in it
                new = land(implied_of_indices(node), new)
        stored[node] = new
    return {g: stored[root] for g, root in zip(old, roots, strict=True)}


def _is_worth_sharing(roots: Sequence[Expr], body: Expr) -> bool:
    separate, together, forward = sum(map(weight, roots)), weight(*roots), weight(body)
    if separate == together:
        return False
    return separate > SEPARATE_BOUND * forward or separate > SLACK * max(together, forward)


def _shared_nodes(equation: Equation, roots: Sequence[Expr]) -> set[Expr]:
    """Nodes to store so that each is evaluated for one root, or for one other stored node, only."""
    reductions = set(equation.reduction_dims)
    users: dict[Expr, frozenset[int | Expr]] = {}  # the roots and stored nodes it is evaluated for
    for position, root in enumerate(roots):
        users[root] = users.get(root, frozenset()) | {position}
    stored: set[Expr] = set()
    for node in reversed(postorder(*roots)):
        if len(users[node]) > 1 and _is_storable(node, reductions):
            stored.add(node)
            users[node] = frozenset({node})
        for argument in node.args:
            users[argument] = users.get(argument, frozenset()) | users[node]
    return stored


def _is_storable(node: Expr, reductions: set[int]) -> bool:
    is_work = _is_value(node) and node.op in OPERATIONS and weight(node) > 0
    return is_work and not dims_used(node) & reductions


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
    """A tensor holding `node` over the parallel dims, and its read; the node if it has no place.

    A dim that the node does not mention is left out, so a factor constant along it stays small.
    What follows a recurrence has a time dim and is written at the time that its user writes.
    """
    clock = _clock(node, equation, like)
    moving = set() if clock is None else dims_used(clock)
    aff = expr_to_aff(index(0) if clock is None else clock)
    if len(moving) > 1 or aff is None or not aff.is_affine:
        return node
    used = sorted(dims_used(node) | moving)
    position: list[Expr] = [index(0)] * equation.rank
    for place, d in enumerate(used):
        position[d] = dim(place)
    write, at = [dim(k) for k in range(len(used))], [dim(d) for d in used]
    extents = [equation.extents[d] for d in used]
    shape, time = list(extents), None
    if clock is not None and like.time is not None:
        time = used.index(*moving) if moving else 0
        replaced = slice(time, time + len(moving))
        write[replaced] = substitute([clock], position)
        at[replaced], shape[replaced] = [clock], [like.shape[like.time]]
    (body,) = substitute([node], position)
    definition = Equation(
        tuple(extents), len(used), sets.project(domain, used), tuple(write), "set", body,
        equation.location,
    )  # fmt: skip
    tensor = Tensor(
        like.name, tuple(shape), node.dtype, 0, (definition,), equation.location, time, like.reverse
    )
    return load(tensor, at)


def _clock(node: Expr, equation: Equation, like: Tensor) -> Expr | None:
    """The time at which the equation writes, if the node may be part of a recurrence."""
    follows = like.time is not None and any(r.attr.time is not None for r in loads(node))
    return equation.write[like.time] if follows and like.time is not None else None
