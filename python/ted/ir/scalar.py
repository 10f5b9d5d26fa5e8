"""Scalar expressions: an immutable, hash-consed DAG over dims, constants and tensor reads.

Nodes are interned, so equal expressions are one object and `is` decides equality.  Dims are
positions in the equation that holds the expression (parallel dims first), which makes equal bodies
of different equations the same object.  Index arithmetic is ordinary arithmetic of type `index`.
The constructors simplify only what is exact for every value (NaN and infinities included).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from ted.domain.sizes import Extent, Quotient, Symbol, symbolic
from ted.ir.dtypes import BOOL, INDEX, INT64, DType, is_weak_type
from ted.ir.expressions import Expr, Number, interned, postorder
from ted.ir.operations import OPERATIONS


class Readable(Protocol):
    """What an expression can read: `ted.ir.equations.Tensor`."""

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        ...

    @property
    def shape(self) -> tuple[Extent, ...]:
        """Its extents."""
        ...


AnyReadable = TypeVar("AnyReadable", bound=Readable)

# ------------------------------------------------------------------ leaves


_PYTHON: dict[str, Callable[[Any], Number]] = {
    "float": float, "int": int, "index": int, "bool": bool,
}  # fmt: skip


def const(value: Number, dtype: DType) -> Expr:
    """The constant `value` of type `dtype`; integers wrap, a weak one has any number of bits."""
    value = _PYTHON[dtype.kind](value)
    if dtype.kind == "int" and not 0 <= value < 128 and not is_weak_type(dtype):
        value = dtype.wrapped(int(value))
    return interned("const", (), value, dtype)


def index(value: Extent) -> Expr:
    """The index `value`: a constant, or an expression of sizes."""
    if isinstance(value, int):
        return const(value, INDEX)
    total = index(0)
    for coefficient, monomial in value.terms:
        term = index(1)
        for factor in monomial:
            term = mul(term, _factor(factor))
        ratio = Fraction(coefficient)
        total = add(total, mul(floordiv(term, index(ratio.denominator)), index(ratio.numerator)))
    return add(total, index(value.const))


def number(value: Extent, dtype: DType) -> Expr:
    """An extent as a value of type `dtype`."""
    return const(value, dtype) if isinstance(value, int) else cast(index(value), dtype)


def _factor(factor: Symbol | Quotient) -> Expr:
    if isinstance(factor, Symbol):
        return size(factor)
    return floordiv(index(factor.inner), index(factor.divisor))


def size(symbol: Symbol) -> Expr:
    """The value of a symbolic size."""
    return interned("size", (), symbol, INDEX)


def dim(position: int) -> Expr:
    """The value of iteration dim `position` of the surrounding equation."""
    return interned("dim", (), position, INDEX)


def load(tensor: Readable, indices: Sequence[Expr]) -> Expr:
    """The element of `tensor` at `indices` (one per dim, of type index)."""
    assert len(indices) == len(tensor.shape), f"{tensor}: rank {len(tensor.shape)}, got {indices}"
    assert all(i.dtype.is_index for i in indices), f"{tensor}: non-index subscript in {indices}"
    return interned("load", tuple(indices), tensor, tensor.dtype)


TRUE = const(True, BOOL)
FALSE = const(False, BOOL)


def as_extent(e: Expr) -> Extent | None:
    """An index made of constants and sizes alone as an extent; None for any other."""
    if e.op == "const":
        return e.attr if e.dtype.is_index else None
    if e.op == "size":
        return symbolic(e.attr)
    if e.op not in _ON_EXTENTS:
        return None
    args = [as_extent(a) for a in e.args]
    if any(a is None for a in args) or (e.op in ("floordiv", "mod") and not _is_divisor(args[1])):
        return None
    return _ON_EXTENTS[e.op](*args)


def _is_divisor(value: Extent | None) -> bool:
    return isinstance(value, int) and value > 0


_ON_EXTENTS: dict[str, Callable[..., Extent]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "neg": lambda a: -a, "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
}  # fmt: skip


def is_const(e: Expr, value: Number | None = None) -> bool:
    """Whether `e` is a constant, and equal to `value` if one is given."""
    return e.op == "const" and (value is None or e.attr == value)


# ------------------------------------------------------------------ operations


def _typed(name: str, *args: Expr) -> Expr:
    row = OPERATIONS[name]
    values = args[1:] if name == "select" else args
    dtype = values[0].dtype
    assert len(args) == row.arity, f"{name}: {row.arity} arguments, got {len(args)}"
    for a in values:
        same = a.dtype is dtype or a.dtype == dtype
        assert same, f"{name}: one type, got {[a.dtype for a in values]}"
    assert dtype.kind in row.kinds, f"{name}: not defined on {dtype}"
    return interned(name, args, None, BOOL if row.rule in ("compare", "logic") else dtype)


def apply(name: str, *args: Expr) -> Expr:
    """The operation `name` of the table on `args`, simplified where that is exact."""
    simplify = _SIMPLIFY.get(name)
    return simplify(*args) if simplify is not None else _typed(name, *args)


def _exact(e: Expr) -> bool:
    return not e.dtype.is_float


def add(a: Expr, b: Expr) -> Expr:
    """a + b."""
    if is_const(b, 0):
        return a
    if is_const(a, 0):
        return b
    if _has_exact_sum(a, b):
        return const(a.attr + b.attr, a.dtype)
    if a.op == "neg" and b.op != "neg":
        return sub(b, a.args[0])
    return sub(a, b.args[0]) if b.op == "neg" else _typed("add", a, b)


def _has_exact_sum(a: Expr, b: Expr) -> bool:
    return is_const(a) and is_const(b) and (_exact(a) or (_is_small(a) and _is_small(b)))


def _is_small(e: Expr) -> bool:
    """An integer that every float type holds, with room for a sum of two."""
    return abs(e.attr) <= 64 and float(e.attr).is_integer()


def sub(a: Expr, b: Expr) -> Expr:
    """a - b."""
    if is_const(b, 0):
        return a
    if is_const(a, 0):
        return neg(b)
    if _exact(a) and a is b:
        return const(0, a.dtype)
    if _has_exact_sum(a, b):
        return const(a.attr - b.attr, a.dtype)
    return add(a, b.args[0]) if b.op == "neg" else _typed("sub", a, b)


def neg(a: Expr) -> Expr:
    """-a."""
    if is_const(a):
        return const(-a.attr, a.dtype)
    return a.args[0] if a.op == "neg" else _typed("neg", a)


def mul(a: Expr, b: Expr) -> Expr:
    """a * b; a zero factor is dropped for integers only (0 * inf is NaN)."""
    for x, y in ((a, b), (b, a)):
        if is_const(x, 1):
            return y
        if is_const(x, -1):
            return neg(y)
        if is_const(x, 0) and _exact(x):
            return x
    if _exact(a) and is_const(a) and is_const(b):
        return const(a.attr * b.attr, a.dtype)
    return _typed("mul", a, b)


def div(a: Expr, b: Expr) -> Expr:
    """a / b, floats only."""
    return a if is_const(b, 1) else _typed("div", a, b)


def floordiv(a: Expr, b: Expr) -> Expr:
    """The quotient rounded towards minus infinity, integers and indices.

    Index sets know positive divisors only.  An integer keeps its divisor: the least one that a
    type has cannot be negated.
    """
    if is_const(b, 1):
        return a
    if is_const(a) and is_const(b) and b.attr != 0:
        return const(a.attr // b.attr, a.dtype)
    if _is_negative_index(b):
        return floordiv(neg(a), neg(b))
    return _typed("floordiv", a, b)


def mod(a: Expr, b: Expr) -> Expr:
    """a - b * floordiv(a, b), integers and indices."""
    if is_const(b, 1):
        return const(0, a.dtype)
    if is_const(a) and is_const(b) and b.attr != 0:
        return const(a.attr % b.attr, a.dtype)
    if _is_negative_index(b):
        return neg(mod(neg(a), neg(b)))
    return _typed("mod", a, b)


def _is_negative_index(e: Expr) -> bool:
    return e.dtype.is_index and is_const(e) and e.attr < 0


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def compare(name: str, a: Expr, b: Expr) -> Expr:
    """The comparison `name` (lt, le, eq, ne) as a bool."""
    if is_const(a) and is_const(b):
        return const(_COMPARE[name](_number(a), _number(b)), BOOL)
    if a.dtype.is_unsigned and is_const(b if name == "lt" else a, 0) and name in ("lt", "le"):
        return FALSE if name == "lt" else TRUE
    one, other = _as_index(a), _as_index(b)
    return _typed(name, a, b) if one is None or other is None else _typed(name, one, other)


def _as_index(e: Expr) -> Expr | None:
    """The index that an integer of 64 bits is, which holds every index; None for data."""
    if e.dtype != INT64 or e.op not in ("cast", "const"):
        return None
    if is_const(e):
        return index(e.attr)
    return e.args[0] if e.args[0].dtype.is_index else None


def land(a: Expr, b: Expr) -> Expr:
    """a and b."""
    if a is FALSE or b is FALSE:
        return FALSE
    if a is TRUE or a is b:
        return b
    return a if b is TRUE else _typed("and", a, b)


def lor(a: Expr, b: Expr) -> Expr:
    """a or b."""
    if a is TRUE or b is TRUE:
        return TRUE
    if a is FALSE or a is b:
        return b
    return a if b is FALSE else _typed("or", a, b)


def lnot(a: Expr) -> Expr:
    """not a."""
    if a.op == "const":
        return const(not a.attr, BOOL)
    return a.args[0] if a.op == "not" else _typed("not", a)


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """a where the condition holds, else b; both sides are values, neither is skipped."""
    if condition.op == "not":
        return select(condition.args[0], b, a)
    if condition is TRUE or a is b:
        return a
    if condition is FALSE:
        return b
    if a.op == "select" and a.args[0] is condition:
        a = a.args[1]
    if b.op == "select" and b.args[0] is condition:
        b = b.args[2]
    return _typed("select", condition, a, b)


def cast(a: Expr, dtype: DType) -> Expr:
    """a converted to `dtype`: floats truncate towards zero, bool is a != 0."""
    if a.op == "cast" and _is_view(a.dtype, dtype) and not a.args[0].dtype.is_float:
        a = a.args[0]  # the same bits, whatever the sign in between
    if a.dtype == dtype:
        return a
    if is_const(a) and (dtype.is_float or not a.dtype.is_float):
        return const(_number(a), dtype)
    return interned("cast", (a,), None, dtype)


def _number(e: Expr) -> Number:
    """The number that a constant is where it is computed with: of a float, rounded to its type."""
    return e.dtype.rounded(e.attr) if e.dtype.is_float else e.attr


def _is_view(a: DType, b: DType) -> bool:
    """Whether two types of integers differ in their sign alone."""
    return a.kind == b.kind == "int" and a.bits == b.bits and a != b


def extremum(name: str, a: Expr, b: Expr) -> Expr:
    """maximum or minimum, NaN propagating."""
    if a is b:
        return a
    if _exact(a) and is_const(a) and is_const(b):
        return const((max if name == "maximum" else min)(a.attr, b.attr), a.dtype)
    return _typed(name, a, b)


def unchecked(a: Expr) -> Expr:
    """The index a, which is inside its tensor by the user's word; nothing checks it."""
    return a if a.op in ("unchecked", "const", "dim") else _typed("unchecked", a)


