"""Functions of several equations in f16 and bf16: they compute in f32, and round once.

The numbers have squares and variances that f16 does not hold, and totals of more elements than it
counts; the oracle is numpy or torch in float64, of the same rounded numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted

torch = pytest.importorskip("torch")
functional = torch.nn.functional

ROUNDED = 0.505  # units in the last place: half of one, and what float32 errs by
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
SHAPE = (3, 4, 120)

# Of (x, weight): x over (batch, channels, positions), a weight for each channel.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "var": (lambda x, _: ted.var(x / 32, -1), lambda x, _: torch.var(x / 32, -1, correction=0)),
    "std": (lambda x, _: ted.std(x, -1), lambda x, _: torch.std(x, -1, correction=0)),
    "norm": (
        lambda x, _: ted.linalg.norm(x, axis=-1),
        lambda x, _: torch.linalg.vector_norm(x, dim=-1),
    ),
    "matrix norm": (
        lambda x, _: ted.linalg.norm(x, axis=(1, 2)),
        lambda x, _: torch.linalg.matrix_norm(x),
    ),
    "normalize": (
        lambda x, _: ted.nn.normalize(x), lambda x, _: functional.normalize(x, dim=-1)
    ),
    "cosine": (
        lambda x, _: ted.nn.cosine_similarity(x, x[:, ::-1]),
        lambda x, _: functional.cosine_similarity(x, x.flip(1), dim=-1),
    ),
    "softmax": (
        lambda x, _: ted.nn.softmax(x / 64), lambda x, _: functional.softmax(x / 64, dim=-1)
    ),
    "log softmax": (
        lambda x, _: ted.nn.log_softmax(x / 512, 0),
        lambda x, _: functional.log_softmax(x / 512, dim=0),
    ),
    "layer norm": (
        lambda x, w: ted.nn.layer_norm(x.transpose((0, 2, 1)), w),
        lambda x, w: functional.layer_norm(x.transpose(1, 2), (4,), w),
    ),
    "rms norm": (
        lambda x, w: ted.nn.rms_norm(x.transpose((0, 2, 1)), w, eps=1e-5),
        lambda x, w: functional.rms_norm(x.transpose(1, 2), (4,), w, 1e-5),
    ),
    "batch norm": (
        lambda x, w: ted.nn.batch_norm(x, w, axis=1),
        lambda x, w: functional.batch_norm(x, None, None, w, training=True),
    ),
    "instance norm": (
        lambda x, w: ted.nn.instance_norm(x, w, axis=1),
        lambda x, w: functional.instance_norm(x, None, None, w),
    ),
    "powers": (
        lambda x, _: ted.nn.lp_pool1d(x, 2, 4, layout="NCL"),
        lambda x, _: functional.lp_pool1d(x, 2, 4),
    ),
    "triplets": (
        lambda x, _: ted.nn.triplet_margin_loss(x, x[:, ::-1], x / 2, reduction="none"),
        lambda x, _: functional.triplet_margin_loss(x, x.flip(1), x / 2, reduction="none"),
    ),
    "group norm": (
        lambda x, w: ted.nn.group_norm(x, 2, w, axis=1),
        lambda x, w: functional.group_norm(x, 2, w),
    ),
}  # fmt: skip


def ulps(found: np.ndarray, wanted: np.ndarray) -> float:
    """The greatest error in units in the last place of the type that was found.

    Below 1 / 16 it is that of 1 / 16: what float32 cancels is about 0.
    """
    info = ml_dtypes.finfo(found.dtype)
    exponents = np.frexp(wanted)[1] - 1
    unit = np.exp2(np.maximum(exponents, -4) - info.nmant)
    return float(np.max(np.abs(found.astype(np.float64) - wanted) / unit))


@pytest.mark.parametrize("name", TYPES)
def test_results_are_rounded_once(name: str) -> None:
    rng = np.random.default_rng(3)
    # Multiples of 64 below 1024: quotients by powers of 2 are exact.
    x = (rng.integers(-15, 16, SHAPE) * 64).astype(TYPES[name])
    w = rng.uniform(0.5, 2, SHAPE[1]).astype(TYPES[name])
    ours = [one for one, _ in FUNCTIONS.values()]
    found = ted.function(lambda x, w: [one(x, w) for one in ours])(x, w)
    wide = [torch.tensor(a.astype(np.float64)) for a in (x, w)]
    for what, result in zip(FUNCTIONS, found, strict=True):
        assert result.dtype == TYPES[name], what
        assert ulps(result, FUNCTIONS[what][1](*wide).numpy()) < ROUNDED, what


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_sharp_scores_rounds_its_weights_alone(name: str, causal: bool) -> None:
    rng = np.random.default_rng(5)
    shapes = [((2, 48, 16), 4), ((2, 48, 16), 4), ((2, 48, 8), 1), ((2, 48, 8), 1)]
    *given, dy = ((rng.standard_normal(s) * scale).astype(TYPES[name]) for s, scale in shapes)
    ours = functools.partial(ted.nn.attention, causal=causal)
    y, slopes = ted.function(lambda *a: (ours(*a[:3]), ted.vjp(ours, *a[:3])[1](a[3])))(*given, dy)
    wide = [torch.tensor(a.astype(np.float64)).requires_grad_() for a in given]
    z = functional.scaled_dot_product_attention(*wide, is_causal=causal)
    exact = torch.autograd.grad(z, wide, torch.tensor(dy.astype(np.float64)))
    unit = float(ml_dtypes.finfo(TYPES[name]).eps) / 2
    for found, wanted in zip((y, *slopes), (z.detach(), *exact), strict=True):
        off = np.abs(found.astype(np.float64) - wanted.numpy()).max()
        assert off <= 5 * unit * float(wanted.abs().max())


@pytest.mark.parametrize("what", ["layer norm", "std"])
def test_gradients_of_large_numbers_are_those_of_float64(what: str) -> None:
    rng = np.random.default_rng(4)
    x = (rng.standard_normal(SHAPE) * 300).astype(np.float16)
    w = rng.uniform(0.5, 2, SHAPE[1]).astype(np.float16)
    ours, theirs = FUNCTIONS[what]
    dy = rng.standard_normal(theirs(*map(torch.tensor, (x, w))).shape).astype(np.float16)
    found = ted.function(lambda x, w, dy: ted.vjp(lambda x: ours(x, w), x)[1](dy))(x, w, dy)
    wide = [torch.tensor(a.astype(np.float64)) for a in (x, w, dy)]
    wide[0].requires_grad_()
    (wanted,) = torch.autograd.grad((theirs(*wide[:2]) * wide[2]).sum(), wide[0])
    (one,) = found if isinstance(found, (tuple, list)) else (found,)
    assert one.dtype == np.float16
    np.testing.assert_allclose(one, wanted, rtol=2e-3, atol=2e-6)


def test_parameters_and_statistics_of_float32_keep_their_type() -> None:
    x = np.linspace(-900, 900, 24, dtype=np.float16).reshape(3, 8)
    w, start = np.ones(8, np.float32), (np.zeros(8, np.float32), np.ones(8, np.float32))
    y, mean, variance = ted.function(
        lambda x, w, r: ted.nn.batch_norm(x, w, running=r)
    )(x, w, start)  # fmt: skip
    assert [a.dtype for a in (y, mean, variance)] == [np.float32] * 3
    wanted = np.var(x.astype(np.float64), axis=0, ddof=1)
    np.testing.assert_allclose(variance, 0.9 + 0.1 * wanted, rtol=1e-5)


def test_a_number_of_samples_that_float16_does_not_hold_is_counted() -> None:
    x = np.linspace(-1, 1, 70000, dtype=np.float16).reshape(-1, 1)
    ones = np.ones(1, np.float32)
    batch = ted.placeholder((ted.size("n"), 1), "float16")
    mean, variance = (ted.placeholder((1,), "float32") for _ in range(2))
    _, _, moved = ted.nn.batch_norm(batch, running=(mean, variance), momentum=1.0)
    (found,) = ted.compile([batch, mean, variance], [moved])(x, ones, ones)
    np.testing.assert_allclose(found, np.var(x.astype(np.float64), axis=0, ddof=1), rtol=1e-5)


def test_arrays_of_float16_beside_tensors_are_widened_too() -> None:
    x, y = (np.full((2, 8), n, np.float16) for n in (300, 400))
    first, second = ted.function(
        lambda x: (ted.nn.cosine_similarity(x, y), ted.nn.cosine_similarity(a=y, b=x))
    )(x)
    assert first.dtype == second.dtype == np.float16
    assert (first == 1).all()
    assert (second == 1).all()
