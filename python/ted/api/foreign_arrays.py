"""Arguments that are arrays without saying so -> arrays of NumPy on the same memory.

Buffers (`memoryview`, `bytearray`, `array.array`, arrays of ctypes) and objects that have nothing
but `__array_interface__`, `__array__` or `__dlpack__` have no shape and no type to look at. Bytes
and texts are constants of a program, as numbers are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ted.frontend.functions import bound_arguments, name_of, spread_arguments
from ted.frontend.trees import flatten, unflatten
from ted.frontend.unevaluated import Unevaluated
from ted.runtime.buffers import ArgSpec, to_numpy
from ted.runtime.sharing import is_foreign


def read_as_arrays(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call with such objects as arrays; None where there are none.

    Raises: ExecutionError for one that cannot be read.
    """
    leaves, _ = flatten((args, kwargs))
    if not any(_is_foreign(leaf) for _, leaf in leaves):
        return None
    leaves, tree = flatten(bound_arguments(fn, args, kwargs))
    values = [_read(leaf, path, fn) if _is_foreign(leaf) else leaf for path, leaf in leaves]
    positional, keywords = spread_arguments(fn, unflatten(tree, iter(values)))
    return tuple(positional), keywords


def _is_foreign(leaf: Any) -> bool:
    return not isinstance(leaf, Unevaluated) and is_foreign(leaf)


def _read(leaf: Any, path: str, fn: Callable[..., Any]) -> Any:
    what = f"{name_of(fn)}: argument {path!r}"
    return to_numpy(leaf, ArgSpec(path, "numbers", ()), what)
