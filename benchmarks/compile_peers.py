"""ted and its peers, as `compile.py` uses them; a peer is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from compile_programs import Framework


@dataclass(frozen=True)
class Peer:
    """A framework, what compiles a loss with its gradient, and what makes its arrays."""

    framework: Framework
    compiled: Callable[[Callable[..., Any]], Callable[[dict[str, Any]], Any]]
    array: Callable[[Any], Any]


def _ted() -> Peer:
    import ted

    def convolve(x: Any, kernel: Any) -> Any:
        return ted.nn.conv2d(x, kernel, padding="same")

    def compiled(loss: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
        return ted.function(ted.value_and_grad(loss))

    return Peer(Framework(ted, convolve, ted.where), compiled, lambda array: array)


def _jax() -> Peer:
    import jax
    import jax.numpy as jnp

    def convolve(x: Any, kernel: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)

    def compiled(loss: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
        run = jax.jit(jax.value_and_grad(loss))
        return lambda arrays: jax.block_until_ready(run(arrays))

    return Peer(Framework(jnp, convolve, jnp.where), compiled, jnp.asarray)


def _torch() -> Peer:
    import torch

    def convolve(x: Any, kernel: Any) -> Any:
        images, weights = x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1)
        return torch.nn.functional.conv2d(images, weights, padding="same").permute(0, 2, 3, 1)

    def compiled(loss: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
        run = torch.compile(loss, fullgraph=True)
        return lambda arrays: run(arrays).backward()

    names = ("sum", "mean", "exp", "sqrt", "sin", "tanh")
    xp = SimpleNamespace(
        **{name: getattr(torch, name) for name in names},
        max=lambda x, axis, keepdims: torch.amax(x, axis, keepdims),
        maximum=torch.clamp_min,
    )
    return Peer(
        Framework(xp, convolve, torch.where),
        compiled,
        lambda array: torch.tensor(array, requires_grad=True),
    )


FRAMEWORKS = {"ted": _ted, "jax": _jax, "torch": _torch}
