"""`ted.vmap`: a function of single examples as a function of batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

from ted.api.functions import Function
from ted.api.index_lambdas import of_elements
from ted.api.lifting import placeholder_like
from ted.api.options import options_for
from ted.api.overrides import batched, leading, move_axis
from ted.domain.sizes import Extent
from ted.errors import FrontendError
from ted.frontend import checks
from ted.frontend.checks import check_callable
from ted.frontend.functions import as_tensor
from ted.frontend.notes import Loop, here_in_notes, record, taken
from ted.frontend.tensors import Tensor, with_constant, wrap
from ted.frontend.trees import NestsDiffer, flatten, is_nest, spread, unflatten
from ted.ir.dtypes import is_weak_type
from ted.ir.equations import Tensor as Node
from ted.transforms.batching import Batched


def vmap(
    fn: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    target: str | None = None,
    *,
    deterministic: bool | None = None,
) -> Function:
    """The function that does `fn` for every index of a dim of its arguments.

    `in_axes`: the dim of each argument that counts examples, None for an argument that all share;
    one for all, or a tuple with one per argument, each of which may be a nest like the argument.
    `out_axes`: the dim of each result, likewise; None for a result that is the same for all.
    Keyword arguments count along dim 0.  `target` and `deterministic` are those of `ted.function`:
    without them, those of `fn`.
    Shapes: `fn` sees its arguments without that dim; results get one of the same extent.
    Raises: FrontendError when extents differ, no argument counts examples, or a result that
    differs between examples is asked for with None.
    """

    check_callable(fn, "vmap")

    @of_elements("vmap")
    @functools.wraps(fn)
    def vectorised(*args: Any, **kwargs: Any) -> Any:
        axes = _per_argument(in_axes, len(args))
        leaves, tree = flatten((args, kwargs))
        known = [*_spread(axes, args, "in_axes"), *_spread(0, kwargs, "in_axes")]
        tensors = [with_constant(value, f"vmap: {path}") for path, value in leaves]
        known = [None if _is_number(t) else axis for t, axis in zip(tensors, known, strict=True)]
        extent = _extent(tensors, known)
        singles, given = _singles(tensors, known)
        inner, options = unflatten(tree, iter(singles))
        begin = here_in_notes()
        return _results(fn(*inner, **options), begin, given, extent, out_axes)

    return Function(vectorised, options_for(fn, target, deterministic))


def _is_number(value: Any) -> bool:
    """Whether a value stands for a float of Python, which all examples share."""
    return isinstance(value, Tensor) and is_weak_type(value.dtype) and not value.ndim


def _per_argument(in_axes: Any, count: int) -> tuple[Any, ...]:
    is_sequence = isinstance(in_axes, (tuple, list))
    if isinstance(in_axes, int) or (is_nest(type(in_axes)) and not is_sequence):
        return (in_axes,) * count
    if not is_sequence or len(in_axes) != count:
        raise FrontendError(
            f"vmap: in_axes is a dim, or has one entry per argument, got {in_axes!r} for {count}"
        )
    return tuple(in_axes)


def _spread(axes: Any, nest: Any, what: str) -> list[int | None]:
    """One axis per leaf of a nest; an axis may stand for all leaves below it."""
    try:
        found = spread(axes, nest, (int, NoneType))
    except NestsDiffer:
        found = [axes]
    if not all(axis is None or isinstance(axis, int) for axis in found):
        raise FrontendError(f"vmap: {what} has the nest of what it is for, got {axes!r}")
    return found


def _extent(leaves: Sequence[Any], axes: Sequence[int | None]) -> Extent:
    """The number of examples, on which all arguments agree."""
    found: dict[Extent, str] = {}
    for value, axis in zip(leaves, axes, strict=True):
        if isinstance(value, Tensor) and axis is not None:
            found.setdefault(value.shape[checks.axis_of(axis, value.ndim, "vmap")], value.name)
    if len(found) != 1:
        listed = ", ".join(f"{n} of {name}" for n, name in found.items()) or "none"
        raise FrontendError(f"vmap: arguments agree on one number of examples, got {listed}")
    return next(iter(found))


def _singles(
    leaves: Sequence[Any], axes: Sequence[int | None]
) -> tuple[list[Any], dict[Node, Batched]]:
    """The arguments of one example, and which tensors their placeholders stand for."""
    singles: list[Any] = []
    given: dict[Node, Batched] = {}
    for value, axis in zip(leaves, axes, strict=True):
        if not isinstance(value, Tensor):
            singles.append(value)
            continue
        position = None if axis is None else checks.axis_of(axis, value.ndim, "vmap")
        single = placeholder_like(value)
        if position is not None:
            single.node.shape = (*value.shape[:position], *value.shape[position + 1 :])
        singles.append(single)
        given[single.node] = Batched(value.node, position)
    return singles, given


def _results(
    result: Any, begin: int, given: dict[Node, Batched], extent: Extent, out_axes: Any
) -> Any:
    leaves, tree = flatten(result)
    example = Loop("example")
    hidden, notes_tree = flatten([note.inside(example) for note in taken(begin)])
    tensors = [as_tensor(value, path, "vmap") for path, value in leaves]
    found = batched([t.node for t in (*tensors, *(t for _, t in hidden))], given, extent)
    axes = _spread(out_axes, result, "out_axes")
    record(unflatten(notes_tree, (leading(b, extent) for b in found[len(tensors) :])))
    own = zip(found[: len(tensors)], axes, strict=True)
    placed = [_placed(b, axis, extent) for b, axis in own]
    return unflatten(tree, iter(placed))


def _placed(result: Batched, axis: int | None, extent: Extent) -> Tensor:
    if axis is not None:
        full = leading(result, extent)
        return move_axis(full, 0, checks.axis_of(axis, full.ndim, "vmap: out_axes"))
    if result.axis is not None:
        raise FrontendError(
            f"vmap: a result with out_axes None is the same for all, got {result.tensor}"
        )
    return wrap(result.tensor)
