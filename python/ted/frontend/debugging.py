"""`ted.print` and `ted.check`: what a program says when it runs, see `notes`.

Before: ted.check(x > 0, "x is {}", x)
After:  first = argmin(x > 0 where not x > 0);  when = first >= 0;  shown = x[first]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ted.errors import FrontendError
from ted.frontend import checks
from ted.frontend.captures import array_of
from ted.frontend.compute import compute
from ted.frontend.functions import as_tensor
from ted.frontend.joining import stack
from ted.frontend.locations import fail, here
from ted.frontend.notes import Form, Note, Shown, Slot, is_recording, record
from ted.frontend.reductions import argmin
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, in_lambda, read, with_constant
from ted.frontend.trees import flatten


def print(text: str, /, *values: Any, **named: Any) -> None:
    """Print a text with values in it, as `text.format(*values, **named)` has them.

    In a function that ted traces it is printed by every call, when the call ends, with the values
    of tensors; a format such as `{:.3f}` is for each element. Outside it is printed now.
    Raises: FrontendError for a text that does not fit the values, inside of an index lambda, and
    for tensors where no function is traced.
    """
    form, tensors = _form("print", text, values, named, is_check=False)
    if _is_now("print", tensors):
        form.say([], "")
    else:
        record([Note(form, tuple(tensors))])


def check(condition: Any, text: str = "", /, *values: Any, **named: Any) -> None:
    """Raise an error where a condition, or an element of a tensor of conditions, is false.

    In a function that ted traces every call is checked when it ends, and the error names the text
    with values, the first index that fails and the user's line. A value that broadcasts to the
    condition is shown at that index, another one whole. Outside it is checked now.
    Raises: ExecutionError where the condition is false; FrontendError for one that is not of bools,
    and as `print`.
    """
    form, tensors = _form("check", text, values, named, is_check=True)
    if isinstance(condition, Scalar):
        _refuse_lambda("check")
    given = condition if isinstance(condition, Tensor) else array_of(condition, "check")
    kind = given.dtype.name
    if kind != "bool":
        fail(f"check: the condition must be of bools, got {kind}{list(given.shape)}; compare it")
    if not _is_now("check", [*tensors, *([given] if isinstance(given, Tensor) else [])]):
        _record_check(as_tensor(condition, "", "check", "condition"), form, tensors)
    elif not given.all():
        at = np.argwhere(~given)[0].tolist()
        form.say([], f", at {at}" if at else "")


def _record_check(condition: Tensor, form: Form, tensors: Sequence[Tensor]) -> None:
    shape = condition.shape
    if 0 in shape:
        return
    first = argmin(condition, where=~condition)
    indices = [compute((), _subscript(first, shape, k)) for k in range(len(shape))]
    values = tuple(_element(value, shape, indices) for value in tensors)
    at = stack(indices) if indices else None
    record([Note(form, values, first >= 0, at)])


def _subscript(first: Tensor, shape: Sequence[Any], position: int) -> Callable[[], Any]:
    """Index `position` of a row-major number, which is inside even where nothing fails."""
    below = 1
    for extent in shape[position + 1 :]:
        below *= extent
    return lambda: read(first, ()) // below % shape[position]


def _element(value: Tensor, shape: Sequence[Any], indices: Sequence[Tensor]) -> Tensor:
    """The value at an index of the condition, whole where it does not broadcast to that."""
    try:
        checks.broadcast_to(value.shape, tuple(shape), "check")
    except FrontendError:
        return value
    own = zip(value.shape, indices[len(shape) - value.ndim :], strict=True)
    at = tuple(0 if extent == 1 else index for extent, index in own)
    return compute((), lambda: read(value, at))


# ------------------------------------------------------------------ texts and values


def _form(
    what: str, text: Any, values: Sequence[Any], named: dict[str, Any], is_check: bool
) -> tuple[Form, list[Tensor]]:
    """What is said, and the tensors in it."""
    if in_lambda() or any(isinstance(v, Scalar) for v in (text, *values, *named.values())):
        _refuse_lambda(what)
    if not isinstance(text, str):
        fail(f'{what}: takes a text and what stands in it, got {text!r}; write "x = {{}}", x')
    tensors: list[Tensor] = []

    def slot(value: Any) -> Any:
        if any(isinstance(leaf, Tensor) for path, leaf in flatten(value)[0] if path):
            fail(f"{what}: takes tensors one by one, got one in {value!r}; give each its own {{}}")
        if hasattr(value, "__array__") and not isinstance(value, Tensor | np.generic):
            array = np.array(value)  # as it is now
            is_late = is_recording() and array.ndim and array.dtype.kind != "c"
            value = with_constant(array, what) if is_late else Shown(array)
        if not isinstance(value, Tensor):
            return value
        tensors.append(value)
        return Slot(len(tensors) - 1)

    positional = [slot(value) for value in values]
    by_name = {name: slot(value) for name, value in named.items()}
    form = Form(text, positional, by_name, is_check, here())
    _refuse_misfit(what, form, tensors)
    return form, tensors


# Why a text does not fit, by what `str.format` raises.
_MISFITS = {
    IndexError: "it asks for more of them", KeyError: "it asks for {}, which is not given",
    AttributeError: "a tensor has no attributes there",
}  # fmt: skip


def _refuse_misfit(what: str, form: Form, tensors: Sequence[Tensor]) -> None:
    """Refuse a text that does not fit the values, which may not be known yet."""
    blank = [np.zeros((1,) * value.ndim, value.dtype.dtype) for value in tensors]
    try:
        form.filled(blank)
    except (IndexError, KeyError, ValueError, TypeError, AttributeError) as error:
        count, why = len(form.positional) + len(form.named), _MISFITS.get(type(error), "{}")
        reason = why.format(error)
        fail(f"{what}: the text must fit its {count} values, got {form.text!r}: {reason}")


def _is_now(what: str, tensors: Sequence[Tensor]) -> bool:
    """Whether there is no program that runs later."""
    if is_recording():
        return False
    if tensors:
        fail(
            f"{what}: values of tensors are known in calls of functions that are traced, such as "
            f"those of ted.function and ted.grad, got {tensors[0]!r} in none, or in a derivative "
            "of ted.custom_vjp"
        )
    return True


def _refuse_lambda(what: str) -> NoReturn:
    fail(
        f"{what}: takes whole tensors, got an index lambda, which says what every element is; "
        f"write ted.{what} outside of it"
    )
