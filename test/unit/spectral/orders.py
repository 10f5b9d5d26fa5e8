"""Derivatives of two orders of one function in ted and in torch, for the tests beside this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import ted


def check_orders(mine: Callable[[Any], Any], other: Callable[[Any], Any], a: Any) -> None:
    """The value, gradient and derivative of the gradient in one direction are those of torch."""
    direction = np.random.default_rng(1).standard_normal(a.shape)
    x = ted.placeholder(a.shape, "float64", name="x")
    value = mine(x)
    (g,) = ted.differentiate(value, [x])
    (gg,) = ted.differentiate(ted.sum(g * direction), [x])
    found = ted.compile([x], [value, g, gg])(a)
    y = torch.tensor(a, requires_grad=True)
    expected = other(y)
    (h,) = torch.autograd.grad(expected, y, create_graph=True)
    (hh,) = torch.autograd.grad((h * torch.tensor(direction)).sum(), y)
    for one, two, far in zip(found, (expected, h, hh), (1e-12, 1e-10, 1e-8), strict=True):
        reference = two.detach().numpy()
        np.testing.assert_allclose(one, reference, rtol=far, atol=far * np.abs(reference).max())
