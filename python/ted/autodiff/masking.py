"""Adjoints of one body, written so that the parts which several of them share can be stored.

Before: dx = where(p and c, h*y, 0)               dz = where(p and not c, h*y, 0)
After:  dx = where(c, where(p, h*y, 0), 0)        dz = where(c, 0, where(p, h*y, 0))

* A value that several conditions select is selected one condition at a time: what the conditions
  have in common is one masked value, and the next condition adds one choice to it.
* A shared value that is used under a condition on data is zero elsewhere.  It becomes a tensor of
  its own, which forgets the conditions of its users, and whose derivative may be infinite there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ted.ir.expressions import Expr, postorder
from ted.ir.paths import implied_of_indices, path_conditions
from ted.ir.scalar import TRUE, const, is_const, land, loads, reads_data, rebuild, rewrite, select

# What these make of a value that is not used is not used either, in derivatives neither.
_HARMLESS = frozenset(
    {"add", "sub", "neg", "select", "cast", "maximum", "minimum", "lt", "le", "eq", "ne", "and",
     "or", "not", "stop_gradient", "const", "dim", "size", "load"}
)  # fmt: skip


def shareable(
    roots: Sequence[Expr],
    conditions: Sequence[Mapping[Expr, Expr]],
    body: Expr,
    shared: Collection[Expr],
) -> list[Expr] | None:
    """The roots with `shared` nodes masked where that is needed, and nested choices.

    The roots are evaluated in several places; in each of them their parts have `conditions`, which
    mean something there only.  None if a node has to be masked by different ones.
    Values that the forward `body` computes whatever its data are not masked.
    """
    forward = path_conditions(body)
    masks: dict[Expr, Expr] = {}
    for node in shared:
        found = {known[node] for known in conditions if node in known}
        on_data = any(map(reads_data, found)) and forward.get(node) is not TRUE
        if on_data and _is_delicate(node, shared):
            if len(found) > 1:
                return None
            masks[node] = found.pop()
    return _nested(_masked(roots, masks))


def _is_delicate(node: Expr, shared: Collection[Expr]) -> bool:
    """Whether it matters where a node is evaluated: for its derivative, or for a read in it."""
    seen, stack = {node}, [node]
    while stack:
        part = stack.pop()
        if part.op not in _HARMLESS or (part.op == "load" and reads_data(*part.args)):
            return True
        fresh = [a for a in part.args if a not in seen and a not in shared and part.op != "load"]
        seen.update(fresh)
        stack += fresh
    return False


def _masked(roots: Sequence[Expr], masks: dict[Expr, Expr]) -> list[Expr]:
    """The roots with every node of `masks` zero, or false, where its condition does not hold."""
    done: dict[Expr, Expr] = {}
    opened: dict[Expr, Expr] = {}  # the mask of each node on the way to where we are
    stack = list(roots)
    while stack:
        node = stack[-1]
        if node in opened:
            mask = opened.pop(node)
            new = rebuild(node, [done[a] for a in node.args])
            done[node] = new if mask is TRUE else _where(done[mask], new)
        if node in done:
            stack.pop()
            continue
        mask = masks.get(node, TRUE)
        if node in (below := postorder(mask)) or any(a in opened for a in below):
            mask = TRUE  # it is itself computed from the node
        opened[node] = mask
        stack.extend(a for a in (*node.args, mask) if a not in done)
    return [done[r] for r in roots]


def _where(condition: Expr, value: Expr) -> Expr:
    if value.dtype.kind == "bool":
        return land(condition, value)
    return select(condition, value, const(0, value.dtype))


def _nested(roots: Sequence[Expr]) -> list[Expr]:
    """Conjunctions that select one value each become choices inside choices."""
    users: dict[Expr, int] = {}
    for node in postorder(*roots):
        if _selects_or_zero(node):
            users[node.args[1]] = users.get(node.args[1], 0) + 1

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if not _selects_or_zero(node):
            return None
        condition, value, zero = args
        return _choices(condition, value, zero, users[node.args[1]] > 1)

    return rewrite(roots, visit)


def _choices(condition: Expr, value: Expr, zero: Expr, is_shared: bool) -> Expr:
    """Each term of the conjunction in a choice of its own, the first one innermost.

    A term was looked at only where those before it hold, on which its reads may rely.
    """
    rest: list[Expr] = []
    while condition.op == "and" and (is_shared or condition.args[1].op == "not"):
        before, last = condition.args
        if any(reads_data(*read.args) for read in loads(last)):
            break
        rest.append(land(implied_of_indices(before), last))
        condition = before
    value = select(condition, value, zero)
    for last in reversed(rest):
        value = select(last, value, zero)
    return value


def _selects_or_zero(node: Expr) -> bool:
    return node.op == "select" and node.dtype.is_float and is_const(node.args[2], 0)
