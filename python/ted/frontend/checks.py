"""Arguments as users write them -> checked shapes, types and axes; every refusal says the rule."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ted.domain.sizes import Extent, Size
from ted.frontend.locations import fail
from ted.ir.dtypes import AMBIGUOUS, BY_NAME, DType, ambiguity, named

MAX_BYTES = 2**47  # the address space of a process on today's 64-bit machines
FLOAT_BITS = 1023  # integers of so many bits fit float64, rounded

Shape: TypeAlias = "Sequence[Extent] | Extent"
DTypeLike: TypeAlias = "str | DType | Any"


def integer(value: Any, what: str) -> int:
    """A Python or numpy integer, bools excluded.

    Raises: FrontendError for anything else, also for a symbolic size.
    """
    if isinstance(value, Size):
        fail(f"{what}: must be a plain integer, got the symbolic size {value}")
    if not isinstance(value, (bool, type)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    return fail(f"{what}: must be an integer, got {value!r}")


def number(
    value: Any,
    what: str,
    rule: str = "must be a number",
    fits: Callable[[float], bool] = lambda _: True,
) -> float:
    """A real number of Python or numpy that fits a rule; bools and NaN excluded.

    Raises: FrontendError for anything else.
    """
    plain = value.item() if isinstance(value, (np.integer, np.floating)) else value
    real = isinstance(plain, (int, float)) and not isinstance(plain, bool)
    if real and isinstance(plain, int) and plain.bit_length() > FLOAT_BITS:
        fail(f"{what} {rule} that fits float64, got one of {plain.bit_length()} bits")
    if not real or math.isnan(plain) or not fits(plain):
        fail(f"{what} {rule}, got {value!r}")
    return plain


def flag(value: Any, what: str) -> bool:
    """True or False; what is merely true, such as "no", is no choice.

    Raises: FrontendError for anything else.
    """
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    return fail(f"{what}: must be True or False, got {value!r}")


def one_of(value: Any, choices: Sequence[str], what: str) -> str:
    """One of the names in `choices`.

    Raises: FrontendError for another value.
    """
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        fail(f"{what}: must be {', '.join(others)} or {last}, got {value!r}")
    return value


def extent(value: Any, what: str) -> Extent:
    """An integer, or a symbolic size made with `ted.size`."""
    return value if isinstance(value, Size) else integer(value, what)


def dtype_of(value: DTypeLike, what: str) -> DType:
    """An element type from its name, a numpy dtype, a Python type or a DType.

    Raises: FrontendError for what names no element type.
    """
    if isinstance(value, DType) and not value.is_index:
        return value
    if isinstance(value, str) and value in AMBIGUOUS:
        fail(f"{what}: dtype {ambiguity(value)}")
    found = named(value)
    return found or fail(f"{what}: dtype must be one of {', '.join(BY_NAME)}, got {value!r}")


def float_type(value: DTypeLike, what: str) -> DType:
    """An element type of floats.

    Raises: FrontendError for another type.
    """
    row = dtype_of(value, what)
    return row if row.is_float else fail(f"{what}: dtype must be one of floats, got {row}")


def is_several(value: Any) -> bool:
    """Whether a value has parts: a list, an array with dims; no text."""
    named = isinstance(value, (str, bytes, type)) or getattr(value, "shape", None) == ()
    return isinstance(value, Iterable) and not named


def listed(values: Any, what: str) -> list[Any]:
    """The parts of a value.

    Raises: FrontendError for one without parts.
    """
    if not is_several(values):
        fail(f"{what}: must be a list, got {values!r}")
    return list(values)


def shape_of(shape: Any, dtype: DType, what: str) -> tuple[Extent, ...]:
    """A tuple of extents >= 0 of a tensor that a process can address.

    Raises: FrontendError for an extent that is negative or no integer, or more than 2**47 bytes.
    """
    items: tuple[Any, ...] = tuple(shape) if is_several(shape) else (shape,)
    extents = tuple(extent(n, f"{what}: extent {k}") for k, n in enumerate(items))
    known = [n for n in extents if isinstance(n, int)]
    for k, n in enumerate(extents):
        if n < 0:
            fail(f"{what}: extent {k} must be at least 0, got shape {extents}")
    size = math.prod(known) * max(dtype.bits, 8) // 8
    if size > MAX_BYTES or max(known, default=0) > MAX_BYTES:
        fail(f"{what}: a tensor takes at most 2**47 bytes, got shape {extents} of {dtype}")
    return extents


def axis_of(axis: Any, rank: int, what: str) -> int:
    """A dim number in [-rank, rank) -> [0, rank).

    Raises: FrontendError outside that range.
    """
    number = integer(axis, f"{what}: axis")
    if not -rank <= number < rank:
        allowed = f"in [{-rank}, {rank})" if rank else "absent for a tensor of rank 0"
        fail(f"{what}: axis must be {allowed}, got {number}")
    return number % rank


def axes_of(axis: Any, rank: int, what: str) -> tuple[int, ...]:
    """One dim number, several, or None for all; distinct, in the order given.

    Raises: FrontendError for a dim that does not exist, or is named twice.
    """
    if axis is None:
        return tuple(range(rank))
    numbers = tuple(axis) if is_several(axis) else (axis,)
    result = tuple(axis_of(a, rank, what) for a in numbers)
    if len(set(result)) < len(result):
        fail(f"{what}: an axis may appear once, got axis={axis!r}")
    return result


def reduced_axes(axis: Any, rank: int, what: str) -> tuple[int, ...]:
    """The dims of a reduction, as in `axes_of`; a scalar is one point along 0 or -1.

    Raises: FrontendError as `axes_of`.
    """
    axes = axes_of(axis, rank or 1, what)
    return axes if rank else ()


def name_of(name: Any, what: str) -> str | None:
    """A name that is a string or absent.

    Raises: FrontendError for anything else, and for the empty string.
    """
    if name is None:
        return None
    if not isinstance(name, str) or not name or any("\ud800" <= c <= "\udfff" for c in name):
        fail(f"{what}: name must be a non-empty string, got {name!r}")
    return name


def broadcast(shapes: Sequence[tuple[Extent, ...]], what: str) -> tuple[Extent, ...]:
    """The common shape of operands by numpy's rule: aligned at the right, 1 stretches.

    Raises: FrontendError for extents that differ where neither is 1.
    """
    rank = max(map(len, shapes), default=0)
    result = []
    for k in range(-rank, 0):
        extents = {s[k] for s in shapes if len(s) >= -k}
        wide = extents - {1}
        if len(wide) > 1:
            listed = " and ".join(str(s) for s in dict.fromkeys(shapes))
            fail(f"{what}: extents must be equal or 1 to broadcast, got shapes {listed}")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def broadcast_to(shape: tuple[Extent, ...], target: tuple[Extent, ...], what: str) -> None:
    """`shape` stretches to exactly `target`.

    Raises: FrontendError when it does not.
    """
    if len(shape) > len(target) or broadcast([shape, target], what) != target:
        fail(f"{what}: must broadcast to {target}, got shape {shape}")


# ------------------------------------------------------------------ functions


def check_callable(fn: Any, what: str) -> None:
    """Raises: FrontendError for what cannot be called."""
    if not callable(fn):
        fail(f"{what}: takes a function of tensors, got {type(fn).__name__} {fn!r}")


def called(what: str, form: str, fn: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """`fn(*args, **named)`, where `form` says what the arguments are.

    Raises: FrontendError for a function of other parameters.
    """
    check_callable(fn, what)
    try:
        inspect.signature(fn).bind(*args, **named)
    except TypeError as error:
        fail(
            f"{what}: the function is called as {form}, got one that does not fit: {error}; "
            f"it takes {inspect.signature(fn)}"
        )
    except ValueError:
        pass  # a built-in function that does not say its parameters
    return fn(*args, **named)
