"""Padding in every mode of numpy: elements before and after each dim.

Before: ted.pad(x, 1, "symmetric")      After: y[i] = x[index of the element that is repeated at i]

A constant is a write into a filled tensor; what is repeated is a read at a clamped or mirrored
index, never a copy. What is computed, such as a mean, is joined to one dim after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.arithmetic import constant
from ted.frontend.compute import compute
from ted.frontend.creation import full
from ted.frontend.dims import moveaxis
from ted.frontend.elementwise import cast, floor, maximum, minimum, round, to_tensor
from ted.frontend.joining import concatenate, padded
from ted.frontend.layout import broadcast_to, flip
from ted.frontend.locations import fail
from ted.frontend.reductions import max, mean, min
from ted.frontend.sorting import median
from ted.frontend.tensors import Tensor

Pair: TypeAlias = "tuple[Any, Any]"
# What is put before or after dim 0: of the tensor, so many elements, whether before.
Piece: TypeAlias = "Callable[[Tensor, int, bool], Tensor]"


def pad(
    x: Any, width: Any, mode: str = "constant", value: Any = 0, stat_length: Any = None,
    end_values: Any = 0, reflect_type: str = "even",
) -> Tensor:  # fmt: skip
    """The tensor with `width` elements more before and after each dim.

    `width` is a number, a pair (before, after), or a pair for each dim.  `mode` is that of numpy:
    constant (with `value`), empty (of which ted makes zeros), edge, reflect (the edge not
    repeated), symmetric (the edge repeated), wrap; maximum, minimum, mean and median of the
    `stat_length` elements next to the edge, all by default; linear_ramp to `end_values`.  With a
    `reflect_type` "odd" what is mirrored is subtracted from twice the edge.

    Raises: FrontendError for a negative width, an unknown mode, nothing to repeat.
    """
    x = to_tensor(x, "pad")
    widths = _pairs(width, x.ndim, "width")
    shape = tuple(low + n + high for n, (low, high) in zip(x.shape, widths, strict=True))
    checks.shape_of(shape, x.dtype, "pad")
    checks.one_of(mode, ("constant", "empty", *_INDICES, *_STATISTICS, "linear_ramp"), "pad: mode")
    odd = checks.one_of(reflect_type, ("even", "odd"), "pad: reflect_type") == "odd"
    if mode == "empty":
        return padded(x, widths)
    if mode == "constant" and not isinstance(value, (tuple, list)):
        return padded(x, widths, value)
    for k, (low, high) in enumerate(widths):
        if mode != "constant" and max_of(low, high) and not x.shape[k] >= 1:
            fail(f"pad: mode {mode} needs an element to repeat, got extent 0 in dim {k}")
    if mode in _INDICES and not (odd and mode in ("reflect", "symmetric")):
        return _repeated(x, shape, widths, _INDICES[mode])
    if mode == "constant":
        fills = _pairs(value, x.ndim, "value", _number)
        return _joined(x, widths, [_constants(*pair) for pair in fills])
    if mode == "linear_ramp":
        ends = _pairs(end_values, x.ndim, "end_values", _number)
        return _joined(x, widths, [_ramp(*pair) for pair in ends])
    if mode in _INDICES:
        return _joined(x, widths, [_mirrored(mode)] * x.ndim)
    counts = _pairs(stat_length, x.ndim, "stat_length", _count)
    return _joined(x, widths, [_statistic(mode, *pair) for pair in counts])


def max_of(low: int, high: int) -> int:
    """The greater of two widths."""
    return low if low > high else high


# ------------------------------------------------------------------ arguments


def _width(value: Any, what: str) -> int:
    width = checks.integer(value, what)
    if width < 0:
        fail(f"{what}s must be at least 0, got {value}; cut with a slice")
    return width


def _number(value: Any, what: str) -> Any:
    """A number of Python; that it fits is seen where it is used."""
    if not isinstance(value, (bool, int, float)):
        fail(f"{what} must be a Python number, got {value!r}")
    return value


def _count(value: Any, what: str) -> int | None:
    if value is None:
        return None
    count = checks.integer(value, what)
    return count if count > 0 else fail(f"{what} must be at least 1, got {value}")


def _pairs(
    given: Any, rank: int, word: str, checked: Callable[[Any, str], Any] = _width
) -> list[Pair]:
    """A number, a pair, or a pair for each dim as pairs for each dim.

    Raises: FrontendError for anything else.
    """
    if not isinstance(given, (tuple, list)):
        pairs: list[Any] = [(given, given)] * rank
    elif len(given) == 2 and not any(isinstance(w, (tuple, list)) for w in given):
        pairs = [tuple(given)] * rank
    else:
        pairs = [tuple(w) if isinstance(w, (tuple, list)) else () for w in given]
        pairs = pairs * rank if len(pairs) == 1 else pairs
    if len(pairs) != rank or any(len(p) != 2 for p in pairs):
        fail(
            f"pad: {word} must be a number, a pair, or a pair for each of {rank} dims, got "
            f"{given}; flat numbers, which torch reads from the last dim on, are ((0, 0), ..., "
            "(before, after))"
        )
    return [(checked(a, f"pad: {word}"), checked(b, f"pad: {word}")) for a, b in pairs]


# ------------------------------------------------------------------ what is repeated


def _repeated(
    x: Tensor, shape: tuple[Extent, ...], widths: Sequence[Pair],
    index_of: Callable[[Any, Extent, int], Any],
) -> Tensor:  # fmt: skip
    def element(*at: Any) -> Any:
        parts = zip(at, x.shape, widths, strict=True)
        return x[
            tuple(
                index_of(i - low, n, max_of(low, high)) if low + high else i
                for i, n, (low, high) in parts
            )
        ]

    return compute(shape, element, name="pad")


def _edge(i: Any, extent: Extent, width: int) -> Any:
    del width
    return minimum(maximum(i, 0), extent - 1)


def _reflect(i: Any, extent: Extent, width: int) -> Any:
    if extent == 1:
        return i * 0
    period = 2 * (extent - 1)
    mirrored = maximum(i, -i) if width < extent else i % period
    return minimum(mirrored, period - mirrored)


def _symmetric(i: Any, extent: Extent, width: int) -> Any:
    last = 2 * extent - 1
    mirrored = maximum(i, -1 - i) if width <= extent else i % (2 * extent)
    return minimum(mirrored, last - mirrored)


_INDICES: dict[str, Callable[[Any, Extent, int], Any]] = {
    "edge": _edge,
    "reflect": _reflect,
    "symmetric": _symmetric,
    "wrap": lambda i, extent, width: i % extent,
}


# ------------------------------------------------------------------ what is computed


def _joined(x: Tensor, widths: Sequence[Pair], pieces: Sequence[Piece]) -> Tensor:
    """One dim after the other, each with what is made of the whole so far."""
    for k, ((low, high), piece) in enumerate(zip(widths, pieces, strict=True)):
        if not (low or high):
            continue
        rows = moveaxis(x, k, 0)
        parts = [piece(rows, low, True)] if low else []
        parts += [rows, *([piece(rows, high, False)] if high else [])]
        x = moveaxis(concatenate(parts, 0), 0, k)
    return x


def _constants(before: Any, after: Any) -> Piece:
    def piece(x: Tensor, width: int, is_before: bool) -> Tensor:
        return full((width, *x.shape[1:]), before if is_before else after, x.dtype)

    return piece


def _ramp(before: Any, after: Any) -> Piece:
    """From the end to the edge, which is left out, in equal steps."""

    def piece(x: Tensor, width: int, is_before: bool) -> Tensor:
        end = before if is_before else after
        constant(end, x.dtype, "pad: end_values")
        edge = 0 if is_before else -1

        def element(i: Any, *rest: Any) -> Any:
            step = i if is_before else width - 1 - i
            value = end + (x[(edge, *rest)] - end) * step / width
            return value if x.dtype.is_float else floor(value)

        found = compute((width, *x.shape[1:]), element, name="ramp")
        return found if found.dtype == x.dtype else cast(found, x.dtype)

    return piece


def _mirrored(mode: str) -> Piece:
    """Twice the edge minus what is mirrored."""

    def piece(x: Tensor, width: int, is_before: bool) -> Tensor:
        skipped = int(mode == "reflect")
        most = checks.integer(x.shape[0], "pad: extent") - skipped
        if width > most:
            fail(
                f"pad: reflect_type 'odd' of mode {mode} takes widths up to {most}, got {width}; "
                "pad twice"
            )
        part = x[skipped : skipped + width] if is_before else x[most - width : most]
        edge = x[:1] if is_before else x[-1:]
        return 2 * edge - flip(part, 0)

    return piece


def _statistic(mode: str, before: Any, after: Any) -> Piece:
    def piece(x: Tensor, width: int, is_before: bool) -> Tensor:
        count = before if is_before else after
        part = x if count is None else x[:count] if is_before else x[-count:]
        found = _STATISTICS[mode](part, axis=0, keepdims=True)
        if found.dtype != x.dtype:
            found = cast(found if x.dtype.is_float else round(found), x.dtype)
        return broadcast_to(found, (width, *x.shape[1:]))

    return piece


_STATISTICS: dict[str, Callable[..., Tensor]] = {
    "maximum": max, "minimum": min, "mean": mean, "median": median,
}  # fmt: skip
