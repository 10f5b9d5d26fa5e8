"""Recurrent layers against torch: values, directions, gradients, where the work stands."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import ted
from ted import nn
from ted.errors import FrontendError
from ted.ir.equations import components, is_recurrence
from ted.testing import check_grads
from ted.transforms.gradient import differentiate
from unit.frontend.tracing import placeholders, run

RNG = np.random.default_rng(8)
X, H0, C0 = RNG.normal(size=(4, 2, 5)), RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3))


def weights(gates):
    sizes = ((5, gates * 3), (3, gates * 3), (gates * 3,), (gates * 3,))
    return [RNG.normal(size=size) / 2 for size in sizes]


def theirs(kind, parameters, initial, reverse):
    """All states by torch, times in our order."""
    layer = kind(5, 3).double()
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    with torch.no_grad():
        for name, value in zip(names, parameters, strict=True):
            getattr(layer, name).copy_(torch.tensor(value.T))
    x = np.flip(X, 0).copy() if reverse else X
    start = tuple(torch.tensor(s)[None] for s in initial)
    states, _ = layer(torch.tensor(x), start if len(start) > 1 else start[0])
    found = states.detach().numpy()
    return np.flip(found, 0) if reverse else found


@pytest.mark.parametrize("reverse", [False, True])
def test_a_plain_network(reverse) -> None:
    w_x, w_h, bias, _ = weights(1)
    wanted = theirs(torch.nn.RNN, (w_x, w_h, bias, 0 * bias), (H0,), reverse)

    def function(*args):
        return nn.rnn(*args, reverse=reverse)

    np.testing.assert_allclose(run(function, X, w_x, w_h, bias, H0), wanted, rtol=1e-12)
    check_grads(function, (X, w_x, w_h, bias, H0), order=2)


@pytest.mark.fast(1)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_long_short_term_memory(reverse) -> None:
    w_x, w_h, bias, _ = weights(4)
    wanted = theirs(torch.nn.LSTM, (w_x, w_h, bias, 0 * bias), (H0, C0), reverse)

    def function(x, a, b, c, h0, c0):
        return list(nn.lstm(x, a, b, c, (h0, c0), reverse))

    states, _ = run(function, X, w_x, w_h, bias, H0, C0)
    np.testing.assert_allclose(states, wanted, rtol=1e-12)
    check_grads(function, (X, w_x, w_h, bias, H0, C0), order=2)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_gated_unit(reverse) -> None:
    parameters = weights(3)
    wanted = theirs(torch.nn.GRU, parameters, (H0,), reverse)

    def function(*args):
        return nn.gru(*args, reverse=reverse)

    np.testing.assert_allclose(run(function, X, *parameters, H0), wanted, rtol=1e-12)
    check_grads(function, (X, *parameters, H0), order=2)


def test_states_begin_with_zeros() -> None:
    w_x, w_h, _, _ = weights(1)
    none = run(lambda x, a, b: nn.rnn(x, a, b, activation=ted.sin), X, w_x, w_h)
    zeros = run(
        lambda x, a, b, h: nn.rnn(x, a, b, None, h, activation=ted.sin), X, w_x, w_h, 0 * H0
    )
    np.testing.assert_array_equal(none, zeros)


@pytest.mark.parametrize(("layer", "gates"), [(nn.rnn, 1), (nn.lstm, 4), (nn.gru, 3)])
def test_gradients_of_weights_stand_behind_the_loop(layer, gates) -> None:
    x, w_x, w_h = placeholders(X, *weights(gates)[:2])
    result = layer(x, w_x, w_h)
    states = result[0] if isinstance(result, tuple) else result
    head = ted.placeholder(states.shape, "float64")
    found = differentiate([states.node], [w_x.node, w_h.node], [head.node]).gradients
    loops = [t for group in components(found) if is_recurrence(group) for t in group]
    assert not set(found) & set(loops)


PX, PH = ted.placeholder((4, 2, 5), name="x"), ted.placeholder((3, 3), name="w")
PW = ted.placeholder((5, 3), name="v")
REFUSED = {
    "rank": (lambda: nn.rnn(PW, PW, PH), "rnn: x: must have 3 dims, got shape (5, 3)"),
    "w_x": (lambda: nn.lstm(PX, PW, ted.zeros((3, 12))), "w_x: must have shape (5, 12)"),
    "w_h": (lambda: nn.gru(PX, PW, PH), "w_h: must have shape (3, 9), got (3, 3) (w)"),
    "bias": (lambda: nn.rnn(PX, PW, PH, PW), "rnn: bias: must have shape (3,)"),
    "initial": (lambda: nn.rnn(PX, PW, PH, initial=PH), "initial: must have shape (2, 3)"),
    "types": (lambda: nn.rnn(PX, PW, PH.astype("float64")), "weights of one type"),
    "integers": (lambda: nn.rnn(PX.astype("int64"), PW, PH), "must be of a float type, got int64"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case) -> None:
    action, message = REFUSED[case]
    with pytest.raises(FrontendError, match=re.escape(message)):
        action()