def is_trusted(e: Expr) -> bool:
    """Whether an index is data, and every value of a tensor in it is below `unchecked`."""
    stack, seen = [e], {e}
    while stack:
        node = stack.pop()
        if node.op == "load":
            return False
        fresh = [a for a in node.args if a not in seen] if node.op != "unchecked" else []
        seen.update(fresh)
        stack += fresh
    return any(node.op == "unchecked" for node in seen)


def absolute(a: Expr) -> Expr:
    """The magnitude."""
    return a if a.dtype.is_unsigned else _typed("abs", a)


_ON_BITS: dict[str, Callable[[int, int], int]] = {
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
    "shiftleft": operator.lshift,
    "shiftright": operator.rshift,
}


def bits(name: str, a: Expr, b: Expr) -> Expr:
    """An operation on the bits of integers; counts of shifts are below the width."""
    if is_const(a) and is_const(b) and not (name in _SHIFTS and not 0 <= b.attr < a.dtype.bits):
        return const(a.dtype.wrapped(_ON_BITS[name](a.attr, b.attr)), a.dtype)
    return a if is_const(b, 0) and name != "bitand" else _typed(name, a, b)


_SHIFTS = ("shiftleft", "shiftright")

_SIMPLIFY: dict[str, Callable[..., Expr]] = {
    "abs": absolute,
    "add": add, "sub": sub, "neg": neg, "mul": mul, "div": div, "floordiv": floordiv, "mod": mod,
    "and": land, "or": lor, "not": lnot, "select": select, "unchecked": unchecked,
    "maximum": lambda a, b: extremum("maximum", a, b),
    "minimum": lambda a, b: extremum("minimum", a, b),
    **{n: (lambda a, b, n=n: compare(n, a, b)) for n in _COMPARE},
    **{n: (lambda a, b, n=n: bits(n, a, b)) for n in _ON_BITS},
}  # fmt: skip


