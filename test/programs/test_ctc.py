"""What reads strips of digits learns as torch's does, step by step."""

from __future__ import annotations

import ctc
import numpy as np
import pytest

import ted

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

from programs.torch_training import leaves, train  # noqa: E402

WIDTH, MOST, SIZE = 4, 1, 3


def states(x, w_x, w_h):
    h, found = torch.zeros(len(x), WIDTH, dtype=x.dtype), []
    for column in x.unbind(1):
        (r, z, n), (r_h, z_h, n_h) = (column @ w_x).chunk(3, 1), (h @ w_h).chunk(3, 1)
        update = torch.sigmoid(z + z_h)
        h = (1 - update) * torch.tanh(n + torch.sigmoid(r + r_h) * n_h) + update * h
        found.append(h)
    return torch.stack(found)


def loss(p, x, y, spans, sizes):
    forwards = states(x, *p["layers"][0])
    backwards = states(x.flip(1), *p["layers"][1]).flip(0)
    scores = torch.cat([forwards, backwards], 2) @ p["head"] + p["bias"]
    return functional.ctc_loss(functional.log_softmax(scores, 2), y, spans, sizes)


def test_the_loss_equals_that_of_torch() -> None:
    params, batch = ctc.initial(WIDTH, "float64"), next(ctc.batches(MOST, SIZE, "float64"))
    value = ted.function(ctc.loss)(params, *batch)
    expected = loss(leaves(params), *map(torch.from_numpy, batch)).item()
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_losses_equal_those_of_torch_while_it_learns() -> None:
    losses, _ = ctc.learn(20, WIDTH, MOST, SIZE, "float64")
    params, batches = ctc.initial(WIDTH, "float64"), ctc.batches(MOST, SIZE, "float64")
    expected, _ = train(loss, params, batches, 20, lr=3e-3)
    np.testing.assert_allclose(losses, expected, rtol=1e-8)


def test_repetitions_and_blanks_are_left_out() -> None:
    likely = np.array([[0, 3, 3, 0, 3, 5, 5, 0, 9]])
    found = np.eye(ctc.CLASSES)[likely].swapaxes(0, 1)
    assert ctc.read(found, np.array([8])) == [[3, 3, 5]]
