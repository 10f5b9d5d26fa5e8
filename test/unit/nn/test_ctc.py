"""The loss of CTC against torch, its second derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import ted
from ted import nn
from ted.errors import ExecutionError, FrontendError
from ted.testing import check_grads

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((6, 6, 4))
# Repeated labels, none, no time for them, as much time as is needed, and no time at all.
TARGETS = np.array([[1, 1, 2], [3, 0, 9], [1, 2, 3], [2, 2, 0], [9, 9, 9], [1, 0, 0]])
SPANS = np.array([6, 5, 2, 3, 4, 0])
SIZES = np.array([3, 1, 3, 2, 0, 1])
FLAT = np.concatenate([row[:size] for row, size in zip(TARGETS, SIZES, strict=True)])
WEIGHTS = np.array([1.0, -0.5, 0.0, 2.0, 0.25, 0.0])


def theirs(x: Any, **options: Any) -> Any:
    targets = torch.tensor(np.where(TARGETS > 3, 1, TARGETS))
    lengths = torch.tensor(SPANS), torch.tensor(SIZES)
    return F.ctc_loss(F.log_softmax(x, -1), targets, *lengths, **options)


def mine(x: Any, **options: Any) -> Any:
    return nn.ctc_loss(nn.log_softmax(x), TARGETS, SPANS, SIZES, **options)


def test_values_and_gradients_are_those_of_torch() -> None:
    x = torch.tensor(X, requires_grad=True)
    rows: list[dict[str, Any]] = [{"reduction": "none"}, {"zero_infinity": True}]
    losses = [theirs(x, **row) for row in rows]
    weighted = theirs(x, reduction="none", zero_infinity=True) * torch.tensor(WEIGHTS)
    (slope,) = torch.autograd.grad(weighted.sum(), x)

    def both(x: Any) -> list[Any]:
        def weighted(x: Any) -> Any:
            return ted.sum(mine(x, reduction="none", zero_infinity=True) * WEIGHTS)

        return [*(mine(x, **row) for row in rows), ted.grad(weighted)(x)]

    *found, gradient = ted.function(both)(X)
    for one, other in zip(found, losses, strict=True):
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-13)
    np.testing.assert_allclose(gradient, slope.numpy(), rtol=1e-11, atol=1e-14)


def test_targets_one_behind_the_other_are_those_in_rows() -> None:
    def known(x: Any) -> Any:
        return nn.ctc_loss(nn.log_softmax(x), FLAT, SPANS, SIZES, reduction="none")

    def data(x: Any, *given: Any) -> list[Any]:
        found = nn.ctc_loss(nn.log_softmax(x), *given, reduction="none")
        return [found, known(x)]

    expected = theirs(torch.tensor(X), reduction="none")
    for found in ted.function(data)(X, FLAT, SPANS, SIZES):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.slow
def test_derivatives_of_two_orders_match_differences() -> None:
    check_grads(lambda x: mine(x, blank=0, zero_infinity=True), [X], order=2)


def test_another_blank_and_no_labels() -> None:
    x = RANDOM.standard_normal((3, 1, 3))
    found = ted.function(
        lambda x: [
            nn.ctc_loss(x, [[0, 1]], [3], [2], blank=2, reduction="sum"),
            nn.ctc_loss(x, np.zeros((1, 0), "i8"), [3], [0], reduction="sum"),
        ]
    )(x)
    expected = F.ctc_loss(torch.tensor(x), torch.tensor([[0, 1]]), (3,), (2,), 2, "sum")
    np.testing.assert_allclose(found, [expected, -x[:, 0, 0].sum()], rtol=1e-13)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((TARGETS + 3, SPANS, SIZES), "tensor log_probs has extent 4 in dim 2, got index"),
        (
            (TARGETS, SPANS + 1, SIZES),
            r"ctc_loss: input_lengths: must be in \[0, 6\], got 7, at test_ctc",
        ),
        ((TARGETS, -SPANS, SIZES), r"input_lengths: must be in \[0, 6\], got -"),
        ((TARGETS % 4, SPANS, SIZES + 1), r"target_lengths: must be in \[0, 3\], got 4"),
        (
            (FLAT[:-1], SPANS, SIZES),
            r"labels behind all target_lengths: must be in \[0, 0\], got -1",
        ),
    ],
)
def test_labels_and_lengths_outside_are_errors_of_the_program(given: Any, text: str) -> None:
    program = ted.function(lambda log_probs, *given: nn.ctc_loss(log_probs, *given))
    with pytest.raises(ExecutionError, match=text):
        program(X, *given)


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((TARGETS[1:], SPANS, SIZES), {}, "ctc_loss: targets must have a row for each of 6"),
        ((TARGETS * 1.0, SPANS, SIZES), {}, "ctc_loss: targets must be integers, got float64"),
        ((TARGETS, SPANS[:2], SIZES), {}, "ctc_loss: input_lengths: must have shape"),
        ((TARGETS, SPANS, SIZES), {"blank": 4}, "blank must be one of 4 classes, got 4"),
        ((TARGETS, SPANS, SIZES), {"reduction": "max"}, "ctc_loss: reduction: must be 'mean'"),
    ],
)
def test_what_has_no_meaning_is_refused(arguments: Any, options: Any, text: str) -> None:
    with pytest.raises(FrontendError, match=text):
        nn.ctc_loss(ted.placeholder(X.shape, "float64"), *arguments, **options)
