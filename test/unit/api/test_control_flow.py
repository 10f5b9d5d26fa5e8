"""`ted.cond`, `ted.while_loop` and `ted.fori_loop` against JAX and differences of functions."""

from __future__ import annotations

import os
import signal
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ted
from ted.errors import CompileError, DerivativeError, ExecutionError, FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import compiled, placeholders, run

pytestmark = pytest.mark.usefixtures("float64_in_jax")
RNG = np.random.default_rng(0)
X, W = RNG.normal(size=3), RNG.normal(size=(3, 3))


def relaxed(lib, loop, x, w, **limit):
    """A loop with a counter that its condition does not read, and a square that it does."""

    def body(val):
        return {"count": val["count"] + 1, "h": lib.tanh(val["h"] @ w) + val["h"]}

    found = loop(lambda val: lib.sum(val["h"] ** 2) < 30.0, body, {"count": 0, "h": x}, **limit)
    return found["count"], found["h"]


def loop_of_ted(x, w, max_steps=20, **options):
    return list(relaxed(ted, ted.while_loop, x, w, max_steps=max_steps, **options))


def unrolled_in_jax(x, w):
    count, _ = relaxed(jnp, jax.lax.while_loop, X, W)
    for _ in range(int(count)):
        x = jnp.tanh(x @ w) + x
    return x


def test_a_loop_ends_by_its_condition_as_that_of_jax() -> None:
    wanted = relaxed(jnp, jax.lax.while_loop, X, W)
    for evaluate in (run, compiled):
        for found, value in zip(evaluate(loop_of_ted, X, W), wanted, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-13)


@pytest.mark.parametrize(("steps", "wanted"), [(0, 0), (2, 2)])
def test_no_more_steps_than_wanted(steps, wanted) -> None:
    count, h = run(lambda x, w: loop_of_ted(x, w, steps, truncate=True), X, W)
    assert count == wanted
    np.testing.assert_allclose(h, X if not steps else h)


def test_a_condition_that_fails_at_once_leaves_the_first_value() -> None:
    count, h = run(loop_of_ted, X * 100, W)
    assert count == 0
    np.testing.assert_array_equal(h, X * 100)


def test_derivatives_of_a_loop_are_those_of_its_steps() -> None:
    def value(x, w):
        return ted.sum(loop_of_ted(x, w, 9)[1] ** 2)

    def value_in_jax(x, w):
        return jnp.sum(unrolled_in_jax(x, w) ** 2)

    wanted = jax.grad(value_in_jax, (0, 1))(X, W)
    for found, expected in zip(ted.grad(value, (0, 1))(X, W), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11)
    check_grads(value, (X, W), order=2)
    _, tangent = ted.jvp(value, (X, W), (X, None))
    np.testing.assert_allclose(tangent, np.sum(wanted[0] * X), rtol=1e-11)


def test_each_member_of_a_batch_makes_its_own_number_of_steps() -> None:
    batch = np.stack([X, 3 * X, 100 * X])
    found = ted.vmap(loop_of_ted, (0, None))(batch, W)
    single = [relaxed(jnp, jax.lax.while_loop, x, W) for x in batch]
    np.testing.assert_array_equal(found[0], [count for count, _ in single])
    np.testing.assert_allclose(found[1], np.stack([h for _, h in single]), rtol=1e-13)


def endless(x, w):
    return list(relaxed(ted, ted.while_loop, x, w))


def test_a_loop_without_a_bound_ends_by_its_condition() -> None:
    count, h = relaxed(jnp, jax.lax.while_loop, X, W)
    found = compiled(endless, X, W)
    assert found[0] == count
    np.testing.assert_allclose(found[1], h, rtol=1e-13)
    wanted = jax.jvp(unrolled_in_jax, (X, W), (X, 0 * W))[1]
    _, tangent = ted.jvp(lambda x: endless(x, W)[1], (X,), (X,))
    np.testing.assert_allclose(tangent, wanted, rtol=1e-11)
    counts, _ = ted.vmap(endless, (0, None))(np.stack([X, 100 * X]), W)
    np.testing.assert_array_equal(counts, [count, 0])
    f = ted.function(lambda n: ted.fori_loop(2, n, lambda i, v: v + i, 0))
    assert f(np.array(5)) == 2 + 3 + 4


