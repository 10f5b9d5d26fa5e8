"""Between which values integers of data are, whatever the inputs hold: intervals.

Before: idx[i], where idx = argmax(x, axis 1) of ten columns      After: [0, 9]

An input has all values of its type, a literal those that are in it. What is computed has those of
its equations, and so have the few tensors that these read; what lies further away has those of its
type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, prod

from ted.domain import intervals
from ted.domain.intervals import UNKNOWN, Interval
from ted.ir.dtypes import DType
from ted.ir.equations import Equation, Tensor, identity
from ted.ir.expressions import Expr, postorder

DEPTH = 4  # tensors that are looked through: a chain has no end, and its steps are fused


def of_type(dtype: DType) -> Interval:
    """The values that a type of integers holds, or that of indices."""
    return UNKNOWN if dtype.is_float else dtype.range


def range_of(e: Expr) -> Interval:
    """The values of an integer or an index, at any point of any equation."""
    return _Ranges().of_expression(e, (), DEPTH)


def wraps(e: Expr) -> bool:
    """Whether arithmetic on integers may leave its type."""
    exact = _exact(e, {a: range_of(a) for a in e.args})
    return exact is None or not _within(exact, of_type(e.dtype))


class _Ranges:
    """One walk over expressions and what they read; `depth` tensors are looked through."""

    def __init__(self) -> None:
        self.tensors: dict[tuple[Tensor, int], Interval] = {}

    def of_expression(self, root: Expr, dims: Sequence[Interval], depth: int) -> Interval:
        known: dict[Expr, Interval] = {}
        for node in postorder(root):
            if node.op == "dim":
                known[node] = dims[node.attr] if dims else of_type(node.dtype)
            elif node.op == "load":
                known[node] = self.of_tensor(node.attr, depth)
            else:
                exact = _exact(node, known)
                whole = of_type(node.dtype)
                known[node] = whole if exact is None or not _within(exact, whole) else exact
        return known[root]

    def of_tensor(self, tensor: Tensor, depth: int) -> Interval:
        """The values of the elements, and 0, which a read that is refused may give."""
        held = tensor.constant
        if held is not None and held.is_literal and not tensor.dtype.is_float:
            return intervals.hull((0, 0), held.range)
        if tensor.is_input or not depth or tensor.dtype.is_float:
            return of_type(tensor.dtype)
        if (tensor, depth) not in self.tensors:
            self.tensors[tensor, depth] = self._of_tensor(tensor, depth - 1)
        return self.tensors[tensor, depth]

    def _of_tensor(self, tensor: Tensor, depth: int) -> Interval:
        whole = of_type(tensor.dtype)
        parts: list[Interval] = [(0, 0)]
        if not any(_replaces_fill(equation, tensor) for equation in tensor.equations):
            if tensor.fill is None:
                return whole
            parts.append((int(tensor.fill), int(tensor.fill)))
        for equation in tensor.equations:
            part = self._written(equation, depth)
            if part is None:
                return whole
            parts.append(part)
        found = intervals.hull(*parts)
        return found if _within(found, whole) else whole

    def _written(self, equation: Equation, depth: int) -> Interval | None:
        """What an equation leaves; None where that is not bounded by what its body is."""
        dims = [intervals.of_dim(extent) for extent in equation.extents]
        if equation.combiner in ("set", "max", "min"):
            return self.of_expression(equation.body, dims, depth)
        if equation.combiner not in ("argmax", "argmin"):
            return None
        points = prod(equation.extents[d] for d in equation.reduction_dims)
        return (0, points - 1) if isinstance(points, int) and points else None


def _replaces_fill(equation: Equation, tensor: Tensor) -> bool:
    """Whether no element keeps what was there before the equation."""
    if not equation.covers(tensor.shape):
        return False
    points = prod(equation.extents[d] for d in equation.reduction_dims)
    if equation.combiner == "set":
        return True
    some = isinstance(points, int) and points > 0
    return some and tensor.fill == identity(equation.combiner, tensor.dtype)


def _exact(node: Expr, known: Mapping[Expr, Interval]) -> Interval | None:
    """The values if the type had no ends; None for what is no arithmetic on integers."""
    if node.dtype.is_float:
        return None
    if node.op == "const":
        return int(node.attr), int(node.attr)
    if node.op == "cast":
        source = node.args[0]
        return None if source.dtype.is_float or node.dtype.kind == "bool" else known[source]
    if node.op not in intervals.OPERATIONS:
        return None
    values = [known[a] for a in node.args]
    divisor = values[-1]
    if node.op == "mod" and divisor[0] <= 0 <= divisor[1]:
        return None
    return intervals.OPERATIONS[node.op](*values)


def _within(value: Interval, whole: Interval) -> bool:
    if whole == UNKNOWN:
        return True
    return all(map(isfinite, value)) and whole[0] <= value[0] and value[1] <= whole[1]
