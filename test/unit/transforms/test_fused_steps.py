"""What is fused inside of steps of a recurrence: what only the same step reads, at its point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import pytest

import ted
from ted.frontend.systems import system_of
from ted.ir.equations import recurrent_tensors
from ted.transforms import ted_fuse_pointwise
from ted.transforms.ted_fuse_pointwise import fuse_pointwise

STEPS, SIZE = 5, 6
RNG = np.random.default_rng(0)
X, P = RNG.normal(size=SIZE), RNG.normal(size=SIZE)


def slope(y: Any, p: Any, xp: Any) -> Any:
    return xp.sin(y) * p - y * y * 0.1


def runge_kutta(y: Any, p: Any, xp: Any) -> Any:
    h = 0.1
    a = slope(y, p, xp)
    b = slope(y + h / 2 * a, p, xp)
    c = slope(y + h / 2 * b, p, xp)
    return y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c, p, xp))


def scanned(step: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    def run(x: Any, p: Any) -> Any:
        return ted.scan(lambda c, _: (step(c, p, ted), None), x, None, length=STEPS, **options)[0]

    return run


def kept(f: Callable[..., Any]) -> list[str]:
    """The tensors of recurrences of a program that fusion leaves."""
    inputs = [ted.placeholder((SIZE,), "float64", name=n) for n in "xp"]
    outputs = f(*inputs)
    system = system_of(inputs, list(outputs) if isinstance(outputs, (list, tuple)) else [outputs])
    fused, _ = fuse_pointwise(system)
    return sorted(t.name for t in recurrent_tensors(fused.outputs))


def test_a_step_of_maps_is_one_equation_that_is_right_as_are_its_gradients() -> None:
    run = scanned(runge_kutta)
    assert len(kept(run)) == 1

    def by_jax(x: Any, p: Any) -> Any:
        for _ in range(STEPS):
            x = runge_kutta(x, p, jax.numpy)
        return x

    def total(f: Callable[..., Any], xp: Any) -> Callable[..., Any]:
        return lambda x, p: xp.sum(f(x, p) ** 2)

    with jax.enable_x64(True):
        np.testing.assert_allclose(ted.function(run)(X, P), by_jax(X, P), rtol=1e-13)
        mine, its = ted.grad(total(run, ted), (0, 1)), jax.grad(total(by_jax, jax.numpy), (0, 1))
        np.testing.assert_allclose(ted.function(mine)(X, P), its(X, P), rtol=1e-12)
        again = ted.function(ted.grad(lambda x, p: ted.sum(mine(x, p)[0] ** 2), 1))(X, P)
        its_again = jax.grad(lambda x, p: jax.numpy.sum(its(x, p)[0] ** 2), 1)(X, P)
        np.testing.assert_allclose(again, its_again, rtol=1e-11)


def test_what_others_read_of_a_step_or_what_it_reads_elsewhere_is_stored() -> None:
    def twice(c: Any, p: Any, xp: Any) -> Any:
        return xp.sin(c * p) + c * p

    def beside(c: Any, p: Any, xp: Any) -> Any:
        t = xp.sin(c * p)
        return t * t[::-1]

    def summed(c: Any, p: Any, xp: Any) -> Any:
        t = xp.sin(c * p)
        return t / xp.sum(t)

    def seen(x: Any, p: Any) -> Sequence[Any]:
        def step(c: Any, _: Any) -> Any:
            t = ted.sin(c * p)
            return t + 1, t

        return ted.scan(step, x, None, length=STEPS)

    assert len(kept(scanned(twice))) == 1
    assert len(kept(scanned(beside))) == 3  # what a step starts from, too
    assert len(kept(scanned(summed))) == 4  # the sum, too
    assert len(kept(lambda x, p: seen(x, p)[0])) == 1
    assert len(kept(seen)) == 3


def test_what_the_next_step_reads_is_stored() -> None:
    def run(x: Any, p: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            a, b = c
            return (b, ted.sin(a) * p + b), None

        return ted.scan(step, (x, p), None, length=STEPS)[0][1]

    assert len(kept(run)) == 3  # what both start from, as neither reads itself
    a, b = X, P
    for _ in range(STEPS):
        a, b = b, np.sin(a) * P + b
    np.testing.assert_allclose(ted.function(run)(X, P), b, rtol=1e-13)


@pytest.mark.parametrize(("most", "tensors"), [(64, 1), (20, 2)])
def test_what_the_first_step_starts_from_stands_in_short_steps_only(
    most: int, tensors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ted_fuse_pointwise, "REPEATED_STEP", most)
    assert len(kept(scanned(runge_kutta))) == tensors


def test_a_step_of_a_step_is_one_equation_in_its_own() -> None:
    def run(x: Any, p: Any) -> Any:
        def inner(c: Any, _: Any) -> Any:
            return runge_kutta(c, p, ted), None

        def outer(c: Any, _: Any) -> Any:
            return ted.scan(inner, ted.sin(c) * p, None, length=3)[0] * 0.5 + p, None

        return ted.scan(outer, x, None, length=STEPS)[0]

    assert len(kept(run)) <= 4
    c = X
    for _ in range(STEPS):
        c = np.sin(c) * P
        for _ in range(3):
            c = runge_kutta(c, P, np)
        c = c * 0.5 + P
    np.testing.assert_allclose(ted.function(run)(X, P), c, rtol=1e-12)


@pytest.mark.parametrize("checkpoint", [None, 2, True])
def test_gradients_of_checkpointed_steps_are_those_of_others(checkpoint: Any) -> None:
    run = scanned(runge_kutta, **({} if checkpoint is None else {"checkpoint": checkpoint}))
    plain = ted.function(ted.grad(lambda x, p: ted.sum(scanned(runge_kutta)(x, p) ** 3), (0, 1)))
    found = ted.function(ted.grad(lambda x, p: ted.sum(run(x, p) ** 3), (0, 1)))
    np.testing.assert_allclose(found(X, P), plain(X, P), rtol=1e-12)


def test_a_slice_that_is_made_of_its_own_elements_is_made_in_place() -> None:
    f = ted.function(scanned(runge_kutta), target="cpu,threads=1")
    large = RNG.normal(size=(2, 40_000))
    c = large[0]
    for _ in range(STEPS):
        c = runge_kutta(c, large[1], np)
    np.testing.assert_allclose(f(*large), c, rtol=1e-12)
    text = f.compiled(*large).ir("buffers")
    assert "memref.copy" not in text
    assert "memref.alloc" not in text
    assert f.compiled(*large).peak_bytes == 40_000 * 8  # the result


@pytest.mark.parametrize("read", [-1, 3, slice(None, 2), slice(None, None, 2)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", [2, 3, True])
def test_slices_of_checkpointed_steps_are_those_of_the_steps(
    read: Any, reverse: bool, checkpoint: Any
) -> None:
    def run(x: Any, rows: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            c = ted.tanh(c + row)
            return c, c

        return ted.scan(step, x, rows, checkpoint=checkpoint, reverse=reverse)[1][read]

    rows = RNG.normal(size=(6, SIZE))
    c, wanted = X, np.empty_like(rows)
    for k in range(6)[:: -1 if reverse else 1]:
        wanted[k] = c = np.tanh(c + rows[k])
    np.testing.assert_allclose(ted.function(run)(X, rows), wanted[read], rtol=1e-13)


def test_choices_for_all_of_a_step_stay_in_equations_of_their_own() -> None:
    """In one equation each combination of ten would be code of its own."""

    def chosen(c: Any, p: Any, xp: Any) -> Any:
        for k in range(10):
            c = xp.where(p[k % SIZE] > 0.1 * k - 0.5, xp.sin(c) + 0.1, c * 0.9)
        return c

    f = ted.function(scanned(chosen), target="cpu,threads=1")
    c = X
    for _ in range(STEPS):
        c = chosen(c, P, np)
    np.testing.assert_allclose(f(X, P), c, rtol=1e-13)
    assert f.compiled(X, P).ir("linalg").count("math.sin") <= 2 * 10


AT = RNG.permutation(100)


@pytest.mark.parametrize("at_data", [True, False])
def test_what_reads_its_history_elsewhere_is_not_made_in_place(at_data: bool) -> None:
    """Beside the same element one at data, or one turned round."""

    def run(x: Any, p: Any, at: Any) -> Any:
        def element(u: Any, t: Any, i: Any) -> Any:
            other = u[t - 1, at[i]] if at_data else u[t - 1, 99 - i]
            return ted.where(t > 0, u[t - 1, i] * p[i] + other * 0.1, x[i])

        return ted.recurrence((5, 100), element, "float64")[4]

    c, p = x = RNG.normal(size=(2, 100))
    for _ in range(4):
        c = c * p + c[AT if at_data else slice(None, None, -1)] * 0.1
    np.testing.assert_allclose(ted.function(run)(*x, AT), c, rtol=1e-12)
