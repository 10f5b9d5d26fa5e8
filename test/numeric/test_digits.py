"""The training step of the demo: against torch at every step of an epoch, and its machine code."""

from __future__ import annotations

import numpy as np
import pytest

from support.machine_loops import innermost_loops

torch = pytest.importorskip("torch")
from digits import data, gradient_check, model, torch_model, training  # noqa: E402

TOLERANCE = 1e-5  # f32 sums of up to 2048 * 32 terms in two different orders


@pytest.fixture(scope="module")
def epoch() -> list[tuple[model.Parameters, np.ndarray, np.ndarray]]:
    """Parameters and batch of every step of epoch 1."""
    train_set, _ = data.load()
    params = model.initial()
    state = model.OPTIMIZER.init(params)
    steps = []
    for x, y in train_set.batches(training.BATCH, np.random.default_rng(0)):
        steps.append((params, x, y))
        _, params, state = model.step(params, state, x, y)
    return steps


@pytest.mark.slow
def test_loss_and_gradients_of_every_step_equal_torch(epoch) -> None:
    assert len(epoch) == 1437 // training.BATCH
    for params, x, y in epoch:
        ours, gradients = gradient_check.gradients(params, x, y)
        theirs, expected = torch_model.Digits(params).gradients(
            torch_model.images(x), torch.from_numpy(y)
        )
        assert ours == pytest.approx(theirs, rel=TOLERANCE)
        for name, gradient in gradients.items():
            largest = np.abs(expected[name]).max()
            error = np.abs(gradient - expected[name]).max() / largest
            assert error <= TOLERANCE, (name, error)


@pytest.mark.slow
def test_adam_follows_torch_for_an_epoch(epoch) -> None:
    theirs = torch_model.Digits(epoch[0][0])
    for _, x, y in epoch[:-1]:
        theirs.step(torch_model.images(x), torch.from_numpy(y))
    last = epoch[-1][0]
    for name, value in theirs.params.items():
        moved = value.detach().numpy()
        moved = moved.transpose(2, 3, 1, 0) if name.startswith("conv") else moved
        # Adam divides by sqrt(v), which spreads rounding of tiny gradients over the whole step.
        np.testing.assert_allclose(last[name], moved, rtol=0, atol=2e-3)


def test_gradients_of_the_compiled_step_equal_differences(epoch) -> None:
    _, x, y = epoch[0]
    for name, (double, single) in gradient_check.check(x, y).items():
        assert double <= 1e-6, name
        assert single <= TOLERANCE, name


def test_the_step_has_no_scalar_innermost_loop(epoch) -> None:
    params, x, y = epoch[0]
    assembly = model.step.compiled(params, model.OPTIMIZER.init(params), x, y).ir("asm")
    loops = innermost_loops(assembly)
    scalar = [loop for loop in loops if loop.is_scalar]
    assert any(loop.is_vector for loop in loops)
    assert not scalar, "\n\n".join("\n".join(loop.instructions) for loop in scalar)


def test_two_runs_of_an_epoch_are_bitwise_equal(epoch) -> None:
    params = epoch[0][0]
    state = model.OPTIMIZER.init(params)
    for _, x, y in epoch[:-1]:
        _, params, state = model.step(params, state, x, y)
    for name, value in epoch[-1][0].items():
        assert value.tobytes() == params[name].tobytes(), name
