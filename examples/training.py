"""What the programs share: a step of training, a loop with a progress bar, curves and images."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import ted

FOLDER = Path("demo-output")


def arguments(doc: str | None, **defaults: Any) -> Any:
    """The command line of a program that says `doc` of itself: an option for each default."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args()


def steps(items: Iterable[Any], label: str, total: int | None = None) -> tqdm:
    """The items, with a bar that grows as they are taken: on a terminal, nothing elsewhere."""
    return tqdm(items, label, total, leave=False, disable=None)


def step_of(loss: Callable[..., Any], optimizer: ted.nn.Optimizer) -> Callable[..., Any]:
    """One compiled function (params, state, *batch) -> (loss, params, state)."""

    def step(params: Any, state: Any, *batch: Any) -> Any:
        value, gradients = ted.value_and_grad(loss)(params, *batch)
        return value, *optimizer.update(params, gradients, state)

    return ted.function(step, subnormals="flush")  # averages of what is zero get that small


def train(
    step: Callable[..., Any], params: Any, state: Any, batches: Iterable[Any], count: int
) -> tuple[list[float], Any]:
    """The losses of `count` steps, one for each batch, and the parameters after them."""
    losses = []
    for _, batch in zip(steps(range(count), "steps"), batches, strict=False):
        value, params, state = step(params, state, *batch)
        losses.append(float(value))
    return losses, params


def save_curves(
    path: Path, curves: Mapping[str, Sequence[float]], title: str, x: str = "step", mean: int = 1
) -> None:
    """One line for each curve, over its positions; with `mean` also of the last so many values."""
    figure, axes = _figure(1)
    for name, values in curves.items():
        (line,) = axes[0].plot(values, label=name, linewidth=0.8, alpha=1.0 if mean == 1 else 0.4)
        if mean > 1:
            smooth = [np.mean(values[max(0, k - mean) : k + 1]) for k in range(len(values))]
            axes[0].plot(smooth, color=line.get_color())
    axes[0].set(title=title, xlabel=x)
    axes[0].legend()
    _save(figure, path)


def save_images(path: Path, images: Mapping[str, Any], colours: str = "gray") -> None:
    """Images side by side, each under its name."""
    figure, axes = _figure(len(images))
    for place, (name, image) in zip(axes, images.items(), strict=True):
        place.imshow(np.asarray(image), cmap=colours)
        place.set_title(name)
        place.axis("off")
    _save(figure, path)


def _figure(count: int) -> tuple[Any, list[Any]]:
    # Imported late: it takes longer than most of what is shown, and needs no display this way.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 8 / count if count > 1 else 4.8), layout="constrained")
    return figure, list(np.ravel(figure.subplots(1, count)))


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    print(f"drawn: {path}")
