"""`x.at[...]`: every form of subscripts against numpy, gradients of both orders, refusals."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError, FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import compiled, run

RNG = np.random.default_rng(11)
X = RNG.normal(size=(4, 5, 3))
DATA = (RNG.integers(-3, 3, (2, 3)), RNG.integers(-3, 3, 3), RNG.integers(-3, 3, (2, 1)))
JOIN = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def wanted(x, items, combine, values):
    result = x.copy()
    if combine == "set":
        result[items] = values
    else:
        JOIN[combine].at(result, items, values)
    return result


# ------------------------------------------------------------------ random subscripts


def drawn(draw):
    """Subscripts of a tensor of shape (4, 5, 3), as a function of the index tensors."""
    makers, kinds = [], draw.choices(("number", "slice", "data", "map", "array"), k=3)
    for kind in kinds[: draw.choice((1, 2, 3, 3))]:
        number, low, high = draw.randrange(-3, 3), draw.randrange(-4, 2), draw.randrange(1, 4)
        step, which = draw.choice((None, 1, 2, -1)), draw.randrange(3)
        part = slice(high, low, -1) if step == -1 else slice(low, high, step)
        makers.append({
            "number": lambda _, arange, n=number: n,
            "slice": lambda _, arange, part=part: part,
            "data": lambda data, arange, k=which: data[k],
            "map": lambda _, arange, n=high: arange(3) - min(n, 3),
            "array": lambda _, arange, n=number: np.array([n, 0, n]),
        }[kind])  # fmt: skip
    if draw.random() < 0.3:
        makers.insert(draw.randrange(len(makers) + 1), lambda _, arange: None)
    if draw.random() < 0.3:
        makers.insert(draw.randrange(len(makers) + 1), lambda _, arange: Ellipsis)
    return lambda data, arange: tuple(make(data, arange) for make in makers)


def values_for(draw, shape):
    """Values that broadcast to a shape."""
    own = tuple(1 if draw.random() < 0.3 else n for n in shape)[draw.choice((0, 0, 1)) :]
    return np.round(RNG.normal(size=own), 2)


def programs(seed, count):
    """(subscripts, combiner, values), those that numpy takes."""
    draw = random.Random(seed)
    for _ in range(count):
        items = drawn(draw)
        shape = X[items(DATA, np.arange)].shape
        yield items, draw.choice(("set", "set", *JOIN)), values_for(draw, shape)


@pytest.mark.fast(1)
@pytest.mark.parametrize(("seed", "runner"), [(0, run), (1, run), (2, compiled)])
def test_reads_and_updates_are_those_of_numpy(seed, runner) -> None:
    cases = list(programs(seed, 8 if runner is compiled else 40))

    def function(x, *data):
        found = []
        for items, combine, values in cases:
            at = items(data, ted.arange)
            found += [x[at], getattr(x.at[at], combine)(values)]
        return found

    results = iter(runner(function, X, *DATA))
    for items, combine, values in cases:
        at = items(DATA, np.arange)
        np.testing.assert_array_equal(next(results), X[at])
        np.testing.assert_allclose(next(results), wanted(X, at, combine, values), rtol=1e-14)


# ------------------------------------------------------------------ gradients

V = np.round(RNG.normal(size=(2, 3)), 2)
FORMS = {
    "slice": lambda x, i: x.at[1:3, 2],
    "affine": lambda x, i: x.at[ted.arange(2) * 2, 1],
    "data": lambda x, i: x.at[i, 1],
    "data_beside_a_slice": lambda x, i: x.at[i, ::-3],
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("combine", ["set", *JOIN])
def test_gradients_of_both_orders_are_right(combine) -> None:
    def function(x, v, i):
        made = [getattr(form(x, i), combine)(v * v) for form in FORMS.values()]
        return ted.sum(made[0] * made[1]) + ted.sum(made[2] * made[3])

    arguments = (X, V + 3.0, np.array([3, 3]))
    check_grads(function, arguments, order=2, modes=("rev",))
    check_grads(function, arguments, order=1, modes=("fwd",))


def test_gradients_are_those_of_torch() -> None:
    import torch

    i, j, v = np.array([0, -1, 2]), np.array([[1], [4]]), RNG.normal(size=(2, 3, 1))

    def in_place(x, v, i, j):
        y, k = x.clone(), torch.tensor(i)
        y[k, torch.tensor(j)] = v
        y[k, :, 2] = y[k, :, 2].clone() + x[k, :, 0]
        return torch.sum(torch.sin(y) * y * x)

    def ours(x, v, i, j):
        y = x.at[i, j].set(v).at[i, :, 2].add(x[i, :, 0])
        return ted.sum(ted.sin(y) * y * x)

    inputs = [torch.tensor(a, requires_grad=True) for a in (X, v)]
    first = torch.autograd.grad(in_place(*inputs, i, j), inputs, create_graph=True)
    second = torch.autograd.grad(sum((g**2).sum() for g in first), inputs)

    def squares(x, v, i, j):
        return sum(ted.sum(g**2) for g in ted.grad(ours, (0, 1))(x, v, i, j))

    found, again = ted.grad(ours, (0, 1))(X, v, i, j), ted.grad(squares, (0, 1))(X, v, i, j)
    for one, other in zip((*found, *again), (*first, *second), strict=True):
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("combine", ["set", "add", "mul"])
@pytest.mark.parametrize("form", ["slice", "affine"])
def test_updates_without_data_and_their_gradients_are_gathers(form, combine) -> None:
    x, v = ted.placeholder(X.shape, "float64", name="x"), ted.placeholder((2, 3), "float64")
    y = getattr(FORMS[form](x, None), combine)(v)
    gradients = ted.differentiate(ted.sum(y * y), [x, v])
    assert not any(e.form == "scatter" for e in gradients.report().equations)
    assert "ted.load" not in str(ted.module([y, *gradients]))


def test_a_batch_of_updates_is_each_by_itself() -> None:
    xs, ids = RNG.normal(size=(3, 4, 2)), np.array([[0, 0], [3, -1], [2, 1]])
    vs = RNG.normal(size=(3, 2, 2))

    def one(x, i, v):
        return x.at[i].set(v).at[i, 1].mul(v[:, 0]).at[1:, ::-1].add(v[0])

    found = ted.vmap(one)(xs, ids, vs)
    for x, i, v, result in zip(xs, ids, vs, found, strict=True):
        y = wanted(wanted(x, np.s_[i], "set", v), np.s_[i, 1], "mul", v[:, 0])
        np.testing.assert_allclose(result, wanted(y, np.s_[1:, ::-1], "add", v[0]), rtol=1e-14)


# ------------------------------------------------------------------ what values and places may be


def test_the_last_writer_wins_and_keeps_its_value() -> None:
    i, v = np.array([1, 1, 0, 1]), np.array([np.nan, np.inf, -0.0, -0.0])
    found = run(lambda x, i, v: x.at[i].set(v), np.ones(3), i, v)
    np.testing.assert_array_equal(found, [-0.0, -0.0, 1.0])
    assert np.signbit(found[:2]).all()
    gradient = ted.grad(lambda v, i: ted.sum(ted.zeros((3,), "float64").at[i].set(v) ** 2))(v, i)
    np.testing.assert_array_equal(gradient, [0.0, 0.0, -0.0, -0.0])


def test_types_are_those_of_the_tensor() -> None:
    def function(x, h, b, k):
        return [
            x.at[0].set(2), x.at[1:].add([0.1, 0.2]), h.at[k].add(h[0]), b.at[k].set(True),
            b.at[0].max(b[1]), k.at[0].mul(3), x.at[2].set(k[1]), x.at[:].set([[7.0]]),
        ]  # fmt: skip

    x, h = np.ones(3, "float32"), np.full(3, 0.5, "float16")
    found = run(function, x, h, np.array([False, True, False]), np.array([2, 2]))
    assert [y.dtype.name for y in found] == [
        "float32", "float32", "float16", "bool", "bool", "int64", "float32", "float32"
    ]  # fmt: skip
    np.testing.assert_array_equal(found[2], [0.5, 0.5, 1.5])
    np.testing.assert_array_equal(found[3], [False, True, True])
    np.testing.assert_array_equal(found[5], [6, 2])


def test_a_mask_that_is_data_takes_one_value_for_all() -> None:
    x = X[:, :, 0]

    def function(x):
        rows = x[:, 0] > 0
        return [x.at[x > 0.5].set(0), x.at[x < 0].mul(-2.0), x.at[rows].add(x[0])]

    found = run(function, x)
    np.testing.assert_array_equal(found[0], np.where(x > 0.5, 0, x))
    np.testing.assert_array_equal(found[1], np.where(x < 0, -2 * x, x))
    np.testing.assert_array_equal(found[2], np.where(x[:, :1] > 0, x + x[0], x))


def test_symbolic_sizes_can_be_updated() -> None:
    n = ted.size("n", min=2)
    x, i = ted.placeholder((n, 3), "float64", name="x"), ted.placeholder((2,), "int64", name="i")
    f = ted.compile([x, i], [x.at[-1].set(0.0), x.at[i].set(1.0), x.at[1:, 0].add(2.0)])
    value = X[:, :3, 0].copy()
    results = f(value, np.array([-1, 0]))
    np.testing.assert_array_equal(results[0], wanted(value, np.s_[-1], "set", 0.0))
    np.testing.assert_array_equal(results[1], wanted(value, np.s_[[-1, 0]], "set", 1.0))
    np.testing.assert_array_equal(results[2], wanted(value, np.s_[1:, 0], "add", 2.0))


@pytest.mark.parametrize("combine", ["set", "add", "mul"])
def test_an_index_outside_is_an_error_that_says_where(combine) -> None:
    def moved(x, i):
        return getattr(x.at[i], combine)(1.0)

    message = (
        "moved: index out of range: tensor .* has extent 4 in dim 0, got index -5, at test_upd"
    )
    with pytest.raises(ExecutionError, match=message):
        ted.function(moved)(np.ones((4, 3)), np.array([0, -5]))


PX, PI = ted.placeholder((4, 3), name="x"), ted.placeholder((2,), "int64", name="i")
MANY = ted.placeholder((5000,), "int64", name="many")
REFUSED = {
    "shape": (lambda: PX.at[PI].set(PX), r"x.at\[...\].set: .*got shapes \(4, 3\) and \(2, 3\)"),
    "type": (
        lambda: PX.at[0].set(ted.zeros((3,), "float64")),
        r"x.at\[...\].set: float32 must hold the values, got .*float64.*; convert them by .astype",
    ),
    "number": (lambda: PI.at[0].set(0.5), "int64"),
    "array": (lambda: PI.at[0].set(np.array(0.5)), "int64"),
    "object": (lambda: PX.at[0].set("a"), "values must be a tensor, an array or a number, got 'a'"),
    "outside": (lambda: PX.at[4].set(0), r"must be in \[-4, 4\), got 4"),
    "too_many": (lambda: PX.at[0, 0, 0].set(0), "at most 2 subscripts, got 3"),
    "floats": (lambda: PX.at[PX].set(0), "must be an integer tensor, got float32"),
    "mask_shape": (lambda: PX.at[PX[:3] > 0].set(0), r"first extents of \(4, 3\), got \(3, 3\)"),
    "mask_values": (lambda: PX.at[PX > 0].set(PX), r"write ted.where\(mask, values, x\)"),
    "bools": (lambda: (PX > 0).at[0].add(True), "bools are set, or combined by max and min"),
    "many_factors": (lambda: PX.at[MANY % 4].mul(2.0), "a product for each pair of them, at most"),
    "assignment": (lambda: PX.__setitem__(0, 1.0), r"write y = x.at\[i\].set\(values\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case) -> None:
    action, message = REFUSED[case]
    with pytest.raises(FrontendError, match=message) as caught:
        action()
    assert "test_updates.py" in str(caught.value)


def test_another_method_says_which_there_are() -> None:
    with pytest.raises(AttributeError, match=r"set, add, mul, max, min, got 'divide'"):
        PX.at[0].divide(2.0)
