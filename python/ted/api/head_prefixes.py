"""Heads with dims in front: gradients for every index of these dims at once.

Shapes: a head of shape prefix + output gives adjoints of shape prefix + tensor.

The gradients of one head become those of all by a parallel dim in front of every equation that
depends on it; what does not is computed once.  (Source: TVM's proposal of automatic differentiation
of tensor expressions, in which a Jacobian is the case of one-hot heads.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ted.api.overrides import batched, leading
from ted.domain.sizes import Extent
from ted.errors import DerivativeError
from ted.frontend.tensors import Tensor
from ted.ir.equations import Tensor as Node
from ted.records import dataclass
from ted.transforms.batching import Batched

if TYPE_CHECKING:
    from ted.transforms.gradient import Gradient
    from ted.transforms.summands import Summands


@dataclass(frozen=True)
class Heads:
    """The cotangents of a call, the prefix of their shapes, and placeholders of those without."""

    given: tuple[Node, ...]
    single: tuple[Node, ...]
    prefix: tuple[Extent, ...]


def split_heads(outputs: Sequence[Tensor], heads: Sequence[Tensor]) -> Heads:
    """What is in front of the shapes of the outputs in those of their heads.

    Raises: DerivativeError when a head does not end like its output, or prefixes differ.
    """
    prefix: tuple[Extent, ...] | None = None
    for o, h in zip(outputs, heads, strict=True):
        front, own = h.shape[: h.ndim - o.ndim], h.shape[h.ndim - o.ndim :]
        if (own, h.dtype) != (o.shape, o.dtype):
            raise DerivativeError(
                "differentiate: a head has the shape and type of its output, with dims in front of "
                f"it or none, got {h.dtype}{list(h.shape)} for {o.name}: {o.dtype}{list(o.shape)}",
                h.node.location,
            )
        if prefix not in (None, front):
            raise DerivativeError(
                "differentiate: heads have the same dims in front of the shapes of their outputs, "
                f"got {list(prefix)} and {list(front)}",
                h.node.location,
            )
        prefix = front
    given = tuple(h.node for h in heads)
    if not prefix:
        return Heads(given, given, ())
    pairs = zip(outputs, given, strict=True)
    single = tuple(Node(h.name, o.shape, o.dtype, location=h.location) for o, h in pairs)
    return Heads(given, single, prefix)


def with_prefix(found: Gradient, heads: Heads) -> Gradient:
    """The gradients of all heads from those of a single one."""
    if not heads.prefix:
        return found
    nodes = iter(_for_all([*found.gradients, *found.adjoints.values()], heads))

    def summands() -> Summands:
        single = found.summands()
        parts = iter(_for_all([p for readers in single.values() for p in readers.values()], heads))
        return {t: {r: next(parts) for r in readers} for t, readers in single.items()}

    return replace(
        found,
        gradients=tuple(next(nodes) for _ in found.gradients),
        adjoints={t: next(nodes) for t in found.adjoints},
        summands=summands,
    )


def _for_all(nodes: Sequence[Node], heads: Heads) -> list[Node]:
    """Functions of single heads as functions of all: a dim at a time, the last one first."""
    current, shown = heads.single, list(nodes)
    for k in reversed(range(len(heads.prefix))):
        # The heads of the last step are those that were given: their values are what is asked for.
        wider = [replace(h, shape=h.shape[k:]) for h in heads.given] if k else heads.given
        given = {old: Batched(new, 0) for old, new in zip(current, wider, strict=True)}
        made = batched(shown, given, heads.prefix[k])
        shown = [leading(new, heads.prefix[k]).node for new in made]
        current = wider
    return shown
