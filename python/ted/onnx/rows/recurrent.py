"""RNN, GRU and LSTM: a scan over time, with any activation, peepholes, lengths, directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ted
from ted import nn
from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node
from ted.onnx.rows.elementwise import ACTIVATIONS, affine, scaled_tanh

_PLAIN: dict[str, Callable[[Any], Any]] = {
    "sigmoid": ted.sigmoid, "tanh": ted.tanh, "relu": ted.relu, "softsign": nn.softsign,
    "softplus": ted.softplus,
}  # fmt: skip
_OWN = {
    **{name.lower(): row for name, row in ACTIVATIONS.items()},
    "affine": (affine, {"alpha": 1.0, "beta": 0.0}),
    "scaledtanh": (scaled_tanh, {"alpha": 1.0, "beta": 1.0}),
}
Step = Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]]


def _activations(node: Node, defaults: Sequence[str], direction: int) -> list[Callable[..., Any]]:
    """The functions of one direction."""
    names = node.attr("activations", None)
    many = len(defaults)
    found = [n.decode() for n in names] if names else list(defaults) * (direction + 1)
    alphas, betas = iter(node.attr("activation_alpha", [])), iter(node.attr("activation_beta", []))
    functions = [_activation(name.lower(), alphas, betas) for name in found]
    return functions[direction * many : (direction + 1) * many]


def _activation(name: str, alphas: Any, betas: Any) -> Callable[..., Any]:
    if name in _PLAIN:
        return _PLAIN[name]
    if name not in _OWN:
        raise FrontendError(f"activations must be {', '.join([*_PLAIN, *_OWN])}, got {name}")
    fn, defaults = _OWN[name]
    sources = {"alpha": alphas, "beta": betas}
    attrs = {k: next(sources.get(k, iter(())), v) for k, v in defaults.items()}
    return lambda x: fn(x, **attrs)


class _Layer:
    """The inputs that the layers share, time first."""

    def __init__(self, node: Node, gates: int, inputs: Sequence[Any]) -> None:
        given = [*inputs, *[None] * (8 - len(inputs))]
        x, self.w, self.r, self.b, self.lengths = given[:5]
        self.node, self.gates = node, gates
        self.batch_first = bool(node.attr("layout", 0))
        self.x = ted.transpose(x, (1, 0, 2)) if self.batch_first else x
        self.units = self.r.shape[2]
        self.directions = self.w.shape[0]
        self.limit = node.attr("clip", None)
        self.peepholes = given[7]
        self.starts = [self._start(s) for s in given[5:7]]

    def _start(self, state: Any) -> Tensor:
        if state is None:
            return ted.zeros((self.directions, self.x.shape[1], self.units), self.x.dtype)
        return ted.transpose(state, (1, 0, 2)) if self.batch_first else state

    def backward(self, d: int) -> bool:
        """Whether a direction runs from the last time to the first."""
        return self.node.attr("direction", "forward") == "reverse" or d == 1

    def clipped(self, x: Any) -> Any:
        """The input of an activation within its limit."""
        return x if self.limit is None else ted.clip(x, -self.limit, self.limit)

    def bias(self, d: int) -> tuple[Any, Any]:
        """The biases of what is given and of what is kept, or zeros."""
        n = self.gates * self.units
        return (0.0, 0.0) if self.b is None else (self.b[d, :n], self.b[d, n:])

    def given(self, d: int) -> Tensor:
        """What the input gives to all gates, at all times."""
        return ted.matmul(self.x, self.w[d].T)

    def split(self, gates: Tensor) -> list[Tensor]:
        """The gates side by side -> each by itself."""
        n = self.units
        return [gates[..., k * n : (k + 1) * n] for k in range(gates.shape[-1] // n)]

    def run(self, d: int, step: Step, given: Tensor, states: int) -> tuple[Tensor, list[Tensor]]:
        """All outputs of a direction, and the last states."""
        start = tuple(s[d] for s in self.starts[:states])
        times = ted.arange(self.x.shape[0])

        def masked(carry: Any, at: Any) -> Any:
            x, t = at
            new = step(x, carry)
            if self.lengths is None:
                return new, new[0]
            going = ted.expand_dims(t < self.lengths.astype("int64"), 1)
            kept = tuple(ted.where(going, a, b) for a, b in zip(new, carry, strict=True))
            return kept, ted.where(going, new[0], 0)

        last, rows = ted.scan(masked, start, (given, times), reverse=self.backward(d))
        return rows, list(last)

    def results(self, direction: Callable[[int], Any], states: int) -> Any:
        """Y, Y_h and Y_c of all directions, of which `direction(d)` gives outputs and states."""
        found = [direction(d) for d in range(self.directions)]
        y = ted.stack([rows for rows, _ in found], 1)
        lasts = [ted.stack([last[k] for _, last in found], 0) for k in range(states)]
        if self.batch_first:
            y = ted.transpose(y, (2, 0, 1, 3))
            lasts = [ted.transpose(s, (1, 0, 2)) for s in lasts]
        return (y, *lasts)[: self.node.count]


def rnn(node: Node, *inputs: Any) -> Any:
    """h = f(x W + h R + b).

    Raises: FrontendError for an unknown activation.
    """
    layer = _Layer(node, 1, inputs)

    def direction(d: int) -> Any:
        (f,) = _activations(node, ["Tanh"], d)
        own, kept = layer.bias(d)

        def step(x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            (h,) = state
            return (f(layer.clipped(x + ted.matmul(h, layer.r[d].T) + (own + kept))),)

        return layer.run(d, step, layer.given(d), 1)

    return layer.results(direction, 1)


def gru(node: Node, *inputs: Any) -> Any:
    """Gates z, r and h; `linear_before_reset` says what the reset gate multiplies.

    Raises: FrontendError for an unknown activation.
    """
    layer = _Layer(node, 3, inputs)
    after = bool(node.attr("linear_before_reset", 0))
    n = layer.units

    def direction(d: int) -> Any:
        f, g = _activations(node, ["Sigmoid", "Tanh"], d)
        own, kept = layer.bias(d)
        has_bias = layer.b is not None
        zr, new = layer.r[d, : 2 * n].T, layer.r[d, 2 * n :].T

        def step(x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            (h,) = state
            total = x + own
            gates = total[:, : 2 * n] + ted.matmul(h, zr)
            gates = gates + kept[: 2 * n] if has_bias else gates
            z, r = (f(layer.clipped(t)) for t in layer.split(gates))
            last = kept[2 * n :] if has_bias else 0.0
            inner = r * (ted.matmul(h, new) + last) if after else ted.matmul(r * h, new) + last
            fresh = g(layer.clipped(total[:, 2 * n :] + inner))
            return ((1 - z) * fresh + z * h,)

        return layer.run(d, step, layer.given(d), 1)

    return layer.results(direction, 1)


def lstm(node: Node, *inputs: Any) -> Any:
    """Gates i, o, f and c, of which peepholes see the cell.

    Raises: FrontendError for an unknown activation.
    """
    layer = _Layer(node, 4, inputs)
    coupled = bool(node.attr("input_forget", 0))

    def direction(d: int) -> Any:
        f, g, h = _activations(node, ["Sigmoid", "Tanh", "Tanh"], d)
        own, kept = layer.bias(d)
        eyes = layer.split(layer.peepholes[d]) if layer.peepholes is not None else [0.0] * 3

        def step(x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            before, cell = state
            gates = x + ted.matmul(before, layer.r[d].T) + (own + kept)
            i, o, forget, new = layer.split(gates)
            i = f(layer.clipped(i + eyes[0] * cell))
            forget = 1 - i if coupled else f(layer.clipped(forget + eyes[2] * cell))
            cell = forget * cell + i * g(layer.clipped(new))
            o = f(layer.clipped(o + eyes[1] * cell))
            return o * h(cell), cell

        return layer.run(d, step, layer.given(d), 2)

    return layer.results(direction, 2)


RULES = {"RNN": rnn, "GRU": gru, "LSTM": lstm}
