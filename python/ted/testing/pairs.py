"""Check a derivative that a person wrote against the function it belongs to: `check_vjp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.api.custom import custom_vjp
from ted.testing.gradients import check_grads


def check_vjp(
    forward: Callable[..., Any],
    backward: Callable[[Any, Any, Any], Any],
    args: Sequence[Any],
    order: int = 1,
    seed: int = 0,
    tolerance: float | None = None,
) -> None:
    """Compare a hand-written VJP with central differences of the function.

    `backward(inputs, outputs, heads)` gets three tuples and gives one gradient per argument, as for
    `ted.custom_vjp.defvjp`; both are functions of tensors, `args` are arrays or nests of arrays.  A
    higher `order` checks ted's derivatives of the hand-written one.
    Raises: DerivativeError naming the argument and the element that differ most.
    """
    check_grads(paired(forward, backward), args, order, ("rev",), seed, tolerance)


def paired(
    forward: Callable[..., Any], backward: Callable[[Any, Any, Any], Any]
) -> Callable[..., Any]:
    """The function with the derivative that a person wrote."""
    pair = custom_vjp(forward)
    pair.defvjp(backward)
    return pair
