"""Arguments as torch takes them: values and gradients of two orders against torch."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import ted
from ted import nn
from ted.errors import FrontendError
from ted.frontend import keywords
from ted.testing.tracing import interpreted

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((2, 2, 4, 6)) * 2
T, W = RANDOM.random((2, 2, 4, 6)) + 0.1, RANDOM.random((2, 2, 4, 6)) + 0.5
ROWS, CLASSES = X.reshape(8, 12), np.abs(X.reshape(8, 12)) / 12
KERNEL = RANDOM.standard_normal((3, 2, 2, 2))
Pair = tuple[Callable[..., Any], Callable[..., Any]]


def t(array: Any) -> torch.Tensor:
    return torch.tensor(array)


SAME: dict[str, Pair] = {
    "avg_pool2d of padding (1,)": (
        lambda x: nn.avg_pool2d(x, 2, padding=(1,), layout="NCHW"),
        lambda x: F.avg_pool2d(x, 2, padding=(1,))),
    "avg_pool2d of all in tuples": (
        lambda x: nn.avg_pool2d(x, (2,), (1,), (1,), layout="NCHW"),
        lambda x: F.avg_pool2d(x, (2,), (1,), (1,))),
    "max_pool2d of tuples of one": (
        lambda x: nn.max_pool2d(x, (2,), (1,), (1,), (2,), layout="NCHW"),
        lambda x: F.max_pool2d(x, (2,), (1,), (1,), (2,))),
    "lp_pool2d of tuples of one": (
        lambda x: nn.lp_pool2d(x * x + 1, 2, (2,), (1,), layout="NCHW"),
        lambda x: F.lp_pool2d(x * x + 1, 2, 2, 1)),
    "conv2d of tuples of one": (
        lambda x: nn.conv2d(x, KERNEL, None, (2,), (1,), (1,), layout="NCHW"),
        lambda x: F.conv2d(x, t(KERNEL), None, (2,), (1,), (1,))),
    "conv_transpose2d of tuples of one": (
        lambda x: nn.conv_transpose2d(x, KERNEL[:2], None, (2,), (1,), (1,), (1,), layout="NCHW"),
        lambda x: F.conv_transpose2d(x, t(KERNEL[:2]), None, (2,), (1,), (1,), 1, (1,))),
    "unfold of lists of one": (
        lambda x: nn.unfold(x, [2], [1], [1], [1], layout="NCHW"), lambda x: F.unfold(x, 2, 1, 1)),
    "pixel_shuffle by keywords": (
        lambda x: nn.pixel_shuffle(input=x.reshape((3, 8, 2, 2)), upscale_factor=2, layout="NCHW"),
        lambda x: F.pixel_shuffle(input=x.reshape(3, 8, 2, 2), upscale_factor=2)),
    "pixel_shuffle of one image": (
        lambda x: nn.pixel_shuffle(x.reshape((8, 3, 4)), 2, layout="NCHW"),
        lambda x: F.pixel_shuffle(x.reshape(8, 3, 4), 2)),
    "pixel_shuffle of several batches": (
        lambda x: nn.pixel_shuffle(x.reshape((2, 1, 3, 4, 2, 2)), 2, layout="NCHW"),
        lambda x: F.pixel_shuffle(x.reshape(2, 1, 3, 4, 2, 2), 2)),
    "pixel_unshuffle of one image": (
        lambda x: nn.pixel_unshuffle(x[0], downscale_factor=2, layout="NCHW"),
        lambda x: F.pixel_unshuffle(x[0], downscale_factor=2)),
    "pixel_unshuffle of several batches": (
        lambda x: nn.pixel_unshuffle(x[None], 2, layout="NCHW"),
        lambda x: F.pixel_unshuffle(x[None], 2)),
    "gaussian_nll_loss of a row as target": (
        lambda x: nn.gaussian_nll_loss(x, T[0, 0, 0], x * x + 0.1),
        lambda x: F.gaussian_nll_loss(x, t(T[0, 0, 0]), x * x + 0.1)),
    "gaussian_nll_loss of a wider target": (
        lambda x: nn.gaussian_nll_loss(x[0], T, x[0] * x[0] + 0.1, "none", full=True),
        lambda x: F.gaussian_nll_loss(x[0], t(T), x[0] * x[0] + 0.1, True, reduction="none")),
    "gaussian_nll_loss of a variance for each row": (
        lambda x: nn.gaussian_nll_loss(x, T, W[..., 0], "sum"),
        lambda x: F.gaussian_nll_loss(x, t(T), t(W[..., 0]), reduction="sum")),
    "gaussian_nll_loss of a dim of one": (
        lambda x: nn.gaussian_nll_loss(x, T, W[:, :1]),
        lambda x: F.gaussian_nll_loss(x, t(T), t(W[:, :1]))),
    "gaussian_nll_loss of a number": (
        lambda x: nn.gaussian_nll_loss(x, T, 0.5), lambda x: F.gaussian_nll_loss(x, t(T), 0.5)),
    "poisson_nll_loss of a target that broadcasts": (
        lambda x: nn.poisson_nll_loss(x, T[0, 0]), lambda x: F.poisson_nll_loss(x, t(T[0, 0]))),
    "kl_div of a target that broadcasts": (
        lambda x: nn.kl_div(x, T[:1], "sum"), lambda x: F.kl_div(x, t(T[:1]), reduction="sum")),
    "soft_margin_loss of a target that broadcasts": (
        lambda x: nn.soft_margin_loss(x, T[0]),
        lambda x: torch.log1p(torch.exp(-t(T[0]) * x)).mean()),
    "hinge_embedding_loss of a target that broadcasts": (
        lambda x: nn.hinge_embedding_loss(x, np.array([1.0, -1.0] * 3)),
        lambda x: F.hinge_embedding_loss(x, t([1.0, -1.0] * 3).double())),
    "mse by weights": (lambda x: nn.mse(x, T, weight=W),
                       lambda x: F.mse_loss(x, t(T), weight=t(W))),
    "l1_loss by weights": (lambda x: nn.l1_loss(x, T, weight=W),
                           lambda x: F.l1_loss(x, t(T), weight=t(W))),
    "huber_loss by weights": (lambda x: nn.huber_loss(x, T, weight=W),
                              lambda x: F.huber_loss(x, t(T), weight=t(W))),
    "probabilities with torch's ignore_index": (
        lambda x: nn.cross_entropy(x.reshape((8, 12)), CLASSES, ignore_index=-100),
        lambda x: F.cross_entropy(x.reshape(8, 12), t(CLASSES), ignore_index=-100)),
    "softmax of a type": (
        lambda x: nn.softmax(x, -1, dtype="float64"),
        lambda x: F.softmax(x, -1, dtype=torch.double)),
    "log_softmax of a type": (
        lambda x: nn.log_softmax(x, 1, dtype="float64"),
        lambda x: F.log_softmax(x, 1, dtype=torch.double)),
    "words that ask for nothing": (
        lambda x: nn.relu(nn.elu(x, inplace=False)) + nn.mse(x, T, size_average=None, reduce=None),
        lambda x: F.relu(F.elu(x)) + F.mse_loss(x, t(T))),
}  # fmt: skip


@pytest.mark.fast(16)
@pytest.mark.parametrize("name", SAME)
def test_values_and_gradients_of_two_orders_are_those_of_torch(name: str) -> None:
    mine, theirs = SAME[name]
    x = ted.placeholder(X.shape, "float64", name="x")
    y = mine(x)
    (first,) = ted.differentiate(ted.sum(y**3), [x])
    (second,) = ted.differentiate(ted.sum(first**2), [x])
    found = interpreted([x], [y, first, second])(X)
    leaf = torch.tensor(X, requires_grad=True)
    other = theirs(leaf)
    (one,) = torch.autograd.grad((other**3).sum(), leaf, create_graph=True)
    (two,) = torch.autograd.grad((one**2).sum(), leaf)
    for a, b in zip(found, (other, one, two), strict=True):
        scale = float(b.detach().abs().max())
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-10, atol=1e-12 * scale)


def test_a_type_of_softmax_is_that_of_the_computation() -> None:
    x = ted.placeholder((3, 4), "float16", name="x")
    (found,) = interpreted([x], [nn.softmax(x, -1, dtype="float32")])(ROWS[:3, :4].astype("f2"))
    wanted = F.softmax(t(ROWS[:3, :4].astype("f2")), -1, dtype=torch.float32)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-6)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an index of probabilities": (
        lambda x: nn.cross_entropy(x, x, ignore_index=2),
        "cross_entropy: ignore_index is one of integer labels, got 2"),
    "in place": (lambda x: nn.elu(x, inplace=True), "elu: takes x, alpha, got inplace="),
    "weights of another shape": (lambda x: nn.mse(x, x, weight=x[0]), "mse: weight: must have"),
    "a tuple of three": (
        lambda x: nn.avg_pool2d(x[None, None], 2, padding=(1, 1, 1)),
        "avg_pool2d: padding must be"),
    "pixels of a matrix": (
        lambda x: nn.pixel_shuffle(x, 2), "pixel_shuffle: x: must have at least 3 dims"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_is_refused_by_name(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(FrontendError, match=re.escape(message)):
        call(ted.placeholder((8, 12), "float64", name="x"))


# Words of torch that ted has not, which are refused by name: lookups that renormalise their table,
# running statistics of single samples, dropout without a key.
LACKING = {
    "attention": {"dropout_p"},
    "embedding": {"max_norm", "norm_type"},
    "embedding_bag": {"max_norm", "norm_type"},
    "instance_norm": {"running_mean", "running_var", "use_input_stats", "momentum"},
}
THEIRS = {"mse": "mse_loss", "attention": "scaled_dot_product_attention"}


def words_of(function: Any) -> set[str]:
    """The parameters of a function of torch, of one in C++ those of its documentation."""
    try:
        return set(inspect.signature(function).parameters) - {"args", "kwargs"}
    except ValueError:
        head = (function.__doc__ or "").strip().partition("\n")[0]
        inside = head.partition("(")[2].partition(") ->")[0]
        words = (part.partition("=")[0].partition(":")[0].strip() for part in inside.split(","))
        return {word for word in words if re.fullmatch(r"[a-z]\w*", word)}


def test_every_keyword_of_torch_is_taken_or_listed() -> None:
    lacking: dict[str, set[str]] = {}
    for name in nn.__all__:
        own, theirs = getattr(nn, name), getattr(F, THEIRS.get(name, name), None)
        if inspect.isfunction(own) and theirs is not None:
            known = inspect.signature(own).parameters
            words = {w for w in words_of(theirs) if keywords.near_word(w, known) is None}
            if words - set(keywords.UNASKED):
                lacking[name] = words - set(keywords.UNASKED)
    assert lacking == LACKING
