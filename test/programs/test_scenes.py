"""Programs of geometry and images against torch: mixture, bundle, rasteriser, image pipeline."""

from __future__ import annotations

import bundle
import image_pipeline
import mixture
import numpy as np
import pytest
import rasteriser

import ted

torch = pytest.importorskip("torch")
from torch import distributions  # noqa: E402
from torch.nn import functional  # noqa: E402

from programs.torch_training import leaves, train  # noqa: E402


def mixture_loss(p, x):
    factors = torch.tril(p["factors"], -1) + torch.diag_embed(torch.exp(p["logs"]))
    precision = factors.mT @ factors
    each = distributions.MultivariateNormal(p["means"], precision_matrix=precision)
    weights = distributions.Categorical(logits=p["weights"])
    return -distributions.MixtureSameFamily(weights, each).log_prob(x).mean()


def test_the_likelihood_of_the_mixture_equals_that_of_torch() -> None:
    x = mixture.data("float64")[:20, :2]
    value = ted.function(mixture.loss)(mixture.initial(x, 2), x)
    expected = mixture_loss(leaves(mixture.initial(x, 2)), torch.from_numpy(x)).item()
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_the_mixture_follows_torch_for_20_steps() -> None:
    x = mixture.data("float64")[:40, :2]
    losses, _ = mixture.learn(20, x, 2)
    rates = [5e-2 * (1 + np.cos(np.pi * k / 20)) / 2 for k in range(20)]
    expected, _ = train(mixture_loss, mixture.initial(x, 2), mixture.batches(x), 20, rates=rates)
    np.testing.assert_allclose(losses, expected, rtol=1e-8)


def residual(camera, point, seen):
    x, y, z = camera[:3]
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    x = torch.linalg.matrix_exp(cross) @ point + camera[3:]
    return x[:2] / x[2] - seen


def test_jacobians_of_observations_equal_those_of_torch() -> None:
    cameras, points, seen = bundle.scene(1, 1, 0.1)
    arrays = cameras[0], points[0], seen[0, 0]
    found = ted.function(bundle.observed)(*arrays)
    given = tuple(map(torch.from_numpy, arrays))
    expected = residual(*given), *torch.func.jacrev(residual, (0, 1))(*given)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_cameras_and_points_are_found() -> None:
    losses, *_ = bundle.learn(12, *bundle.scene(4, 20, 0.1))
    assert losses[0] > 1e-2
    assert losses[-1] < 1e-20


def drawn(p, size, softness):
    at = (torch.arange(size, dtype=torch.float64) + 0.5) / size
    first, second = p["corners"], p["corners"].roll(-1, 1)
    dx, dy = (second - first).unbind(-1)
    x, y = at[None, :, None, None], at[:, None, None, None]
    inside = dx * (y - first[..., 1]) - dy * (x - first[..., 0])
    inside = inside / torch.sqrt(dx**2 + dy**2 + 1e-12)
    shares = torch.sigmoid(inside / softness).prod(-1)
    return shares @ torch.sigmoid(p["colours"]) / (shares.sum(-1, True) + rasteriser.BACKGROUND)


def test_the_image_of_triangles_equals_that_of_torch() -> None:
    p = rasteriser.triangles(2, 0)
    found = ted.function(lambda p: rasteriser.image(p, 6, 0.05))(p)
    expected = drawn(leaves(p), 6, 0.05).detach()
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.slow
def test_triangles_move_as_in_torch() -> None:
    losses, _, wanted = rasteriser.learn(20, 2, 8, 0.05)

    def loss(p, wanted):
        return ((drawn(p, 8, 0.05) - wanted) ** 2).mean()

    first = rasteriser.triangles(2, 1)
    expected, _ = train(loss, first, iter([(np.asarray(wanted),)] * 20), 20, lr=1e-2)
    np.testing.assert_allclose(losses, expected, rtol=1e-8)


def picture(p, raw):
    """The pipeline by shifted copies of padded images."""
    h, w = raw.shape
    wide, ones = (functional.pad(t, (4, 4, 4, 4)) for t in (raw, torch.ones_like(raw)))
    place, value = torch.exp(p["widths"])
    total, mixed = 0, 0
    for a in range(-2, 3):
        for b in range(-2, 3):
            rows, columns = slice(4 + 2 * a, 4 + 2 * a + h), slice(4 + 2 * b, 4 + 2 * b + w)
            near = wide[rows, columns]
            weight = torch.exp(-(a * a + b * b) * place - (near - raw) ** 2 * value)
            weight = weight * ones[rows, columns]
            total, mixed = total + weight, mixed + weight * near
    x, (i, j) = mixed / total, np.indices((h, w))
    seen = torch.from_numpy(np.stack([i % 2 + j % 2 == c for c in range(3)])).to(x.dtype)
    tent = torch.tensor([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]], dtype=x.dtype)[None, None]
    sums = [functional.conv2d(t[:, None], tent, padding=1)[:, 0] for t in (seen * x, seen)]
    x = (sums[0] / sums[1]).movedim(0, -1) * torch.exp(p["gains"]) @ p["matrix"]
    return torch.clamp(x, min=1e-3) ** torch.exp(p["exponent"])


def photograph() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.2, 0.8, (6, 6, 3))


def test_the_picture_equals_that_of_torch() -> None:
    raw, p = image_pipeline.sensed(photograph()), image_pipeline.initial("float64")
    found = ted.function(image_pipeline.picture)(p, raw)
    expected = picture(leaves(p), torch.from_numpy(raw)).detach()
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.slow
def test_the_pipeline_learns_as_in_torch() -> None:
    losses, _, raw = image_pipeline.learn(20, photograph())

    def loss(p, raw, wanted):
        return ((picture(p, raw) - wanted) ** 2).mean()

    batches = iter([(raw, photograph())] * 20)
    expected, _ = train(loss, image_pipeline.initial("float64"), batches, 20, lr=2e-2)
    np.testing.assert_allclose(losses, expected, rtol=1e-8)
