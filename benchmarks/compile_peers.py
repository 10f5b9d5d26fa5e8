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

    def scan(step: Any, first: Any, rows: Any, segment: int | None) -> Any:
        def pair(state: Any, row: Any) -> tuple[Any, Any]:
            return (after := step(state, row)), after

        return ted.scan(pair, first, rows, checkpoint=segment)[1]

    return Peer(Framework(ted, convolve, ted.where, scan), compiled, lambda array: array)


def _jax() -> Peer:
    import jax
    import jax.numpy as jnp

    def convolve(x: Any, kernel: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)

    def compiled(loss: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
        run = jax.jit(jax.value_and_grad(loss))
        return lambda arrays: jax.block_until_ready(run(arrays))

    def scan(step: Any, first: Any, rows: Any, segment: int | None) -> Any:
        def pair(state: Any, row: Any) -> tuple[Any, Any]:
            return (after := step(state, row)), after

        if segment is None:
            return jax.lax.scan(pair, first, rows)[1]
        part = jax.checkpoint(lambda state, some: jax.lax.scan(pair, state, some))
        parts = rows.reshape(-1, segment, *rows.shape[1:])
        return jax.lax.scan(part, first, parts)[1]

    return Peer(Framework(jnp, convolve, jnp.where, scan), compiled, jnp.asarray)


def _torch() -> Peer:
    import torch
    import torch.utils.checkpoint

    def convolve(x: Any, kernel: Any) -> Any:
        images, weights = x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1)
        return torch.nn.functional.conv2d(images, weights, padding="same").permute(0, 2, 3, 1)

    def compiled(loss: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
        run = torch.compile(loss, fullgraph=True)
        return lambda arrays: run(arrays).backward()

    def scan(step: Any, first: Any, rows: Any, segment: int | None) -> Any:
        def part(state: Any, some: Any) -> tuple[Any, Any]:
            states = [state := step(state, row) for row in some]
            return state, torch.stack(states)

        if segment is None:
            return part(first, rows)[1]
        again = torch.utils.checkpoint.checkpoint
        state, found = first, []
        for some in rows.split(segment):
            state, states = again(part, state, some, use_reentrant=False)
            found.append(states)
        return torch.cat(found)

    names = ("sum", "mean", "exp", "sqrt", "sin", "tanh")
    xp = SimpleNamespace(
        **{name: getattr(torch, name) for name in names},
        max=lambda x, axis, keepdims: torch.amax(x, axis, keepdims),
        maximum=torch.clamp_min,
    )
    return Peer(
        Framework(xp, convolve, torch.where, scan),
        compiled,
        lambda array: torch.tensor(array, requires_grad=True),
    )


FRAMEWORKS = {"ted": _ted, "jax": _jax, "torch": _torch}
