"""How torch records an operator for derivatives: its `autograd.Function`s.

Before: y = f(x)                     After: y, which knows x and the operator that gives dx of dy

`Recorded` is where torch computes or traces, `Transformed` one level of `torch.func` or of forward
mode. The operators of derivatives are recorded themselves when somebody asks for another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, TypeVar

import torch
from torch._C._dynamo import eval_frame
from torch.autograd import forward_ad

Fn = TypeVar("Fn", bound=Any)


_frames: Any = eval_frame
_SKIP = _frames._FrameExecStrategy(_frames._FrameAction.SKIP, _frames._FrameAction.SKIP)


def left_to_python(fn: Fn) -> Fn:
    """A function that torch.compile does not look into, nor into what it calls.

    It would where it leaves a call to Python, as it does one that it found an error in. Unlike
    `torch.compiler.disable` this costs no call.
    """
    _frames.set_code_exec_strategy(fn.__code__, _SKIP)
    return fn


class Recorded(torch.autograd.Function):
    """An operator on tensors that require gradients, with data where `splits` are given."""

    @staticmethod
    @left_to_python
    def forward(ctx: Any, operator: Any, splits: Any, *tensors: torch.Tensor) -> Any:
        """Compute, and keep what gradients need."""
        ctx.operator = operator
        ctx.set_materialize_grads(False)
        found = None if splits is None else splits.forward(tensors)
        if found is None:
            ctx.split = None
            results = operator.below_autograd(tensors)
            ctx.save_for_backward(*tensors)
            mark_constants(ctx, results)
            return tuple(results)
        split, values = found
        ctx.split, ctx.absent = split, split.kinds_of_absent(tensors)
        results, kept = split.opened(values)
        ctx.save_for_backward(*[tensors[k] for k in split.needed], *kept)
        if len(split.smooth) < len(results):
            mark_constants(ctx, results)
        return tuple(results)

    @staticmethod
    @left_to_python
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        """The gradients: of what was kept, or by the operator that ted derives."""
        saved, split, wanted = ctx.saved_tensors, ctx.split, ctx.needs_input_grad[2:]
        if split is not None:
            heads = [cotangents[k] for k in split.smooth]
            is_first = not torch.is_grad_enabled() and all(head is not None for head in heads)
            if is_first and split.takes(ctx.operator, [*saved, *heads]):
                return None, None, *spread(split.backward(saved, heads, wanted), wanted)
            saved = split.arguments(saved, ctx.absent)
        return None, None, *pulled_back(ctx.operator, saved, cotangents, wanted)


# Without what `autograd.Function.apply` does for `torch.func`, where `Transformed` is used.
_bare: Any = super(torch.autograd.Function, Recorded)
record = _bare.apply


class Transformed(torch.autograd.Function):
    """An operator inside `torch.func` or forward mode, one level at a time."""

    @staticmethod
    @left_to_python
    def forward(operator: Any, *tensors: torch.Tensor) -> Any:
        """Compute, one level further down."""
        return tuple(operator.further_down(tensors))

    @staticmethod
    @left_to_python
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep the arguments."""
        ctx.operator, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        mark_constants(ctx, output)

    @staticmethod
    @left_to_python
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        """The gradients by the operator that ted derives."""
        wanted = ctx.needs_input_grad[1:]
        return None, *pulled_back(ctx.operator, ctx.saved_tensors, cotangents, wanted)

    @staticmethod
    @left_to_python
    def jvp(ctx: Any, *grad_inputs: torch.Tensor | None) -> Any:
        """The directional derivatives by the operator that ted derives."""
        tangents = grad_inputs[1:]
        moving = tuple([tangent is not None for tangent in tangents])
        pushed = ctx.operator.jvp(moving)
        return tuple(pushed(*ctx.saved_tensors, *compress(tangents, moving)))

    @staticmethod
    @left_to_python
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """All examples by the operator that ted makes of one."""
        operator, *tensors = args
        results = tuple(operator.batched_results(in_dims[1:], tensors))
        return results, (0,) * len(results)


def mark_constants(ctx: Any, results: Sequence[torch.Tensor]) -> None:
    """Tell torch which results have no gradient: those of integers and bools."""
    constants = [r for r in results if not r.is_floating_point()]
    if constants:
        ctx.mark_non_differentiable(*constants)


def pulled_back(
    operator: Any,
    tensors: Sequence[torch.Tensor],
    cotangents: Sequence[torch.Tensor | None],
    wanted: Sequence[bool],
) -> Sequence[torch.Tensor | None]:
    """For each argument its gradient, by an operator that has gradients itself."""
    heads = tuple([cotangent is not None for cotangent in cotangents])
    if not any(heads):
        return (None,) * len(wanted)
    pull = operator.vjp(wanted, heads, tensors)
    return spread(pull(*tensors, *compress(cotangents, heads)), wanted)


def spread(
    gradients: Sequence[torch.Tensor], wanted: Sequence[bool]
) -> Sequence[torch.Tensor | None]:
    """For each argument its gradient, None where none is wanted."""
    left = iter(gradients)
    return [next(left) if is_wanted else None for is_wanted in wanted]


def is_transformed() -> bool:
    """Whether `torch.func` or forward mode is at work."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