def test_a_loop_without_a_bound_is_refused_where_all_steps_are_kept() -> None:
    x, w = placeholders(X, W)
    _, h = endless(x, w)
    with pytest.raises(DerivativeError, match=r"reverse mode .* give max_steps=, or use ted.jvp"):
        ted.differentiate(ted.sum(h), [x])
    y = ted.placeholder((2,), "float64", name="y")

    def searched(y):
        inner = ted.scan(lambda c, _: (c[ted.argmax(c * y[:, None], axis=1)], c), y, length=3)
        return inner[0] * 0.5

    with pytest.raises(CompileError, match=r"of its earlier steps, got argmax, of which"):
        ted.compile([y], ted.while_loop(lambda y: y[0] > 1, searched, y))
    with pytest.raises(CompileError, match="max_steps a loop runs on CPUs, got a GPU"):
        ted.compile([x, w], h, target="cuda")
    with pytest.raises(ExecutionError, match="all steps of a loop are kept, got 2147483647"):
        run(endless, X, W)


def test_a_scan_in_a_loop_without_a_bound_reads_its_latest_step_at_data() -> None:
    def turned(y):
        inner = ted.scan(lambda c, _: (c[ted.cast(c > 0, "int64")], c), y, length=3)
        return inner[0] * 0.5

    y = ted.placeholder((2,), "float64", name="y")
    f = ted.compile([y], ted.while_loop(lambda y: y[0] > 1, turned, y))
    for given in ([8.0, 3.0], [-1.0, 5.0], [5.0, -9.0], [1.5, 40.0]):
        wanted = np.array(given)
        while wanted[0] > 1:
            for _ in range(3):
                wanted = wanted[(wanted > 0).astype(int)]
            wanted = wanted * 0.5
        np.testing.assert_array_equal(f(np.array(given)), wanted)


def test_a_loop_without_a_bound_reads_its_latest_step_at_data() -> None:
    def turned(y):
        half = y * 0.5
        return half[ted.cast(half > 0, "int64")]

    f = ted.function(lambda y: ted.while_loop(lambda y: y[0] > 1, turned, y))
    for start, end in (([9.0, 3.0], [0.75, 0.75]), ([8.0, -4.0], [-2.0, 4.0])):
        assert f(np.array(start)).tolist() == end


def test_loops_without_bounds_stand_beside_each_other() -> None:
    def doubled(x: ted.Tensor, bound: float) -> ted.Tensor:
        step = lambda val: (val[0] + 1, val[1] * 2)  # noqa: E731
        return ted.while_loop(lambda val: ted.sum(val[0]) < bound, step, (x, x))[1]

    found = ted.function(lambda x: [doubled(x, 3.0), doubled(x, 5.0)])(np.ones(1))
    assert [y.item() for y in found] == [4, 16]


def test_a_loop_without_a_bound_carries_what_no_step_changes() -> None:
    f = ted.function(
        lambda x: ted.while_loop(lambda s: s[0] < s[1], lambda s: (s[0] * s[2], *s[1:]), x)
    )
    assert f((np.array(3.0), np.array(20.0), np.array(2.0))) == (24.0, 20.0, 2.0)


def test_a_loop_without_a_bound_has_scans_and_bounded_loops_in_its_steps() -> None:
    def step(x):
        return x + ted.cumprod(x) + ted.while_loop(lambda t: t < 3, lambda t: t + 1, x[0], 9)

    y = np.arange(1, 4.0) / 2
    found = ted.function(lambda x: ted.while_loop(lambda x: ted.sum(x) < 100, step, x))(y)
    while y.sum() < 100:
        y = y + np.cumprod(y) + max(y[0], 3 + y[0] % 1)
    np.testing.assert_allclose(found, y)


def test_a_number_in_a_branch_has_the_type_of_the_other_one() -> None:
    def chosen(x):
        return ted.cond(x > 0, lambda: (x * x, 0), lambda: (0.0, x))

    for x, first, second in ((3.0, 9.0, 0.0), (-2.0, 0.0, -2.0)):
        found = ted.function(chosen)(np.array(x))
        assert [(v.dtype, float(v)) for v in found] == [("float64", first), ("float64", second)]
    slope = ted.grad(lambda x: chosen(x)[0] + chosen(x)[1])
    assert (slope(np.array(3.0)), slope(np.array(-2.0))) == (6.0, 1.0)


