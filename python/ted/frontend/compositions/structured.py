"""Matrices that are made of smaller tensors, by SciPy's names: users call them `ted.linalg`.

Before: ted.linalg.toeplitz(c)      After: c[i - j] on and below the diagonal, c[j - i] above
"""

from __future__ import annotations

import functools
from typing import Any

from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.elementwise import cast, to_tensor, where
from ted.frontend.joining import concatenate, padded
from ted.frontend.layout import flatten, reshape
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import promote


def block_diag(*arrays: Any) -> Tensor:
    """The matrix with these matrices along its diagonal, and zeros; a vector is a row.

    Raises: FrontendError for no matrices, or what has more than 2 dims.
    """
    found = [to_tensor(x, "block_diag") for x in arrays]
    if not found or any(x.ndim > 2 for x in found):
        fail(f"block_diag: takes matrices, got shapes {[x.shape for x in found]}")
    blocks = [x if x.ndim == 2 else reshape(x, (1, -1)) for x in found]
    kind = functools.reduce(promote, (x.dtype for x in blocks))
    widths = [checks.integer(x.shape[1], "block_diag: extent") for x in blocks]
    rows, before, width = [], 0, sum(widths)
    for x, n in zip(blocks, widths, strict=True):
        rows.append(padded(cast(x, kind), ((0, 0), (before, width - before - n))))
        before += n
    return concatenate(rows, 0)


def toeplitz(c: Any, r: Any = None) -> Tensor:
    """The matrix with c as first column and r[1:] in its first row, the same along diagonals.

    Without r it is symmetric.
    Shapes: c (n), r (m), result (n, m); others are flattened.
    Raises: FrontendError for no elements.
    """
    c = flatten(to_tensor(c, "toeplitz"))
    r = c if r is None else flatten(to_tensor(r, "toeplitz: r"))
    kind = promote(c.dtype, r.dtype)
    c, r = cast(c, kind), cast(r, kind)
    if not c.shape[0] or not r.shape[0]:
        fail(f"toeplitz: takes at least one element of each, got {c.shape} and {r.shape}")
    shape = (c.shape[0], r.shape[0])
    return compute(shape, lambda i, j: where(i >= j, c[i - j], r[j - i]), name="toeplitz")
