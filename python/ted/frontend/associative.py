"""`ted.associative_scan`: every prefix of a chain of combinations, in log-many parallel steps.

Before: y = ted.associative_scan(fn, x)    with    y[t] = fn(y[t - 1], x[t])
After:  pairs = fn(x[0::2], x[1::2]);  odd = the prefixes of the pairs;  even = fn(odd, x[2::2])

Twice the work of a loop, in steps that are ordinary expressions over half of the elements each, so
they are differentiated, batched and run in parallel like others.
(Source: Blelloch, Prefix Sums and Their Applications, 1990.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.domain.sizes import Size, numbers
from ted.frontend import checks
from ted.frontend.checks import called, check_callable
from ted.frontend.functions import as_tensor
from ted.frontend.joining import interleaved
from ted.frontend.layout import flip
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.frontend.trees import Tree, flatten, unflatten

_WHAT = "associative_scan"
Combine = Callable[[Sequence[Tensor], Sequence[Tensor]], list[Tensor]]


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """The combinations of all elements up to each one along `axis`, from the end if `reverse`.

    `fn(a, b)` takes two nests like `elems`, with any number of elements along `axis`, combines them
    one by one and gives such a nest; it must be associative (`ted.testing.check_associative`), not
    commutative: what comes first along the way is its first argument.
    Shapes: those of `elems`, which agree along `axis`.
    Raises: FrontendError when `fn` changes nest, shapes or types, or extents differ or are sizes.
    """
    check_callable(fn, _WHAT)
    reverse = checks.flag(reverse, f"{_WHAT}: reverse")
    leaves, tree = flatten(elems)
    tensors = [as_tensor(value, path, _WHAT, "elems") for path, value in leaves]
    axes = [checks.axis_of(axis, t.ndim, f"{_WHAT}: {t.name}") for t in tensors]
    _check_extents(tensors, axes)

    def combine(a: Sequence[Tensor], b: Sequence[Tensor]) -> list[Tensor]:
        nests = (unflatten(tree, iter(part)) for part in (a, b))
        return _combined(called(_WHAT, "fn(a, b)", fn, *nests), tree, a)

    pairs = zip(tensors, axes, strict=True)
    turned = [flip(t, k) if reverse else t for t, k in pairs]
    found = zip(_prefixes(combine, turned, axes), axes, strict=True)
    return unflatten(tree, (flip(t, k) if reverse else t for t, k in found))


def _check_extents(tensors: Sequence[Tensor], axes: Sequence[int]) -> None:
    if not tensors:
        fail(f"{_WHAT}: elems hold a tensor at least, got none")
    extents = {t.name: t.shape[k] for t, k in zip(tensors, axes, strict=True)}
    if len(set(extents.values())) > 1:
        listed = ", ".join(f"{n} of {name}" for name, n in extents.items())
        fail(f"{_WHAT}: elems agree on the number of elements along axis, got {listed}")
    if any(isinstance(n, Size) for n in extents.values()):
        fail(
            f"{_WHAT}: the number of elements says how many steps there are, so it is no symbolic "
            f"size, got {next(iter(extents.values()))}; use ted.scan"
        )


def _combined(nest: Any, tree: Tree, like: Sequence[Tensor]) -> list[Tensor]:
    """What `fn` gave, of the nest, shapes and types of its arguments."""
    leaves, given = flatten(nest)
    if given != tree:
        fail(f"{_WHAT}: fn keeps the nest of its arguments, {tree}, got {given}")
    found = [as_tensor(value, path, _WHAT) for path, value in leaves]
    for (path, _), new, old in zip(leaves, found, like, strict=True):
        if (new.shape, new.dtype) != (old.shape, old.dtype):
            fail(
                f"{_WHAT}: fn keeps shapes and types of its arguments, {old.dtype}"
                f"{list(old.shape)} for {path or old.name}, got {new.dtype}{list(new.shape)}"
            )
    return found


def _prefixes(combine: Combine, elems: list[Tensor], axes: Sequence[int]) -> list[Tensor]:
    (count,) = numbers((elems[0].shape[axes[0]],))
    if count < 2:
        return elems

    def every(tensors: Sequence[Tensor], begin: int, end: int, step: int) -> list[Tensor]:
        chosen = slice(begin, end, step)
        return [t[(*[slice(None)] * k, chosen)] for t, k in zip(tensors, axes, strict=True)]

    last = count - count % 2
    odd = _prefixes(combine, combine(every(elems, 0, last, 2), every(elems, 1, last, 2)), axes)
    first = every(elems, 0, 1, 1)
    even: Sequence[Tensor | None] = [None] * len(elems)
    if count > 2:
        before = every(odd, 0, (count - 1) // 2, 1)
        even = combine(before, every(elems, 2, count, 2))
    parts = zip(first, even, odd, axes, strict=True)
    return [interleaved(_WHAT, a, b, c, k) for a, b, c, k in parts]
