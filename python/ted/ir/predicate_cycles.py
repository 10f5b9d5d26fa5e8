"""Predicates of reads that ask for each other, or for their own read: weakened until none does.

A read is needed in a condition where the condition is asked, whatever it says; its own condition is
then a disjunction, in which a term may still mention the read. Such a part is left out: the read is
made more often than it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from ted.ir.expressions import Expr, postorder
from ted.ir.paths import conjuncts
from ted.ir.scalar import TRUE, land, loads, reads_data


def without_cycles(predicates: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """The predicates of reads at data, weaker where asking one would need its own read."""
    result = dict(predicates)
    finished: set[Expr] = set()
    for start in predicates:
        path: dict[Expr, list[Expr]] = {}
        if start not in finished:
            path[start] = _asked(start, result)
        while path:
            node = next(reversed(path))
            waiting = path[node]
            if not waiting:
                finished.add(path.popitem()[0])
            elif (following := waiting.pop()) in path:
                _break(following, path, result)
            elif following not in finished:
                path[following] = _asked(following, result)
    return result


def _break(first: Expr, path: dict[Expr, list[Expr]], predicates: dict[Expr, Expr]) -> None:
    """Weaken one predicate of the cycle that closes at `first`, and go on from its read."""
    members = list(path)
    members = members[members.index(first) :]
    for member, following in pairwise([*members, first]):
        weaker = without(predicates[member], following)
        if weaker is not predicates[member]:
            predicates[member] = weaker
            while next(reversed(path)) is not member:
                path.popitem()
            path[member] = _asked(member, predicates)
            return
    raise AssertionError("a subscript does not need its own read")


def _asked(node: Expr, predicates: Mapping[Expr, Expr]) -> list[Expr]:
    """The reads with predicates that a read's own predicate and subscripts need."""
    return [r for r in loads(predicates[node], *node.args) if r in predicates]


def without(condition: Expr, node: Expr) -> Expr:
    """A weaker condition that does not mention a node.

    A part on data may be asked only where those before it hold, so it goes with them.
    """
    result, complete = TRUE, True
    for part in conjuncts(condition):
        mentions = any(e is node for e in postorder(part))
        if not mentions and (complete or not reads_data(part)):
            result = land(result, part)
        complete = complete and not mentions
    return result
