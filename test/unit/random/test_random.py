"""Random numbers: the words of JAX, every distribution against it, keys in loops and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from sweeps import swept
from ted import random
from ted.random.keys import threefry
from ted.testing import check_grads, emulated_gpu

KEY = random.key(42)
K = ted.placeholder((2,), "uint32", name="key")
P = np.linspace(0, 1, 12, dtype="f4").reshape(3, 4)
MEAN, COVARIANCE = P[0, :3], np.eye(3, dtype="f4") + P[1, :3] * P[1, :3, None]

# Row: ted's tensor of a key, JAX's array, and how many units in the last place are between them.
WORDS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "split": (lambda r, k: r.split(k, 3), 0),
    "split to a shape": (lambda r, k: r.split(k, (2, 3)), 0),
    "fold_in": (lambda r, k: r.fold_in(k, 9), 0),
    "bits": (lambda r, k: r.bits(k, (4, 5)), 0),
    "bits of 8": (lambda r, k: r.bits(k, (7,), "uint8"), 0),
    "bits of 16": (lambda r, k: r.bits(k, (7,), "uint16"), 0),
    "uniform": (lambda r, k: r.uniform(k, (50, 3)), 0),
    "one": (lambda r, k: r.uniform(k), 0),
    "half": (lambda r, k: r.uniform(k, (40,), "float16"), 0),
    "brain": (lambda r, k: r.uniform(k, (40,), "bfloat16"), 0),
    "between": (lambda r, k: r.uniform(k, (40,), minval=-2, maxval=3), 1),
    "normal": (lambda r, k: r.normal(k, (3000,)), 3),
    "bernoulli": (lambda r, k: r.bernoulli(k, P), 0),
    "bernoulli of a shape": (lambda r, k: r.bernoulli(k, 0.25, (30,)), 0),
    "exponential": (lambda r, k: r.exponential(k, (100,)), 2),
    "categorical": (lambda r, k: r.categorical(k, P), 0),
    "categorical of a shape": (lambda r, k: r.categorical(k, P, axis=0, shape=(20, 4)), 0),
    "randint": (lambda r, k: r.randint(k, (40,), -5, 17), 0),
    "randint of 8": (lambda r, k: r.randint(k, (40,), 3, 256, "uint8"), 0),
    "permutation": (lambda r, k: r.permutation(k, 60), 0),
    "permutation of rows": (lambda r, k: r.permutation(k, P), 0),
    "permutation of columns": (lambda r, k: r.permutation(k, P, axis=1), 0),
    "permutation of many": (lambda r, k: r.permutation(k, 300), 0),
    "cauchy": (lambda r, k: r.cauchy(k, (100,)), 2),
    "laplace": (lambda r, k: r.laplace(k, (100,)), 2),
    "logistic": (lambda r, k: r.logistic(k, (100,)), 16),  # differences of logarithms
    "maxwell": (lambda r, k: r.maxwell(k, (50,)), 4),
    "rademacher": (lambda r, k: r.rademacher(k, (50,), "float32"), 0),
    "lognormal": (lambda r, k: r.lognormal(k, 1 + P), 4),
    "pareto": (lambda r, k: r.pareto(k, 1 + P, (2, 3, 4)), 4),
    "rayleigh": (lambda r, k: r.rayleigh(k, 0.5, (60,)), 2),
    "weibull_min": (lambda r, k: r.weibull_min(k, 1.5, 1 + P, (3, 4)), 8),
    "geometric": (lambda r, k: r.geometric(k, 0.1 + 0.8 * P), 0),
    "multivariate_normal": (lambda r, k: r.multivariate_normal(k, MEAN, COVARIANCE), 8),
    "choice": (lambda r, k: r.choice(k, 20, (7, 2)), 0),
    "choice without": (lambda r, k: r.choice(k, P, (3,), replace=False, axis=1), 0),
    "choice by weights": (lambda r, k: r.choice(k, 12, (50,), p=P.ravel()), 0),
    "choice by weights without": (lambda r, k: r.choice(k, 12, (5,), False, P.ravel()), 0),
}


FEW = ("split", "fold_in", "uniform", "permutation", "maxwell")


def _agree(names: tuple[str, ...], found: Any) -> None:
    jax = pytest.importorskip("jax")
    made = jax.jit(lambda k: [WORDS[name][0](jax.random, k) for name in names])(KEY)
    for name, one, other in zip(names, found, map(np.asarray, made), strict=True):
        room = WORDS[name][1]
        assert one.shape == other.shape, name
        if not room:
            np.testing.assert_array_equal(one.astype(other.dtype), other, name)
            continue
        apart = np.abs(one - other) / np.spacing(np.abs(other))
        assert apart.max() <= room, name
        assert (apart == 0).mean() > 0.7, name


@swept("names", [FEW, tuple(name for name in WORDS if name not in FEW)], [FEW])
def test_words_and_numbers_are_those_of_jax(names: tuple[str, ...]) -> None:
    _agree(names, ted.compile([K], [WORDS[name][0](random, K) for name in names])(KEY))


@pytest.mark.slow
def test_words_and_numbers_are_those_of_jax_on_a_gpu() -> None:
    with emulated_gpu():
        f = ted.compile([K], [WORDS[name][0](random, K) for name in FEW], target="cuda")
        found = [a.numpy() for a in f(ted.cuda.asarray(KEY))]
    _agree(FEW, found)


def test_keys_of_numpy_are_those_of_tensors() -> None:
    jax = pytest.importorskip("jax")
    for seed in (0, 42, 2**32 - 1):
        np.testing.assert_array_equal(random.key(seed), jax.random.PRNGKey(seed))
    assert random.key(-1).tolist() == [2**32 - 1, 2**32 - 1]
    assert random.key(2**40 + 3).tolist() == [2**8, 3]
    seed = ted.placeholder((), "int64", name="seed")
    f = ted.compile([K, seed], [random.split(K, (2, 2)), random.fold_in(K, 5), random.key(seed),
                                random.fold_in(K, seed)])  # fmt: skip
    parts, folded, key, by_data = f(KEY, 2**40 + 3)
    np.testing.assert_array_equal(parts, random.split(KEY, (2, 2)))
    np.testing.assert_array_equal(folded, random.fold_in(KEY, 5))
    np.testing.assert_array_equal(key, random.key(2**40 + 3))
    np.testing.assert_array_equal(by_data, random.fold_in(KEY, 3))


def test_numbers_depend_on_their_position_alone() -> None:
    long, short = random.uniform(K, (40, 3)), random.uniform(K, (5, 3))
    a, b, c = ted.compile([K], [long, short, long[3:7, 1]])(KEY)
    np.testing.assert_array_equal(a[:5], b)
    np.testing.assert_array_equal(a[3:7, 1], c)


def test_positions_beyond_32_bits_have_words_of_their_own() -> None:
    shape = (2**32 + 5,)
    far = random.bits(K, shape)[2**32 - 1 : 2**32 + 2]
    (found,) = ted.compile([K], [far])(KEY)
    counts = np.array([0, 1, 1], np.uint32), np.array([2**32 - 1, 0, 1], np.uint32)
    first, second = threefry((KEY[:1], KEY[1:]), counts)
    np.testing.assert_array_equal(found, first ^ second)


def test_keys_are_split_in_scans_and_batches() -> None:
    def walk(key: Any, x: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            key, x = carry
            key, used = random.split(key)
            x = x + random.normal(used, x.shape)
            return (key, x), x

        return ted.scan(step, (key, x), None, length=4)[1]

    found = ted.function(walk)(KEY, np.zeros(3, "f4"))
    key, x = KEY, np.zeros(3, "f4")
    draw = ted.compile([K], [random.normal(K, (3,))])
    for row in found:
        key, used = random.split(key)
        x = x + draw(used)[0]
        np.testing.assert_allclose(row, x, atol=1e-6)
    keys = random.split(KEY, 5)
    many = ted.function(ted.vmap(lambda k: random.normal(k, (3,))))(keys)
    np.testing.assert_array_equal(many, [draw(k)[0] for k in keys])


def test_gradients_go_through_what_is_drawn() -> None:
    def loss(x: Any, low: Any) -> Any:
        kept = random.dropout(KEY, x * x, 0.25)
        return ted.sum(kept * random.uniform(KEY, (6,), "float64", low, 3.0))

    x, low = np.linspace(1.0, 2.0, 6), np.array(-1.0)
    check_grads(loss, [x, low], order=2)
    mask, out = ted.function(lambda x: [random.bernoulli(KEY, 0.5, (6,)), random.dropout(KEY, x)])(
        x
    )
    np.testing.assert_allclose(out, np.where(mask, x / 0.5, 0.0))
    assert 0 < mask.sum() < 6


@pytest.mark.slow
def test_parameters_of_distributions_have_slopes() -> None:
    def loss(scale: Any, shape: Any, mean: Any, cov: Any) -> Any:
        vectors = random.multivariate_normal(KEY, mean, cov, (2,), "float64")
        numbers = random.weibull_min(KEY, scale, shape, (5,), "float64")
        more = random.lognormal(KEY, scale, (3,), "float64") * random.pareto(
            KEY, shape, (3,), "float64"
        )
        return ted.sum(numbers**2) + ted.sum(more) + ted.sum(ted.sin(vectors))

    floats = [np.array(1.5), np.array(2.0), MEAN.astype("f8"), COVARIANCE.astype("f8")]
    check_grads(loss, floats, order=2)


def test_channels_are_left_out_whole() -> None:
    x = np.linspace(1.0, 2.0, 24).reshape(2, 4, 3)
    (out,) = ted.compile([K], [random.dropout(K, ted.asarray(x), 0.5, broadcast_dims=(-1,))])(KEY)
    kept = out != 0
    assert (kept.all(-1) | ~kept.any(-1)).all()
    assert 0 < kept.sum() < 24
    np.testing.assert_allclose(out[kept], 2 * x[kept])


def test_self_normalizing_dropout_keeps_mean_and_variance() -> None:
    x = random.normal(random.fold_in(K, 1), (40_000,))
    (out,) = ted.compile([K], [random.alpha_dropout(K, x, 0.3)])(KEY)
    assert abs(out.mean()) < 0.03
    assert abs(out.var() - 1) < 0.03
    least, times = np.unique(out, return_counts=True)
    assert abs(times.max() / 40_000 - 0.3) < 0.02
    assert least[times.argmax()] < out.mean()


def test_slopes_of_rrelu_are_drawn() -> None:
    x = np.linspace(-3.0, 3.0, 12)
    out = ted.function(lambda x: random.rrelu(KEY, x))(x)
    np.testing.assert_array_equal(out[6:], x[6:])
    slopes = out[:6] / x[:6]
    assert ((slopes >= 1 / 8) & (slopes < 1 / 3)).all()
    assert len(set(slopes)) == 6
    check_grads(lambda x: ted.sum(random.rrelu(KEY, x) ** 2), [x], order=2)


def test_choices_with_slopes_are_those_of_the_noise() -> None:
    logits = np.linspace(-1.0, 2.0, 12).reshape(3, 4)

    def chosen(logits: Any, axis: int, hard: bool) -> Any:
        return random.gumbel_softmax(KEY, logits, 0.7, hard, axis)

    for axis in (0, -1):
        noise = ted.function(lambda: random.gumbel(KEY, (3, 4), "float64"))()
        soft, hard = ted.function(lambda x, k=axis: [chosen(x, k, False), chosen(x, k, True)])(
            logits
        )
        raised = np.exp((logits + noise) / 0.7)
        np.testing.assert_allclose(soft, raised / raised.sum(axis, keepdims=True), rtol=1e-12)
        np.testing.assert_allclose(hard.sum(axis), 1, rtol=1e-15)
        np.testing.assert_array_equal(hard.argmax(axis), soft.argmax(axis))
    check_grads(lambda x: ted.sum(chosen(x, 0, False) ** 2), [logits], order=2)
    slopes = [
        ted.function(ted.grad(lambda x, h=h: ted.sum(chosen(x, 0, h) * logits)))(logits)
        for h in (False, True)
    ]
    np.testing.assert_allclose(*slopes, rtol=1e-12)


@swept("dtype", ["float32", "float64"], ["float32"])
def test_moments_are_those_of_the_distributions(dtype: str) -> None:
    count = 40_000
    made = [random.uniform(K, (count,), dtype), random.normal(K, (count,), dtype),
            random.exponential(K, (count,), dtype), random.gumbel(K, (count,), dtype)]  # fmt: skip
    wanted = [(0.5, 1 / 12), (0, 1), (1, 1), (np.euler_gamma, np.pi**2 / 6)]
    for array, (mean, variance) in zip(ted.compile([K], made)(KEY), wanted, strict=True):
        assert array.dtype == dtype
        assert abs(array.mean() - mean) < 5 * (variance / count) ** 0.5
        assert abs(array.var() / variance - 1) < 0.08


X = ted.placeholder((4,), "int32", name="x")
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a number": (lambda: random.uniform(42, (3,)), "random.uniform: a key must be a uint32 of shape"
                 " (2,), as ted.random.key(seed) and split give, got 42"),
    "signed": (lambda: random.split(np.zeros(2, "i4")), "got int32 of shape (2,)"),
    "several": (lambda: random.normal(random.split(KEY), ()), "got uint32 of shape (2, 2); ted.vmap"
                " runs a function for each of several"),
    "tensor": (lambda: random.fold_in(X, 1), "random.fold_in: a key must be a uint32 of shape"),
    "seed": (lambda: random.key(0.5), "random.key: seed: must be an integer, got 0.5"),
    "large seed": (lambda: random.key(2**64), "must be an integer of 64 bits, got 18446744"),
    "data": (lambda: random.fold_in(K, X), "fold_in: data must be an integer of rank 0, got"),
    "type": (lambda: random.uniform(K, (2,), "int32"), "dtype must be one of floats, got int32"),
    "bits": (lambda: random.bits(K, (2,), "int8"), "dtype must be one of uint64, uint32, uint16"),
    "shape": (lambda: random.uniform(K, (-2,)), "random.uniform: shape"),
    "ends": (lambda: random.uniform(K, (3,), minval=P), "random.uniform: ends"),
    "probability": (lambda: random.bernoulli(K, 1.5), "p must be a number in [0, 1], got 1.5"),
    "rate": (lambda: random.dropout(K, P, 1.0), "rate must be a number in [0, 1), got 1.0"),
    "dropout": (lambda: random.dropout(K, X), "x must be of a float type, got int32 (x)"),
    "dims": (lambda: random.dropout(K, P, 0.5, (5,)), "random.dropout: broadcast_dims"),
    "no dims": (lambda: random.dropout(K, P, 0.5, "rows"), "axis: must be an integer, got 'rows'"),
    "slope": (lambda: random.rrelu(K, P, P, 1), "random.rrelu: bounds must be numbers, got"),
    "an end": (lambda: random.uniform(K, (3,), minval="0"), "random.uniform: ends"),
    "slopes": (lambda: random.rrelu(K, P, 2, 1), "lower must be at most upper, got 2 and 1"),
    "temperature": (lambda: random.gumbel_softmax(K, P, 0), "tau must be positive, got 0"),
    "soft integers": (lambda: random.gumbel_softmax(K, X), "gumbel_softmax: logits must be floats"),
    "rrelu": (lambda: random.rrelu(K, X), "random.rrelu: x must be of a float type, got int32"),
    "alpha": (lambda: random.alpha_dropout(K, P, -1), "alpha_dropout: rate must be a number"),
    "interval": (lambda: random.randint(K, (3,), 4, 4), "maxval <= 2147483648 of int32, got 4, 4"),
    "logits": (lambda: random.categorical(K, X), "logits must be floats, got int32 (x)"),
    "classes": (lambda: random.categorical(K, P, shape=(5,)), "shape must end in (3,) of the"),
    "weights": (lambda: random.choice(K, 4, (2,), p=P), "random.choice: p must be 4 floats, got"),
    "too many": (lambda: random.choice(K, 4, (5,), replace=False), "takes at most 4 of 4 slices"),
    "covariance": (lambda: random.multivariate_normal(K, P[0], P), "mean and cov must have the"),
    "sigma": (lambda: random.lognormal(K, P, (5,)), "random.lognormal"),
    "order": (lambda: random.permutation(K, -1), "must be a tensor or a number >= 0, got -1"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_draws_nothing_is_refused(case: str) -> None:
    function, message = REFUSED[case]
    with pytest.raises(ted.errors.FrontendError) as caught:
        function()
    assert message in str(caught.value)
    assert "test_random.py:" in str(caught.value)


def test_more_tries_than_the_type_holds_are_the_most_that_it_holds() -> None:
    for dtype in ("int32", "int8"):
        found = ted.function(lambda k, d=dtype: random.geometric(k, 1e-30, (3,), d))
        assert (found(random.key(0)) == np.iinfo(dtype).max).all()
