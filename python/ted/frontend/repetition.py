"""Elements several times: `repeat`, by numbers or by counts that are data.

Before: repeat(x, counts, total_repeat_length=n)
After: out[j] = x[the number of sums of counts up to j], clipped to the last element
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ted.frontend import checks
from ted.frontend.captures import is_array
from ted.frontend.compute import compute
from ted.frontend.creation import arange, zeros
from ted.frontend.cumulative import cumsum
from ted.frontend.elementwise import maximum, to_tensor
from ted.frontend.indexing import integers, take
from ted.frontend.layout import broadcast_to, flatten
from ted.frontend.locations import fail
from ted.frontend.searching import searchsorted
from ted.frontend.stated_bounds import at_most, held
from ted.frontend.tensors import Tensor


def repeat(
    x: Any,
    count: Any,
    axis: int | None = None,
    total_repeat_length: int | None = None,
    truncate: bool = False,
) -> Tensor:
    """Every element repeated `count` times along `axis`, or element k `count[k]` times.

    Without an axis x is taken in row-major order.  Counts that are data, of which negative ones
    count as 0, take `total_repeat_length`, the extent of the result: the last element fills up what
    is less, as in JAX; more is an ExecutionError when the program runs, or cut off by
    `truncate=True`.
    Raises: FrontendError for a dim that x does not have, a count that is negative or no integer,
    or counts that are data without a length.
    """
    x = to_tensor(x, "repeat")
    if axis is None:
        x, axis = flatten(x), 0
    along = checks.axis_of(axis, x.ndim, "repeat")
    truncate = checks.flag(truncate, "repeat: truncate")
    if total_repeat_length is not None or isinstance(count, Tensor):
        return _to_length(x, count, along, total_repeat_length, truncate)
    if truncate:
        fail("repeat: truncate=True cuts off at total_repeat_length, got none")
    if isinstance(count, (tuple, list)) or is_array(count):
        return _repeated_each(x, [*count], along)
    times = checks.shape_of((count,), x.dtype, "repeat: count")[0]
    shape = [n * times if k == along else n for k, n in enumerate(x.shape)]
    if 0 in shape:
        return zeros(shape, x.dtype)

    def element(*i: Any) -> Any:
        return x[tuple(p // times if k == along else p for k, p in enumerate(i))]

    return compute(tuple(shape), element, name="repeat")


def _repeated_each(x: Tensor, counts: list[Any], along: int) -> Tensor:
    """Element k along a dim so often as known counts say, as one table of positions."""
    numbers = [checks.integer(c, "repeat: count") for c in counts]
    extent = checks.integer(x.shape[along], "repeat: extent")
    if len(numbers) not in (1, extent) or min(numbers, default=0) < 0:
        fail(f"repeat: one count >= 0 for each of {extent} elements, got {counts!r}")
    each = numbers * extent if len(numbers) == 1 else numbers
    at = [k for k, count in enumerate(each) for _ in range(count)]
    return x[(*(slice(None),) * along, at)]


def _to_length(x: Tensor, count: Any, along: int, length: Any, truncate: bool) -> Tensor:
    """Element k along a dim so often as counts say that may be data, to an extent that is known."""
    if length is None:
        fail(
            "repeat: counts that are data take total_repeat_length=, the extent of the result, "
            f"got a count of shape {count.shape} without it"
        )
    total = checks.extent(length, "repeat: total_repeat_length")
    counts = integers([count] if isinstance(count, Integral) else count, "repeat: count")
    extent = checks.integer(x.shape[along], "repeat: extent")
    if counts.shape not in ((), (1,), (extent,)):
        fail(f"repeat: one count for each of {extent} elements, got shape {counts.shape}")
    ends = cumsum(maximum(broadcast_to(counts, (extent,)), 0), 0)
    places = searchsorted(ends, arange(total), side="right")
    if not truncate and extent:
        rule = at_most("repeat", "total_repeat_length", total, "elements")
        (places,) = held([places], ends[-1] > total, ends[-1], rule)
    return take(x, places, along, mode="clip")