# ------------------------------------------------------------------ walks


def loads(*roots: Expr) -> list[Expr]:
    """The distinct reads below the roots, in first-use order, those inside subscripts included."""
    return [n for n in postorder(*roots) if n.op == "load"]


def rebuild(node: Expr, args: Iterable[Expr]) -> Expr:
    """`node` with other arguments, simplified."""
    args = tuple(args)
    if args == node.args:
        return node
    if node.op == "load":
        return load(node.attr, args)
    return cast(args[0], node.dtype) if node.op == "cast" else apply(node.op, *args)


def rewrite(
    roots: Sequence[Expr], leaf: Callable[[Expr, tuple[Expr, ...]], Expr | None]
) -> list[Expr]:
    """Rewrite bottom up: `leaf(node, new_args)` gives a replacement, or None to rebuild."""
    changed: dict[Expr, Expr] = {}  # most nodes of most roots stay
    for node in postorder(*roots):
        args = node.args
        if not changed.keys().isdisjoint(args):
            args = tuple([changed.get(a, a) for a in args])
        new = leaf(node, args)
        if new is None:
            new = node if args is node.args else rebuild(node, args)
        if new is not node:
            changed[node] = new
    return [changed.get(root, root) for root in roots]


def substitute(roots: Sequence[Expr], dims: Sequence[Expr]) -> list[Expr]:
    """Replace dim k by `dims[k]` everywhere."""
    if all(dims[k] is dim(k) for k in dims_used(*roots)):
        return list(roots)
    return rewrite(roots, lambda n, _: dims[n.attr] if n.op == "dim" else None)


