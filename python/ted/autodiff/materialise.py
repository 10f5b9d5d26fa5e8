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
from ted.ir.equations import Equation, Tensor
from ted.ir.operations import OPERATIONS
from ted.ir.paths import path_conditions
from ted.ir.scalar import (
    Expr,
    dim,
    dims_used,
    index,
    load,
    postorder,
    rebuild,
    substitute,
    weight,
)  # fmt: skip

SLACK = 1.5  # recomputing this much more than the shared evaluation is cheaper than storing

Pair = tuple[Expr, Expr]  # a read and its adjoint


def materialise_shared(
    equation: Equation, pairs: list[Pair], domains: Sequence[Any], like: Tensor
) -> list[Pair]:
    """The same adjoints, reading stored factors where sharing pays.

    Each adjoint may be evaluated on its own domain only: elsewhere its reads can be out of bounds.
    The factors are called after `like` and run along its time dim.
    """
    roots = [g for _, g in pairs]
    separate = sum(weight(g) for g in roots)
    if len(pairs) < 2 or separate <= SLACK * max(weight(*roots), weight(equation.body)):
        return pairs
    shared = _shared_nodes(equation, roots)
    uses = [(path_conditions(g), domain) for g, domain in zip(roots, domains, strict=True)]
    stored: dict[Expr, Expr] = {}
    for node in postorder(*roots):
        new = rebuild(node, [stored[a] for a in node.args])
        if node in shared:
            domain = _where_used(node, uses, equation)
            if domain is not None:
                new = _store(
                    new, equation, domain, replace(like, name=f"{like.name}_{len(stored)}")
                )
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
        if len(members[node]) > 1 and node.dtype.is_float and node.op in OPERATIONS
        and weight(node) > 0 and not dims_used(node) & reductions
    }  # fmt: skip


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
    """A tensor holding `node` over the parallel dims, and its read.

    A dim that the node does not mention is left out, so a factor constant along it stays small.
    """
    used = sorted(dims_used(node))
    position: list[Expr] = [index(0)] * equation.rank
    for place, d in enumerate(used):
        position[d] = dim(place)
    (body,) = substitute([node], position)
    extents = tuple(equation.extents[d] for d in used)
    write = tuple(dim(k) for k in range(len(used)))
    points = sets.project(domain, used)
    definition = Equation(extents, len(used), points, write, "set", body, equation.location)
    tensor = Tensor(
        like.name, extents, node.dtype, 0, (definition,), equation.location,
        _time_of(equation, like, used), like.reverse,
    )  # fmt: skip
    return load(tensor, tuple(dim(d) for d in used))


def _time_of(equation: Equation, like: Tensor, used: Sequence[int]) -> int | None:
    """The place among the dims `used` of the one along which the equation's result runs."""
    if like.time is None:
        return None
    moving = dims_used(equation.write[like.time])
    return next((place for place, d in enumerate(used) if d in moving), None)
