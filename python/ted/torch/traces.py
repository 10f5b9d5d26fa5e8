"""The program of an operator for tensors without data, where sizes may be unknown to torch.

Before: x of shape (s0, 4) in a graph that torch traces     After: x: float32[n0, 4] and its results

Nothing is compiled for that. What cannot be traced for all sizes, as `x / x.shape[1] ** 0.5`, is
traced for some of those of now, which torch then takes for constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import torch

from ted.domain.sizes import Extent, Size, Symbol, symbolic
from ted.errors import TedError
from ted.frontend.batches import BATCH
from ted.frontend.functions import Signature, Trace, signature_of, trace_signature
from ted.ir.equations import Tensor

Tensors = Sequence[torch.Tensor]
Shape = Sequence[Any]


class Kind:
    """What tracing looks at in an array."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.shape = (0,) * tensor.ndim  # of which another one is made
        self.dtype = str(tensor.dtype).removeprefix("torch.")


class Traces:
    """The traces of a function of tensors, those in `batch` with a batch as their first dim."""

    def __init__(self, fn: Any, batch: Sequence[int]) -> None:
        self._fn = fn
        self._batch = batch
        self._known: dict[Signature, Trace | None] = {}

    def of(self, tensors: Tensors) -> tuple[Trace, Mapping[str, Any]]:
        """The trace for some tensors, and what its sizes are.

        Raises: FrontendError for what cannot be traced.
        """
        sizes = Sizes()
        signature = self._given(tensors, sizes)
        if sizes.values:
            found = self._for_all_sizes(signature)
            if found is not None:
                return found, sizes.values
            some = self._for_some_sizes(tensors, sizes.unknown)
            if some is not None:
                return some
            signature = self._signature([tuple(map(int, t.shape)) for t in tensors], tensors)
        found = self._known.get(signature)
        if found is None:
            found = self._known[signature] = trace_signature(self._fn, signature)
        return found, {}

    def _for_some_sizes(
        self, tensors: Tensors, unknown: Mapping[str, Any]
    ) -> tuple[Trace, Mapping[str, Any]] | None:
        """The trace with constants for as few sizes as one by one can be left unknown."""
        if not all(size.node.has_hint() for size in unknown.values()):
            return None
        fixed = {key: size.node.hint for key, size in unknown.items()}  # no constants of torch yet
        found = None
        for key in unknown:
            others = {k: v for k, v in fixed.items() if k != key}
            trace = self._for_all_sizes(self._given(tensors, Sizes(others)))
            if trace is not None:
                found, fixed = trace, others
        if found is None:
            return None
        final = Sizes({key: int(unknown[key]) for key in fixed})
        self._given(tensors, final)
        return found, final.values

    def _given(self, tensors: Tensors, sizes: Sizes) -> Signature:
        shapes = [
            sizes.extents(t.shape, k in self._batch and t.ndim > 0) for k, t in enumerate(tensors)
        ]
        return self._signature(shapes, tensors)

    def rows(self, tensors: Tensors) -> list[bool]:
        """For each result whether its first dim is the batch, which may have no rows now.

        Raises: FrontendError for what cannot be traced.
        """
        sizes = Sizes()
        has_rows = [k in self._batch and t.ndim > 0 for k, t in enumerate(tensors)]
        shapes = [
            sizes.extents((1, *t.shape[1:]) if one else t.shape, one)  # 1 is as good as any
            for t, one in zip(tensors, has_rows, strict=True)
        ]
        signature = self._signature(shapes, tensors)
        trace = self._for_all_sizes(signature) or trace_signature(self._fn, signature)
        results = [t.node for t in trace.outputs[: trace.output_tree.size]]
        return [bool(r.shape) and r.shape[0] == symbolic(BATCH) for r in results]

    def _for_all_sizes(self, signature: Signature) -> Trace | None:
        if signature not in self._known:
            try:
                self._known[signature] = trace_signature(self._fn, signature)
            except TedError:  # said for the sizes of now, if it is wrong for them too
                self._known[signature] = None
        return self._known[signature]

    def _signature(self, shapes: Sequence[Shape], tensors: Tensors) -> Signature:
        kinds = tuple([Kind(tensor) for tensor in tensors])
        plain = signature_of(self._fn, kinds, {})
        pairs = zip(plain.leaves, shapes, strict=True)
        return replace(plain, leaves=tuple([replace(leaf, shape=s) for leaf, s in pairs]))


class Sizes:
    """Sizes that torch does not know, and batches, as symbols of ted, with what they stand for.

    `fixed` are numbers for some of them, by torch's name.
    """

    def __init__(self, fixed: Mapping[str, int] = MappingProxyType({})) -> None:
        self.values: dict[str, Any] = {}
        self.unknown: dict[str, Any] = {}
        self._fixed = fixed
        self._symbols: dict[str, Symbol] = {}

    def extents(self, shape: Shape, has_batch: bool) -> tuple[Extent, ...]:
        """A shape of torch as one of ted."""
        first = [self._batch(shape[0])] if has_batch else []
        return (*first, *map(self._extent, shape[len(first) :]))

    def _batch(self, size: Any) -> Extent:
        if size == 0:
            return 0
        self.values.setdefault(BATCH.name, size)
        return symbolic(BATCH)

    def _extent(self, size: Any) -> Extent:
        if isinstance(size, int):
            return size
        key = str(size.node.expr)
        if key in self._fixed:
            return self._fixed[key]
        self.unknown[key] = size
        if key not in self._symbols:
            symbol = self._symbols[key] = Symbol(f"n{len(self._symbols)}")
            self.values[symbol.name] = size
        return symbolic(self._symbols[key])


def sizes_in(inputs: Iterable[Tensor], tensors: Tensors) -> dict[str, Any]:
    """The sizes of a program of some tensors, each of which is somewhere a dim by itself."""
    found: dict[str, Any] = {}
    for spec, tensor in zip(inputs, tensors, strict=True):
        for extent, size in zip(spec.shape, tensor.shape, strict=True):
            if isinstance(extent, Size) and len(extent.symbols) == 1:
                (symbol,) = extent.symbols
                if extent == symbolic(symbol):
                    found.setdefault(symbol.name, size)
    return found


def empty_like(
    outputs: Iterable[Tensor], sizes: Mapping[str, Any], tensors: Tensors
) -> list[torch.Tensor]:
    """Tensors without data for outputs of a program, where its arguments lie."""
    device = tensors[0].device if tensors else torch.device("cpu")

    def size(extent: Extent) -> Any:
        return extent.evaluate(sizes) if isinstance(extent, Size) else extent

    return [
        torch.empty([size(n) for n in t.shape], dtype=getattr(torch, t.dtype.name), device=device)
        for t in outputs
    ]