@pytest.mark.parametrize("max_steps", [None, 9])
def test_numbers_in_a_loop_take_the_types_of_what_is_beside_them(max_steps: int | None) -> None:
    def halves(x):
        return ted.while_loop(
            lambda val: val[1] > 1, lambda val: (val[0] + x, val[2], val[2] / 2, 0),
            (0, np.inf, x, x),
            max_steps,
        )  # fmt: skip

    found = ted.function(halves)(np.array(3.0))
    assert [str(v.dtype) for v in found] == ["float64"] * 4
    np.testing.assert_array_equal(found, [9.0, 0.75, 0.375, 0.0])


def test_a_loop_that_never_ends_is_interrupted() -> None:
    f = ted.function(lambda x: ted.while_loop(lambda c: c > 0, lambda c: c * 0.5 + 1, x))
    assert f(np.array(-1.0)) == -1
    # A process that a shell started in the background ignores the signal unless told.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))

    def endless() -> None:
        timer.start()  # no earlier: on a busy machine the signal may come before the call
        f(np.array(1.0))

    try:
        with pytest.raises(KeyboardInterrupt):
            endless()
    finally:
        signal.signal(signal.SIGINT, before)
    assert f(np.array(-2.0)) == -2


# ------------------------------------------------------------------ branches


def branches(lib, choose, x, w):
    return choose(lib.sum(x) > 0, lambda x: (lib.tanh(x @ w), x), lambda x: (lib.exp(x), w[0]), x)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_and_its_derivatives(sign) -> None:
    x = sign * np.abs(X)
    wanted = branches(jnp, jax.lax.cond, x, W)
    for evaluate in (run, compiled):
        for found, value in zip(
            evaluate(lambda x, w: list(branches(ted, ted.cond, x, w)), x, W), wanted, strict=True
        ):
            np.testing.assert_allclose(found, value, rtol=1e-13)
    check_grads(lambda x, w: branches(ted, ted.cond, x, w)[0], (x, W), order=2)


def test_only_the_branch_that_is_taken_reads_at_data() -> None:
    def function(table, idx, wanted):
        return ted.cond(wanted > 0, lambda: table[idx], lambda: ted.zeros((2,), "float64"))

    table, idx = np.arange(3.0), np.array([1, 7])
    f = ted.function(function)
    np.testing.assert_array_equal(f(table, idx, np.array(0)), [0, 0])
    np.testing.assert_array_equal(f(table, idx % 3, np.array(1)), [1, 1])
    with pytest.raises(ExecutionError, match="7"):
        f(table, idx, np.array(1))

    def written(x, idx, wanted):
        return ted.cond(
            wanted > 0, lambda: ted.scatter((3,), idx, x), lambda: ted.zeros((3,), "float64")
        )

    np.testing.assert_array_equal(ted.function(written)(table[:2], idx, np.array(0)), [0, 0, 0])


def test_no_slope_is_infinite_in_the_branch_that_is_not_taken() -> None:
    def function(x):
        return ted.cond(x[0] > 0, lambda x: ted.sum(ted.sqrt(x)), lambda x: ted.sum(x), x)

    np.testing.assert_array_equal(ted.grad(function)(np.zeros(2)), [1, 1])
    custom = ted.custom_vjp(lambda x: ted.sum(ted.log(x)))
    custom.defvjp(lambda inputs, outputs, heads: heads[0] / inputs[0])
    found = ted.grad(lambda x: ted.cond(x[0] > 0, custom, ted.sum, x))
    np.testing.assert_array_equal(found(np.zeros(2)), [1, 1])
    np.testing.assert_array_equal(found(np.array([2.0, 4.0])), [0.5, 0.25])


def test_conditions_that_are_no_scalars_choose_by_element() -> None:
    x = np.array([-1.0, 2.0])
    found = run(lambda x: ted.cond(x > 0, lambda x: x * 2, lambda x: -x, x), x)
    np.testing.assert_array_equal(found, [1, 4])

    def inside(x):
        return ted.compute((2,), lambda i: ted.cond(i > 0, lambda j: x[j - 1], lambda j: x[j], i))

    np.testing.assert_array_equal(run(inside, x), [-1, -1])
    assert ted.cond(True, lambda: 1, lambda: 1 / 0) == 1
    found = ted.vmap(lambda x: ted.cond(x > 0, lambda x: x * 2, lambda x: -x, x))(x)
    np.testing.assert_array_equal(found, [1, 4])


