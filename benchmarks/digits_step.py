"""The demo's training step against torch eager: same network, same Adam, one thread.

    python benchmarks/digits_step.py [--rounds 30] [--batches 32,64,128]

ted is called as the demo calls it, a function of dicts of arrays that returns new ones; `compiled`
is the same code called with the arrays that it fills. torch runs eagerly, with `torch.optim.Adam`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from timing import compared, environment

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from digits import data, model, torch_model

import ted


def measure(batch: int, count: int) -> list[str]:
    """Two lines for one batch size; the first step's losses are compared first."""
    train_set, _ = data.load()
    x, y = next(train_set.batches(batch, np.random.default_rng(0)))
    params = model.initial()
    state = [params, model.OPTIMIZER.init(params)]

    def ours() -> None:
        _, *state[:] = model.step(*state, x, y)

    theirs = torch_model.Digits(params)
    images, labels = torch_model.images(x), torch.from_numpy(y)
    compiled = model.step.compiled(*state, x, y)
    arrays = [np.asarray(a) for a in ted.tree.leaves([*state, x, y])]
    out = compiled(*arrays)
    np.testing.assert_allclose(out[0], theirs.step(images, labels).numpy(), rtol=1e-5)

    def step() -> object:
        return theirs.step(images, labels)

    return [
        compared(f"step, batch {batch}", ours, step, count),
        compared(f"step, batch {batch}, compiled", lambda: compiled(*arrays, out=out), step, count),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--batches", default="32,64,128")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(environment("torch", "torch-mlir", "numpy"))
    for batch in map(int, options.batches.split(",")):
        print(*measure(batch, options.rounds), sep="\n", flush=True)


if __name__ == "__main__":
    main()
