"""Arguments whose first dim is a batch: traced with a symbolic size, whatever arrays are given.

Before: x: float32[7, 4], y: int64[7]      After: x: float32[batch, 4], y: int64[batch]
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ted.domain.sizes import Symbol, symbolic
from ted.frontend.functions import ArraySpec, Signature
from ted.frontend.locations import fail

BATCH = Symbol("batch")


def positions_of_batch(batch: Any) -> tuple[int, ...]:
    """The positions of arguments with a batch.

    Raises: FrontendError for what is no int and no sequence of ints.
    """
    return positions_for(batch, "batch is the position of an argument whose first dim is the batch")


def positions_for(given: Any, meaning: str) -> tuple[int, ...]:
    """The positions of arguments; `meaning` says what they are for.

    Raises: FrontendError for what is no int and no sequence of ints.
    """
    positions = (given,) if isinstance(given, int) else given
    if not isinstance(positions, list | tuple) or any(
        type(p) is not int or p < 0 for p in positions
    ):
        fail(f"function: {meaning}, or a tuple of such positions, got {given!r}")
    return tuple(positions)


def arrays_at(
    fn: Callable[..., Any], signature: Signature, positions: Sequence[int], what: str
) -> list[bool]:
    """For each leaf of a signature whether it is an array in an argument at one of the positions.

    Raises: FrontendError for a position without argument; `what` names the option.
    """
    paths = [_path(fn, signature, position, what) for position in positions]
    return [
        isinstance(leaf, ArraySpec) and any(_is_below(name, path) for path in paths)
        for name, leaf in zip(signature.names, signature.leaves, strict=True)
    ]


def with_batch(fn: Callable[..., Any], signature: Signature, batch: Sequence[int]) -> Signature:
    """The signature of all calls that differ from this one in the length of the batch.

    Arrays without rows keep their shape: a batch has one at least.
    Raises: FrontendError for a position without argument, or an array that has no dim.
    """
    chosen = arrays_at(fn, signature, batch, "batch")
    rows = zip(signature.names, signature.leaves, chosen, strict=True)
    flat = next((name for name, leaf, is_chosen in rows if is_chosen and not leaf.shape), None)
    if flat is not None:
        fail(f"{_name(fn)}: argument {flat}: a batch is the first dim of an array, got a scalar")
    pairs = list(zip(signature.leaves, chosen, strict=True))
    if any(is_chosen and not leaf.shape[0] for leaf, is_chosen in pairs):
        return signature
    size = symbolic(BATCH)
    leaves = (replace(a, shape=(size, *a.shape[1:])) if is_chosen else a for a, is_chosen in pairs)
    return replace(signature, leaves=tuple(leaves))


def _path(fn: Callable[..., Any], signature: Signature, position: int, what: str) -> str:
    """How the names of what lies in an argument begin."""
    paths: list[str] = []
    for name, child in zip(signature.tree.keys, signature.tree.children, strict=True):
        spread = _is_spread(fn, name)
        paths += [f"{name}.{k}" for k in child.keys] if spread else [str(name)]
    if position >= len(paths):
        fail(
            f"{_name(fn)}: {what}={position}: the call has {len(paths)} arguments "
            f"({', '.join(paths)}), counted from 0"
        )
    return paths[position]


def _is_spread(fn: Callable[..., Any], name: str) -> bool:
    """Whether a parameter takes several arguments, `*args` or `**kwargs`."""
    try:
        kind = inspect.signature(fn).parameters[name].kind
    except (ValueError, KeyError):
        return False
    return kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _is_below(name: str, path: str) -> bool:
    return name == path or name.startswith(f"{path}.")


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__name__", "function")
