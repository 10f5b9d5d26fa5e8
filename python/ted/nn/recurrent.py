"""Recurrent layers: what depends on the input alone is one contraction outside of the loop.

Time is dim 0 and the batch dim 1.  The state before each step is a tensor of its own, so that the
gradient of a recurrent weight is one contraction over time and batch, behind the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ted
from ted.domain.sizes import Extent
from ted.frontend.checks import called, check_callable, flag, listed
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import floating, ranked, shaped
from ted.records import dataclass


def rnn(
    x: Any, w_x: Any, w_h: Any, bias: Any = None, initial: Any = None, reverse: bool = False,
    activation: Callable[[Any], Any] | None = None,
) -> Tensor:  # fmt: skip
    """All states h[t] = tanh(x[t] @ w_x + h[t - 1] @ w_h + bias), or another activation.

    Shapes: x (time, batch, inputs), w_x (inputs, units), w_h (units, units), bias (units),
    initial (batch, units), zeros by default; result (time, batch, units).
    Raises: FrontendError for shapes that do not fit together, or weights of several types.
    """
    squash = ted.tanh if activation is None else activation
    check_callable(squash, "rnn: activation")
    loop = _Loop.of("rnn", x, w_x, w_h, bias, reverse, 1)
    start = loop.start(initial)

    def before(_: Tensor, h: Tensor, *i: Any) -> Any:
        return loop.before(h, start, *i)

    def state(held: Tensor, _: Tensor, *i: Any) -> Any:
        return called(
            "rnn: activation", "activation(x)", squash, loop.given[i] + loop.recurrent(held, *i)
        )

    return loop.run({"rnn_before": before, "rnn": state}, 1)[1]


def lstm(
    x: Any, w_x: Any, w_h: Any, bias: Any = None, initial: Any = None, reverse: bool = False
) -> tuple[Tensor, Tensor]:
    """All states h and cells c of a long short-term memory.

    (i, f, g, o) = x[t] @ w_x + h[t - 1] @ w_h + bias, side by side
    c[t] = sigmoid(f) c[t - 1] + sigmoid(i) tanh(g);  h[t] = sigmoid(o) tanh(c[t])
    Shapes: x (time, batch, inputs), w_x (inputs, 4 units), w_h (units, 4 units), bias (4 units);
    initial is a pair (h, c) of (batch, units), zeros by default; results (time, batch, units).
    Raises: FrontendError for shapes that do not fit together, weights of several types, or an
    `initial` that is no pair.
    """
    loop = _Loop.of("lstm", x, w_x, w_h, bias, reverse, 4)
    initial = (None, None) if initial is None else initial
    if not isinstance(initial, (tuple, list)) or len(initial) != 2:
        fail(f"lstm: initial is a pair (h, c), got {initial!r}")
    starts = [loop.start(s) for s in initial]
    units = loop.units

    def before(h: Tensor, *i: Any) -> Any:
        return loop.before(h, starts[0], *i)

    def gates(held: Tensor, t: Any, b: Any, q: Any) -> Any:
        # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2: one function for all gates, stored once.
        scale = ted.where((q >= 2 * units) & (q < 3 * units), 1.0, 0.5)
        return ted.tanh((loop.given[t, b, q] + loop.recurrent(held, t, b, q)) * scale)

    def gate(found: Tensor, number: int, t: Any, b: Any, j: Any) -> Any:
        return found[t, b, j + number * units] * 0.5 + 0.5

    def cell(found: Tensor, c: Tensor, *i: Any) -> Any:
        kept = gate(found, 1, *i) * loop.before(c, starts[1], *i)
        t, b, j = i
        return kept + gate(found, 0, *i) * found[t, b, j + 2 * units]

    functions = {
        "lstm_before": lambda _b, _g, _c, _s, h, *i: before(h, *i),
        "lstm_gates": lambda held, _g, _c, _s, _h, *i: gates(held, *i),
        "lstm_cell": lambda _b, found, c, _s, _h, *i: cell(found, c, *i),
        "lstm_squashed": lambda _b, _g, c, _s, _h, *i: ted.tanh(c[i]),
        "lstm": lambda _b, found, _c, squashed, _h, *i: gate(found, 3, *i) * squashed[i],
    }
    results = loop.run(functions, 4, wide="lstm_gates")
    return results[4], results[2]


def gru(
    x: Any, w_x: Any, w_h: Any, bias: Any = None, recurrent_bias: Any = None, initial: Any = None,
    reverse: bool = False,
) -> Tensor:  # fmt: skip
    """All states h of a gated recurrent unit.

    (r, z, n) = x[t] @ w_x + bias;  (r', z', n') = h[t - 1] @ w_h + recurrent_bias, side by side
    h[t] = (1 - u) tanh(n + sigmoid(r + r') n') + u h[t - 1]  with u = sigmoid(z + z')
    Shapes: x (time, batch, inputs), w_x (inputs, 3 units), w_h (units, 3 units), biases (3 units),
    initial (batch, units), zeros by default; result (time, batch, units).
    Raises: FrontendError for shapes that do not fit together, or weights of several types.
    """
    loop = _Loop.of("gru", x, w_x, w_h, bias, reverse, 3)
    start, units = loop.start(initial), loop.units
    offset = None
    if recurrent_bias is not None:
        offset = shaped(recurrent_bias, (3 * units,), "gru: recurrent_bias")

    def sums(held: Tensor, t: Any, b: Any, q: Any) -> Any:
        total = loop.recurrent(held, t, b, q)
        return total if offset is None else total + offset[q]

    def gates(found: Tensor, t: Any, b: Any, q: Any) -> Any:
        return ted.tanh((loop.given[t, b, q] + found[t, b, q]) * 0.5)

    def fresh(found: Tensor, gate: Tensor, t: Any, b: Any, j: Any) -> Any:
        reset, place = gate[t, b, j] * 0.5 + 0.5, j + 2 * units
        return ted.tanh(loop.given[t, b, place] + reset * found[t, b, place])

    def state(held: Tensor, gate: Tensor, new: Tensor, t: Any, b: Any, j: Any) -> Any:
        update = gate[t, b, j + units] * 0.5 + 0.5
        return (1.0 - update) * new[t, b, j] + update * held[t, b, j]

    functions = {
        "gru_before": lambda _b, _s, _g, _n, h, *i: loop.before(h, start, *i),
        "gru_sums": lambda held, _s, _g, _n, _h, *i: sums(held, *i),
        "gru_gates": lambda _b, found, _g, _n, _h, *i: gates(found, *i),
        "gru_fresh": lambda _b, found, gate, _n, _h, *i: fresh(found, gate, *i),
        "gru": lambda held, _s, gate, new, _h, *i: state(held, gate, new, *i),
    }
    return loop.run(functions, 3, wide="gru_sums", two="gru_gates")[4]


def stacked(
    layer: Callable[..., Any], x: Any, parameters: Sequence[Any],
    initial: Sequence[Any] | None = None, bidirectional: bool = False,
) -> tuple[Tensor, list[Any]]:  # fmt: skip
    """Recurrent layers on top of each other: the last one's states, and the final ones of all.

    `layer` is `nn.rnn`, `nn.lstm`, `nn.gru` or a function like them; `parameters` has a tuple of
    what it takes behind x for each layer.  With `bidirectional` there are two tuples for each,
    forwards and backwards in time, whose states lie side by side for the layer above.  `initial`
    has as many first states, or None.  The final state of an LSTM is a pair (h, c).
    Shapes: x (time, batch, inputs), result (time, batch, units), or 2 units.
    Raises: FrontendError for another number of parameters or first states, and as the layers do.
    """
    both = 2 if flag(bidirectional, "stacked: bidirectional") else 1
    parameters = [
        listed(part, f"stacked: parameters {k}")
        for k, part in enumerate(listed(parameters, "stacked: parameters"))
    ]
    starts: list[Any] = [None] * len(parameters)
    starts = starts if initial is None else listed(initial, "stacked: initial")
    if not parameters or len(parameters) % both or len(starts) != len(parameters):
        fail(
            f"stacked: takes {both} tuples of parameters for each layer, and as many first states, "
            f"got {len(parameters)} and {len(starts)}"
        )
    x, finals = floating(ranked(x, 3, "stacked: x"), "stacked: x"), []
    what, form = "stacked: layer", "layer(x, *parameters, initial=state, reverse=False)"
    if x.shape[0] == 0:
        fail(f"stacked: x needs a time, got shape {x.shape}")
    for first in range(0, len(parameters), both):
        parts = []
        for k in range(both):
            weights, start = parameters[first + k], starts[first + k]
            found = called(what, form, layer, x, *weights, initial=start, reverse=k == 1)
            states = found if isinstance(found, tuple) else (found,)
            last = tuple(s[0 if k else -1] for s in states)
            finals.append(last if isinstance(found, tuple) else last[0])
            parts.append(states[0])
        x = ted.concatenate(parts, 2) if both == 2 else parts[0]
    return x, finals


@dataclass(frozen=True, eq=False)
class _Loop:
    """The parts that recurrent layers share: checked arguments, earlier states, sums over them."""

    what: str
    given: Tensor  # x @ w_x + bias, for all times
    weight: Tensor
    units: Extent
    reverse: bool

    @staticmethod
    def of(
        what: str, x: Any, w_x: Any, w_h: Any, bias: Any, reverse: bool, gates: int
    ) -> _Loop:  # fmt: skip
        """The arguments checked, and the contraction over all times."""
        x = floating(ranked(x, 3, f"{what}: x"), f"{what}: x")
        w_h = ranked(w_h, 2, f"{what}: w_h")
        units = w_h.shape[0]
        w_h = shaped(w_h, (units, gates * units), f"{what}: w_h")
        w_x = shaped(w_x, (x.shape[2], gates * units), f"{what}: w_x")
        given = x @ w_x
        if bias is not None:
            given = given + shaped(bias, (gates * units,), f"{what}: bias")
        if w_h.dtype != given.dtype:
            fail(f"{what}: weights of one type, got {w_h.dtype} for w_h and {given.dtype}")
        return _Loop(what, given, w_h, units, flag(reverse, f"{what}: reverse"))

    def start(self, initial: Any) -> Tensor | None:
        """A checked initial state."""
        shape = (self.given.shape[1], self.units)
        return None if initial is None else shaped(initial, shape, f"{self.what}: initial")

    def before(self, history: Tensor, start: Tensor | None, t: Any, b: Any, j: Any) -> Any:
        """The state before step t."""
        last = self.given.shape[0] - 1
        going, at = (t < last, t + 1) if self.reverse else (t > 0, t - 1)
        return ted.where(going, history[at, b, j], 0 if start is None else start[b, j])

    def recurrent(self, held: Tensor, t: Any, b: Any, q: Any) -> Any:
        """The sum over the state before step t."""
        r = ted.reduce_axis(self.units, "r")
        return ted.sum(held[t, b, r] * self.weight[r, q], axis=r)

    def run(
        self, functions: dict[str, Any], gates: int, wide: str = "", two: str = ""
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """The tensors of the functions; `wide` has all gates side by side, `two` two of them."""
        count = {wide: gates, two: 2}
        return ted.recurrence(
            [(*self.given.shape[:2], count.get(name, 1) * self.units) for name in functions],
            list(functions.values()),
            self.given.dtype,
            reverse=self.reverse,
            name=list(functions),
        )
