"""The short way of a call whose arguments are nested as those of the latest one.

Before: f({"w": w, "b": b})      After: direct(w, b), which declines arrays of other specs

Only the nests are compared here, by their types and keys: the native kernel looks at the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ted.runtime.calls import declined

Direct = Callable[..., Any]
_TEXTS = {str}


class Form(NamedTuple):
    """A tuple, list or dict of arrays (None) and other forms; `parts` is None for arrays alone.

    Keys of dicts are texts.
    """

    kind: type
    names: tuple[Any, ...] | None  # of a dict
    size: int
    parts: tuple[Form | None, ...] | None


def short_way(direct: Direct, args: tuple[Any, ...], arrays: Sequence[Any]) -> Direct:
    """A function of arguments that gives what `direct` gives for their arrays.

    It declines arguments that are not nested as these, and all of them where what is in the nests
    is not `arrays`, in that order: numbers, texts and None are of the program.
    """
    if any(type(array) is not np.ndarray for array in arrays):
        return declined
    form, found = _form_of(args), []
    if not isinstance(form, Form) or not _collect(args, form, found):
        return declined
    if len(found) != len(arrays) or not all(map(is_, found, arrays)):
        return declined
    return direct if form.parts is None else lambda *given: _called(direct, form, given)


def _called(direct: Direct, form: Form, given: tuple[Any, ...]) -> Any:
    found: list[Any] = []
    return direct(*found) if _collect(given, form, found) else None


def _form_of(nest: Any) -> Form | None:
    """None for what is no nest."""
    kind = type(nest)
    if kind not in (tuple, list, dict):
        return None
    parts = tuple(map(_form_of, nest.values() if kind is dict else nest))
    names = tuple(nest) if kind is dict else None
    return Form(kind, names, len(parts), parts if any(parts) else None)


def _collect(nest: Any, form: Form, into: list[Any]) -> bool:
    """Append the arrays of a nest of this form; whether it is one."""
    kind, names, size, parts = form
    if type(nest) is not kind or len(nest) != size:
        return False
    if names is not None:
        if tuple(nest) != names or not _TEXTS.issuperset(map(type, nest)):
            return False  # a key of another type may be equal, as True is to 1
        nest = nest.values()
    if parts is None:
        into.extend(nest)
        return True
    for value, part in zip(nest, parts, strict=True):
        if part is None:
            into.append(value)
        elif not _collect(value, part, into):
            return False
    return True
