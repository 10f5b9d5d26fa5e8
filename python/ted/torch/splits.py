"""Results with what their gradients need, and gradients of that: programs for gradients of order 1.

Before: y = f(x), and later dx = vjp(x, dy), which computes f again
After:  y, residuals = forward(x), and later dx = backward(x, y, residuals, dy)

What is kept is what `ted.forward_backward` keeps. A gradient that is differentiated itself is
computed of the arguments, by the operator of `FlatOperator.vjp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import torch

from ted.api.compiling import compile_sizes
from ted.api.functions import Function
from ted.api.residuals import split_program
from ted.domain.sizes import symbolic
from ted.errors import DerivativeError
from ted.frontend.batches import with_batch
from ted.frontend.functions import Trace, signature_of, trace_signature
from ted.ir.equations import topological
from ted.ir.specialising import sizes_of
from ted.runtime.calls import declined
from ted.torch.arrays import EXCHANGE, dense, from_arrays, to_arrays
from ted.torch.recording import is_transformed
from ted.torch.registering import arguments, registered
from ted.torch.traces import empty_like, sizes_in

Mask = Sequence[bool]
Tensors = Sequence[torch.Tensor]


class SplitProgram:
    """Both programs for arguments of one kind; gradients of any order read those at `needed`.

    `smooth` are the results that have cotangents.
    """

    def __init__(self, function: Function, trace: Trace, wanted: Mask) -> None:
        self._options = function.options
        self._trace = trace
        self._wanted = tuple(wanted)
        results = trace.outputs[: trace.output_tree.size]
        chosen = list(compress(trace.inputs, wanted))
        self._split = split = split_program(
            trace.inputs, trace.outputs, results, chosen, name=trace.name
        )
        self.smooth = [k for k, r in enumerate(results) if r.dtype.is_float]
        self.read = [k for k in split.results if k < len(results)]
        self.count = len(results)
        kept = [split.forward.outputs[k] for k in split.results]
        below = {*topological([*kept, *split.residuals])}
        self.needed = [
            k for k, x in enumerate(trace.inputs) if x.node in below or k in split.inputs
        ]
        self._count = len(trace.outputs)
        self._given = [self.needed.index(k) for k in split.inputs]
        self._first = compile_sizes(split.forward, options=self._options)
        self._short = _short_way(self._first)
        self._seconds: dict[Mask, tuple[Any, Any]] = {}

    @property
    def knows_sizes(self) -> bool:
        """Whether the second program sees all sizes: that of a sum over a batch does not."""
        system = self._split.backward
        seen = {extent for tensor in system.inputs for extent in tensor.shape}
        return all(symbolic(symbol) in seen for symbol in sizes_of(system))

    def exchanged(self, tensors: Tensors) -> Sequence[torch.Tensor] | None:
        """All that the first program computes of tensors that fit as they are, or None."""
        return self._short(EXCHANGE, *tensors)

    def forward(self, tensors: Tensors) -> Sequence[torch.Tensor]:
        """All that the first program computes."""
        return from_arrays(self._first(*to_arrays(tensors)))

    def opened(self, values: Sequence[torch.Tensor]) -> tuple[Tensors, Tensors]:
        """The results, and what the second program reads beside arguments."""
        results = self._trace.results(values[: self._count])  # which says what there is to say
        return results, [
            *[values[k] for k in self._split.results], *values[self._count :]
        ]  # fmt: skip

    def fake_forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Results and residuals without data."""
        system = self._split.forward
        hidden = [k for k in self._split.results if k >= self.count]  # of notes
        kept = (*(system.outputs[k] for k in hidden), *self._split.residuals)
        outputs = (*system.outputs[: self.count], *kept)
        return empty_like(outputs, sizes_in(system.inputs, tensors), tensors)

    def fake_backward(
        self, saved: Tensors, cotangents: Tensors, wanted: Mask
    ) -> list[torch.Tensor]:
        """The gradients that are wanted now, without data."""
        system = self._split.backward
        given = [*(saved[k] for k in self._given), *saved[len(self.needed) :], *cotangents]
        outputs = compress(system.outputs, compress(wanted, self._wanted))
        return empty_like(outputs, sizes_in(system.inputs, given), given)

    def kinds_of_absent(self, tensors: Tensors) -> list[tuple[int, Any]]:
        """What the arguments are that no gradient reads, so that nobody keeps them."""
        if len(self.needed) == len(tensors):
            return []
        kinds = [(k, (t.shape, t.dtype, t.device)) for k, t in enumerate(tensors)]
        return [(k, kind) for k, kind in kinds if k not in self.needed]

    def arguments(self, saved: Tensors, absent: Sequence[tuple[int, Any]]) -> list[torch.Tensor]:
        """All arguments again; those that nobody reads have their shape, and one number."""
        found = dict(zip(self.needed, saved, strict=False))
        for k, (shape, dtype, device) in absent:
            found[k] = torch.zeros((), dtype=dtype, device=device).expand(shape)
        return [found[k] for k in range(len(found))]

    def takes(self, operator: Any, tensors: Tensors) -> bool:
        """Whether the second program may read these as memory, unseen by torch."""
        return operator.is_plain(tensors)

    def backward(self, saved: Tensors, cotangents: Tensors, wanted: Mask) -> Sequence[torch.Tensor]:
        """Those of the gradients that are wanted now."""
        given = [saved[k] for k in self._given]
        dense = [c if c.is_contiguous() else c.contiguous() for c in cotangents]
        tensors = [*given, *saved[len(self.needed) :], *dense]
        second, short = self._seconds.get(wanted) or self._second(wanted)
        found = short(EXCHANGE, *tensors)
        return from_arrays(second(*to_arrays(tensors))) if found is None else found

    def _second(self, wanted: Mask) -> tuple[Any, Any]:
        """The program of the gradients, compiled when it is first needed, and its short way."""
        system = self._split.backward
        is_wanted = compress(wanted, self._wanted)  # of those that were wanted before
        outputs = tuple(compress(system.outputs, is_wanted))
        made = compile_sizes(replace(system, outputs=outputs), options=self._options)
        return self._seconds.setdefault(wanted, (made, _short_way(made)))


