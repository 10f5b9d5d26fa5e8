"""Where an expression can be non-zero: the exact zero elimination of adjoints.

The support of a product is the intersection of the supports, of a sum the union, of a select on an
affine condition the matching parts.  Restricting an adjoint equation to its support turns guards
of the forward program into bounds of the backward one.
"""

from __future__ import annotations

from typing import Any

from ted.ir.affine import condition_bounds
from ted.ir.scalar import Expr, is_const, postorder

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
