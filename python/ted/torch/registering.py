"""Operators in `torch.ops.ted`: what they compute, without data, with gradients, in a batch.

They are defined when somebody traces or asks, and stay for as long as the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from ted.forking import Lock

NAMESPACE = "ted"
DEVICES = ("CPU", "CUDA")
ANYWHERE = ("CompositeExplicitAutograd",)  # of an operator without tensors, which lie nowhere
_MOST = 64  # arguments that an operator of torch may have
Tensors = Sequence[torch.Tensor]
Computed = Callable[..., Sequence[torch.Tensor]]  # of tensors
Batched = Callable[[Sequence["int | None"], Tensors], list[torch.Tensor]]

_lock = Lock()
_taken: dict[str, int] = {}
_functions: dict[Any, Callable[..., Any]] = {}  # of tensors of ted, by the operator


@cache
def _library() -> torch.library.Library:
    return torch.library.Library(NAMESPACE, "FRAGMENT")


def registered(
    name: str,
    count: int,
    computed: Computed,
    fake: Computed,
    recorded: Computed | None = None,
    batched: Batched | None = None,
    function: Callable[..., Any] | None = None,
) -> Any:
    """Define `torch.ops.ted.<name>` of so many tensors; where a name is taken it gets a number.

    The tensors are arguments of their own, which takes torch less time than a list, if it can.
    Without `recorded` it computes whether gradients are asked for or not; `function` is for
    `of_ted`.
    """
    name = _own(name)
    given = ", ".join([f"Tensor x{k}" for k in range(count)])
    if count > _MOST:
        given = "Tensor[] tensors"
        computed, fake, recorded = map(_of_list, (computed, fake, recorded))
    library = _defined(f"{name}({given}) -> Tensor[]")
    _implement(library, name, computed, fake, recorded, DEVICES if count else ANYWHERE)
    if batched is not None:
        torch.library.register_vmap(f"{NAMESPACE}::{name}", _rule(batched), lib=library)
    overload = _overload(name)
    if function is not None:
        _functions[overload] = function
    return overload


def arguments(tensors: Tensors) -> tuple[Any, ...]:
    """The arguments of an operator of these tensors."""
    return tuple(tensors) if len(tensors) <= _MOST else (list(tensors),)


def of_ted(overload: Any) -> Callable[..., tuple[Any, ...]] | None:
    """What an operator gives of tensors of ted as its arguments, if it is of a function of ted."""
    function = _functions.get(overload)
    return None if function is None else lambda *given: tuple(function(*_tensors(given)))


def registered_out(name: str, computed: Callable[..., None], fake: Callable[..., None]) -> Any:
    """Define an operator that writes into its second list of tensors."""
    name = _own(name)
    library = _defined(f"{name}(Tensor[] tensors, Tensor(a!)[] out) -> ()")
    _implement(library, name, computed, fake)
    return _overload(name)


def _own(name: str) -> str:
    """The name, with a number where it is taken."""
    with _lock:
        count = _taken[name] = _taken.get(name, 0) + 1
    return name if count == 1 else f"{name}_{count}"


def _defined(schema: str) -> torch.library.Library:
    with _lock:  # of several threads one makes the library
        library = _library()
    library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    return library


def _implement(
    library: torch.library.Library,
    name: str,
    computed: Any,
    fake: Any,
    recorded: Any = None,
    devices: Sequence[str] = DEVICES,
) -> None:
    for device in devices:
        library.impl(name, computed, device)
    if recorded is not None:
        library.impl(name, recorded, "Autograd")
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=library)


def _overload(name: str) -> Any:
    return getattr(getattr(torch.ops, NAMESPACE), name).default


def _of_list(fn: Computed | None) -> Any:
    return None if fn is None else lambda tensors: fn(*tensors)


def _tensors(given: Sequence[Any]) -> Sequence[Any]:
    """The tensors of arguments, which may be one list of them."""
    return given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given


def _rule(batched: Batched) -> Callable[..., tuple[list[torch.Tensor], list[int]]]:
    """The rule for a batch, whose results count examples along their first dim."""

    def rule(_: Any, in_dims: Any, *given: Any) -> tuple[list[torch.Tensor], list[int]]:
        results = batched(_tensors(in_dims), _tensors(given))
        return results, [0] * len(results)

    return rule
