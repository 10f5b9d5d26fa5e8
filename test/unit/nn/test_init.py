"""Initial values: the numbers of JAX, the moments and gains of torch, structure of the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted import nn, random
from ted.errors import FrontendError
from ted.nn import init
from unit.frontend.tracing import run

KEY = random.key(11)
SHAPE = (8, 4, 3)
FIRST = {"in_axis": 1, "out_axis": 0}
ENDS = {"lower": -1.0, "upper": 0.5}

# Row: ted's tensor of a key, JAX's initializer, the shape, the axes of both.
FANS = tuple(f"{a}_{b}" for a in ("glorot", "he", "lecun") for b in ("uniform", "normal"))
JAX: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], tuple[int, ...]]] = {
    **{
        name: (lambda k, n=name: getattr(init, n)(k, SHAPE), lambda i, n=name: getattr(i, n)(),
               SHAPE)
        for name in FANS
    },
    "channels first": (lambda k: init.he_normal(k, SHAPE, **FIRST),
                       lambda i: i.he_normal(**FIRST), SHAPE),
    "batch": (lambda k: init.glorot_uniform(k, SHAPE, batch_axis=0),
              lambda i: i.glorot_uniform(batch_axis=0), SHAPE),
    "geometric": (
        lambda k: init.variance_scaling(k, SHAPE, "float32", 3.0, "fan_geo_avg", "normal"),
        lambda i: i.variance_scaling(3.0, "fan_geo_avg", "normal"), SHAPE),
    "truncated_normal": (lambda k: init.truncated_normal(k, SHAPE, stddev=3.0, **ENDS),
                         lambda i: i.truncated_normal(3.0, lower=-1.0, upper=0.5), SHAPE),
    "orthogonal": (lambda k: init.orthogonal(k, (8, 3), scale=2.0),
                   lambda i: i.orthogonal(2.0), (8, 3)),
    "orthogonal rows": (lambda k: init.orthogonal(k, (2, 8, 3), "float32", 2.0, 1),
                        lambda i: i.orthogonal(2.0, 1), (2, 8, 3)),
}  # fmt: skip
GAINS = ("linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu", "conv2d", "conv_transpose3d")


@pytest.mark.slow
def test_numbers_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")
    found = run(lambda k: [mine(k) for mine, _, _ in JAX.values()], KEY)
    made = [other(jax.nn.initializers)(KEY, shape, jax.numpy.float32)
            for _, other, shape in JAX.values()]  # fmt: skip
    for name, one, other in zip(JAX, found, map(np.asarray, made), strict=True):
        assert one.shape == other.shape, name
        if name.startswith("orthogonal"):
            np.testing.assert_allclose(one, other, atol=2e-6, err_msg=name)
            continue
        size = np.abs(other).max()
        np.testing.assert_allclose(one / size, other / size, rtol=5e-7, atol=2e-7, err_msg=name)


def test_moments_and_bounds_are_those_of_the_formulas() -> None:
    options = {"nonlinearity": "leaky_relu", "slope": 0.5, "mode": "fan_out"}
    rows: list[tuple[Callable[[Any], Any], float, float]] = [
        (lambda k: init.xavier_uniform(k, (4, 60, 40), gain=2.0), 2 * math.sqrt(2 / 400), 0),
        (lambda k: init.kaiming_normal(k, (200, 50), **options), math.sqrt(2 / 1.25 / 50), 0),
        (lambda k: init.kaiming_uniform(k, (200, 50), **FIRST), math.sqrt(2 / 50), 0),
        (lambda k: init.lecun_uniform(k, (10, 20, 50)), math.sqrt(1 / 200), 0),
        (lambda k: init.glorot_normal(k, (2, 100, 50), batch_axis=0), math.sqrt(2 / 150), 0),
        (lambda k: init.uniform(k, 10000, minval=-3.0, maxval=1.0), 4 / math.sqrt(12), -1),
        (lambda k: init.truncated_normal(k, 10000, "bfloat16", mean=1, std=2), 2 * 0.8796, 1),
    ]
    found = ted.function(lambda k: [draw(k) for draw, _, _ in rows])(KEY)
    found = [a.astype(np.float64) for a in found]
    for one, (_, deviation, mean) in zip(found, rows, strict=True):
        assert abs(one.std() / deviation - 1) < 0.02
        assert abs(one.mean() - mean) < 0.03 * deviation
    for k in (0, 2, 3):
        bound = math.sqrt(3) * rows[k][1]
        assert 0.999 * bound < np.abs(found[k]).max() <= bound
    assert -3 <= found[5].min() < found[5].max() < 1
    assert np.abs(found[6] - 1).max() <= 4, "ends are left out, whatever the type rounds to"


@pytest.mark.parametrize("name", GAINS)
def test_gains_are_those_of_torch(name: str) -> None:
    assert init.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name), rel=1e-15)


def test_structure() -> None:
    x = np.random.default_rng(0).standard_normal((1, 4, 5, 4))

    def made(x: Any) -> list[Any]:
        first = init.dirac(None, (4, 2, 3), "float64", groups=2, **FIRST)
        last = init.dirac(None, (3, 3, 4, 4), "float64")
        return [first, nn.conv2d(x, last, padding=1), init.identity(None, (2, 2, 3), scale=2.0),
                init.zeros(None, 2, "int8"), init.ones(None, (2,)),
                init.constant(None, (2,), value=0.5), init.orthogonal(KEY, (0, 2))]  # fmt: skip

    dirac, same, eye, *others, empty = ted.function(made)(x)
    np.testing.assert_array_equal(
        dirac, torch.nn.init.dirac_(torch.zeros(4, 2, 3, dtype=torch.float64), 2).numpy()
    )
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(eye, [2 * np.eye(2, 3)] * 2)
    assert [a.tolist() for a in others] == [[0, 0], [1, 1], [0.5, 0.5]]
    assert empty.shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: init.he_normal(KEY, (3,)), "2 dims at least, got shape"),
        (lambda: init.he_normal(KEY, (3, 2), "int32"), "dtype must be one of floats, got int32"),
        (lambda: init.he_normal(KEY, (3, 2), in_axis=1), "an axis is one of inputs, outputs or"),
        (lambda: init.kaiming_normal(KEY, (3, 2), mode="fan"), "variance_scaling: mode: must be"),
        (lambda: init.calculate_gain("gelu"), "nonlinearity: must be .*, got 'gelu'"),
        (lambda: init.xavier_normal(KEY, (3, 2), gain=0.0), "gain must be a positive number"),
        (lambda: init.variance_scaling(KEY, (3, 2), scale=-1.0), "scale must be a positive"),
        (lambda: init.orthogonal(KEY, (3,)), "orthogonal: a shape of at least 2 dims is needed"),
        (lambda: init.dirac(None, (3, 3, 3), groups=2), "groups must divide the extent 3"),
        (lambda: init.truncated_normal(KEY, 3, lower=2.0), "ends must be lower < upper"),
    ],
)
def test_what_has_no_meaning_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(FrontendError, match=text):
        call()
