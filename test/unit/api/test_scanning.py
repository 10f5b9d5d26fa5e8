"""`ted.scan` against loops of numpy: nests, directions, what stays outside, modes, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.ir.equations import components, is_recurrence
from ted.testing import check_grads
from ted.transforms.gradient import differentiate
from unit.frontend.tracing import compiled, placeholders, run

RNG = np.random.default_rng(6)
XS, H0, W = RNG.normal(size=(4, 2, 3)), RNG.normal(size=(2, 3)), RNG.normal(size=(3, 3))


def network(xs, h0, w, reverse=False):
    def step(h, x):
        new = ted.tanh(h @ w + x)
        return new, ted.sum(new * new, axis=1)

    return list(ted.scan(step, h0, xs, reverse=reverse))


def network_of_numpy(xs, h, w, reverse=False):
    ys = np.zeros(xs.shape[:2])
    for t in reversed(range(4)) if reverse else range(4):
        h = np.tanh(h @ w + xs[t])
        ys[t] = (h * h).sum(1)
    return h, ys


@pytest.mark.parametrize("reverse", [False, True])
def test_a_network_is_scanned_in_both_directions(reverse) -> None:
    def function(*args):
        return network(*args, reverse)

    wanted = network_of_numpy(XS, H0, W, reverse)
    for evaluate in (run, compiled):
        for found, value in zip(evaluate(function, XS, H0, W), wanted, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-13)
    check_grads(function, (XS, H0, W), order=2)


def test_steps_inside_of_a_step_have_a_direction_of_their_own() -> None:
    def step(h, x):
        return ted.cumsum(h, 0) * x, ted.cumsum(h, 0, reverse=True)

    h, ys = np.array([1.0, -2.0]), np.zeros((3, 2))
    xs = np.array([0.5, 2.0, -1.0])
    found = ted.function(lambda h, xs: ted.scan(step, h, xs, reverse=True))(h, xs)
    for t in (2, 1, 0):
        ys[t], h = np.cumsum(h[::-1])[::-1], np.cumsum(h) * xs[t]
    np.testing.assert_allclose(found[0], h)
    np.testing.assert_allclose(found[1], ys)


def test_the_gradient_of_a_weight_stands_behind_the_loop() -> None:
    xs, h0, w = placeholders(XS, H0, W)
    final, _ = network(xs, h0, w)
    head = ted.placeholder(final.shape, "float64")
    (dw,) = differentiate([final.node], [w.node], [head.node]).gradients
    assert [dw] in components([dw])
    assert [e.combiner for e in dw.equations] == ["add"]


def test_nests_of_carries_and_inputs() -> None:
    def function(a, b):
        def step(carry, x):
            total, last = carry["total"], carry["last"]
            now = x["a"] * total + x["b"][0]
            return {"total": total + now * last, "last": now}, (now, last)

        start = {"total": ted.ones((3,), "float64"), "last": ted.zeros((3,), "float64")}
        carry, (nows, lasts) = ted.scan(step, start, {"a": a, "b": (b,)})
        return [carry["total"], carry["last"], nows, lasts]

    a, b = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 3))
    total, last, nows, lasts = np.ones(3), np.zeros(3), [], []
    for t in range(5):
        now = a[t] * total + b[t]
        nows.append(now)
        lasts.append(last)
        total, last = total + now * last, now
    for found, value in zip(
        run(function, a, b), [total, last, np.stack(nows), np.stack(lasts)], strict=True
    ):
        np.testing.assert_allclose(found, value, rtol=1e-13)
    check_grads(function, (a, b), order=2)


def test_a_length_without_inputs() -> None:
    def function(x):
        final, ys = ted.scan(lambda c, _: (ted.cos(c), None), x, length=6)
        assert ys is None
        return final

    x = RNG.normal(size=(3,))
    wanted = x
    for _ in range(6):
        wanted = np.cos(wanted)
    np.testing.assert_allclose(run(function, x), wanted, rtol=1e-14)
    check_grads(function, (x,), order=2)


def test_no_step_gives_the_first_carry() -> None:
    found = run(lambda x: ted.scan(lambda c, _: (c * 2.0, None), x, length=0)[0], H0)
    np.testing.assert_array_equal(found, H0)


def test_a_carry_that_does_not_change_and_one_that_forgets() -> None:
    def function(xs, h0):
        def step(carry, x):
            same, swapped, constant, given = carry
            return (same, same, h0 * 2.0, x), (same + swapped, constant, given)

        final, ys = ted.scan(step, (h0, h0 * 3.0, h0, h0), xs)
        return [*final, *ys]

    found = run(function, XS, H0)
    wanted = [H0, H0, 2 * H0, XS[-1]]
    wanted += [np.stack([4 * H0, *[2 * H0] * 3]), np.stack([H0, *[2 * H0] * 3])]
    wanted += [np.stack([H0, *XS[:-1]])]
    for value, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-15)


def test_what_depends_on_no_carry_stays_outside() -> None:
    xs, h0, w = placeholders(XS, H0, W)

    def step(h, x):
        gate = ted.sigmoid(x @ w)
        return ted.tanh(h * gate + ted.exp(w)[0]), None

    final, _ = ted.scan(step, h0, xs)
    (loop,) = [group for group in components([final.node]) if is_recurrence(group)]
    assert not any("exp" in t.name or "matmul" in t.name for t in loop)


def test_reductions_gathers_and_scatters_work_in_a_step() -> None:
    ids = np.array([[0, 2], [1, 1], [2, 0], [0, 0]])

    def function(xs, h0, ids):
        def step(h, x):
            row, i = x
            moved = ted.scatter((3,), i, ted.take(h, i, 0) * row[:2])
            top = ted.max(h, axis=0)
            return ted.sin(h + moved) + ted.cumsum(row, 0) * top, ted.argmax(h, axis=0)

        final, best = ted.scan(step, h0[0], (xs[:, 0], ids))
        return [final, best]

    h, best = H0[0], []
    for t in range(4):
        moved = np.zeros(3)
        np.add.at(moved, ids[t], h[ids[t]] * XS[t, 0, :2])
        best.append(np.argmax(h))
        h = np.sin(h + moved) + np.cumsum(XS[t, 0]) * h.max()
    found = run(function, XS, H0, ids)
    np.testing.assert_allclose(found[0], h, rtol=1e-13)
    np.testing.assert_array_equal(found[1], best)
    check_grads(lambda *args: function(*args)[0], (XS, H0, ids), order=2)


def test_a_batch_of_scans() -> None:
    def single(xs, h0, w):
        return ted.scan(lambda h, x: (ted.tanh(h @ w + x), None), h0, xs)[0]

    found = ted.vmap(single, (1, 0, None))(XS, H0, W)
    np.testing.assert_allclose(found, network_of_numpy(XS, H0, W)[0], rtol=1e-13)


def test_gradients_inside_of_a_step() -> None:
    def function(x):
        def step(c, _):
            return c - 0.1 * ted.differentiate(ted.sum(ted.cos(c) * c), [c])[0], None

        return ted.scan(step, x, length=3)[0]

    x = RNG.normal(size=(3,))
    wanted = x
    for _ in range(3):
        wanted = wanted - 0.1 * (np.cos(wanted) - wanted * np.sin(wanted))
    np.testing.assert_allclose(run(function, x), wanted, rtol=1e-13)


def test_numbers_in_a_carry_take_the_types_of_what_is_beside_them() -> None:
    def steps(x):
        def step(c, v):
            return {"n": c["n"] + 1, "s": c["s"] + v, "p": c["p"] * c["s"], "last": 7}, c["s"]

        start = {"n": 0, "s": np.array(0), "p": 1.0, "last": ted.zeros((), "float64")}
        return ted.scan(step, start, x, checkpoint=2)

    x = np.array([1.0, 2.0, 3.0])
    carry, sums = ted.function(steps)(x)
    assert {k: str(v.dtype) for k, v in carry.items()} == {
        "n": "int64", "s": "float64", "p": "float64", "last": "float64"
    }  # fmt: skip
    assert (carry["n"], carry["s"], carry["last"], sums.tolist()) == (3, 6, 7, [0, 1, 3])


PX, PH = ted.placeholder((4, 3), name="xs"), ted.placeholder((3,), name="h")
REFUSED = {
    "shape_changes": (
        lambda: ted.scan(lambda c, x: (c[:2], None), PH, PX),
        "keeps the shape and type of its carry, float32[3] for carry h, got float32[2]",
    ),
    "type_changes": (
        lambda: ted.scan(lambda c, x: ({"s": c["s"].astype("float64")}, None), {"s": PH}, PX),
        "float32[3] for carry s, got float64[3]",
    ),
    "type_of_a_number_changes": (
        lambda: ted.scan(lambda c, x: (c + PH[0], None), True, PX),
        "bool[] for carry full, got float32[]",
    ),
    "nest_changes": (
        lambda: ted.scan(lambda c, x: ((c, c), None), PH, PX),
        "keeps the nest of its carry, *, got (*, *)",
    ),
    "no_pair": (lambda: ted.scan(lambda c, x: c, PH, PX), "a step gives a pair (carry, y)"),
    "lengths_differ": (
        lambda: ted.scan(lambda c, x: (c, None), PH, (PX, PX[:2]), length=3),
        "agree on the number of steps, got 4 of xs, 2 of xs_slice, 3 of length",
    ),
    "no_length": (lambda: ted.scan(lambda c, x: (c, None), PH), "number of steps, got neither"),
    "scalar_input": (
        lambda: ted.scan(lambda c, x: (c, None), PH, ted.sum(PH)), "dim 0 of xs is time"
    ),
    "kind": (lambda: ted.scan(lambda c, x: (c, None), "h", PX), "must be tensors, got str"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_scan_is_refused(case) -> None:
    action, message = REFUSED[case]
    with pytest.raises(FrontendError, match=re.escape(message)) as caught:
        action()
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
