"""Matrix products and einsum: a compute over the free dims, a sum over the shared ones."""

from __future__ import annotations

from typing import Any

from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.axes import Axis, reduce_axis
from ted.frontend.compute import compute
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor


def matmul(a: Any, b: Any, dtype: Any = None) -> Tensor:
    """The matrix product over the last dim of `a` and the last but one of `b`, batched.

    Shapes: a (..., n, k), b (..., k, m), result (..., n, m), batch dims broadcast; a vector counts
    as a row on the left and a column on the right.
    Raises: FrontendError for a scalar operand, or inner or batch extents that do not fit together.
    """
    a, b = to_tensor(a, "matmul: left operand"), to_tensor(b, "matmul: right operand")
    if a.ndim == 0 or b.ndim == 0:
        fail(f"matmul: operands need at least 1 dim, got shapes {a.shape} and {b.shape}")
    inner, other = a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0]
    if inner != other:
        fail(f"matmul: inner extents must agree, got {a.shape} ({a.name}) and {b.shape} ({b.name})")
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    batch = checks.broadcast([a.shape[:-2], b.shape[:-2]], "matmul")
    r = reduce_axis(inner, "r")

    def element(*index: Any) -> Any:
        head, tail = index[: len(batch)], index[len(batch) :]
        row, column = tail[: len(rows)], tail[len(rows) :]
        left = a[(*_batch(a, head), *row, r)]
        right = b[(*_batch(b, head), r, *column)]
        return sum_over(left * right, axis=r, dtype=dtype)

    return compute((*batch, *rows, *columns), element, name="matmul")


def _batch(x: Tensor, head: tuple[Any, ...]) -> list[Any]:
    """The batch subscripts of an operand under broadcasting."""
    own = max(x.ndim - 2, 0)
    used = head[len(head) - own :]
    return [0 if x.shape[k] == 1 else i for k, i in enumerate(used)]


def einsum(formula: str, *xs: Any, dtype: Any = None) -> Tensor:
    """Einstein's summation, as `einsum("bij,bjk->bik", a, b)`: letters without a result are summed.

    Without an arrow the result has the letters that appear once, in alphabetical order.

    Raises: FrontendError for a letter with two extents, or one in the result that no operand has.
    """
    tensors = [to_tensor(x, f"einsum: operand {k}") for k, x in enumerate(xs)]
    terms, result = _parse(formula, tensors)
    extents = _extents(terms, tensors)
    for letter in result:
        if letter not in extents or result.count(letter) > 1:
            fail(f"einsum: the result takes letters of the operands once, got {formula!r}")
    summed = {c: reduce_axis(n, c) for c, n in extents.items() if c not in result}

    def element(*index: Axis) -> Any:
        at = {**summed, **dict(zip(result, index, strict=True))}
        product: Any = None
        for term, x in zip(terms, tensors, strict=True):
            factor = x[tuple(at[c] for c in term)]
            product = factor if product is None else product * factor
        axes = tuple(summed.values())
        return sum_over(product, axis=axes, dtype=dtype) if axes else product

    return compute(tuple(extents[c] for c in result), element, name="einsum")


def _parse(formula: Any, tensors: list[Tensor]) -> tuple[list[str], str]:
    if not isinstance(formula, str) or "." in formula or formula.count("->") > 1:
        fail(f"einsum: the formula must be letters, commas and one ->, got {formula!r}")
    left, arrow, result = formula.replace(" ", "").partition("->")
    terms = left.split(",")
    if not all(c.isalpha() for c in "".join(terms) + result):
        fail(f"einsum: the formula must be letters, commas and one ->, got {formula!r}")
    if len(terms) != len(tensors):
        fail(f"einsum: {formula!r} has {len(terms)} terms, got {len(tensors)} operands")
    if not arrow:
        joined = "".join(terms)
        result = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    return terms, result


def _extents(terms: list[str], tensors: list[Tensor]) -> dict[str, Extent]:
    extents: dict[str, Extent] = {}
    for term, x in zip(terms, tensors, strict=True):
        if len(term) != x.ndim:
            fail(f"einsum: term {term!r} needs a tensor of rank {len(term)}, got shape {x.shape}")
        for letter, extent in zip(term, x.shape, strict=True):
            if extents.setdefault(letter, extent) != extent:
                fail(f"einsum: {letter!r} has extents {extents[letter]} and {extent}")
    return extents
