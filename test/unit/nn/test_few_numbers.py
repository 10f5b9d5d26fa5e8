"""Operators of `ted.nn` at few numbers, by the interpreter: torch's values, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import ted
from numeric.network_operators import GROUPS
from ted import nn
from ted.errors import FrontendError
from unit.frontend.tracing import run

RNG = np.random.default_rng(3)
X, SAME, IMAGE = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(1, 2, 4, 3))
LABELS, WEIGHT = np.array([1, 3, 0]), RNG.uniform(0.5, 2, 4)
SIGNS = np.array([1.0, -1.0, 1.0])


@pytest.mark.parametrize("group", GROUPS)
def test_values_of_a_group_are_those_of_torch(group: str) -> None:
    arrays = [o.arrays() for o in GROUPS[group]]

    def program(*tensors: Any) -> list[Any]:
        given = iter(tensors)
        return [
            o.ours(*(next(given) for _ in own))
            for o, own in zip(GROUPS[group], arrays, strict=True)
        ]

    found = run(program, *(a for own in arrays for a in own))
    for o, own, mine in zip(GROUPS[group], arrays, found, strict=True):
        wanted = o.theirs(*map(torch.tensor, own)).numpy()
        assert mine.shape == wanted.shape, o.name
        np.testing.assert_allclose(mine, wanted, rtol=1e-12, atol=1e-12, err_msg=o.name)


def entropy(reduction: str, **options: Any) -> tuple[Any, Any]:
    def theirs(x: Any) -> Any:
        given: Any = {k: torch.tensor(v) if k == "weight" else v for k, v in options.items()}
        return F.cross_entropy(x, torch.tensor(LABELS), reduction=reduction, **given)

    return lambda x: nn.cross_entropy(x, LABELS, reduction=reduction, **options), theirs


def hinge(**options: Any) -> tuple[Any, Any]:
    def theirs(x: Any) -> Any:
        given: Any = {k: torch.tensor(v) if k == "weight" else v for k, v in options.items()}
        return F.multi_margin_loss(x, torch.tensor(LABELS), **given)

    return lambda x: nn.multi_margin_loss(x, LABELS, **options), theirs


def sampled(mode: str, corners: bool) -> tuple[Any, Any]:
    def theirs(x: Any) -> Any:
        image = torch.tensor(IMAGE)
        return F.grid_sample(image, x.reshape(1, 2, 3, 2), "bilinear", mode, corners)

    def ours(x: Any) -> Any:
        return nn.grid_sample(IMAGE, x.reshape((1, 2, 3, 2)), "bilinear", mode, corners, "NCHW")

    return ours, theirs


def resized(size: tuple[int, int], corners: bool) -> tuple[Any, Any]:
    def ours(x: Any) -> Any:
        return nn.interpolate(x.reshape((1, 1, 3, 4)), size, mode="bilinear",
                              align_corners=corners, layout="NCHW")  # fmt: skip

    return ours, lambda x: F.interpolate(
        x.reshape(1, 1, 3, 4), size, mode="bilinear", align_corners=corners
    )


Pair = tuple[Callable[..., Any], Callable[..., Any]]
PAIRS: dict[str, Pair] = {
    **{f"entropy, {r}": entropy(r) for r in ("mean", "sum", "none")},
    **{f"weighted entropy, {r}": entropy(r, weight=WEIGHT) for r in ("mean", "sum", "none")},
    **{f"entropy without a class, {r}": entropy(r, ignore_index=3) for r in ("mean", "sum")},
    "smooth entropy": entropy("mean", label_smoothing=0.1, weight=WEIGHT),
    "hinges": hinge(),
    "square hinges of a margin": hinge(p=2, margin=0.7),
    "weighted hinges": hinge(weight=WEIGHT),
    **{f"sampled, {m}, {c}": sampled(m, c) for m in ("border", "reflection", "zeros")
       for c in (False, True)},
    **{f"resized {s}, {c}": resized(s, c) for s in ((1, 1), (1, 6), (5, 2)) for c in (False, True)},
    "cosines": (lambda x: nn.cosine_embedding_loss(x, SAME, SIGNS, margin=0.1),
                lambda x: F.cosine_embedding_loss(x, torch.tensor(SAME), torch.tensor(SIGNS), 0.1)),
    "pixels": (lambda x: nn.pixel_shuffle(x.reshape((1, 4, 1, 3)), 2, "NCHW"),
               lambda x: F.pixel_shuffle(x.reshape(1, 4, 1, 3), 2)),
    "pixels apart": (lambda x: nn.pixel_unshuffle(x.reshape((1, 1, 2, 6)), 2, "NCHW"),
                     lambda x: F.pixel_unshuffle(x.reshape(1, 1, 2, 6), 2)),
    "one extent for all dims": (
        lambda x: nn.adaptive_avg_pool2d(x.reshape((1, 1, 3, 4)), 2, layout="NCHW"),
        lambda x: F.adaptive_avg_pool2d(x.reshape(1, 1, 3, 4), 2)),
    "an extent that stays": (
        lambda x: nn.adaptive_avg_pool2d(x.reshape((1, 1, 3, 4)), (2, None), layout="NCHW"),
        lambda x: F.adaptive_avg_pool2d(x.reshape(1, 1, 3, 4), (2, None))),
    "attention of no width": (
        lambda x: nn.attention(x[:, :0], x[:, :0], x), lambda x: x.mean(0).expand(3, 4)),
}  # fmt: skip


def test_the_same_at_few_numbers() -> None:
    found = run(lambda x: [ours(x) for ours, _ in PAIRS.values()], X)
    for (name, (_, theirs)), mine in zip(PAIRS.items(), found, strict=True):
        wanted = theirs(torch.tensor(X)).numpy()
        np.testing.assert_allclose(mine, wanted, rtol=1e-12, atol=1e-13, err_msg=name)


def test_a_norm_of_zeros_has_no_slope() -> None:
    def slope(x: Any) -> Any:
        return ted.grad(lambda x: ted.sum(nn.lp_pool1d(x, 2.0, 2, layout="NCL")))(x)

    found = run(slope, np.array([[[0.0, 0.0, 3.0, 4.0]]]))
    np.testing.assert_allclose(found, [[[0, 0, 0.6, 0.8]]], rtol=1e-12)


def test_both_directions_of_layers_on_top_of_each_other_are_those_of_torch() -> None:
    layer = torch.nn.LSTM(2, 3, 2, bidirectional=True).double()
    x = RNG.normal(size=(4, 1, 2))
    names = [f"l{k}{way}" for k in range(2) for way in ("", "_reverse")]
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    parts = [[getattr(layer, f"{k}_{n}").detach().numpy().T for k in kinds] for n in names]
    given = [(w, u, b + c) for w, u, b, c in parts]
    states = run(lambda x: nn.stacked(nn.lstm, x, given, bidirectional=True)[0], x)
    wanted = layer(torch.tensor(x))[0].detach().numpy()
    np.testing.assert_allclose(states, wanted, rtol=1e-12)


def test_schedules_at_the_first_steps() -> None:
    steps = np.arange(6)
    made = [nn.exponential_schedule(0.5, 0.9, 2), nn.step_schedule(0.5, 0.9, 2),
            nn.linear_schedule(1.0, 0.0, 4), nn.cosine_schedule(1.0, 5, 2, 0.1)]  # fmt: skip
    found = run(lambda s: [f(s) for f in made], steps)
    over = np.clip((steps - 2) / 3, 0, 1)
    wanted = [0.5 * 0.9 ** (steps / 2), 0.5 * 0.9 ** (steps // 2), 1 - np.minimum(steps, 4) / 4,
              np.where(steps < 2, steps / 2, 0.1 + 0.45 * (1 + np.cos(np.pi * over)))]  # fmt: skip
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_gains_are_those_of_torch() -> None:
    convolutions = [f"{kind}{n}d" for kind in ("conv", "conv_transpose") for n in (1, 2, 3)]
    names: Any = ("linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu", *convolutions)
    for name in names:
        assert nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name), name


def test_truncated_normal_numbers_are_within_two_deviations() -> None:
    found = run(lambda k: nn.init.truncated_normal(k, (200,), stddev=0.5), ted.random.key(1))
    assert -1 <= found.min() < -0.8
    assert 0.8 < found.max() <= 1


T, IMAGES = ted.placeholder((3, 4), name="t"), ted.placeholder((1, 3, 2, 3), name="images")
HEADS = [ted.placeholder((1, n, 2, 2), name=f"heads{n}") for n in (4, 0, 3)]
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no heads of keys": (lambda: nn.attention(HEADS[0], HEADS[1], HEADS[1]), "heads of keys"),
    "heads": (lambda: nn.attention(HEADS[0], HEADS[2], HEADS[2]), "heads of keys"),
    "channels": (lambda: nn.pixel_shuffle(IMAGES, 2), "a multiple of 2 \\* 2 channels"),
    "channels of 3 * 3 pixels": (lambda: nn.pixel_shuffle(ted.placeholder((1, 2, 2, 6)), 3),
                                 "a multiple of 3 \\* 3 channels"),
    "extents": (lambda: nn.adaptive_avg_pool2d(IMAGES, (1, 2, 3)), "output_size"),
    "negative decay": (lambda: nn.adagrad(0.1, weight_decay=-1.0), "adagrad"),
    "decay of the rate": (lambda: nn.adagrad(0.1, rate_decay=-1.0), "adagrad"),
    "layers": (lambda: nn.stacked(nn.rnn, ted.placeholder((2, 1, 2)), [(X, X)] * 3,
                                  bidirectional=True), "takes 2 tuples of parameters"),
    "gain": (lambda: nn.init.calculate_gain("swish"), "calculate_gain: nonlinearity"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_rule(name: str) -> None:
    made, text = BAD[name]
    with pytest.raises(FrontendError, match=text):
        made()
