"""Operators as a user of JAX writes them, under the names that programs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .arguments import of_some

Array = Any
_SPATIAL = ("W", "HW", "DHW")


def _layout(rank: int) -> tuple[str, str, str]:
    dims = _SPATIAL[rank - 3]
    return f"NC{dims}", f"OI{dims}", f"NC{dims}"


class Operators:
    """The names of `jax.numpy`, or those below where programs call them otherwise."""

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp, name)

    def zeros(self, shape: Any, like: Array) -> Array:
        return jnp.zeros(shape, like.dtype)

    def contiguous(self, x: Array) -> Array:
        return x

    def erf(self, x: Array) -> Array:
        return jax.scipy.special.erf(x)

    def lgamma(self, x: Array) -> Array:
        return jax.scipy.special.gammaln(x)

    def embedding(self, table: Array, ids: Array) -> Array:
        return table[ids]

    def segment_sum(self, values: Array, ids: Array, count: int) -> Array:
        return jax.ops.segment_sum(values, ids, count)

    def index_add(self, x: Array, ids: Array, values: Array) -> Array:
        return x.at[ids].add(values)

    def pad(self, x: Array, width: int, mode: str) -> Array:
        return jnp.pad(x, [(0, 0)] * (x.ndim - 2) + [(width, width)] * 2, mode=mode)

    def edge(self, x: Array, axis: int) -> Array:
        return jnp.pad(x, [(int(k == axis),) * 2 for k in range(x.ndim)], mode="edge")

    def difference(self, x: Array, axis: int) -> Array:
        return jnp.diff(x, axis=axis)

    # ---- rows

    def relu(self, x: Array) -> Array:
        return jax.nn.relu(x)

    def gelu(self, x: Array) -> Array:
        return jax.nn.gelu(x, approximate=False)

    def softmax(self, x: Array) -> Array:
        return jax.nn.softmax(x, -1)

    def log_softmax(self, x: Array) -> Array:
        return jax.nn.log_softmax(x, -1)

    def logsumexp(self, x: Array, axis: int = -1) -> Array:
        return jax.scipy.special.logsumexp(x, axis)

    def layer_norm(self, x: Array, w: Array, b: Array) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * w + b

    def group_norm(self, x: Array, groups: int, w: Array, b: Array, last: bool = False) -> Array:
        shape = (*x.shape[:-1], groups, -1) if last else (x.shape[0], groups, -1)
        parts, dims = x.reshape(shape), (1, 2, 4) if last else 2
        centred = parts - parts.mean(dims, keepdims=True)
        scaled = centred * lax.rsqrt((centred**2).mean(dims, keepdims=True) + 1e-5)
        w, b = (w, b) if last else (w[:, None, None], b[:, None, None])
        return scaled.reshape(x.shape) * w + b

    def cross_entropy(self, logits: Array, labels: Array) -> Array:
        logs = jax.nn.log_softmax(logits, -1)
        return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], 1))

    def dense(self, x: Array, w: Array, b: Array) -> Array:
        return x @ w + b

    # ---- windows

    def conv(
        self, x: Array, w: Array, stride: int = 1, padding: int = 0, dilation: int = 1,
        groups: int = 1, last: bool = False,
    ) -> Array:  # fmt: skip
        rank = x.ndim - 2
        layout = ("NHWC", "HWIO", "NHWC") if last else _layout(x.ndim)
        return lax.conv_general_dilated(
            x, w, (stride,) * rank, [(padding, padding)] * rank, rhs_dilation=(dilation,) * rank,
            dimension_numbers=layout, feature_group_count=groups,
        )  # fmt: skip

    def depthwise(self, x: Array, w: Array, padding: int) -> Array:
        return self.conv(x, w, padding=padding, groups=x.shape[1])

    def conv_transpose(self, x: Array, w: Array, stride: int, padding: int) -> Array:
        """Weights as torch has them: (ci, co, *kernel)."""
        rank = x.ndim - 2
        ends = [(k - 1 - padding,) * 2 for k in w.shape[2:]]
        flipped = jnp.flip(w, tuple(range(2, x.ndim))).swapaxes(0, 1)
        return lax.conv_general_dilated(
            x, flipped, (1,) * rank, ends, lhs_dilation=(stride,) * rank,
            dimension_numbers=_layout(x.ndim),
        )  # fmt: skip

    def max_pool(self, x: Array, size: int, stride: int, padding: int = 0) -> Array:
        ends = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
        window, steps = (1, 1, size, size), (1, 1, stride, stride)
        return lax.reduce_window(x, -jnp.inf, lax.max, window, steps, ends)

    def avg_pool(self, x: Array, size: int) -> Array:
        window = (1, 1, size, size)
        return lax.reduce_window(x, 0.0, lax.add, window, window, "VALID") / size**2

    # ---- models

    def attention(self, q: Array, k: Array, v: Array, causal: bool = False) -> Array:
        scores = q @ jnp.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
        if causal:
            seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
            scores = jnp.where(seen, scores, -jnp.inf)
        return jax.nn.softmax(scores, -1) @ v

    def lstm(self, x: Array, wx: Array, wh: Array, b: Array) -> Array:
        given = x @ wx + b

        def step(state: Any, row: Array) -> Any:
            h, c = state
            i, f, g, o = jnp.split(row + h @ wh, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((x.shape[1], wh.shape[0]), x.dtype)
        return lax.scan(step, (start, start), given)[1]

    def cholesky(self, a: Array) -> Array:
        return jnp.linalg.cholesky(a, symmetrize_input=False)

    def grad_of(self, fn: Callable[[Array], Array], x: Array) -> Array:
        return jax.grad(fn)(x)

    def hvp(self, fn: Callable[..., Any], xs: Any, tangents: Any, wrt: Any) -> Any:
        """Forward mode over the gradient."""
        some = tuple(xs[k] for k in wrt)
        gradients = jax.grad(of_some(fn, xs, wrt), tuple(range(len(some))))
        return jax.jvp(gradients, some, tuple(tangents))[1]

    def scan(self, step: Callable[..., Any], init: Any, xs: Any, reverse: bool = False) -> Any:
        return lax.scan(step, init, xs, reverse=reverse)
