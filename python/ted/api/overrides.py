"""Which tensors have a derivative of the user's, and how that follows them through rewriting.

An override belongs to a node as long as the node lives.  When a transformation replaces the node by
another one, the override of that one calls the same user function and rewrites its answer alike.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence

from ted.autodiff.vjp import Override
from ted.frontend.layout import broadcast_to, transpose
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor, wrap
from ted.ir.equations import System, operands, rewrite_system, topological
from ted.ir.equations import Tensor as Node
from ted.transforms.batching import Batched, batch

_overrides: weakref.WeakKeyDictionary[Node, Override] = weakref.WeakKeyDictionary()


def mark(node: Node, override: Override) -> None:
    """Give a tensor a derivative of its own; the override must not hold the tensor itself."""
    _overrides[node] = override


def override_of(node: Node) -> Override | None:
    """The derivative that a tensor was given, if any."""
    return _overrides.get(node)


# ------------------------------------------------------------------ one node for another


def substituted(nodes: Sequence[Node], mapping: Mapping[Node, Node]) -> tuple[Node, ...]:
    """The nodes as functions of `mapping[t]` instead of t, with their overrides."""
    system, became = rewrite_system(
        System((), tuple(nodes)), lambda t, equations: mapping.get(t, equations)
    )
    carry(became)
    return system.outputs


def carry(became: Mapping[Node, Node], borders: Mapping[Node, Node] | None = None) -> None:
    """Give what tensors with an override became an override that does the same.

    `borders` were replaced too, by variables, which have no override.
    """
    every = {**became, **(borders or {})}
    for old, new in became.items():
        override = override_of(old)
        if override is not None and new is not old and override_of(new) is None:
            mark(new, _moved(override, _not_above(new, every)))


def _moved(override: Override, became: Mapping[Node, Node]) -> Override:
    def adjoints(tensor: Node, head: Node) -> Sequence[Node]:
        return substituted(override.adjoints(tensor, head), became)

    return Override(tuple(became.get(d, d) for d in override.dependencies), adjoints)


def _not_above(node: Node, became: Mapping[Node, Node]) -> dict[Node, Node]:
    """The part of a mapping that does not hold the node, so that the node can be freed."""
    above = {node}
    for tensor in topological(list(became.values())):
        if any(o in above for o in operands(tensor)):
            above.add(tensor)
    return {old: new for old, new in became.items() if new not in above}


# ------------------------------------------------------------------ many nodes for one


def batched(nodes: Sequence[Node], given: Mapping[Node, Batched], extent: int) -> list[Batched]:
    """What nodes become when `given` is done `extent` times at once, with their overrides."""
    found = batch(nodes, given, extent)
    for old, new in found.items():
        override = override_of(old)
        if override is None or old in given:
            continue
        below = _not_above(new.tensor, {t: b.tensor for t, b in found.items()})
        known = {t: found[t] for t in below}
        if new.axis is None:
            mark(new.tensor, _moved(override, below))
        else:
            mark(new.tensor, _batched_override(override, old, known, extent))
    return [found.get(n, Batched(n, None)) for n in nodes]


def _batched_override(
    override: Override, single: Node, known: Mapping[Node, Batched], extent: int
) -> Override:
    """An override of a batch: the single adjoints for every member, summed where shared."""
    places = [known.get(d, Batched(d, None)) for d in override.dependencies]

    def adjoints(tensor: Node, head: Node) -> Sequence[Node]:
        del tensor
        one = Node(head.name, single.shape, single.dtype)
        products = override.adjoints(single, one)
        results = batched(products, {**known, one: Batched(head, 0)}, extent)
        pairs = zip(results, places, strict=True)
        return [_placed(result, place, extent).node for result, place in pairs]

    return Override(tuple(p.tensor for p in places), adjoints)


def _placed(result: Batched, place: Batched, extent: int) -> Tensor:
    """An adjoint of a batch in the form of its dependency."""
    full = leading(result, extent)
    return sum_over(full, 0) if place.axis is None else move_axis(full, 0, place.axis)


def leading(value: Batched, extent: int) -> Tensor:
    """A batched tensor with the batch dim in front; a shared one repeated."""
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
