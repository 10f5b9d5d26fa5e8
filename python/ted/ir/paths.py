"""Path conditions: under which conditions a body uses the value of a node.

A select uses its first value where the condition holds and its second where it does not, so a read
that is only reached through such branches need not be made, nor be in bounds, elsewhere.  Of a
conjunction the second term matters only where the first holds, of a disjunction only where it does
not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import FALSE, TRUE, land, lnot, lor, reads_data

_CHOICES = ("select", "and", "or")  # by their first argument
MAX_TERMS = 8  # of a wider disjunction only what all its terms say is kept, which is safe


def path_conditions(*roots: Expr) -> dict[Expr, Expr]:
    """For every node below the roots, a condition that holds wherever its value is used."""
    order = postorder(*roots)
    if not any(node.op in _CHOICES for node in order):
        return dict.fromkeys(reversed(order), TRUE)
    return _conditions(roots, lambda user, argument: True)


def slope_conditions(root: Expr) -> dict[Expr, Expr]:
    """For every node, a condition that holds wherever the root has a slope in it.

    What is read in conditions, in subscripts or under `ted.stop_gradient` alone has none: FALSE.
    """
    return _conditions([root], _passes_slope)


def _passes_slope(user: Expr, argument: Expr) -> bool:
    return user.dtype.is_float and argument.dtype.is_float and user.op != "stop_gradient"


def _conditions(roots: Sequence[Expr], follows: Callable[[Expr, Expr], bool]) -> dict[Expr, Expr]:
    order = postorder(*roots)
    alternatives: dict[Expr, list[Expr]] = {n: [] for n in order}
    for root in roots:
        alternatives[root] = [TRUE]
    conditions: dict[Expr, Expr] = {}
    for node in reversed(order):
        here = conditions[node] = _disjunction(alternatives[node])
        for position, argument in enumerate(node.args):
            if not follows(node, argument):
                continue
            use = land(here, _decided(node, position))
            if use not in alternatives[argument]:
                alternatives[argument].append(use)
    return conditions


def certain_terms(*roots: Expr) -> dict[Expr, frozenset[Expr]]:
    """For every node below the roots, terms that hold wherever its value is used.

    They say less than `path_conditions`, and take a fraction of its time.
    """
    held: dict[Expr, frozenset[Expr]] = dict.fromkeys(roots, frozenset())
    for node in reversed(postorder(*roots)):
        here = held[node]
        for position, argument in enumerate(node.args):
            decided = _decided(node, position)
            use = here if decided is TRUE else here.union(conjuncts(decided))
            held[argument] = held[argument] & use if argument in held else use
    return held


def _decided(node: Expr, position: int) -> Expr:
    """What the first argument of a choice is where another one is used."""
    if position == 0 or node.op not in _CHOICES:
        return TRUE
    holds = node.op == "and" or (node.op == "select" and position == 1)
    return node.args[0] if holds else lnot(node.args[0])


def _disjunction(terms: list[Expr]) -> Expr:
    if len(terms) == 1:  # most nodes have one user
        return terms[0]
    terms = _without_decisions(terms)
    if TRUE in terms:
        return TRUE
    if len(terms) > MAX_TERMS:
        return common(terms)
    parts = {term: frozenset(conjuncts(term)) for term in terms}
    # A term that says more than another adds nothing; it may even mention the node itself.
    terms = [t for t in terms if not any(parts[other] < parts[t] for other in terms)]
    result = FALSE
    for term in terms:
        result = lor(result, term)
    return result


def common(terms: Sequence[Expr]) -> Expr:
    """What every one of some conditions says, in the order of the first one.

    A part on data may be asked only where those before it hold, so it is kept only behind them.
    """
    first, *others = (conjuncts(term) for term in terms)
    shared = set(first).intersection(*others)
    result, complete = TRUE, True
    for part in first:
        if part in shared and (complete or not reads_data(part)):
            result = land(result, part)
        complete = complete and part in shared
    return result


def _without_decisions(terms: list[Expr]) -> list[Expr]:
    """The terms with `p` in place of `p and c` and `p and not c`."""
    found, waiting = dict.fromkeys(terms), list(terms)
    while waiting:
        term = waiting.pop()
        for before, last in choices(term):
            opposite = land(before, lnot(last))
            if term in found and opposite in found:
                del found[term], found[opposite]
                if before not in found:
                    found[before] = None
                    waiting.append(before)
    return list(found)


def choices(condition: Expr) -> list[tuple[Expr, Expr]]:
    """The ways to see a condition as `p and c`: p true and c all of it, or c its last term."""
    if condition.op != "and":
        return [(TRUE, condition)]
    before, last = condition.args
    return [(TRUE, condition), (before, last)]


def conjuncts(condition: Expr) -> list[Expr]:
    """The distinct terms of a conjunction, in order."""
    found: dict[Expr, None] = {}
    seen, stack = {condition}, [condition]
    while stack:
        node = stack.pop()
        if node.op != "and":
            found.setdefault(node)
            continue
        fresh = [a for a in reversed(node.args) if a not in seen]
        seen.update(fresh)
        stack.extend(fresh)
    return [c for c in found if c is not TRUE]


def implied_of_indices(condition: Expr) -> Expr:
    """The strongest condition on indices alone that holds wherever `condition` does."""
    if not condition.tests:
        return TRUE
    known: dict[Expr, tuple[Expr, Expr]] = {}  # what a part implies, and what implies it
    for node in postorder(condition):
        if node.op == "not":
            above, below = known[node.args[0]]
            known[node] = lnot(below), lnot(above)
        elif node.op in ("and", "or"):
            join = land if node.op == "and" else lor
            above, below = zip(*(known[a] for a in node.args), strict=True)
            known[node] = join(*above), join(*below)
        else:
            known[node] = (TRUE, FALSE) if node.reads else (node, node)
    return known[condition][0]
