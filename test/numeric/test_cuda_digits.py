"""The demo's whole training step on an emulated GPU: one graph, replayed, against the CPU."""

from __future__ import annotations

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


def moved(state: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: ted.cuda.asarray(value) for name, value in state.items()}


def on_cpu(batches: list[tuple[np.ndarray, np.ndarray]]) -> tuple[list[float], Any]:
    params = model.initial()
    m, v = model.zeros(params), model.zeros(params)
    losses = []
    for t, (x, y) in enumerate(batches, 1):
        loss, params, m, v = model.step(params, m, v, x, y, np.float32(t))
        losses.append(float(loss))
    return losses, params


@pytest.mark.parametrize("chip", ["sm_80"])
def test_training_as_a_graph_follows_the_cpu(batches, chip: str) -> None:
    expected, last = on_cpu(batches)
    step = ted.function(model.step, target=f"cuda:{chip}")
    with ted.testing.emulated_gpu(chip):
        params = moved(model.initial())
        state = [params, moved(model.zeros(model.initial())), moved(model.zeros(model.initial()))]
        x, y = (ted.cuda.asarray(a) for a in batches[0])
        t = ted.cuda.asarray(np.float32(1))
        with ted.cuda.capture() as graph:
            loss, *new = step(*state, x, y, t)
            for old, fresh in zip(state, new, strict=True):
                for name, array in old.items():
                    ted.cuda.copy(array, fresh[name])
        for number, (images, labels) in enumerate(batches, 1):
            for place, value in ((x, images), (y, labels), (t, np.float32(number))):
                ted.cuda.copy(place, value)
            graph.replay()
            assert loss.numpy() == pytest.approx(expected[number - 1], rel=TOLERANCE)
        assert "atom" not in step.compiled(*state, x, y, t).ptx
        for name, array in params.items():
            np.testing.assert_allclose(array.numpy(), last[name], rtol=0, atol=1e-5)
