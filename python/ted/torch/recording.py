"""How torch records an operator for derivatives: its `autograd.Function`s.

Before: y = f(x)                     After: y, which knows x and the operator that gives dx of dy

`Recorded` is where torch computes or traces, `Transformed` one level of `torch.func` or of forward
mode. The operators of derivatives are recorded themselves when somebody asks for another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import torch


class Recorded(torch.autograd.Function):
    """An operator on tensors that require gradients."""

    @staticmethod
    def forward(ctx: Any, operator: Any, *tensors: torch.Tensor) -> Any:
        """Compute, and keep what gradients need."""
        ctx.operator = operator
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        results = operator.below_autograd(tensors)
        mark_constants(ctx, results)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        """The gradients by the operator that ted derives."""
        return None, *pulled_back(ctx, cotangents)


class Transformed(torch.autograd.Function):
    """An operator inside `torch.func` or forward mode, one level at a time."""

    @staticmethod
    def forward(operator: Any, *tensors: torch.Tensor) -> Any:
        """Compute, one level further down."""
        return tuple(operator.further_down(tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep the arguments."""
        ctx.operator, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        mark_constants(ctx, output)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        """The gradients by the operator that ted derives."""
        return None, *pulled_back(ctx, cotangents)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: torch.Tensor | None) -> Any:
        """The directional derivatives by the operator that ted derives."""
        tangents = grad_inputs[1:]
        moving = tuple([tangent is not None for tangent in tangents])
        pushed = ctx.operator.jvp(moving)
        return tuple(pushed(*ctx.saved_tensors, *compress(tangents, moving)))

    @staticmethod
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


def pulled_back(ctx: Any, cotangents: Sequence[torch.Tensor | None]) -> Sequence[Any]:
    """For each argument its gradient, None where none is wanted."""
    wanted = ctx.needs_input_grad[1:]
    heads = tuple([cotangent is not None for cotangent in cotangents])
    if not any(heads):
        return (None,) * len(wanted)
    pull = ctx.operator.vjp(wanted, heads)
    found = iter(pull(*ctx.saved_tensors, *compress(cotangents, heads)))
    return [next(found) if one else None for one in wanted]
