"""Which arguments of a call are differentiated: `argnums`, by position or by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

from ted.api.lifting import with_floats
from ted.errors import DerivativeError
from ted.frontend.tensors import Tensor
from ted.frontend.trees import flatten
from ted.records import dataclass

Argnums = int | str | Sequence[int | str]
_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (*_BY_POSITION, Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class WantedArguments:
    """The arguments that `argnums` names of calls of `fn`, each by its position or its name."""

    fn: Callable[..., Any]
    keys: tuple[int | str, ...]
    is_one: bool
    what: str

    def of(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The arguments in one call.

        Raises: DerivativeError for what the call has not, or what is no nest of arrays of floats.
        """
        places = [self._place(args, kwargs, key) for key in self.keys]
        found = [kwargs[p] if isinstance(p, str) else args[p] for p in places]
        for key, value in zip(self.keys, found, strict=True):
            check_floats(value, key, self.what)
        return found

    def with_floats(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call, those that are wanted with tensors for floats of Python.

        Raises: DerivativeError for what the call has not.
        """
        positional, keywords = list(args), dict(kwargs)
        for key in self.keys:
            place = self._place(args, kwargs, key)
            where: Any = keywords if isinstance(place, str) else positional
            where[place] = with_floats(where[place], (args, kwargs))
        return positional, keywords

    def nested(self, gradients: Sequence[Any]) -> Any:
        """One gradient for one argument, a tuple for several."""
        return gradients[0] if self.is_one else tuple(gradients)

    def _place(self, args: Sequence[Any], kwargs: Mapping[str, Any], key: int | str) -> int | str:
        if isinstance(key, int):
            return position_of(args, key, self.what)
        if key in kwargs:
            return key
        kinds = _parameters(self.fn)
        names = [name for name, kind in kinds.items() if kind in _BY_NAME]
        by_position = [name for name in names if kinds[name] in _BY_POSITION]
        if key in by_position and by_position.index(key) < len(args):
            return by_position.index(key)
        rule = "is not in this call" if key in names else f"is none of {', '.join(names) or 'none'}"
        if kinds.get(key) is Parameter.VAR_POSITIONAL:
            rule = "stands for several; give their positions"
        raise DerivativeError(f"{self.what}: argnums names arguments, and {key!r} {rule}")


def wanted_arguments(fn: Callable[..., Any], argnums: Any, what: str) -> WantedArguments:
    """What `argnums` says: a position, a name, or several of them.

    Raises: DerivativeError for anything else.
    """
    is_one = isinstance(argnums, (int, str))
    keys = (argnums,) if is_one else argnums
    if not isinstance(keys, list | tuple) or any(type(k) not in (int, str) for k in keys):
        raise DerivativeError(
            f"{what}: argnums must be a position or a name of an argument, or a tuple of them, got "
            f"{argnums!r}"
        )
    return WantedArguments(fn, tuple(keys), is_one, what)


def position_of(args: Sequence[Any], position: int, what: str) -> int:
    """The position of an argument, which may be counted from the end.

    Raises: DerivativeError where there is none.
    """
    if not -len(args) <= position < len(args):
        raise DerivativeError(
            f"{what}: argnums counts the {len(args)} positional arguments of this call, "
            f"got {position}; give the name of one that is passed by name"
        )
    return position


def check_floats(nest: Any, key: int | str, what: str) -> None:
    """What has a gradient is an array of floats, or a nest of them.

    Raises: DerivativeError for anything else.
    """
    for path, value in flatten(nest)[0]:
        if isinstance(value, Tensor) and value.dtype.is_float:
            continue
        place = f"argument {key}" + (f" at {path}" if path else "")
        kind = f"{value.dtype}" if isinstance(value, Tensor) else f"the constant {value!r}"
        way = f"{value}.0" if type(value) is int else "np.asarray(x, float)"
        raise DerivativeError(
            f"{what}: what has a gradient is an array of floats, got {kind} as {place}; pass "
            f"{way}, or leave the argument out"
        )


def result_and_aux(result: Any, what: str) -> tuple[Any, Any]:
    """What is differentiated of a function's result, and what is only passed on.

    Raises: DerivativeError for what is no pair.
    """
    if not isinstance(result, tuple) or len(result) != 2:
        raise DerivativeError(
            f"{what}: with has_aux=True the function returns a pair (result, aux), got "
            f"{type(result).__name__}"
        )
    return result


def _parameters(fn: Callable[..., Any]) -> dict[str, Any]:
    """The kinds of parameters by their names."""
    try:
        return {name: p.kind for name, p in inspect.signature(fn).parameters.items()}
    except ValueError:
        return {}