def replace_tensors(
    roots: Sequence[Expr], mapping: Mapping[AnyReadable, AnyReadable]
) -> list[Expr]:
    """Read `mapping[t]` instead of `t`."""

    def swap(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        new = mapping.get(node.attr) if node.op == "load" else None
        return None if new is None else load(new, args)

    return rewrite(roots, swap)


def replace_nodes(root: Expr, mapping: dict[Expr, Expr]) -> Expr:
    """Replace whole sub-expressions, outermost first."""
    done = dict(mapping)
    stack = [root]
    while stack:
        node = stack[-1]
        waiting = [a for a in node.args if a not in done] if node not in done else []
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if node not in done:
            done[node] = rebuild(node, [done[a] for a in node.args])
    return done[root]


def dims_used(*roots: Expr) -> set[int]:
    """Positions of the dims that the roots mention, subscripts included."""
    return set().union(*(r.dims for r in roots))


def is_linear(e: Expr) -> bool:
    """Whether an index is a linear function of one dim, or a constant."""
    if e.op == "mul":
        return any(map(is_const, e.args)) and all(map(is_linear, e.args))
    linear = e.op in ("dim", "const") or (e.op in _SUMS and all(map(is_linear, e.args)))
    return linear and len(dims_used(e)) <= 1


_SUMS = ("add", "sub", "neg")


def reads_data(*roots: Expr) -> bool:
    """Whether a value of a tensor is read anywhere below the roots."""
    return any(r.reads for r in roots)


def iter_weighted(*roots: Expr) -> Iterator[tuple[Expr, int]]:
    """The nodes that the operation count counts, each once, with their weights.

    Free: index arithmetic (also inside subscripts), comparisons of indices and logic on them.
    """
    for node in postorder(*roots):
        if _is_counted(node):
            yield node, OPERATIONS[node.op].weight


def _is_counted(node: Expr) -> bool:
    if node.op not in OPERATIONS or node.dtype.is_index:
        return False
    return node.dtype.kind != "bool" or node.reads


def is_work(node: Expr) -> bool:
    """Whether an evaluation costs anything."""
    own = OPERATIONS[node.op].weight if _is_counted(node) else 0
    return own > 0 or weight(node) > 0


def weight(*roots: Expr) -> int:
    """The weighted operations that one evaluation of the roots costs, shared nodes once."""
    return sum(w for _, w in iter_weighted(*roots))
