"""The bound on work: adjoint factors that several reads share become tensors of their own.

Every read gets an adjoint expression, and those of one body share most of their nodes.  Evaluating
each by itself costs (number of reads) x (size of the body); storing the shared nodes once over the
parallel dims makes each constant.  Nodes that depend on reduction dims are recomputed, since
storing them would make a tensor of the size of the iteration space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ted.domain import sets
from ted.ir.affine import NotAffine, condition_set
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

SLACK = 1.5  # recomputing this much more than the shared evaluation is cheaper than storing
WORK_BOUND = 4  # but no gradient costs more than so many times the body if sharing can help it

Pair = tuple[Expr, Expr]  # a read and its adjoint


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
    separate, together, body = sum(map(weight, roots)), weight(*roots), weight(equation.body)
    affordable = separate == together or separate + additions <= WORK_BOUND * body
    if len(pairs) < 2 or (affordable and separate <= SLACK * max(together, body)):
        return pairs
    shared = _shared_nodes(equation, roots)
    uses = [(path_conditions(g), domain) for g, domain in zip(roots, domains, strict=True)]
    stored: dict[Expr, Expr] = {}
    for node in postorder(*roots):
        new = rebuild(node, [stored[a] for a in node.args])
        if node in shared:
            domain = _where_used(node, uses, equation)
            if domain is not None:
                name = f"{like.name}_{len(stored)}"
                new = _store(new, equation, domain, replace(like, name=name))
                if node.dtype.kind == "bool":  # a stored mask would hide the guards in it
                    new = land(implied_of_indices(node), new)
        stored[node] = new
    return [(read, stored[g]) for read, g in pairs]


def _shared_nodes(equation: Equation, roots: list[Expr]) -> set[Expr]:
    """Nodes of at least two adjoints that some user of theirs does not share alike."""
    members: dict[Expr, frozenset[int]] = {}
    for position, root in enumerate(roots):
        for node in postorder(root):
            members[node] = members.get(node, frozenset()) | {position}
    boundary = set(roots)
    for user in members:
        boundary.update(a for a in user.args if members[a] != members[user])
    reductions = set(equation.reduction_dims)
    return {
        node
        for node in boundary
        if len(members[node]) > 1 and _is_value(node) and node.op in OPERATIONS
        and weight(node) > 0 and not dims_used(node) & reductions
    }  # fmt: skip


def _is_value(node: Expr) -> bool:
    """A number, or whether something holds: `x[t] <= y[t]` is worth a mask, `t < 3` is not."""
    return node.dtype.is_float or (node.dtype.kind == "bool" and reads_data(node))


def _where_used(
    node: Expr, uses: Sequence[tuple[dict[Expr, Expr], Any]], equation: Equation
) -> Any | None:
    """The points of the parallel dims at which a node is needed; None when that is data."""
    points = sets.empty(equation.rank)
    try:
        for conditions, domain in uses:
            if node in conditions:
                used = domain.intersect(condition_set(conditions[node], domain))
                points = points.union(used)
    except NotAffine:
        return None
    return sets.project(points, range(equation.parallel)).coalesce()


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
