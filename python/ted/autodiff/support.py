"""Where an expression can be non-zero: the exact zero elimination of adjoints.

The support of a product is the intersection of the supports, of a sum the union, of a select on an
affine condition the matching parts.  Restricting an adjoint equation to its support turns guards
of the forward program into bounds of the backward one.  An adjoint is zero where nothing writes it,
so that what is behind a slice is differentiated at the points of the slice only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.domain import bounds, parameters
from ted.domain.budget import BudgetExhausted, bounded
from ted.domain.sizes import is_symbolic
from ted.ir.affine import NotAffine, condition_bounds, piecewise
from ted.ir.equations import Equation, Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import is_const

_KEEPS_ZERO = {"neg", "tanh", "sin", "sinh", "asin", "atan", "asinh", "sqrt", "cast", "abs", "erf",
               "expm1", "log1p", "floor", "ceil", "round", "trunc", "stop_gradient", "cbrt",
               "tan", "atanh"}  # fmt: skip


def support(root: Expr, domain: Any) -> Any:
    """A set containing every point of `domain` where `root` is not zero."""
    memo: dict[Expr, Any] = {}
    for node in postorder(root):
        if node.dtype.is_float:
            memo[node] = _support(node, domain, memo)
    return memo[root].coalesce()


def _support(node: Expr, domain: Any, memo: dict[Expr, Any]) -> Any:
    if is_const(node, 0):
        return domain.subtract(domain)
    if node.op == "mul":
        return memo[node.args[0]].intersect(memo[node.args[1]])
    if node.op in ("add", "sub"):
        return memo[node.args[0]].union(memo[node.args[1]])
    if node.op == "div" or (node.op in _KEEPS_ZERO and node.args[0] in memo):
        return memo[node.args[0]]
    if node.op == "select":
        return _select_support(node, domain, memo)
    return domain


def _select_support(node: Expr, domain: Any, memo: dict[Expr, Any]) -> Any:
    condition, a, b = node.args
    over, under = condition_bounds(condition, domain)
    return memo[a].intersect(over).union(memo[b].subtract(under))


def written_part(tensor: Tensor, equations: Sequence[Equation]) -> Any | None:
    """The elements that equations write, where they are one basic set and not the whole tensor."""
    if is_symbolic(tensor.shape) or any(_writes_all(e, tensor) for e in equations):
        return None
    try:
        parts = [_image(e) for e in equations]
    except (NotAffine, BudgetExhausted):
        return None
    if not parts:
        return None
    union = parts[0]
    for part in parts[1:]:
        union = union.union(part)
    written = bounded(union.coalesce)
    if written is None or written.n_basic_set() != 1:
        return None
    return None if parameters.box(tensor.shape).is_subset(written) else written


def _writes_all(equation: Equation, tensor: Tensor) -> bool:
    """Whether an equation writes every element, each at a place of its own dims."""
    extents = [equation.extents[w.attr] if w.op == "dim" else None for w in equation.write]
    places = {w.attr for w in equation.write if w.op == "dim"}
    plain = len(places) == len(tensor.shape) and tuple(extents) == tensor.shape
    return plain and equation.is_box


def _image(equation: Equation) -> Any:
    write = [piecewise(w, equation.domain) for w in equation.write]
    return bounds.image(equation.domain, write)


def points_writing(equation: Equation, part: Any | None) -> Any:
    """The points of an equation that write into a part of its tensor; all where it is not known."""
    if part is None:
        return equation.domain
    try:
        write = [piecewise(w, equation.domain) for w in equation.write]
        return bounds.writing(equation.domain, write, part)
    except (NotAffine, BudgetExhausted):
        return equation.domain
