"""Bundle adjustment: where cameras stood and what they saw, of the places of points in images.

A camera is a rotation vector and a translation. ted gives the Jacobian of one observation in its
camera and its point, for all observations at once; steps of Levenberg and Marquardt eliminate the
points, whose part of the normal equations is a block for each (the Schur complement).
Source: Triggs et al., Bundle Adjustment: A Modern Synthesis, section 6.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from training import FOLDER, arguments, save_curves, steps

import ted


def rotated(turn: Any, x: Any) -> Any:
    """x turned by a rotation vector: around it, by its length (Rodrigues)."""
    square = ted.sum(turn * turn) + 1e-20
    angle = ted.sqrt(square)
    part = (1 - ted.cos(angle)) / square * ted.sum(turn * x)
    return ted.cos(angle) * x + ted.sin(angle) / angle * ted.linalg.cross(turn, x) + part * turn


def residual(camera: Any, point: Any, seen: Any) -> Any:
    """Where the point is in the image of the camera, beside where it was seen."""
    x = rotated(camera[:3], point) + camera[3:]
    return x[:2] / x[2] - seen


def observed(camera: Any, point: Any, seen: Any) -> Any:
    """A residual (2), and its Jacobian in camera (2, 6) and point (2, 3)."""
    slopes = ted.jacobian(residual, argnums=(0, 1))(camera, point, seen)
    return residual(camera, point, seen), *slopes


@ted.function
def equations(cameras: Any, points: Any, seen: Any) -> Any:
    """The sum of squares, gradients, and blocks of the normal equations.

    Shapes: cameras (n, 6), points (m, 3), seen (n, m, 2).
    """
    each = ted.vmap(ted.vmap(observed, in_axes=(None, 0, 0)), in_axes=(0, None, 0))
    r, a, b = each(cameras, points, seen)
    gradients = ted.einsum("nmki,nmk->ni", a, r), ted.einsum("nmki,nmk->mi", b, r)
    blocks = ted.einsum("nmki,nmkj->nij", a, a), ted.einsum("nmki,nmkj->mij", b, b)
    return ted.sum(r * r), gradients, blocks, ted.einsum("nmki,nmkj->nmij", a, b)


def moves(found: Any, damping: float) -> tuple[np.ndarray, np.ndarray]:
    """Steps of cameras (n, 6) and points (m, 3) that solve the damped normal equations."""
    _, (da, db), (aa, bb), ab = found
    n = len(da)
    inverse = np.linalg.inv(bb + damping * np.eye(3))
    through = np.einsum("nmij,mjk->nmik", ab, inverse)
    left = -np.einsum("nmik,pmjk->nipj", through, ab)
    left[np.arange(n), :, np.arange(n)] += aa + damping * np.eye(6)
    right = da - np.einsum("nmij,mj->ni", through, db)
    cameras = np.linalg.solve(left.reshape(6 * n, 6 * n), right.ravel()).reshape(n, 6)
    points = np.einsum("mij,mj->mi", inverse, db - np.einsum("nmij,ni->mj", ab, cameras))
    return -cameras, -points


def scene(n: int, m: int, noise: float, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Cameras and points that are off by `noise`, and where the true points are seen."""
    rng = np.random.default_rng(seed)
    cameras = np.concatenate([0.3 * rng.standard_normal((n, 3)), np.tile([0, 0, 5.0], (n, 1))], 1)
    points = rng.uniform(-1, 1, (m, 3))
    each = ted.vmap(ted.vmap(residual, in_axes=(None, 0, 0)), in_axes=(0, None, 0))
    seen = ted.function(each)(cameras, points, np.zeros((n, m, 2)))
    return *(x + noise * rng.standard_normal(x.shape) for x in (cameras, points)), np.asarray(seen)


def learn(count: int, cameras: Any, points: Any, seen: Any) -> tuple[list[float], Any, Any]:
    """The sums of squares of `count` steps, of which those that grow are taken back."""
    damping, found = 1e-3, equations(cameras, points, seen)
    losses = [float(found[0])]
    for _ in steps(range(count), "steps"):
        tried = [x + dx for x, dx in zip((cameras, points), moves(found, damping), strict=True)]
        new = equations(*tried, seen)
        better = new[0] < found[0]
        damping *= 0.2 if better else 5
        if better:
            found, (cameras, points) = new, tried
        losses.append(float(found[0]))
    return losses, cameras, points


def main() -> None:
    """Find cameras and points, up to what no image can tell."""
    options = arguments(__doc__, steps=15, cameras=8, points=100)
    losses, *_ = learn(options.steps, *scene(options.cameras, options.points, 0.1))
    print(f"sum of squares {losses[0]:.3e} at first, {losses[-1]:.3e} at last")
    logs = list(np.log10(np.maximum(losses, 1e-30)))
    save_curves(FOLDER / "bundle.png", {"sum of squares": logs}, "powers of ten")


if __name__ == "__main__":
    main()