class TracedSplit:
    """The two programs as operators in `torch.ops.ted`, for graphs that torch traces."""

    def __init__(self, program: SplitProgram, name: str, count: int) -> None:
        self._program = program
        self._name = name
        self.smooth, self.needed = program.smooth, program.needed
        self.kinds_of_absent, self.arguments = program.kinds_of_absent, program.arguments
        self._first = registered(f"{name}_fwd", count, self._forward, program.fake_forward)
        self._seconds: dict[Mask, Any] = {}

    def forward(self, tensors: Tensors) -> list[torch.Tensor]:
        """The results and what the second program reads beside arguments and results."""
        return self._first(*arguments(tensors))

    def _forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        program = self._program
        results, kept = program.opened(program.exchanged(tensors) or program.forward(tensors))
        return [*results, *kept[len(program.read) :]]

    def opened(self, values: Tensors) -> tuple[Tensors, Tensors]:
        """The results, and what the second program reads beside arguments."""
        results, residuals = values[: self._program.count], values[self._program.count :]
        return results, [*(results[k] for k in self._program.read), *residuals]

    def takes(self, operator: Any, tensors: Tensors) -> bool:
        """Whether the second operator, which has no rule for `torch.func`, takes these."""
        del operator, tensors
        return not is_transformed()

    def backward(self, saved: Tensors, cotangents: Tensors, wanted: Mask) -> list[torch.Tensor]:
        """Those of the gradients that are wanted now."""
        second, given = self._seconds.get(wanted), [*saved, *cotangents]
        if second is None:
            second = self._seconds[wanted] = self._registered(wanted, len(saved), len(given))
        return second(*arguments(given))

    def _registered(self, wanted: Mask, count: int, whole: int) -> Any:
        program = self._program

        def computed(*tensors: torch.Tensor) -> Sequence[torch.Tensor]:
            return program.backward(tensors[:count], tensors[count:], wanted)

        def fake(*tensors: torch.Tensor) -> list[torch.Tensor]:
            return program.fake_backward(tensors[:count], tensors[count:], wanted)

        return registered(f"{self._name}_bwd", whole, computed, fake)


class Splits:
    """The programs of one operator where the same gradients are wanted, by shapes and types."""

    def __init__(self, operator: Any, wanted: Mask) -> None:
        self._operator = operator
        self._wanted = wanted
        self._known: dict[Any, SplitProgram | None] = {}
        self._traced: dict[Any, TracedSplit | None] = {}
        self._latest: SplitProgram | None = None

    def forward(self, tensors: Tensors) -> tuple[Any, Sequence[Any]] | None:
        """The programs for some arguments and all that the first computes; None without such."""
        if not self._operator.is_plain(tensors):
            return self._in_graph(tensors)
        latest = self._latest
        if latest is not None:
            values = latest.exchanged(tensors) or latest.exchanged(dense(tensors))
            if values:
                return latest, values
        arrays = self._operator.arrays(tensors)
        key = tuple([(tuple(a.shape), a.dtype) for a in arrays])
        if key not in self._known:
            function = self._operator.function
            given = signature_of(function, tuple(arrays), {})
            signature = with_batch(function, given, function.batch)
            self._known[key] = self._made(trace_signature(function, signature))
        latest = self._latest = self._known[key]
        return None if latest is None else (latest, latest.forward(tensors))

    def _in_graph(self, tensors: Tensors) -> tuple[Any, Sequence[Any]] | None:
        self._operator.check_devices(tensors)
        trace, _ = self._operator.traces.of(tensors)
        if trace not in self._traced:
            made = self._made(trace)
            name = self._operator.name
            self._traced[trace] = (
                None if made is None else TracedSplit(made, name, len(self._wanted))
            )
        found = self._traced[trace]
        return None if found is None else (found, found.forward(tensors))

    def _made(self, trace: Trace) -> SplitProgram | None:
        function = self._operator.function
        if function.options.debug_nans:  # which tests all tensors of one program
            return None
        try:
            made = SplitProgram(function, trace, self._wanted)
        except DerivativeError:  # said when somebody asks for the gradient
            return None
        return made if made.knows_sizes else None


def _short_way(program: Any) -> Any:
    """What runs a program on tensors as they are, or declines."""
    return declined if EXCHANGE is None else getattr(program, "exchanged", declined)
