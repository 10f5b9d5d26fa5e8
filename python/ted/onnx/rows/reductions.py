"""Reductions, contractions, positions and running sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ted
from ted import nn
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node


def reduction(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The row of a reduction: axes as an attribute or an input, all by default; the type stays."""

    def row(node: Node, x: Tensor, axes: Any = None) -> Tensor:
        found = node.numbers(1, "axes", None)
        if not found and node.attr("noop_with_empty_axes", 0):
            return fn(x, (), True).astype(x.dtype)
        axis = tuple(found) if found else tuple(range(x.ndim))
        return fn(x, axis, bool(node.attr("keepdims", 1))).astype(x.dtype)

    return row


def _sum(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return ted.sum(x, axis, keepdims=keepdims)


REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "ReduceSum": _sum,
    "ReduceMean": lambda x, axis, keep: ted.mean(x, axis, keepdims=keep),
    "ReduceProd": lambda x, axis, keep: ted.prod(x, axis, keepdims=keep),
    "ReduceMax": lambda x, axis, keep: ted.max(x, axis, keepdims=keep),
    "ReduceMin": lambda x, axis, keep: ted.min(x, axis, keepdims=keep),
    "ReduceL1": lambda x, axis, keep: _sum(ted.abs(x), axis, keep),
    "ReduceL2": lambda x, axis, keep: ted.sqrt(_sum(x * x, axis, keep)),
    "ReduceLogSum": lambda x, axis, keep: ted.log(_sum(x, axis, keep)),
    "ReduceLogSumExp": lambda x, axis, keep: ted.logsumexp(x, axis, keepdims=keep),
    "ReduceSumSquare": lambda x, axis, keep: _sum(x * x, axis, keep),
}


def matmul(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Products of matrices in the type of the operands."""
    return ted.matmul(a, b).astype(a.dtype)


def gemm(node: Node, a: Tensor, b: Tensor, c: Any = None) -> Tensor:
    """alpha a b + beta c, both factors transposed or not."""
    a = a.T if node.attr("transA", 0) else a
    b = b.T if node.attr("transB", 0) else b
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    found = ted.matmul(a, b)
    found = found if alpha == 1 else found * alpha
    if c is not None:
        found = found + (c if beta == 1 else c * beta)
    return found.astype(a.dtype)


def einsum(node: Node, *inputs: Tensor) -> Tensor:
    """A sum of products by a formula."""
    formula = node.attr("equation").replace(" ", "")
    if "->" not in formula:
        terms = formula.replace("...", "").replace(",", "")
        free = "".join(sorted(c for c in set(terms) if terms.count(c) == 1))
        formula += "->" + ("..." if "..." in formula else "") + free
    return ted.einsum(formula, *inputs)


def extremum_at(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The row of a position: the first or the last of equals."""

    def row(node: Node, x: Tensor) -> Tensor:
        axis, keep = node.attr("axis", 0), bool(node.attr("keepdims", 1))
        if not node.attr("select_last_index", 0):
            return fn(x, axis, keepdims=keep).astype("int64")
        return (x.shape[axis] - 1 - fn(ted.flip(x, axis), axis, keepdims=keep)).astype("int64")

    return row


def running(fn: Callable[..., Tensor], neutral: int) -> Callable[..., Tensor]:
    """The row of a running sum or product, with or without the element itself."""

    def row(node: Node, x: Tensor, axis: Any) -> Tensor:
        along, back = int(node.known(1)) % x.ndim, bool(node.attr("reverse", 0))
        if node.attr("exclusive", 0):
            width = [(0, 0)] * x.ndim
            width[along] = (0, 1) if back else (1, 0)
            whole = [slice(None)] * x.ndim
            whole[along] = slice(1, None) if back else slice(0, x.shape[along])
            x = ted.pad(x, width, "constant", neutral)[tuple(whole)]
        return fn(x, along, reverse=back).astype(x.dtype)

    return row


def along_axis(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The row of a softmax: of the last dims together before version 13."""

    def row(node: Node, x: Tensor) -> Tensor:
        if node.version >= 13:
            return fn(x, node.attr("axis", -1))
        axis = node.attr("axis", 1) % max(x.ndim, 1)
        return fn(x, tuple(range(axis, x.ndim)))

    return row


def hardmax(node: Node, x: Tensor) -> Tensor:
    """1 at the first greatest element, 0 elsewhere."""
    axis = node.attr("axis", -1 if node.version >= 13 else 1) % x.ndim
    best = ted.argmax(x, axis, keepdims=True)
    place = ted.reshape(
        ted.arange(x.shape[axis]), tuple(n if k == axis else 1 for k, n in enumerate(x.shape))
    )
    return (place == best).astype(x.dtype)


def top(node: Node, x: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    """The k greatest or least elements, and their positions."""
    count = node.numbers(1, "k")
    number = count[0] if isinstance(count, list) else count
    values, at = ted.topk(x, number, node.attr("axis", -1), bool(node.attr("largest", 1)))
    return values, at.astype("int64")


def determinant(node: Node, x: Tensor) -> Tensor:
    """Of the last two dims."""
    return ted.linalg.det(x)


RULES = {
    **{name: reduction(fn) for name, fn in REDUCTIONS.items()},
    "MatMul": matmul, "Gemm": gemm, "Einsum": einsum,
    "ArgMax": extremum_at(ted.argmax), "ArgMin": extremum_at(ted.argmin),
    "CumSum": running(ted.cumsum, 0), "CumProd": running(ted.cumprod, 1),
    "Softmax": along_axis(nn.softmax), "LogSoftmax": along_axis(nn.log_softmax),
    "Hardmax": hardmax, "TopK": top, "Det": determinant,
}  # fmt: skip
