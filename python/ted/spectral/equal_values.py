"""What slopes cannot tell where values are equal: it is NaN, not a number that misses a part.

Vectors of equal values are any basis.  A function that is the same for every basis may tell the
values apart when they part, as `v * f(w) @ v.T` does; cotangents of w and v do not say so.  So a
slope is NaN where equal values have vectors with a cotangent inside of their space, or a cotangent
beside vectors that are used, and right where they have none: `reported` and `joined`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ted.api.custom import custom_vjp
from ted.frontend.compute import compute
from ted.frontend.creation import ones_like, zeros_like
from ted.frontend.elementwise import absolute, where
from ted.frontend.joining import stack
from ted.frontend.reductions import any, max
from ted.frontend.tensors import Tensor
from ted.spectral.ranges import rounding


def equal_pairs(x: Tensor) -> Tensor:
    """Where n roundings of the greatest hide the difference of two values.

    Shapes: x (..., n), result (..., n, n), false on the diagonal.
    """
    n = x.shape[-1]
    hidden = n * rounding(x) * max(absolute(x), -1)

    def element(*i: Any) -> Any:
        *head, j, k = i
        gap = absolute(x[(*head, k)] - x[(*head, j)])
        return (j != k) & (gap <= hidden[tuple(head)])

    return compute((*x.shape, n), element, name="equal_pairs")


def with_own(equal: Tensor) -> Tensor:
    """The pairs, and each value with itself that another one equals."""
    shared = any(equal, -1)
    return equal | compute(equal.shape, lambda *i: (i[-2] == i[-1]) & shared[i[:-1]], name="own")


@custom_vjp
def reported(x: Tensor, hidden: Tensor) -> Tensor:
    """x, but 0 where it is hidden, and NaN where it is and x is more than roundings of x.

    It is its own transpose: on both sides of a factor, it reports tangents as it does cotangents.
    Shapes: x (..., m, n), `hidden` of bools alike.
    """
    least = 8 * x.shape[-1] * rounding(x) * max(absolute(x), (-2, -1), keepdims=True)
    return where(hidden, where(absolute(x) <= least, 0, math.nan), x)


@reported.defvjp
def _reported_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    return reported(heads[0], inputs[1]), None


def joined(values: Tensor, vectors: Sequence[Tensor], shared: Tensor) -> tuple[Tensor, ...]:
    """The values and the vectors; NaN is the slope of `shared` values if vectors have one, too.

    Shapes: values (..., n), `shared` of bools alike.
    """
    both = _beside(values, shared)
    used = both[..., 1]
    return both[..., 0], *(_used(x, used) for x in vectors)


@custom_vjp
def _beside(values: Tensor, shared: Tensor) -> Tensor:
    """The values, and zeros whose cotangent is not 0 where vectors have one."""
    del shared
    return stack([values, zeros_like(values)], -1)


@_beside.defvjp
def _beside_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    return _known(heads[0][..., 0], heads[0][..., 1], inputs[1]), None


@custom_vjp
def _known(head: Tensor, used: Tensor, shared: Tensor) -> Tensor:
    return where(shared & (used != 0) & (head != 0), math.nan, head)


@_known.defvjp
def _known_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del inputs, outputs
    return heads[0], None, None


@custom_vjp
def _used(vectors: Tensor, used: Tensor) -> Tensor:
    del used
    return vectors


@_used.defvjp
def _used_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    return heads[0], ones_like(inputs[1])


def shared_values(x: Tensor) -> Tensor:
    """The values that another one equals."""
    return any(equal_pairs(x), -1)
