"""Path conditions: under which conditions a body uses the value of a node.

A select uses its first value where the condition holds and its second where it does not, so a read
that is only reached through such branches need not be made, nor be in bounds, elsewhere.
"""

from __future__ import annotations

from ted.ir.scalar import FALSE, TRUE, Expr, land, lnot, lor, postorder

MAX_TERMS = 8  # a wider disjunction is given up as "always", which is safe


def path_conditions(*roots: Expr) -> dict[Expr, Expr]:
    """For every node below the roots, a condition that holds wherever its value is used."""
    order = postorder(*roots)
    alternatives: dict[Expr, list[Expr]] = {n: [] for n in order}
    for root in roots:
        alternatives[root] = [TRUE]
    conditions: dict[Expr, Expr] = {}
    for node in reversed(order):
        here = conditions[node] = _disjunction(alternatives[node])
        for position, argument in enumerate(node.args):
            use = here
            if node.op == "select" and position > 0:
                use = land(here, node.args[0] if position == 1 else lnot(node.args[0]))
            if use not in alternatives[argument]:
                alternatives[argument].append(use)
    return conditions


def _disjunction(terms: list[Expr]) -> Expr:
    if TRUE in terms or len(terms) > MAX_TERMS:
        return TRUE
    result = FALSE
    for term in terms:
        result = lor(result, term)
    return result


def conjuncts(condition: Expr) -> list[Expr]:
    """The terms of a conjunction."""
    if condition.op == "and":
        return [*conjuncts(condition.args[0]), *conjuncts(condition.args[1])]
    return [] if condition is TRUE else [condition]
