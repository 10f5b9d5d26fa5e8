"""A function of tensors as an operator of torch: tensors in, a list of tensors out.

Four ways lead to the same program. On tensors of a device it is called as it is, by `Recorded`
where gradients are asked for; while torch traces it is `torch.ops.ted.<name>`; in `torch.func` and
forward mode it is `Transformed`. What is derived of it is such an operator again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import torch
from torch.autograd import forward_ad

from ted.api.flat_functions import (
    Flat,
    axes_text,
    batched_of,
    jvp_of,
    mask_text,
    named,
    vjp_of,
)
from ted.api.functions import Function
from ted.errors import ExecutionError
from ted.forking import cached_property
from ted.ir.dtypes import BY_NAME
from ted.options import CompileOptions
from ted.runtime.calls import declined
from ted.torch.arrays import EXCHANGE, UNKNOWN, dense, from_arrays, to_arrays
from ted.torch.recording import Transformed, is_transformed, record
from ted.torch.registering import arguments, registered
from ted.torch.splits import Splits
from ted.torch.traces import Traces, empty_like

_transforms = torch._C._are_functorch_transforms_active
_modes = torch._C._len_torch_dispatch_stack
_tracing = torch._C._get_tracing_state

PLAIN = (torch.Tensor, torch.nn.Parameter)
Mask = Sequence[bool]
Tensors = Sequence[torch.Tensor]


class FlatOperator:
    """A ted function of tensors called `names`; the first dims of those in `batch` are a batch.

    `like`: the argument that each result resembles; without it the function is traced for that.
    """

    def __init__(
        self,
        fn: Flat,
        name: str,
        names: Sequence[str],
        options: CompileOptions,
        batch: Sequence[int] = (),
        like: Sequence[int] | None = None,
    ) -> None:
        self.name = name
        self.names = tuple(names)
        self.batch = tuple(batch)
        self.fn = named(fn, name, self.names)
        self.function = Function(self.fn, options, self.batch)
        self._like = like
        self._kinds: Any = None  # of the tensors that the short way takes
        self._exchanged: Callable[..., Any] = declined
        self.traces = Traces(self.fn, self.batch)
        self._is_on_cpu = options.target.startswith("cpu")
        self._derived: dict[Any, FlatOperator] = {}
        self._splits: dict[Mask, Splits] = {}

    def __call__(self, *tensors: torch.Tensor) -> Sequence[torch.Tensor]:
        """The results on tensors of whatever kind.

        Raises: ExecutionError for tensors that the program does not take.
        """
        if not self.is_plain(tensors):
            if has_batches(tensors):
                return of_all_examples(self, tensors)
            if is_transformed():
                return Transformed.apply(self, *tensors)
            return self.overload(*arguments(tensors))
        if torch.is_grad_enabled():
            wanted = tuple([t.requires_grad for t in tensors])
            if True in wanted:
                return record(self, self._splits_for(wanted), *tensors)
        return self.run(tensors)

    def run(self, tensors: Tensors) -> Sequence[torch.Tensor]:
        """The results on tensors with data, without a gradient.

        Raises: ExecutionError for tensors that are not dense.
        """
        results = self._exchanged(EXCHANGE, *tensors)
        return self._run_on_arrays(tensors) if results is None else results

    def _run_on_arrays(self, tensors: Tensors) -> list[torch.Tensor]:
        """The results by way of arrays, for other devices, and what is new."""
        kinds = [(t.shape, t.dtype) for t in tensors]
        if kinds == self._kinds:
            results = self._exchanged(EXCHANGE, *dense(tensors))
            if results is not None:
                return results
        arrays = self.arrays(tensors)
        results = from_arrays(self.function(*arrays))
        if kinds != self._kinds:
            self._kinds, self._exchanged = kinds, self._short_way(arrays)
        return results

    def _short_way(self, arrays: Sequence[Any]) -> Callable[..., Any]:
        """What runs on tensors of these kinds as they are; what prints something has none."""
        trace = self.function.trace(*arrays)
        if EXCHANGE is None or trace.notes is not None or trace.last is not None:
            return declined
        return getattr(self.function.compiled(*arrays), "exchanged", declined)

    def arrays(self, tensors: Tensors) -> list[Any]:
        """The tensors as a program takes them.

        Raises: ExecutionError for a layout or a type that no program takes.
        """
        try:
            return to_arrays(tensors)
        except UNKNOWN:
            raise self._no_array(tensors) from None

    def _no_array(self, tensors: Tensors) -> ExecutionError:
        for name, tensor in zip(self.names, tensors, strict=True):
            what = f"{self.name}: argument {name!r}: a program takes"
            if tensor.layout is not torch.strided:
                return ExecutionError(
                    f"{what} dense tensors, got {tensor.layout}; write x.to_dense()"
                )
            if str(tensor.dtype).removeprefix("torch.") not in BY_NAME:
                return ExecutionError(f"{what} no {tensor.dtype}; cast it with x.to()")
        raise AssertionError("some tensor is no array")

    @cached_property
    def overload(self) -> Any:
        """The operator in `torch.ops`, which is made when somebody needs it."""
        return registered(
            self.name, len(self.names), self.computed, self.fake, self.recorded,
            self.batched_results, self.function,
        )  # fmt: skip

    @cached_property
    def _below(self) -> Any:
        """What that is without a gradient, in graphs and below them."""
        name, count = f"{self.name}_below", len(self.names)
        return registered(name, count, self.computed, self.fake, function=self.function)

    def is_plain(self, tensors: Tensors) -> bool:
        """Whether these lie where the program runs, and nobody looks at what is done with them."""
        if _transforms() or forward_ad._current_level >= 0 or _modes() or _tracing():
            return False
        if is_batching():
            return False
        for tensor in tensors:
            is_here = tensor.is_cpu if self._is_on_cpu else tensor.is_cuda
            if not is_here or type(tensor) not in PLAIN or tensor.is_neg():
                return False
        return True

    # ---- on the way down -------------------------------------------------------------------------

    def _splits_for(self, wanted: Mask) -> Splits:
        found = self._splits.get(wanted)
        if found is None:
            found = self._splits.setdefault(wanted, Splits(self, wanted))
        return found

    def below_autograd(self, tensors: Tensors) -> Sequence[torch.Tensor]:
        """The results for what records."""
        if self.is_plain(tensors):
            return self.run(tensors)
        return self._below(*arguments(tensors))

    def further_down(self, tensors: Tensors) -> Sequence[torch.Tensor]:
        """The results at the next level of `torch.func`, or at the ground."""
        if torch._C._are_functorch_transforms_active():
            return self(*tensors)
        return self.overload(*arguments(tensors)) if is_traced() else self.computed(*tensors)

    # ---- what torch asks the registered operator -------------------------------------------------

    def computed(self, *tensors: torch.Tensor) -> Sequence[torch.Tensor]:
        """The results on tensors of a device.

        Raises: ExecutionError for a tensor that lies on another one.
        """
        results = self._exchanged(EXCHANGE, *tensors)
        if results is None:
            self.check_devices(tensors)
            results = self._run_on_arrays(tensors)
        return results

    def check_devices(self, tensors: Tensors) -> None:
        """Where one lies elsewhere, refuse.

        Those without data are together: where one is so, torch asks for results without data.
        Raises: ExecutionError for a tensor that lies on another device.
        """
        is_whole = all(tensor.is_meta for tensor in tensors)
        own = "meta" if is_whole else "cpu" if self._is_on_cpu else "cuda"
        for tensor, name in zip(tensors, self.names, strict=True):
            if tensor.device.type != own:
                device = self.function.target.partition(",")[0]
                raise ExecutionError(
                    f"{self.name}: an operator for target {device!r} takes tensors that lie there, "
                    f"got argument {name!r} on {tensor.device}; move it, or make an operator with "
                    "target="
                )

    def fake(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Results without data.

        Raises: ExecutionError for a tensor that lies on another device.
        """
        self.check_devices(tensors)
        if self._like is None:
            trace, sizes = self.traces.of(tensors)
            outputs = [t.node for t in trace.outputs[: trace.output_tree.size]]
            return empty_like(outputs, sizes, tensors)
        dense = torch.contiguous_format
        return [torch.empty_like(tensors[k], memory_format=dense) for k in self._like]

    def recorded(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """The results, with a gradient where one is asked for."""
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*tensors):
            wanted = tuple([t.requires_grad for t in tensors])
            return list(record(self, self._splits_for(wanted), *tensors))
        return list(self.below_autograd(tensors))

    def batched_results(self, axes: Sequence[int | None], tensors: Tensors) -> list[torch.Tensor]:
        """The results for all examples, along their first dim."""
        return list(self.batched(axes)(*tensors))

    # ---- what is derived -------------------------------------------------------------------------

    def vjp(self, wanted: Mask, heads: Mask, tensors: Tensors) -> FlatOperator:
        """The operator of such arguments and cotangents that gives the wanted gradients."""

        def make() -> FlatOperator:
            fn = vjp_of(self.fn, len(self.names), wanted, heads)
            like = list(compress(range(len(wanted)), wanted))
            what = f"vjp_{mask_text(wanted)}_{mask_text(heads)}"
            rows = self.traces.rows(tensors) if self.batch else ()
            return self._with(what, fn, "d", heads, rows, like)

        return self._derive(("vjp", tuple(wanted), tuple(heads)), make)

    def jvp(self, moving: Mask) -> FlatOperator:
        """The operator of arguments and tangents that gives the tangents of all results."""

        def make() -> FlatOperator:
            fn = jvp_of(self.fn, len(self.names), moving)
            rows = [k in self.batch for k in range(len(moving))]
            return self._with(f"jvp_{mask_text(moving)}", fn, "t", moving, rows)

        return self._derive(("jvp", tuple(moving)), make)

    def batched(self, axes: Sequence[int | None]) -> FlatOperator:
        """The operator for all examples, which the first dim of each result counts."""

        def make() -> FlatOperator:
            name, options = f"{self.name}_vmap_{axes_text(axes)}", self.function.options
            return FlatOperator(batched_of(self.fn, axes), name, self.names, options)

        return self._derive(("vmap", tuple(axes)), make)

    def _derive(self, key: Any, make: Callable[[], FlatOperator]) -> FlatOperator:
        found = self._derived.get(key)
        if found is None:
            found = self._derived.setdefault(key, make())
        return found

    def _with(
        self,
        what: str,
        fn: Flat,
        letter: str,
        chosen: Mask,
        has_rows: Mask,
        like: Sequence[int] | None = None,
    ) -> FlatOperator:
        """An operator that takes a cotangent or a tangent for each of the chosen, too."""
        names, batch = list(self.names), list(self.batch)
        for k in compress(range(len(chosen)), chosen):
            name = f"{letter}{k}"
            while name in names:
                name = letter + name
            if self.batch and has_rows[k]:
                batch.append(len(names))
            names.append(name)
        return FlatOperator(fn, f"{self.name}_{what}", names, self.function.options, batch, like)


