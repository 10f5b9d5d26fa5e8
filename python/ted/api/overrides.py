"""Batches of tensors with a derivative of the user's: the same derivative for every member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ted.autodiff.override import Override
from ted.domain.sizes import Extent
from ted.frontend.layout import broadcast_to, transpose
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor, wrap
from ted.ir.equations import Tensor as Node
from ted.transforms.batching import Batched, batch
from ted.transforms.overrides import mark, moved, named_below, override_of


def batched(nodes: Sequence[Node], given: Mapping[Node, Batched], extent: Extent) -> list[Batched]:
    """What nodes become when `given` is done `extent` times at once, with their overrides."""
    found = batch((*nodes, *named_below(nodes)), given, extent)
    for old, new in found.items():
        override = override_of(old)
        if override is None or old in given:
            continue
        if new.axis is None:
            mark(new.tensor, moved(override, {t: b.tensor for t, b in found.items()}))
        else:
            mark(new.tensor, _batched_override(override, old, found, extent))
    return [found.get(n, Batched(n, None)) for n in nodes]


def _batched_override(
    override: Override, single: Node, known: Mapping[Node, Batched], extent: Extent
) -> Override:
    """An override of a batch: the single adjoints for every member, summed where shared."""
    places = [known.get(d, Batched(d, None)) for d in override.dependencies]

    def members(products: Sequence[Node], variables: Mapping[Node, Node]) -> Sequence[Node]:
        whole = {one: Batched(all_of_them, 0) for one, all_of_them in variables.items()}
        results = batched(products, {**known, **whole}, extent)
        pairs = zip(results, places, strict=True)
        return [_placed(result, place, extent).node for result, place in pairs]

    def adjoints(tensor: Node, head: Node) -> Sequence[Node]:
        del tensor
        one = Node(head.name, single.shape, single.dtype)
        return members(override.adjoints(single, one), {one: head})

    dependencies, inner = tuple(p.tensor for p in places), override.guarded
    if inner is None:
        return Override(dependencies, adjoints)

    def guarded(mask: Node, tensor: Node, head: Node) -> Sequence[Node]:
        del tensor
        one, used = (Node(t.name, single.shape, t.dtype) for t in (head, mask))
        return members(inner(used, single, one), {one: head, used: mask})

    return Override(dependencies, adjoints, guarded)


def _placed(result: Batched, place: Batched, extent: Extent) -> Tensor:
    """An adjoint of a batch in the form of its dependency."""
    if result.tensor.is_zero:
        return wrap(replace(result.tensor, shape=place.tensor.shape))
    full = leading(result, extent)
    return sum_over(full, 0) if place.axis is None else move_axis(full, 0, place.axis)


def leading(value: Batched, extent: Extent) -> Tensor:
    """A batched tensor with the batch dim in front; a shared one repeated; zeros stay zeros."""
    if value.axis is None and value.tensor.is_zero:
        return wrap(replace(value.tensor, shape=(extent, *value.tensor.shape)))
    tensor = wrap(value.tensor)
    if value.axis is not None:
        return move_axis(tensor, value.axis, 0)
    return broadcast_to(tensor, (extent, *tensor.shape))


def move_axis(tensor: Tensor, source: int, target: int) -> Tensor:
    """The tensor with dim `source` at position `target`."""
    if source == target:
        return tensor
    order = [k for k in range(tensor.ndim) if k != source]
    order.insert(target, source)
    return transpose(tensor, order)
