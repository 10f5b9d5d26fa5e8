"""Running sums and products: recurrences along one dim."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ted.frontend import checks
from ted.frontend.elementwise import to_tensor, where
from ted.frontend.layout import flatten, reshape
from ted.frontend.recurrences import recurrence
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import accumulator, total


def cumsum(x: Any, axis: int | None = None, reverse: bool = False, dtype: Any = None) -> Tensor:
    """The sum of the elements along `axis` up to each one, from the end if `reverse`.

    Without an axis x is flattened.

    float16 and bfloat16 accumulate in float32. Of integers and bools the sums are int64, of
    integers without sign uint64, unless `dtype` says.

    Raises: FrontendError for an axis that x does not have, or an unknown dtype.
    """
    return _running("cumsum", operator.add, 0, x, axis, reverse, dtype)


def cumprod(x: Any, axis: int | None = None, reverse: bool = False, dtype: Any = None) -> Tensor:
    """The product of the elements along `axis` up to each one; gradients are exact with zeros.

    Without an axis x is flattened.

    Types are those of `cumsum`.

    Raises: FrontendError for an axis that x does not have, or an unknown dtype.
    """
    return _running("cumprod", operator.mul, 1, x, axis, reverse, dtype)


def _running(
    what: str, combine: Callable[[Any, Any], Any], start: int, x: Any, axis: Any, reverse: bool,
    dtype: Any,
) -> Tensor:  # fmt: skip
    x = to_tensor(x, what)
    if axis is None:
        x, axis = flatten(x), 0
    if not x.ndim:  # one step, as any reduction has of a scalar along 0 or -1
        return reshape(_running(what, combine, start, reshape(x, (1,)), axis, reverse, dtype), ())
    along, reverse = checks.axis_of(axis, x.ndim, what), checks.flag(reverse, f"{what}: reverse")
    result = total(x.dtype) if dtype is None else checks.dtype_of(dtype, what)
    wide = accumulator(result)
    step, first = (1, x.shape[along] - 1) if reverse else (-1, 0)

    def element(history: Tensor, *i: Any) -> Any:
        t, value = i[along], x[i].astype(wide)
        before = (*i[:along], t + step, *i[along + 1 :])
        going = t < first if reverse else t > first
        return combine(where(going, history[before], start), value)

    return recurrence(x.shape, element, wide, along, reverse, name=what).astype(result)