def is_traced() -> bool:
    """Whether a mode of torch sees what is done with tensors."""
    return bool(_modes() or _tracing())


# ------------------------------------------------------------------ loop batches
#
# Batches of cotangents as `torch.autograd.grad(is_grads_batched=True)` makes them.
#
# Before: one cotangent, of shape (2,) to whoever looks, which has a hidden dim of 3 examples
# After:  the tensor of shape (3, 2), for the operator that ted makes for all examples
#
# Those of `torch.autograd.functional` with `vectorize=True` and of `gradcheck` are such. They are
# older than `torch.func`, and its `vmap` does not know them.

_torch: Any = torch  # which says no types of what is used here
_LEVELS = range(1, 64)  # of which torch's own functions use the first
_mode = torch._C._dispatch_key_parse("VmapMode")
_is_included = torch._C._dispatch_tls_is_dispatch_key_included
_has_hidden = _torch._C._functorch.is_legacy_batchedtensor


def is_batching() -> bool:
    """Whether tensors may have a hidden dim."""
    return _is_included(_mode)


def has_batches(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether one of them has a hidden dim."""
    return is_batching() and any(map(_has_hidden, tensors))


def of_all_examples(operator: Any, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The results with a hidden dim again, by the operator for all examples.

    Raises: ExecutionError for a batch of batches.
    """
    level = next((k for k in _LEVELS if not any(map(_has_hidden, _opened(tensors, k)))), None)
    if level is None:
        raise ExecutionError(
            f"{operator.name}: an operator takes one batch of torch.autograd.grad("
            "is_grads_batched=True), got one inside of another; write torch.func.vmap"
        )
    axes = tuple([0 if _has_hidden(tensor) else None for tensor in tensors])
    results = operator.batched(axes)(*_opened(tensors, level))
    return [_torch._add_batch_dim(result, 0, level) for result in results]


def _opened(tensors: Sequence[torch.Tensor], level: int) -> list[torch.Tensor]:
    """The tensors with the hidden dim of a level as their first one."""
    return [_torch._remove_batch_dim(t, level, 1, 0) if _has_hidden(t) else t for t in tensors]