def test_branches_and_loops_in_the_steps_of_a_scan() -> None:
    xs = RNG.normal(size=(4, 3))

    def step(lib, choose):
        def one(h, x):
            h = choose(lib.sum(x) > 0, lambda h: lib.sin(h + x), lambda h: h * 0.5, h)
            return h, lib.sum(h)

        return one

    wanted = jax.lax.scan(step(jnp, jax.lax.cond), X, xs)
    for evaluate in (run, compiled):
        found = evaluate(lambda x, xs: list(ted.scan(step(ted, ted.cond), x, xs)), X, xs)
        for value, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-13)
    check_grads(lambda x, xs: ted.scan(step(ted, ted.cond), x, xs)[0], (X, xs), order=2)


# ------------------------------------------------------------------ counted loops


def test_a_branch_in_a_step_takes_the_place_of_a_maximum_alone() -> None:
    def steps(xs):
        def step(h, x):
            grown = ted.cond(ted.sum(h) < 7, lambda h: h + ted.argmax(h * x), lambda h: h * 0.5, h)
            return grown, None

        return ted.scan(step, ted.ones((3,), "float64"), xs)[0]

    h = np.ones(3)
    for x in W:
        h = h + np.argmax(h * x) if h.sum() < 7 else h * 0.5
    np.testing.assert_array_equal(compiled(steps, W), h)


def test_a_counted_loop_reads_at_affine_places() -> None:
    def total(x):
        return ted.fori_loop(0, 3, lambda i, v: v * 0.5 + x[i] ** 2, ted.zeros((), "float64"))

    wanted = jax.lax.fori_loop(0, 3, lambda i, v: v * 0.5 + jnp.asarray(X)[i] ** 2, 0.0)
    np.testing.assert_allclose(run(total, X), wanted, rtol=1e-14)
    (x,) = placeholders(X)
    report = ted.differentiate(total(x), [x]).report()
    assert not report.scatters
    check_grads(total, (X,), order=2)


def test_bounds_that_are_data() -> None:
    def total(n, x):
        return ted.fori_loop(1, n, lambda i, v: v + x[i] * i, ted.zeros((), "float64"), max_steps=2)

    f = ted.function(total)
    for n in (0, 2, 3):
        np.testing.assert_allclose(f(np.array(n), X), sum(X[i] * i for i in range(1, n)))


REFUSED = {
    "cond: both branches give the same nest, got * and (*, *)": lambda x: ted.cond(
        x[0] > 0, lambda: x, lambda: (x, x)
    ),
    "same shapes and types, got float64[3] and float64[]": lambda x: ted.cond(
        x[0] > 0, lambda: x, lambda: x[0]
    ),
    "cond: pred must be of bools, got float64[]; compare it": lambda x: ted.cond(
        x[0], lambda: x, lambda: x
    ),
    "cond: true_fun: takes a function of tensors, got int 3": lambda x: ted.cond(x[0] > 0, 3, 4),
    "the function is called as false_fun(*operands)": lambda x: ted.cond(
        x[0] > 0, lambda a: a, lambda: x, x
    ),
    "cond_fun gives a bool scalar, got bool[3]; use ted.any": lambda x: ted.while_loop(
        lambda h: h > 0, lambda h: h, x, 3
    ),
    "body_fun keeps the nest of val, {h: *}, got *": lambda x: ted.while_loop(
        lambda val: val["h"][0] > 0, lambda val: val["h"], {"h": x}, 3
    ),
    "body_fun keeps shapes and types, float64[3] for h, got float64[2]": lambda x: ted.while_loop(
        lambda val: val["h"][0] > 0, lambda val: {"h": val["h"][1:]}, {"h": x}, 3
    ),
    "max_steps is from 0 to 2147483646, got -1": lambda x: ted.while_loop(
        lambda h: h[0] > 0, abs, x, -1
    ),
    "fori_loop: lower: must be an integer, got 0.5": lambda x: ted.fori_loop(
        0.5, 3, lambda i, v: v, x
    ),
    "fori_loop: upper is an integer scalar, got float64[3]": lambda x: ted.fori_loop(
        0, x, lambda i, v: v, x, 3
    ),
    "a loop inside of one without max_steps has a number of steps, got full_before": lambda x: (
        ted.while_loop(
            lambda h: h[0] > 0, lambda h: ted.while_loop(lambda g: g[0] > 1, lambda g: g - 1, h), x
        )
    ),
    "max_steps is for bounds that are data, got 0 and 3": lambda x: ted.fori_loop(
        0, 3, lambda i, v: v, x, 3
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals_name_the_rule_and_the_values(text) -> None:
    (x,) = placeholders(X)
    with pytest.raises(FrontendError) as caught:
        REFUSED[text](x)
    assert text in str(caught.value)
    assert "test_control_flow.py" in str(caught.value)
