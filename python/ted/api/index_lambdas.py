"""Functions of tensors called on the values of an index lambda: computed for all indices at once.

Before: ted.compute((n,), lambda i: f(x[i]))     f has a derivative of the user's, or is made of one
After:  given[i] = x[i];  y[i] = f(given[i]), batched over i as by `ted.vmap`;  t[i] = y[i]

A scalar expression cannot carry what was said of f: a rule, a checkpoint, a loop.  So f is called
once on placeholders of rank 0, and stands for a tensor over the dims of its arguments, as nested
reductions do (`frontend/lazy_reductions.py`).  Where a condition is around it, its arguments are
computed only where that holds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from ted.api.overrides import batched, leading
from ted.domain.sizes import Extent
from ted.frontend.functions import as_tensor
from ted.frontend.lazy_reductions import Call, free_axes
from ted.frontend.locations import fail, here
from ted.frontend.notes import here_in_notes, taken
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import placeholder, tracing
from ted.frontend.trees import flatten, unflatten
from ted.ir.dtypes import INT64
from ted.ir.equations import Tensor as Node
from ted.ir.scalar import cast as converted
from ted.transforms.batching import Batched
from ted.transforms.overrides import substituted

Fn = TypeVar("Fn", bound=Callable[..., Any])


def has_scalars(nest: Any) -> bool:
    """Whether a nest has values of an index lambda."""
    return any(isinstance(value, Scalar) for _, value in flatten(nest)[0])


def of_elements(what: str) -> Callable[[Fn], Fn]:
    """The decorator of a function of tensors that takes values of an index lambda, too."""

    def decorate(fn: Fn) -> Fn:
        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not has_scalars((args, kwargs)):
                return fn(*args, **kwargs)
            return called_on_elements(what, fn, args, kwargs)

        return cast(Fn, call)

    return decorate


def called_on_elements(
    what: str, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """`fn(*args, **kwargs)` at every index of the lambda around it.

    Raises: FrontendError for a result that is not one number at each index.
    """
    leaves, tree = flatten((tuple(args), kwargs))
    scalars = [value for _, value in leaves if isinstance(value, Scalar)]
    exprs = [converted(s.expr, INT64) if s.dtype.is_index else s.expr for s in scalars]
    singles = [placeholder((), e.dtype, what) for e in exprs]
    given = iter(singles)
    values = (next(given) if isinstance(v, Scalar) else v for _, v in leaves)
    positional, keywords = unflatten(tree, cast("Iterator[Any]", values))
    begin = here_in_notes()
    with tracing(is_lambda=False):
        found, result_tree = flatten(fn(*positional, **keywords))
        results = [as_tensor(value, path, what) for path, value in found]
    if taken(begin):
        fail(
            f"{what}: ted.print and ted.check take whole tensors, got one of them in what is "
            "called in an index lambda; write it outside of the lambda, or by ted.vmap"
        )
    for result in results:
        if result.ndim:
            fail(
                f"{what}: in an index lambda a call gives one number at each index, got {result!r};"
                " call it on whole tensors, outside of the lambda or by ted.vmap"
            )
    axes = tuple(free_axes(exprs, set(), what))
    extents = [axis.extent for axis in axes]
    nodes, placed = [r.node for r in results], [s.node for s in singles]
    call = Call(
        what, tuple(exprs), axes, functools.partial(_of_all, nodes, placed, extents), here()
    )
    return unflatten(result_tree, (call.read(k, r.dtype) for k, r in enumerate(results)))


def _of_all(
    results: Sequence[Node], singles: Sequence[Node], extents: Sequence[Extent],
    given: Sequence[Node],
) -> Sequence[Node]:  # fmt: skip
    """The results for every point of a box, of arguments that have its dims."""
    for extent in reversed(extents):
        wider = [replace(s, shape=(extent, *s.shape)) for s in singles]
        mapping = {s: Batched(w, 0) for s, w in zip(singles, wider, strict=True)}
        results = [leading(b, extent).node for b in batched(results, mapping, extent)]
        singles = wider
    return substituted(results, dict(zip(singles, given, strict=True)))
