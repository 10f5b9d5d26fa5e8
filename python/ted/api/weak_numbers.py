"""Numbers of Python and NumPy in carries and branches, which take the types beside them.

Before: ted.scan(lambda c, x: (c + x, None), 0, xs)     with xs of float64
After:  ted.scan(lambda c, x: (c + x, None), ted.full((), 0, "float64"), xs)

In what a step or a branch gives they have the types of the carry, or of the other branch. In the
first carry they have those that a step makes of them, for which it is rehearsed: traced on tensors
of the weak types (`ir/dtypes`), which give way to others as numbers do, until no type changes. A
loop inside of it is rehearsed with it, a turn of it in each of its own, so that a step at depth d
is traced some d times and not 2**d.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import field
from typing import Any

import numpy as np

from ted.api.lifting import placeholder_like
from ted.errors import FrontendError
from ted.frontend.complex_pairs import Complex
from ted.frontend.creation import full
from ted.frontend.elementwise import cast
from ted.frontend.functions import as_tensor
from ted.frontend.notes import here_in_notes, taken
from ted.frontend.tensors import Tensor
from ted.frontend.trees import LEAF, Tree, flatten, unflatten
from ted.ir.dtypes import WEAK_FLOAT, WEAK_INT, DType, is_weak_type, promote, strong
from ted.records import dataclass

_MOST_TURNS = 64  # of a step that is the same each time two for each number are enough


def is_weak(value: Any) -> bool:
    """Whether a value is a number, or in a rehearsal a tensor that stands for one; no bool is."""
    if isinstance(value, complex):
        return True
    dtype = _type_of(value)
    return dtype is not None and is_weak_type(dtype)


def _type_of(value: Any) -> DType | None:
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, (np.generic, np.ndarray)):
        if value.ndim or value.dtype.kind not in "iuf":
            return None
        return WEAK_FLOAT if value.dtype.kind == "f" else WEAK_INT
    return {int: WEAK_INT, float: WEAK_FLOAT}.get(type(value))


def beside(nest: Any, other: Any) -> Any:
    """A nest, its numbers as tensors of the types that they have beside those of another nest.

    What does not fit is left as it is, for the error of who checks it.
    """
    nest, other = paired(nest, other)
    (leaves, tree), (others, wanted) = flatten(nest), flatten(other)
    if tree != wanted:
        return nest
    pairs = zip(leaves, others, strict=True)
    return unflatten(tree, (_meeting(x, y) for (_, x), (_, y) in pairs))


def _meeting(value: Any, other: Any) -> Any:
    given, met = _type_of(value), _type_of(other)
    if given is None or met is None or not is_weak_type(given):
        return value
    dtype = promote(given, met)
    if not any(isinstance(v, Tensor) and is_weak(v) for v in (value, other)):
        dtype = strong(dtype)
    if isinstance(value, Tensor):
        return cast(value, dtype)
    return full((), value.item() if hasattr(value, "item") else value, dtype)


def paired(a: Any, b: Any) -> tuple[Any, Any]:
    """Two nests, their numbers as pairs where they are complex or the other nest has a pair."""
    a = _opened(a, b)
    b = _opened(b, a)
    return _opened(a, b), b


def _opened(nest: Any, other: Any) -> Any:
    leaves, tree = flatten(nest)

    def pair(value: Any, place: Tree) -> Any:
        if isinstance(value, complex):
            return Complex(value.real, value.imag)
        return Complex(value, 0) if place.kind is Complex and is_weak(value) else value

    places = _places(tree, flatten(other)[1])
    return unflatten(tree, (pair(v, p) for (_, v), p in zip(leaves, places, strict=True)))


def _places(tree: Tree, wanted: Tree) -> Iterator[Tree]:
    """What another nest has where a nest has its leaves."""
    if tree.kind is None:
        yield wanted
    is_alike = (tree.kind, tree.keys) == (wanted.kind, wanted.keys)
    for k, child in enumerate(tree.children):
        yield from _places(child, wanted.children[k] if is_alike else LEAF)


# ------------------------------------------------------------------ rehearsals of steps


@dataclass
class _Rehearsal:
    """The carries of the loops in a step, in their order, with the types found until now."""

    carries: list[Any] = field(default_factory=list)
    count: int = 0  # of the loops met in this turn
    has_changed: bool = False


_rehearsal: ContextVar[_Rehearsal | None] = ContextVar("rehearsal", default=None)


def is_rehearsed() -> bool:
    """Whether a step is traced for its types alone."""
    return _rehearsal.get() is not None


def settled(init: Any, turn: Callable[[Any], tuple[Any, Any]]) -> Any:
    """A first carry, its numbers as tensors of the types that a turn, `(carry, y)`, makes of them.

    It is left as it is when a turn has an error, which comes again where it is traced for good.
    """
    if not any(is_weak(value) for _, value in flatten(init)[0]):
        return init
    token = _rehearsal.set(_Rehearsal())
    try:
        leaves, tree = flatten(_found(init, turn))
    except FrontendError:
        return init
    finally:
        _rehearsal.reset(token)
    return beside(init, unflatten(tree, (cast(v, strong(v.dtype)) for _, v in leaves)))


def _found(init: Any, turn: Callable[[Any], tuple[Any, Any]]) -> Any:
    """A carry of the types that no turn changes any more."""
    state, found = _here(), init
    for _ in range(_MOST_TURNS):
        state.count, state.has_changed = 0, False
        found, _ = rehearsed(init, turn)
        if not (state.has_changed and any(is_weak(value) for _, value in flatten(found)[0])):
            break
    return found


def _here() -> _Rehearsal:
    state = _rehearsal.get()
    assert state is not None
    return state


def rehearsed(init: Any, turn: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, Any]:
    """One turn of a loop in a rehearsal: a carry of the types after it, and y."""
    state = _here()
    number, begin = state.count, here_in_notes()
    state.count += 1
    if number == len(state.carries):
        state.carries.append(None)
    before = _placeholders(init)
    before = _placeholders(beside(before, state.carries[number]))
    carry, y = turn(before)
    after = beside(before, carry)
    taken(begin)  # what it says counts when it is traced as it will be
    state.carries[number] = after
    state.has_changed |= _types(before) != _types(after)
    return _placeholders(after), y


def _types(nest: Any) -> list[DType]:
    return [value.dtype for _, value in flatten(nest)[0]]


def _placeholders(nest: Any) -> Any:
    """Inputs of the types of a nest, weak ones for its numbers."""
    leaves, tree = flatten(_opened(nest, nest))

    def given(value: Any, path: str) -> Tensor:
        if isinstance(value, Tensor) or not is_weak(value):
            return placeholder_like(as_tensor(value, path, "scan", "init"))
        return placeholder_like(full((), 0, _type_of(value)))

    return unflatten(tree, (given(value, path) for path, value in leaves))
