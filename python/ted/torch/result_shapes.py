"""Shapes and types of results, from those of arguments, symbolic ones too; nothing is compiled.

Before: x: float32[s0, 4]      After: y: float32[2*s0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ted.domain.sizes import Extent, Size, Symbol, symbolic
from ted.errors import TedError
from ted.frontend.notes import recording
from ted.frontend.tensors import Tensor, placeholder


def empty_results(operator: Any, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Results without data on the device of the arguments."""
    device = tensors[0].device if tensors else torch.device("cpu")
    return [
        torch.empty(shape, dtype=dtype, device=device)
        for shape, dtype in shapes_of_results(operator, tensors)
    ]


def shapes_of_results(
    operator: Any, tensors: Sequence[torch.Tensor]
) -> list[tuple[Any, torch.dtype]]:
    """The shape and type of each result; sizes that torch does not know stay as they are."""
    sizes = Sizes()
    dynamic = [tuple(map(sizes.extent, t.shape)) for t in tensors]
    try:
        results = traced(operator, dynamic, tensors)
    except TedError:
        if not sizes.known:
            raise
        results = traced(operator, [tuple(map(int, t.shape)) for t in tensors], tensors)
    return [(sizes.shape(r.shape), type_of_torch(r.dtype.name)) for r in results]


def traced(
    operator: Any, shapes: Sequence[tuple[Extent, ...]], tensors: Sequence[torch.Tensor]
) -> tuple[Tensor, ...]:
    """What the function makes of placeholders."""
    given = [
        placeholder(shape, type_name(t.dtype), name)
        for shape, t, name in zip(shapes, tensors, operator.names, strict=True)
    ]
    with recording([]):
        return operator.fn(*given)


class Sizes:
    """Sizes that torch does not know as symbols of ted, one for each."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[Symbol, Any]] = {}

    def extent(self, size: Any) -> Extent:
        """A size of torch as one of ted."""
        if isinstance(size, int):
            return size
        key = str(size.node.expr)
        if key not in self.known:
            self.known[key] = (Symbol(f"n{len(self.known)}"), size)
        return symbolic(self.known[key][0])

    def shape(self, extents: Sequence[Extent]) -> tuple[Any, ...]:
        """A shape of ted as one of torch."""
        values = {symbol.name: size for symbol, size in self.known.values()}
        return tuple(e.evaluate(values) if isinstance(e, Size) else e for e in extents)


def type_of_torch(name: str) -> torch.dtype:
    """The element type of torch."""
    return getattr(torch, name)


def type_name(dtype: torch.dtype) -> str:
    """The element type's name in ted."""
    return str(dtype).removeprefix("torch.")
