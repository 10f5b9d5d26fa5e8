"""Programs that loops of Python make, or that take long to compile, for ted and for JAX.

Each is a function of a library and a size; it gives a function of arrays, the arrays, and how often
it is differentiated (after a sum, with respect to all of them). `compile.py --long` compiles them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Made = tuple[Callable[..., Any], list[Any], int]


@dataclass(frozen=True)
class Library:
    """What differs between ted and JAX.

    `scan` takes a step, the first carry, the rows, and whether the carries are computed again.
    """

    xp: Any
    scan: Callable[[Any, Any, Any, bool], Any]
    grad: Callable[..., Callable[..., Any]]
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]]


def _ted() -> Library:
    import ted

    def scan(step: Any, first: Any, rows: Any, again: bool) -> Any:
        return ted.scan(step, first, rows, checkpoint=True if again else None)

    return Library(ted, scan, ted.grad, ted.function)


def _jax() -> Library:
    import jax
    import jax.numpy as jnp

    def scan(step: Any, first: Any, rows: Any, again: bool) -> Any:
        return jax.lax.scan(jax.checkpoint(step) if again else step, first, rows)

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        run = jax.jit(function)
        return lambda *arrays: jax.block_until_ready(run(*arrays))

    return Library(jnp, scan, jax.grad, compiled)


LIBRARIES: Mapping[str, Callable[[], Library]] = {"ted": _ted, "jax": _jax}


def run_of(framework: str, name: str, size: int) -> tuple[Callable[..., Any], list[Any]]:
    """What compiles a program when it is called first, and its arrays."""
    library = LIBRARIES[framework]()
    function, arrays, orders = LONG[name].make(library, size)
    for _ in range(orders):
        function = _gradient(library, function, len(arrays))
    return library.compiled(function), arrays


def _gradient(library: Library, function: Any, count: int) -> Any:
    def total(*arrays: Any) -> Any:
        return library.xp.sum(function(*arrays))

    return library.grad(total, argnums=tuple(range(count)) if count > 1 else 0)


def _line(count: int) -> Any:
    return np.linspace(-1, 1, count).astype(np.float32)


# ------------------------------------------------------------------ programs


def chain(library: Library, n: int) -> Made:
    """n elementwise operations, each on the one before."""

    def run(x: Any) -> Any:
        for k in range(n):
            x = library.xp.sin(x) if k % 2 else x * 1.1
        return x

    return run, [_line(4096)], 0


def tanhs(library: Library, n: int) -> Made:
    """The gradient of n times `x = tanh(x) + c`."""

    def run(x: Any, c: Any) -> Any:
        for _ in range(n):
            x = library.xp.tanh(x) + c
        return x

    return run, [_line(1024), _line(1024)], 1


def writes(library: Library, n: int) -> Made:
    """n elements that are set one by one."""
    del library

    def run(x: Any) -> Any:
        y = x
        for i in range(n):
            y = y.at[i].set(x[i] * 2)
        return y

    return run, [_line(n)], 0


def written_gradient(library: Library, n: int) -> Made:
    """The gradient of n elements that are set one by one."""
    del library

    def run(x: Any, c: Any) -> Any:
        y = x
        for i in range(n):
            y = y.at[i].set(x[i] * c[i])
        return y * y

    return run, [_line(n), _line(n)], 1


def scalars(library: Library, n: int) -> Made:
    """n results that are scalars."""
    xp = library.xp
    return lambda x: tuple(xp.sum(xp.sin(x * (k + 1))) for k in range(n)), [_line(64)], 0


def sorts(library: Library, n: int) -> Made:
    """n sorts of 257 numbers."""
    numbers = np.random.default_rng(0).normal(size=257).astype(np.float32)
    return lambda x: tuple(library.xp.sort(x * float(k + 1)) for k in range(n)), [numbers], 0


def order(library: Library, n: int) -> Made:
    """The derivative of order n of a function of one variable."""
    xp = library.xp
    return lambda x: xp.tanh(x) * xp.exp(xp.sin(x)) / (1 + x**2), [_line(4096)], n


def runge_kutta(library: Library, n: int, again: bool = False) -> Made:
    """The gradient of n Runge-Kutta steps of van der Pol's equation in a scan."""
    xp = library.xp

    def slope(y: Any) -> Any:
        return xp.stack([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    def step(y: Any, h: Any) -> tuple[Any, Any]:
        first = slope(y)
        second = slope(y + h / 2 * first)
        third = slope(y + h / 2 * second)
        y = y + h / 6 * (first + 2 * second + 2 * third + slope(y + h * third))
        return y, y

    steps = np.full(n, 0.1, np.float32)
    return lambda y: library.scan(step, y, steps, again)[1] ** 2, [np.float32([1, 2])], 1


def checkpointed(library: Library, n: int) -> Made:
    """The same, whose carries are computed again."""
    return runge_kutta(library, n, again=True)


def kalman(library: Library, n: int) -> Made:
    """The gradient of n steps of a Kalman filter on places and speeds in the plane."""
    xp = library.xp
    move = np.eye(4, dtype=np.float32) + 0.1 * np.eye(4, k=2, dtype=np.float32)
    look = np.eye(2, 4, dtype=np.float32)

    def run(seen: Any, noise: Any) -> Any:
        def step(carry: Any, z: Any) -> tuple[Any, Any]:
            x, p = carry
            x, p = move @ x, move @ p @ move.T + noise
            s = look @ p @ look.T + 0.1 * np.eye(2, dtype=np.float32)
            gain = xp.linalg.solve(s, look @ p).T
            missed = z - look @ x
            return (x + gain @ missed, p - gain @ look @ p), xp.sum(missed**2)

        first = np.zeros(4, np.float32), np.eye(4, dtype=np.float32)
        return library.scan(step, first, seen, False)[1]

    rows = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    return run, [rows, 0.01 * np.eye(4, dtype=np.float32)], 1


def sinkhorn(library: Library, n: int) -> Made:
    """The gradient of the cost of a transport, by n turns of Sinkhorn's algorithm."""
    xp = library.xp

    def run(x: Any, y: Any) -> Any:
        cost = (x[:, None] - y[None, :]) ** 2
        kernel = xp.exp(-cost * 2.0)
        v = np.ones(64, np.float32)
        for _ in range(n):
            u = 1 / (kernel @ v)
            v = 1 / (kernel.T @ u)
        return u[:, None] * kernel * v * cost

    return run, [_line(64), _line(64) * 0.5], 1


def mpm(library: Library, n: int) -> Made:
    """The gradient of n steps of the material point method: 64 particles, a grid of 16 x 16."""
    xp = library.xp

    def weights(x: Any) -> tuple[Any, Any, Any]:
        base = xp.floor(x * 16 - 0.5)
        f = x * 16 - base
        w = 0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2
        return base.astype("int32"), f, w

    def step(x: Any, v: Any, c: Any) -> tuple[Any, Any, Any]:
        base, f, w = weights(x)
        near = [(i, j) for i in range(3) for j in range(3)]
        momentum, mass = np.zeros((16, 16, 2), np.float32), np.zeros((16, 16), np.float32)
        momentum, mass = xp.asarray(momentum), xp.asarray(mass)
        for i, j in near:
            weight = w[i][:, 0] * w[j][:, 1]
            place = np.float32([i, j]) - f
            moved = v + xp.sum(c * place[:, None, :], axis=2) / 16
            at = (base[:, 0] + i, base[:, 1] + j)
            momentum = momentum.at[at].add(weight[:, None] * moved)
            mass = mass.at[at].add(weight)
        grid = momentum / (mass + 1e-6)[:, :, None]
        v, c = v * 0, c * 0
        for i, j in near:
            weight = (w[i][:, 0] * w[j][:, 1])[:, None]
            found = weight * grid[base[:, 0] + i, base[:, 1] + j]
            place = np.float32([i, j]) - f
            v, c = v + found, c + 64 * found[:, :, None] * place[:, None, :]
        return x + 1e-3 * v, v, c

    def run(x: Any, v: Any) -> Any:
        c = np.zeros((64, 2, 2), np.float32)
        for _ in range(n):
            x, v, c = step(x, v, c)
        return x * x

    draw = np.random.default_rng(0)
    x = draw.uniform(0.3, 0.7, (64, 2)).astype(np.float32)
    return run, [x, draw.normal(size=(64, 2)).astype(np.float32)], 1


@dataclass(frozen=True)
class LongProgram:
    """What makes a program, its sizes from small to large, and the aims of some, in seconds."""

    make: Callable[[Library, int], Made]
    sizes: Sequence[int]
    limits: Mapping[int, float] = field(default_factory=dict)


LONG = {
    "chain": LongProgram(chain, (200, 1000, 5000), {200: 0.6, 1000: 3.0, 5000: 15.0}),
    "tanh, gradient": LongProgram(tanhs, (150, 300), {300: 2.4}),
    "writes": LongProgram(writes, (128, 256, 514), {256: 2.0, 514: 4.0}),
    "writes, gradient": LongProgram(written_gradient, (120, 240)),
    "scalar results": LongProgram(scalars, (100, 200), {200: 1.0}),
    "sorts": LongProgram(sorts, (4, 10), {10: 3.0}),
    "order": LongProgram(order, (5, 6), {6: 2.5}),
    "Runge-Kutta": LongProgram(runge_kutta, (25, 50), {50: 1.0}),
    "  checkpointed": LongProgram(checkpointed, (25, 50), {50: 1.0}),
    "Kalman filter": LongProgram(kalman, (50,)),
    "Sinkhorn": LongProgram(sinkhorn, (10, 20)),
    "MPM step": LongProgram(mpm, (1,)),
}
