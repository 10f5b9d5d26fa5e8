"""Recurrences written as equations, with what numpy says of them.

Each program gives its inputs, its output and a reference: a function of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ted.domain import sets
from ted.ir.affine import condition_set
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import (
    add,
    apply,
    compare,
    const,
    dim,
    div,
    floordiv,
    index,
    land,
    load,
    mul,
    select,
    sub,
)

Array = np.ndarray[Any, Any]
i, j, k, r = (dim(n) for n in range(4))
ZERO, ONE = const(0.0, FLOAT64), const(1.0, FLOAT64)


@dataclass(frozen=True)
class Recurrence:
    """A program and its oracle; `domain` maps random arrays to arrays that suit the program."""

    inputs: tuple[Tensor, ...]
    output: Tensor
    reference: Callable[..., Array]
    suited: Callable[..., Sequence[Array]] = lambda *arrays: arrays

    def arrays(self, seed: int = 0) -> list[Array]:
        """Random inputs."""
        random = np.random.default_rng(seed)
        return list(self.suited(*(random.standard_normal(t.shape) for t in self.inputs)))


def given(name: str, *shape: int) -> Tensor:
    """An input."""
    return Tensor(name, shape, FLOAT64)


def history(name: str, *shape: int, time: int | None = 0, reverse: bool = False) -> Tensor:
    """A tensor along time, without its equations."""
    return Tensor(name, shape, FLOAT64, 0, time=time, reverse=reverse)


def equation(
    extents: tuple[int, ...], body: Expr, combiner: str = "set", parallel: int | None = None,
    where: Expr | None = None, write: tuple[Expr, ...] | None = None,
) -> Equation:  # fmt: skip
    """An equation that writes its parallel dims; all dims are parallel unless it says."""
    parallel = len(extents) if parallel is None else parallel
    domain = sets.box(extents)
    if where is not None:
        domain = domain.intersect(condition_set(where, domain))
    target = tuple(dim(n) for n in range(parallel)) if write is None else write
    return Equation(extents, parallel, domain, target, combiner, body)


def before(e: Expr, steps: int = 1) -> Expr:
    """The index some steps ago."""
    return sub(e, index(steps))


def after_start(e: Expr, steps: int = 1) -> Expr:
    """Whether there is a step so many steps ago."""
    return compare("le", index(steps), e)


# ------------------------------------------------------------------ one dim of time


def cumsum(n: int = 5) -> Recurrence:
    x, c = given("x", n), history("c", n)
    past = select(after_start(i), load(c, [before(i)]), ZERO)
    c.equations = (equation((n,), add(past, load(x, [i]))),)
    return Recurrence((x,), c, np.cumsum)


def cumsum_from_the_end(n: int = 5) -> Recurrence:
    x, c = given("x", n), history("c", n, reverse=True)
    future = select(compare("lt", i, index(n - 1)), load(c, [add(i, index(1))]), ZERO)
    c.equations = (equation((n,), add(future, load(x, [i]))),)
    return Recurrence((x,), c, lambda x: np.cumsum(x[::-1])[::-1])


def cumprod(n: int = 5) -> Recurrence:
    x, c = given("x", n), history("c", n)
    past = select(after_start(i), load(c, [before(i)]), ONE)
    c.equations = (equation((n,), mul(past, load(x, [i]))),)
    return Recurrence((x,), c, np.cumprod)


def running_maximum(n: int = 6) -> Recurrence:
    x, c = given("x", n), history("c", n)
    past = load(c, [before(i)])
    first = equation((n,), load(x, [i]), where=compare("eq", i, index(0)))
    later = equation((n,), apply("maximum", past, load(x, [i])), where=after_start(i))
    c.equations = (first, later)
    return Recurrence((x,), c, np.maximum.accumulate)


# ------------------------------------------------------------------ networks


def rnn(steps: int = 4, batch: int = 2, width: int = 3, features: int = 2) -> Recurrence:
    x, wx, wh = given("x", steps, batch, features), given("Wx", features, width), None
    wh = given("Wh", width, width)
    a, h = history("a", steps, batch, width), history("h", steps, batch, width)
    a.equations = _projections(a, h, x, wx, wh)
    h.equations = (equation(h.shape, apply("tanh", load(a, [i, j, k]))),)

    def reference(x: Array, wx: Array, wh: Array) -> Array:
        state, states = np.zeros((batch, width)), []
        for row in x:
            state = np.tanh(row @ wx + state @ wh)
            states.append(state)
        return np.stack(states)

    return Recurrence((x, wx, wh), h, reference)


def _projections(
    a: Tensor, h: Tensor, x: Tensor, wx: Tensor, wh: Tensor
) -> tuple[Equation, Equation]:
    """`a[t] = x[t] Wx + h[t - 1] Wh`."""
    now = mul(load(x, [i, j, r]), load(wx, [r, k]))
    past = mul(load(h, [before(i), j, r]), load(wh, [r, k]))
    return (
        equation((*a.shape, wx.shape[0]), now, "add", 3),
        equation((*a.shape, wh.shape[0]), past, "add", 3, after_start(i)),
    )


def _sigmoid(e: Expr) -> Expr:
    return div(ONE, add(ONE, apply("exp", sub(ZERO, e))))


def lstm(steps: int = 4, batch: int = 2, width: int = 2, features: int = 3) -> Recurrence:
    """The gates input, forget, cell, output stand next to each other in the projections."""
    x = given("x", steps, batch, features)
    wx, wh = given("Wx", features, 4 * width), given("Wh", width, 4 * width)
    shape = (steps, batch, width)
    a = history("a", steps, batch, 4 * width)
    c, h = history("c", *shape), history("h", *shape)
    gates = [history(name, *shape) for name in ("gi", "gf", "gc", "go")]
    a.equations = _projections(a, h, x, wx, wh)
    for number, gate in enumerate(gates):
        value = load(a, [i, j, add(k, index(number * width))])
        activated = apply("tanh", value) if number == 2 else _sigmoid(value)
        gate.equations = (equation(shape, activated),)
    gi, gf, gc, go = (load(gate, [i, j, k]) for gate in gates)
    past = select(after_start(i), load(c, [before(i), j, k]), ZERO)
    c.equations = (equation(shape, add(mul(gf, past), mul(gi, gc))),)
    h.equations = (equation(shape, mul(go, apply("tanh", load(c, [i, j, k])))),)
    return Recurrence((x, wx, wh), h, _lstm_reference)


def _lstm_reference(x: Array, wx: Array, wh: Array) -> Array:
    width = wh.shape[0]
    cell = hidden = np.zeros((x.shape[1], width))
    states = []
    for row in x:
        parts = np.split(row @ wx + hidden @ wh, 4, axis=1)
        gi, gf, go = (1 / (1 + np.exp(-parts[n])) for n in (0, 1, 3))
        cell = gf * cell + gi * np.tanh(parts[2])
        hidden = go * np.tanh(cell)
        states.append(hidden)
    return np.stack(states)


# ------------------------------------------------------------------ linear algebra


def triangular_solve(n: int = 4) -> Recurrence:
    """`y[i] = (b[i] - sum(L[i, j] * y[j] for j < i)) / L[i, i]`: a step reads all earlier ones."""
    lower, b = given("L", n, n), given("b", n)
    s, y = history("s", n), history("y", n)
    s.equations = (
        equation((n, n), mul(load(lower, [i, j]), load(y, [j])), "add", 1, compare("lt", j, i)),
    )
    rest = sub(load(b, [i]), load(s, [i]))
    y.equations = (equation((n,), div(rest, load(lower, [i, i]))),)
    return Recurrence(
        (lower, b), y, lambda m, b: np.linalg.solve(np.tril(m), b),
        lambda m, b: (m + 3 * np.eye(n), b),
    )  # fmt: skip


def cholesky(n: int = 4) -> Recurrence:
    """Column by column; the diagonal has a tensor of its own, since its column reads it."""
    a = given("A", n, n)
    s, d = history("s", n, n, time=1), history("d", n)
    lower = history("L", n, n, time=1)
    product = mul(load(lower, [i, k]), load(lower, [j, k]))
    where = land(compare("le", j, i), compare("lt", k, j))
    s.equations = (equation((n, n, n), product, "add", 2, where),)
    square = sub(load(a, [i, i]), load(s, [i, i]))
    d.equations = (equation((n,), apply("sqrt", square)),)
    rest = sub(load(a, [i, j]), load(s, [i, j]))
    lower.equations = (
        equation((n,), load(d, [i]), write=(i, i)),
        equation((n, n), div(rest, load(d, [j])), where=compare("lt", j, i)),
    )
    return Recurrence(
        (a,), lower, lambda a: np.linalg.cholesky(np.tril(a) + np.tril(a, -1).T),
        lambda m: (m @ m.T + 2 * np.eye(n),),
    )  # fmt: skip


# ------------------------------------------------------------------ physics


def wave(steps: int = 5, width: int = 6) -> Recurrence:
    """`u[t] = 2 u[t-1] - u[t-2] + c * laplacian(u[t-1])`, from two given rows."""
    start, c, u = given("start", 2, width), given("c", width), history("u", steps, width)
    inner = land(compare("lt", index(0), j), compare("lt", j, index(width - 1)))

    def at(back: int, shift: int) -> Expr:
        return load(u, [before(i, back), add(j, index(shift))])

    two = const(2.0, FLOAT64)
    bend = add(sub(at(1, -1), mul(two, at(1, 0))), at(1, 1))
    moved = add(sub(mul(two, at(1, 0)), at(2, 0)), mul(load(c, [j]), bend))
    u.equations = (
        equation((2, width), load(start, [i, j])),
        equation((steps, width), moved, where=land(after_start(i, 2), inner)),
    )

    def reference(start: Array, c: Array) -> Array:
        rows = [start[0], start[1]]
        for _ in range(steps - 2):
            one, two = rows[-1], rows[-2]
            new = np.zeros(width)
            bend = one[:-2] - 2 * one[1:-1] + one[2:]
            new[1:-1] = 2 * one[1:-1] - two[1:-1] + c[1:-1] * bend
            rows.append(new)
        return np.stack(rows)

    return Recurrence((start, c), u, reference)


def fibonacci_like(n: int = 6) -> Recurrence:
    """A step reads the two before it, and its own input non-linearly."""
    x, f = given("x", n), history("f", n)
    one = select(after_start(i), load(f, [before(i)]), ONE)
    two = select(after_start(i, 2), load(f, [before(i, 2)]), ONE)
    f.equations = (equation((n,), apply("sin", add(mul(one, load(x, [i])), two))),)

    def reference(x: Array) -> Array:
        values = [1.0, 1.0]
        for value in x:
            values.append(np.sin(values[-1] * value + values[-2]))
        return np.array(values[2:])

    return Recurrence((x,), f, reference)


# ------------------------------------------------------------------ all earlier steps


def best_of_all_before(n: int = 5) -> Recurrence:
    """`h[i] = sin(x[i] + max(h[j] for j < i))`."""
    x, m, h = given("x", n), history("m", n), history("h", n)
    m.fill = -1.0
    m.equations = (equation((n, n), load(h, [j]), "max", 1, compare("lt", j, i)),)
    h.equations = (equation((n,), apply("sin", add(load(x, [i]), load(m, [i])))),)

    def reference(x: Array) -> Array:
        values: list[float] = []
        for value in x:
            values.append(np.sin(value + max([-1.0, *values])))
        return np.array(values)

    return Recurrence((x,), h, reference)


def product_of_all_before(n: int = 5) -> Recurrence:
    """`h[i] = sin(x[i] + prod(h[j] for j < i))`."""
    x, m, h = given("x", n), history("m", n), history("h", n)
    m.fill = 1.0
    m.equations = (equation((n, n), load(h, [j]), "mul", 1, compare("lt", j, i)),)
    h.equations = (equation((n,), apply("sin", add(load(x, [i]), load(m, [i])))),)

    def reference(x: Array) -> Array:
        values: list[float] = []
        for value in x:
            values.append(np.sin(value + np.prod(values)))
        return np.array(values)

    return Recurrence((x,), h, reference)


def half_the_time_ago(n: int = 7) -> Recurrence:
    """`h[i] = sin(x[i] * h[i // 2])`, from `h[0] = x[0]`."""
    x, h = given("x", n), history("h", n)
    past = load(h, [floordiv(i, index(2))])
    h.equations = (
        equation((n,), load(x, [i]), where=compare("eq", i, index(0))),
        equation((n,), apply("sin", mul(load(x, [i]), past)), where=after_start(i)),
    )

    def reference(x: Array) -> Array:
        values = [x[0]]
        for n, value in enumerate(x[1:], 1):
            values.append(np.sin(value * values[n // 2]))
        return np.array(values)

    return Recurrence((x,), h, reference)


# ------------------------------------------------------------------ other layouts


def last_state_batch_first(batch: int = 2, steps: int = 3, width: int = 3) -> Recurrence:
    """A gated unit whose time is the second dim; only its last state is wanted."""
    x, w = given("x", batch, steps, width), given("W", width, width)
    shape = (batch, steps, width)
    a, z, h = (history(name, *shape, time=1) for name in ("a", "z", "h"))
    past = load(h, [i, before(j), r])
    a.equations = (
        equation(shape, load(x, [i, j, k])),
        equation((*shape, width), mul(past, load(w, [r, k])), "add", 3, after_start(j)),
    )
    z.equations = (equation(shape, _sigmoid(load(a, [i, j, k]))),)
    before_now = select(after_start(j), load(h, [i, before(j), k]), ZERO)
    gate = load(z, [i, j, k])
    mixed = add(mul(gate, before_now), mul(sub(ONE, gate), apply("tanh", load(a, [i, j, k]))))
    h.equations = (equation(shape, mixed),)
    last = Tensor("last", (batch, width), FLOAT64, 0)
    last.equations = (equation((batch, width), load(h, [i, index(steps - 1), j])),)

    def reference(x: Array, w: Array) -> Array:
        state = np.zeros((batch, width))
        for row in np.moveaxis(x, 1, 0):
            a = row + state @ w
            z = 1 / (1 + np.exp(-a))
            state = z * state + (1 - z) * np.tanh(a)
        return state

    return Recurrence((x, w), last, reference)


PROGRAMS: dict[str, Callable[[], Recurrence]] = {
    f.__name__: f
    for f in (
        cumsum, cumsum_from_the_end, cumprod, running_maximum, rnn, lstm, triangular_solve,
        cholesky, wave, fibonacci_like, best_of_all_before, product_of_all_before,
        half_the_time_ago, last_state_batch_first,
    )
}  # fmt: skip
