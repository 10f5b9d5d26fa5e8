"""What overflows is differentiated together with what it saturates, and nothing else is moved."""

from __future__ import annotations

from typing import Any

import ted
from ted.frontend.tensors import Tensor
from ted.ir.equations import System
from ted.transforms.saturated_producers import inline_saturated_producers


def moved(output: Tensor, *inputs: Tensor) -> tuple[str, int]:
    """The body of an output after the stage, and how many tensors are left."""
    nodes = tuple(t.node for t in inputs)
    system = inline_saturated_producers(System(nodes, (output.node,)))[0]
    return str(system.outputs[0].equations[0].body), len(system.tensors())


def x(*shape: int) -> Any:
    return ted.placeholder(shape or (4,), "float64", name="x")


def test_a_chain_that_grows_goes_into_the_divisor() -> None:
    t = x()
    body, count = moved(1 / (1 + ted.exp(t)), t)
    assert body == "1/(1 + exp(x[d0]))"
    assert count == 2


def test_a_square_does_too() -> None:
    t = x()
    assert moved(1 / (1 + t * t), t)[0] == "1/(1 + x[d0]*x[d0])"


def test_what_others_read_stays() -> None:
    t = x()
    e = ted.exp(t)
    assert moved(e / (1 + e), t)[0] == "exp[d0]/add[d0]"


def test_a_sum_and_what_is_broadcast_stay() -> None:
    t, rows = x(4, 3), x(4)
    e = ted.exp(t)
    assert moved(e / ted.sum(e, axis=1, keepdims=True), t)[1] == 4
    assert moved(t / (1 + ted.exp(rows))[:, None], t, rows)[0].startswith("x[d0, d1]/add_slice[")


def test_what_does_not_grow_stays() -> None:
    t = x()
    assert moved(1 / (1 + ted.sqrt(t)), t)[0] == "1/add[d0]"
