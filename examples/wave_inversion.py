"""A wave tells what it has passed through: the inversion of an acoustic wave equation of 200 steps.

A source sends a pulse through a plane of unknown speeds; receivers on the other side record it. The
gradient of the misfit in every speed runs the wave backwards through `ted.scan`, which keeps only
every tenth state and computes the others again (`checkpoint=True`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from training import FOLDER, arguments, save_curves, save_images, steps

import ted
from ted import nn


def recorded(speed: Any, source: Any, pulse: Any, checkpoint: Any = True) -> Any:
    """What the receivers in the last column hear in each of the steps of the pulse.

    Shapes: speed (n, m) in grid points per step, source a row of column 1, pulse (time).
    """

    def step(state: Any, amplitude: Any) -> Any:
        before, now = state
        wide = ted.pad(now, 1)
        around = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]
        after = 2 * now - before + speed * speed * (around - 4 * now)
        after = after.at[source, 1].add(amplitude)
        return (now, after), after[:, -2]

    rest = ted.zeros(speed.shape, speed.dtype)
    return ted.scan(step, (rest, rest), pulse, checkpoint=checkpoint)[1]


def misfit(speed: Any, sources: Any, pulse: Any, heard: Any, checkpoint: Any = True) -> Any:
    """Half of the squared difference to what was heard, over all sources."""
    found = ted.vmap(lambda s: recorded(speed, s, pulse, checkpoint))(sources)
    return ted.sum((found - heard) ** 2) / 2


def scene(n: int, time: int, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True speeds with a slow disc, rows of sources, and a pulse of the form of Ricker."""
    i, j = np.mgrid[:n, :n] / n
    speed = 0.4 - 0.1 * np.exp(-(((i - 0.45) ** 2 + (j - 0.55) ** 2) / 0.03))
    t = (np.arange(time) - 14.0) / 5
    pulse = (1 - t * t) * np.exp(-t * t / 2)
    return speed.astype(dtype), np.arange(1, n, max(n // 4, 1)), pulse.astype(dtype)


def learn(count: int, n: int, time: int, dtype: str) -> tuple[list[float], Any, Any]:
    """The misfits of `count` steps of Adam from one speed everywhere, what is found, the truth."""
    true, sources, pulse = scene(n, time, dtype)
    heard = ted.function(ted.vmap(recorded, in_axes=(None, 0, None)))(true, sources, pulse)
    optimizer = nn.adam(3e-3)

    @ted.function
    def step(speed: Any, state: Any) -> Any:
        value, slope = ted.value_and_grad(misfit)(speed, sources, pulse, heard)
        return value, *optimizer.update(speed, slope, state)

    speed, losses = np.full((n, n), 0.4, dtype), []
    state = optimizer.init(speed)
    for _ in steps(range(count), "steps"):
        value, speed, state = step(speed, state)
        losses.append(float(value))
    return losses, np.asarray(speed), true


def main() -> None:
    """Find the speeds, draw them."""
    options = arguments(__doc__, steps=100, size=32, time=200)
    losses, found, true = learn(options.steps, options.size, options.time, "float32")
    print(f"misfit {losses[0]:.3e} at first, {losses[-1]:.3e} at last")
    save_curves(FOLDER / "wave_inversion.png", {"misfit": losses}, "misfit")
    save_images(FOLDER / "wave_speeds.png", {"true": true, "found": found}, "viridis")


if __name__ == "__main__":
    main()
