"""What docs/autodiff.md says about other systems, shown on those systems and on ted."""

from __future__ import annotations

import numpy as np
import pytest

import ted

N, WINDOW, STRIDE = 10, 3, 2
SIZE = (N - WINDOW) // STRIDE + 1


def guarded_root(x: ted.Tensor) -> ted.Tensor:
    return ted.sum(ted.where(x > 0, ted.sqrt(x), 0.0))


def test_a_guarded_root_has_a_finite_gradient_in_ted() -> None:
    slope = ted.grad(guarded_root)(np.array([0.0, 4.0]))
    np.testing.assert_array_equal(slope, [0.0, 0.25])


def test_a_guarded_root_has_no_gradient_in_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, torch.sqrt(x), 0.0).sum().backward()
    assert np.isnan(x.grad[0].item())


def test_a_guarded_root_has_no_gradient_in_jax() -> None:
    jax = pytest.importorskip("jax")
    x = np.array([0.0, 4.0], np.float32)
    slope = jax.grad(lambda x: jax.numpy.where(x > 0, jax.numpy.sqrt(x), 0.0).sum())(x)
    assert np.isnan(slope[0])


def test_a_strided_window_scatters_in_jax() -> None:
    jax = pytest.importorskip("jax")
    at = STRIDE * np.arange(SIZE)[:, None] + np.arange(WINDOW)
    backward = jax.grad(lambda x, w: (x[at] * w).sum())
    text = str(jax.make_jaxpr(backward)(np.ones(N, np.float32), np.ones(WINDOW, np.float32)))
    assert "scatter-add" in text


def test_a_strided_window_gathers_in_ted() -> None:
    x = ted.placeholder((N,), name="x")
    w = ted.placeholder((WINDOW,), name="w")
    r = ted.reduce_axis(WINDOW, name="r")
    y = ted.compute((SIZE,), lambda i: ted.sum(x[STRIDE * i + r] * w[r], axis=r), name="y")
    head = ted.placeholder(y.shape, name="dy")
    assert not ted.differentiate(y, [x, w], head=head).report().scatters
