"""The nodes of scalar expressions: interned, walked and written down.

Equal expressions are one object, so `is` decides equality.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, TypeAlias

from ted.ir.dtypes import DType

Number: TypeAlias = "int | float | bool"


class Expr:
    """A node: `op`, argument nodes, an attribute (value, position, tensor) and its type."""

    __slots__ = ("__weakref__", "args", "attr", "below", "dims", "dtype", "op", "reads", "tests")
    op: str
    args: tuple[Expr, ...]
    attr: Any
    dtype: DType
    dims: frozenset[int]  # positions of dims below, subscripts included
    reads: bool  # whether a value of a tensor is read below
    below: tuple[Expr, ...] | None  # `postorder` without the node, once somebody asked
    tests: bool  # whether a condition has, under and, or and not, a part on indices alone

    def __repr__(self) -> str:
        return format_expr(self)


_EMPTY: frozenset[int] = frozenset()
LOGIC = ("and", "or", "not")


class _Reference(weakref.ref[Expr]):
    """A node of the table, which it leaves when nobody else has it: half of the time of a node."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


_interned: dict[tuple[Any, ...], _Reference] = {}


def _leave(reference: Any, table: dict[tuple[Any, ...], _Reference] = _interned) -> None:
    """Drop a node that is gone; the table is an argument, for globals end before some nodes."""
    if table.get(reference.key) is reference:  # an equal node may have come in between
        del table[reference.key]


def interned(op: str, args: tuple[Expr, ...], attr: Any, dtype: DType) -> Expr:
    """The one node of this kind.  Its constructors are in `ted.ir.scalar`."""
    # By identity: a key that held what its node holds would keep a node that leads back to itself.
    own = id(attr) if op == "load" else repr(attr) if op == "const" else attr
    key = (op, tuple(map(id, args)), own, dtype.name)
    reference = _interned.get(key)
    found = None if reference is None else reference()
    if found is not None:
        return found
    node = Expr()
    node.op, node.args, node.attr, node.dtype = op, args, attr, dtype
    node.dims = frozenset((attr,)) if op == "dim" else _EMPTY
    node.reads = op == "load"
    tests = False
    for a in args:
        node.dims = a.dims if node.dims is _EMPTY else node.dims | a.dims
        node.reads = node.reads or a.reads
        tests = tests or a.tests
    node.tests = tests if op in LOGIC else not node.reads
    node.below = None if args else ()
    reference = _interned[key] = _Reference(node, _leave)
    reference.key = key
    return node


def postorder(*roots: Expr) -> tuple[Expr, ...]:
    """Every node below the roots once, arguments before their users."""
    if len(roots) == 1:
        return (*_below(roots[0]), roots[0])
    return tuple(dict.fromkeys(node for root in roots for node in (*_below(root), root)))


def _below(root: Expr) -> tuple[Expr, ...]:
    """What an expression is made of, arguments before their users; walks ask for it often."""
    found = root.below
    if found is None:
        if any(a.below is None for a in root.args):  # to ask each for its own would be quadratic
            found = _walked(root)[:-1]
        else:
            found = postorder(*root.args)
        root.below = found
    return found


def _walked(root: Expr) -> tuple[Expr, ...]:
    done: set[Expr] = set()
    begun: set[Expr] = set()
    order: list[Expr] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node in done:
            continue
        if node.args and node not in begun:
            begun.add(node)
            stack.append(node)
            stack.extend(node.args[::-1])
            continue
        done.add(node)
        order.append(node)
    return tuple(order)


# ------------------------------------------------------------------ text

_INFIX = {
    "or": (" or ", 1), "and": (" and ", 2), "lt": (" < ", 4), "le": (" <= ", 4), "eq": (" == ", 4),
    "ne": (" != ", 4), "add": (" + ", 5), "sub": (" - ", 5), "mul": ("*", 6), "div": ("/", 6),
    "floordiv": ("//", 6), "mod": (" % ", 6),
}  # fmt: skip
_LONGEST = 250  # nodes of a sub-expression that is written out; shared ones count each time


def format_expr(e: Expr, names: Sequence[str] = ()) -> str:
    """One scalar expression; dim k is `names[k]`, or `d<k>` when no name is given.

    Operands beyond a length that anybody reads are `...`: written out, what is shared in the
    expression would be there once for each way to it.
    """
    sizes: dict[Expr, int] = {}
    for node in postorder(e):
        sizes[node] = 1 + sum(sizes[a] for a in node.args)
    return _written(e, names, 0, frozenset(n for n in sizes if sizes[n] > _LONGEST and n is not e))


def _written(e: Expr, names: Sequence[str], outer: int, long: frozenset[Expr]) -> str:
    def write(a: Expr, level: int = 0) -> str:
        return _written(a, names, level, long)

    if e in long:
        return "..."
    if e.op == "const":
        return f"{e.attr:g}" if e.dtype.is_float else str(e.attr)
    if e.op == "size":
        return e.attr.name
    if e.op == "dim":
        return str(names[e.attr]) if e.attr < len(names) else f"d{e.attr}"
    if e.op == "load":
        return f"{e.attr.name}[{', '.join(write(a) for a in e.args)}]"
    if e.op in _INFIX:
        sign, level = _INFIX[e.op]
        left, right = write(e.args[0], level), write(e.args[1], level + 1)
        return f"({left}{sign}{right})" if level < outer else f"{left}{sign}{right}"
    if e.op == "neg":
        text = f"-{write(e.args[0], 7)}"
        return f"({text})" if outer > 5 else text
    name = {"select": "where", "cast": e.dtype.name}.get(e.op, e.op)
    return f"{name}({', '.join(write(a) for a in e.args)})"
