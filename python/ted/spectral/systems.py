"""Least squares, chains of products, and systems whose unknowns are tensors, by NumPy's names.

Before: ted.linalg.lstsq(a, b)      After: pinv(a) @ b, with what is left over
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from ted.frontend import checks
from ted.frontend.contraction import einsum, matmul
from ted.frontend.elementwise import cast, square, to_tensor
from ted.frontend.layout import reshape, transpose
from ted.frontend.locations import fail
from ted.frontend.reductions import sum
from ted.frontend.tensors import Tensor
from ted.spectral.inverses import pinv, rank_by
from ted.spectral.singular import matrices, svdvals
from ted.spectral.solutions import inv, solve


def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The least x of those that make |a x - b| least; its square, the rank, and singular values.

    Singular values up to rcond * the greatest count as 0; max(m, n) roundings unless said.
    Shapes: a (m, n), b (m) or (m, k), x (n) or (n, k), squares (1) or (k).
    Raises: FrontendError for what is no matrix of floats, or a b of another number of rows.
    """
    a, b = to_tensor(a, "lstsq: a"), to_tensor(b, "lstsq: b")
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        fail(f"lstsq: takes a (m, n) and b (m) or (m, k), got {a.shape} and {b.shape}")
    x = matmul(pinv(a, rcond), b)
    left = reshape(sum(square(matmul(a, x) - b), 0), (-1,))
    wide, dtype = matrices(a, "lstsq: a")
    s = svdvals(wide)
    return x, left, rank_by(s, wide, rcond, "lstsq: rcond"), cast(s, dtype)


def multi_dot(arrays: Sequence[Any]) -> Tensor:
    """The product of matrices in the order that takes the fewest operations.

    The first and the last one may be vectors.
    Raises: FrontendError for fewer than two, more than 51, or shapes that do not fit.
    """
    factors = [to_tensor(x, "multi_dot") for x in checks.listed(arrays, "multi_dot")]
    ranks = [x.ndim for x in factors]
    if len(factors) < 2 or any(n != 2 for n in ranks[1:-1]) or not {*ranks} <= {1, 2}:
        fail(
            "multi_dot: takes at least two matrices, of which the first and the last may be "
            f"vectors, got shapes {[x.shape for x in factors]}"
        )
    if len(factors) >= len(ascii_letters):
        fail(f"multi_dot: takes at most {len(ascii_letters) - 1} matrices, got {len(factors)}")
    letters = [ascii_letters[k : k + 2] for k in range(len(factors))]
    letters[0], letters[-1] = letters[0][-ranks[0] :], letters[-1][: ranks[-1]]
    ends = letters[0][:-1] + letters[-1][1:]
    return einsum(f"{','.join(letters)}->{ends}", *factors)


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Tensor:
    """The x with tensordot(a, x, x.ndim) = b; `axes` of a go behind its others first.

    Shapes: b S, a (S, Q) of as many elements in S as in Q, x Q.
    Raises: FrontendError for an a that is no square matrix in this way.
    """
    a, b = to_tensor(a, "tensorsolve: a"), to_tensor(b, "tensorsolve: b")
    if axes is not None:
        last = checks.axes_of(axes, a.ndim, "tensorsolve")
        a = transpose(a, [*(k for k in range(a.ndim) if k not in last), *last])
    shape = tuple(checks.integer(n, "tensorsolve: extent") for n in a.shape[b.ndim :])
    count = math.prod(checks.integer(n, "tensorsolve: extent") for n in b.shape)
    if a.shape[: b.ndim] != b.shape or math.prod(shape) != count:
        fail(
            f"tensorsolve: a must have the dims of b, {b.shape}, then dims of {count} elements, "
            f"got {a.shape}"
        )
    return reshape(solve(reshape(a, (count, count)), reshape(b, (count,))), shape)


def tensorinv(a: Any, ind: int = 2) -> Tensor:
    """The inverse of tensordot(a, x, ...) over the dims from `ind` on.

    Shapes: a (S, Q) with `ind` dims in S and as many elements in Q, result (Q, S).
    Raises: FrontendError for an a that is no square matrix in this way.
    """
    a = to_tensor(a, "tensorinv")
    first = checks.integer(ind, "tensorinv: ind")
    shape = [checks.integer(n, "tensorinv: extent") for n in a.shape]
    rows, columns = shape[:first], shape[first:]
    count = math.prod(rows)
    if first < 1 or count != math.prod(columns):
        fail(
            f"tensorinv: dims before and from ind={ind} on must have as many elements, "
            f"got {a.shape}"
        )
    return reshape(inv(reshape(a, (count, count))), (*columns, *rows))
