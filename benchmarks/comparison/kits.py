"""The peers: how each makes arrays, compiles, differentiates and waits for a result.

A kit is made when its peer is asked for, so that a process loads only what it times.  `operators`
are the names that programs use, written as a user of that peer writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arguments import Function, of_some


@dataclass(frozen=True)
class Kit:
    """One peer.

    vjp(fn, xs, heads, wrt), grad(fn, xs, wrt), jvp(fn, xs, tangents, wrt) and hvp of the same
    arguments work inside of what `ready` compiles; `ready` gives a call that returns when the
    result is there.  `forward_only` compiles a function that is differentiated from outside.
    """

    operators: Any
    array: Callable[[np.ndarray], Any]
    numpy: Callable[[Any], np.ndarray]
    ready: Callable[[Function], Function]
    vjp: Function
    grad: Function
    jvp: Function
    hvp: Function
    threads: Callable[[int], None] = lambda count: None
    forward_only: Callable[[Function], Function] = lambda fn: fn


def ted_kit() -> Kit:
    """ted, as `ted.function` compiles it."""
    import ted

    from . import operators_ted

    def vjp(fn: Function, xs: Any, heads: Any, wrt: Any) -> Any:
        some = [xs[k] for k in wrt]
        head = tuple(heads) if len(heads) > 1 else heads[0]
        return ted.vjp(of_some(fn, xs, wrt), *some)[1](head)

    def grad(fn: Function, xs: Any, wrt: Any) -> Any:
        return ted.grad(fn, argnums=tuple(wrt))(*xs)

    def jvp(fn: Function, xs: Any, tangents: Any, wrt: Any) -> Any:
        return ted.jvp(of_some(fn, xs, wrt), tuple(xs[k] for k in wrt), tuple(tangents))[1]

    own = operators_ted.Operators()
    return Kit(
        own, lambda a: a, np.asarray, ted.function, vjp, grad, jvp, own.hvp, ted.set_num_threads
    )  # fmt: skip


def jax_kit() -> Kit:
    """JAX under `jit`."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from . import operators_jax

    def ready(fn: Function) -> Function:
        run = jax.jit(fn)
        return lambda *xs: jax.block_until_ready(run(*xs))

    def vjp(fn: Function, xs: Any, heads: Any, wrt: Any) -> Any:
        some = [xs[k] for k in wrt]
        head = tuple(heads) if len(heads) > 1 else heads[0]
        return jax.vjp(of_some(fn, xs, wrt), *some)[1](head)

    def grad(fn: Function, xs: Any, wrt: Any) -> Any:
        return jax.grad(fn, argnums=tuple(wrt))(*xs)

    def jvp(fn: Function, xs: Any, tangents: Any, wrt: Any) -> Any:
        return jax.jvp(of_some(fn, xs, wrt), tuple(xs[k] for k in wrt), tuple(tangents))[1]

    def hvp(fn: Function, xs: Any, tangents: Any, wrt: Any) -> Any:
        some = tuple(xs[k] for k in wrt)
        gradients = jax.grad(of_some(fn, xs, wrt), argnums=tuple(range(len(some))))
        return jax.jvp(gradients, some, tuple(tangents))[1]

    return Kit(operators_jax.Operators(), jax.numpy.asarray, np.asarray, ready, vjp, grad, jvp, hvp)


def torch_kit(compiled: bool = False) -> Kit:
    """Torch eager, or forward passes under `torch.compile`."""
    import torch

    from . import operators_torch as own

    def forward_only(fn: Function) -> Function:
        return torch.compile(fn) if compiled else fn

    return Kit(
        own.Operators(), own.tensor, own.array, lambda fn: fn, own.vjp, own.grad, own.jvp, own.hvp,
        torch.set_num_threads, forward_only,
    )  # fmt: skip


def numpy_kit() -> Kit:
    """NumPy, which differentiates nothing."""
    from . import operators_numpy

    def refused(*_: Any) -> Any:
        raise NotImplementedError("NumPy has no derivatives")

    return Kit(
        operators_numpy.Operators(), lambda a: a, np.asarray, lambda fn: fn, refused, refused,
        refused, refused,
    )  # fmt: skip


KITS: dict[str, Callable[[], Kit]] = {
    "ted": ted_kit, "torch": torch_kit, "inductor": lambda: torch_kit(compiled=True),
    "jax": jax_kit, "numpy": numpy_kit,
}  # fmt: skip
# The packages whose versions a run names.
PACKAGES = {"ted": "torch-mlir", "torch": "torch", "inductor": "torch", "jax": "jax",
            "numpy": "numpy"}  # fmt: skip
