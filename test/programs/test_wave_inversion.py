"""The inversion of a wave of 200 steps: what is heard, its gradient, and the memory of both."""

from __future__ import annotations

import numpy as np
import pytest
import wave_inversion

import ted

torch = pytest.importorskip("torch")

N, TIME = 6, 200


def recorded(speed, source, pulse):
    before = now = torch.zeros_like(speed)
    found = []
    for amplitude in pulse:
        wide = torch.nn.functional.pad(now, (1, 1, 1, 1))
        around = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]
        after = 2 * now - before + speed**2 * (around - 4 * now)
        added = torch.zeros_like(speed)
        added[source, 1] = amplitude
        before, now = now, after + added
        found.append(now[:, -2])
    return torch.stack(found)


def test_what_is_heard_equals_a_loop_of_torch() -> None:
    speed, sources, pulse = wave_inversion.scene(N, TIME, "float64")
    found = ted.function(wave_inversion.recorded)(speed, sources[0], pulse)
    expected = recorded(torch.from_numpy(speed), int(sources[0]), torch.from_numpy(pulse))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_the_gradient_through_checkpoints_equals_that_of_torch_and_keeps_less() -> None:
    true, sources, pulse = wave_inversion.scene(N, TIME, "float64")
    wave = torch.from_numpy(pulse)
    heard = np.stack([recorded(torch.from_numpy(true), int(s), wave) for s in sources])
    speed = np.full((N, N), 0.4)
    misfits = {
        checkpoint: ted.value_and_grad(
            lambda *args, checkpoint=checkpoint: wave_inversion.misfit(*args, checkpoint)
        )
        for checkpoint in (True, None)
    }
    value, slope = misfits[True](speed, sources, pulse, heard)
    leaf = torch.tensor(speed, requires_grad=True)
    found = [recorded(leaf, int(s), wave) for s in sources]
    expected = ((torch.stack(found) - torch.from_numpy(heard)) ** 2).sum() / 2
    expected.backward()
    assert value == pytest.approx(expected.item(), rel=1e-10)
    np.testing.assert_allclose(slope, leaf.grad, rtol=1e-8, atol=1e-10)
    compiled = [m.compiled(speed, sources, pulse, heard) for m in misfits.values()]
    few, everything = (c.memory().peak_bytes for c in compiled)
    assert few < everything / 2, (few, everything)
