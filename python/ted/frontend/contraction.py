"""Matrix products and einsum: a compute over the free dims, a sum over the shared ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.axes import Axis, reduce_axis
from ted.frontend.compute import compute
from ted.frontend.elementwise import to_tensor
from ted.frontend.layout import flatten
from ted.frontend.locations import fail
from ted.frontend.reductions import contracted
from ted.frontend.tensors import Tensor

Labels: TypeAlias = "Sequence[Any]"  # of dims: equal ones are one index


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
        return contracted(left * right, r, dtype)

    return compute((*batch, *rows, *columns), element, name="matmul")


def _batch(x: Tensor, head: tuple[Any, ...]) -> list[Any]:
    """The batch subscripts of an operand under broadcasting."""
    own = max(x.ndim - 2, 0)
    used = head[len(head) - own :]
    return [0 if x.shape[k] == 1 else i for k, i in enumerate(used)]


def einsum(formula: str, *xs: Any, dtype: Any = None) -> Tensor:
    """Einstein's summation, as `einsum("bij,bjk->bik", a, b)`: letters without a result are summed.

    Without an arrow the result has the dims of `...`, then the letters that appear once, in
    alphabetical order.  `...` stands for dims that broadcast, and are summed if the result has
    none.

    Raises: FrontendError for a letter with two extents, or one in the result that no operand has.
    """
    tensors = [to_tensor(x, f"einsum: operand {k}") for k, x in enumerate(xs)]
    terms, result = _parse(formula, tensors)
    extents = _extents(terms, tensors)
    for letter in result:
        if letter not in extents or result.count(letter) > 1:
            fail(f"einsum: the result takes letters of the operands once, got {formula!r}")
    return _summed("einsum", terms, result, extents, tensors, dtype)


def _summed(
    what: str, terms: Sequence[Labels], result: Labels, extents: dict[Any, Extent],
    tensors: Sequence[Tensor], dtype: Any = None,
) -> Tensor:  # fmt: skip
    """The sum of products over the labels that the result has not."""
    summed = {c: reduce_axis(n, f"r{c}" if isinstance(c, int) else str(c))
              for c, n in extents.items() if c not in result}  # fmt: skip

    def element(*index: Axis) -> Any:
        at = {**summed, **dict(zip(result, index, strict=True))}
        product: Any = None
        for term, x in zip(terms, tensors, strict=True):
            places = zip(term, x.shape, strict=True)
            factor = x[tuple(0 if n == 1 != extents[c] else at[c] for c, n in places)]
            product = factor if product is None else product * factor
        axes = tuple(summed.values())
        return contracted(product, axes, dtype) if axes else product

    return compute(tuple(extents[c] for c in result), element, name=what)


def _parse(formula: Any, tensors: list[Tensor]) -> tuple[list[list[Any]], list[Any]]:
    """The labels of each term and of the result: letters, and numbers -1, -2, ... for `...`."""
    text = formula.replace(" ", "") if isinstance(formula, str) else "?"
    left, arrow, right = text.partition("->")
    words = left.split(",")
    plain = [word.replace("...", "", 1) for word in (*words, right)]
    if not all(c.isalpha() for c in "".join(plain)):
        fail(f"einsum: the formula must be letters, commas, ... and one ->, got {formula!r}")
    if len(words) != len(tensors):
        fail(f"einsum: {formula!r} has {len(words)} terms, got {len(tensors)} operands")
    ranks = [x.ndim - len(p) for x, p in zip(tensors, plain, strict=False)]
    most = max((n for n, word in zip(ranks, words, strict=True) if "..." in word), default=0)
    if not arrow:
        joined = "".join(plain[:-1])
        once = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
        right = ("..." if "..." in left else "") + once
    terms = [_labels(word, n) for word, n in zip(words, ranks, strict=True)]
    return terms, _labels(right, most)


def _labels(word: str, rank: int) -> list[Any]:
    before, dots, after = word.partition("...")
    return [*before, *(range(-rank, 0) if dots else ()), *after]


def _extents(terms: list[list[Any]], tensors: list[Tensor]) -> dict[Any, Extent]:
    extents: dict[Any, Extent] = {}
    for term, x in zip(terms, tensors, strict=True):
        if len(term) != x.ndim:
            shown = "".join(c if isinstance(c, str) else "" for c in term)
            fail(f"einsum: term {shown!r} needs a tensor of rank {len(term)}, got shape {x.shape}")
        for letter, extent in zip(term, x.shape, strict=True):
            known = extents.setdefault(letter, extent)
            if known != extent and not (isinstance(letter, int) and 1 in (known, extent)):
                name = "..." if isinstance(letter, int) else letter
                fail(f"einsum: {name!r} has extents {known} and {extent}")
            if known != extent and known == 1:
                extents[letter] = extent
    return extents


# ------------------------------------------------------------------ products by dims


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """The product summed over the last `axes` dims of a and the first of b, or over a pair of dims.

    Raises: FrontendError for dims that do not exist, or extents that differ.
    """
    a, b = _pair(a, b, "tensordot")
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            fail(f"tensordot: axes must be a number or those of a and those of b, got {axes!r}")
        dims = [checks.axes_of(k, x.ndim, "tensordot") for k, x in zip(axes, (a, b), strict=True)]
    else:
        count = checks.integer(axes, "tensordot: axes")
        if not 0 <= count <= min(a.ndim, b.ndim):
            fail(f"tensordot: axes must be in [0, {min(a.ndim, b.ndim)}], got {count}")
        dims = [tuple(range(a.ndim - count, a.ndim)), tuple(range(count))]
    summed = [tuple(x.shape[k] for k in own) for x, own in zip((a, b), dims, strict=True)]
    if summed[0] != summed[1]:
        fail(f"tensordot: summed extents must agree, got {a.shape} and {b.shape} over {axes!r}")
    left = [dims[0].index(k) if k in dims[0] else f"a{k}" for k in range(a.ndim)]
    right = [dims[1].index(k) if k in dims[1] else f"b{k}" for k in range(b.ndim)]
    extents = {**dict(zip(left, a.shape, strict=True)), **dict(zip(right, b.shape, strict=True))}
    result = [c for c in (*left, *right) if isinstance(c, str)]
    return _summed("tensordot", [left, right], result, extents, [a, b])


def vecdot(a: Any, b: Any, axis: int = -1) -> Tensor:
    """The sum of products along `axis`, of operands that broadcast elsewhere.

    Raises: FrontendError for an axis that one does not have, or extents that differ.
    """
    a, b = _pair(a, b, "vecdot")
    places = [checks.axis_of(axis, x.ndim, "vecdot") for x in (a, b)]
    extents = {a.shape[places[0]], b.shape[places[1]]}
    if len(extents) > 1:
        fail(f"vecdot: extents along axis {axis} must agree, got {a.shape} and {b.shape}")
    terms = [
        ["r" if k == along else k - x.ndim + (k < along) for k in range(x.ndim)]
        for x, along in zip((a, b), places, strict=True)
    ]
    common = _extents(terms, [a, b])
    result = sorted(c for c in common if isinstance(c, int))
    return _summed("vecdot", terms, result, common, [a, b])


def outer(a: Any, b: Any) -> Tensor:
    """Every element of a times every element of b, both flattened.

    Shapes: result (size of a, size of b).
    """
    a, b = (flatten(x) for x in _pair(a, b, "outer"))
    return einsum("i,j->ij", a, b)


def dot(a: Any, b: Any) -> Tensor:
    """The product over the last dim of a and the last but one of b; a scalar multiplies.

    Raises: FrontendError for extents that differ.
    """
    a, b = _pair(a, b, "dot")
    if not (a.ndim and b.ndim):
        return a * b
    return tensordot(a, b, (a.ndim - 1, max(b.ndim - 2, 0)))


def inner(a: Any, b: Any) -> Tensor:
    """The product over the last dims; a scalar multiplies.

    Raises: FrontendError for extents that differ.
    """
    a, b = _pair(a, b, "inner")
    return tensordot(a, b, (a.ndim - 1, b.ndim - 1)) if a.ndim and b.ndim else a * b


def _pair(a: Any, b: Any, what: str) -> tuple[Tensor, Tensor]:
    return to_tensor(a, f"{what}: left operand"), to_tensor(b, f"{what}: right operand")
