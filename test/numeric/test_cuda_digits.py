"""The demo's whole training step on an emulated GPU: one graph, replayed, against the CPU."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from digits import data, model

import ted

BATCH = 2
STEPS = 2
TOLERANCE = 1e-5  # f32 sums in two different orders


@pytest.fixture(scope="module")
def batches() -> list[tuple[np.ndarray, np.ndarray]]:
    train_set, _ = data.load()
    found = train_set.batches(BATCH, np.random.default_rng(0))
    return [next(found) for _ in range(STEPS)]


def moved(nest: Any) -> Any:
    return ted.tree.map(ted.cuda.asarray, nest)


def on_cpu(batches: list[tuple[np.ndarray, np.ndarray]]) -> tuple[list[float], Any]:
    params = model.initial()
    state = model.OPTIMIZER.init(params)
    losses = []
    for x, y in batches:
        loss, params, state = model.step(params, state, x, y)
        losses.append(float(loss))
    return losses, params


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["sm_80"])
def test_training_as_a_graph_follows_the_cpu(batches, chip: str) -> None:
    expected, last = on_cpu(batches)
    step = ted.function(model.step, target=f"cuda:{chip}")
    with ted.testing.emulated_gpu(chip):
        params = moved(model.initial())
        state = [params, moved(model.OPTIMIZER.init(model.initial()))]
        x, y = (ted.cuda.asarray(a) for a in batches[0])
        with ted.cuda.capture() as graph:
            loss, *new = step(*state, x, y)
            ted.tree.map(ted.cuda.copy, state, new)
        for number, (images, labels) in enumerate(batches):
            ted.cuda.copy(x, images)
            ted.cuda.copy(y, labels)
            graph.replay()
            assert loss.numpy() == pytest.approx(expected[number], rel=TOLERANCE)
        # Only a label that is no class is told atomically.
        atomic = set(re.findall(r"\batom\.\S+|\bred\.\S+", step.compiled(*state, x, y).ptx))
        assert atomic <= {"atom.relaxed.sys.global.cas.b64"}
        for name, array in params.items():
            np.testing.assert_allclose(array.numpy(), last[name], rtol=0, atol=1e-5)
