"""Splitting a gradient: what is stored, and that both parts together give what the whole gave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import ted
from ted import nn
from ted.api.residuals import forward_backward
from ted.errors import DerivativeError
from ted.frontend.tensors import Tensor
from ted.ir.equations import System
from ted.ir.equations import Tensor as Node
from ted.testing.tracing import interpreted
from ted.transforms import residuals
from ted.transforms.gradient import differentiate
from ted.transforms.residuals import RECOMPUTE, Split, split_residuals
from unit.transforms.recurrences import PROGRAMS

RNG = np.random.default_rng(0)


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


def split(
    output: Tensor, inputs: Sequence[Tensor], recompute: float = RECOMPUTE
) -> tuple[System, Split]:
    joint = joined(output.node, [x.node for x in inputs])
    return joint, split_residuals(joint, 1, 1, recompute)


def joined(output: Node, inputs: Sequence[Node]) -> System:
    head = Node("head", output.shape, output.dtype)
    found = differentiate([output], inputs, [head]).gradients
    return System((*inputs, head), (output, *found))


def agree(joint: System, parts: Split, arrays: Sequence[np.ndarray]) -> None:
    """Run the whole and the parts by the interpreter: the same values, bit by bit."""
    whole = interpreted(joint.inputs, joint.outputs)(*arrays)
    count = len(parts.forward.inputs)
    first = interpreted(parts.forward.inputs, parts.forward.outputs)(*arrays[:count])
    results = len(first) - len(parts.residuals)
    given = [*(arrays[k] for k in parts.inputs), *(first[k] for k in parts.results)]
    given += [*first[results:], *arrays[count:]]
    second = interpreted(parts.backward.inputs, parts.backward.outputs)(*given)
    for one, other in zip(whole, [*first[:results], *second], strict=True):
        np.testing.assert_array_equal(one, other)


def random(system: System) -> list[np.ndarray]:
    return [RNG.normal(size=t.shape) for t in system.inputs]


def dense(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Its pre-activation is scaled by a cheap map; tanh is dear."""
    return ted.tanh((x @ w + b) * 0.5) * 2.0


def test_dear_maps_and_sums_are_stored_and_cheap_maps_are_not() -> None:
    x, w, b = p("x", 4, 3), p("w", 3, 5), p("b", 5)
    hidden = ted.exp(x @ w + b)
    joint, parts = split(hidden * hidden, [x, w, b])
    assert [t.name for t in parts.residuals] == [hidden.name]
    assert parts.inputs == (0, 1)
    agree(joint, parts, random(joint))


def test_cheap_map_of_arguments_is_computed_again() -> None:
    x = p("x", 6)
    shifted = x * 3.0 + 1.0
    joint, parts = split(shifted * shifted * shifted, [x])
    assert not parts.residuals
    agree(joint, parts, random(joint))
    joint, parts = split(shifted * shifted * shifted, [x], recompute=0)
    assert shifted.node in parts.residuals
    agree(joint, parts, random(joint))


def test_long_chain_of_cheap_maps_is_stored_before_it_gets_dear() -> None:
    x = p("x", 6)
    y = x
    for _ in range(12):
        y = y * y + x
    joint, parts = split(y, [x])
    assert 1 <= len(parts.residuals) < 12
    agree(joint, parts, random(joint))


def test_result_that_the_gradient_reads_is_not_stored_twice() -> None:
    x = p("x", 6)
    joint, parts = split(ted.tanh(x), [x])
    assert (parts.residuals, parts.inputs, parts.results) == ((), (), (0,))
    agree(joint, parts, random(joint))


def test_linear_function_saves_nothing_of_its_argument() -> None:
    x = p("x", 4, 6)
    joint, parts = split(ted.sum(x, axis=1), [x])
    assert (parts.residuals, parts.inputs, parts.results) == ((), (), ())
    agree(joint, parts, random(joint))


def test_index_of_a_maximum_is_stored() -> None:
    x = p("x", 1, 6, 6, 2)
    joint, parts = split(nn.max_pool2d(x, 2), [x])
    assert [(t.name, t.dtype.name) for t in parts.residuals] == [("arg_max_pool2d", "int64")]
    agree(joint, parts, random(joint))


@pytest.mark.parametrize("name", PROGRAMS)
def test_histories_are_stored_and_recurrences_stay_whole(name: str) -> None:
    program = PROGRAMS[name]()
    joint = joined(program.output, program.inputs)
    parts = split_residuals(joint, 1, 1)
    arrays = [*program.arrays(), RNG.normal(size=program.output.shape)]
    agree(joint, parts, arrays)


@pytest.mark.parametrize("recompute", [0.0, 4.0, 100.0])
def test_compiled_parts_give_the_gradients_of_the_whole(recompute: float) -> None:
    x, w, b = p("x", 4, 3), p("w", 3, 5), p("b", 5)
    n = ted.placeholder((4,), "int64", name="n")
    y = ted.compute((4,), lambda i: dense(x, w, b)[n[i], 1], name="y")
    both = forward_backward([y, n + 1], [x, n, w, b], recompute)
    arrays = [
        RNG.normal(size=(4, 3)),
        np.array([3, 0, 0, 2]),
        RNG.normal(size=(3, 5)),
        RNG.normal(size=5),
    ]
    head = RNG.normal(size=4)
    results, saved = both.forward(*arrays)
    found = both.backward(saved, head)
    dy = p("dy", 4)
    whole = ted.compile([x, n, w, b, dy], [y, *ted.differentiate(y, [x, w, b], dy)])
    for one, other in zip([results[0], *found], whole(*arrays, head), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(results[1], arrays[1] + 1)


def test_program_without_floats_is_refused() -> None:
    n = ted.placeholder((4,), "int64", name="n")
    with pytest.raises(DerivativeError, match="a float output and a float input, got none"):
        forward_backward(n + 1, [n])


@pytest.mark.parametrize("causal", [True, False])
def test_triangle_of_a_large_product_is_made_again_of_what_is_smaller(
    monkeypatch: pytest.MonkeyPatch, causal: bool
) -> None:
    monkeypatch.setattr(residuals, "FEW", 1)
    n = 16
    q, k = p("q", n, 2), p("k", n, 2)
    joint, parts = split(nn.attention(q, k, k, causal=causal), [q, k])
    agree(joint, parts, [RNG.standard_normal((n, 2)) for _ in range(3)])
    assert ((n, n) in [t.shape for t in parts.residuals]) is not causal
    assert (n,) in [t.shape for t in parts.residuals]  # maxima of rows, or their sums


def test_triangle_that_is_a_result_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residuals, "FEW", 1)
    q, r = p("q", 16, 2), ted.reduce_axis(2, "r")
    s = ted.compute((16, 16), lambda i, j: ted.sum(q[i, r] * q[j, r], axis=r, where=j <= i))
    joint, parts = split(ted.tanh(s), [q])
    assert parts.results == (0,)
    assert not parts.residuals
    agree(joint, parts, [RNG.standard_normal(t.shape) for t in joint.inputs])


def test_triangle_that_is_dear_to_make_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residuals, "FEW", 1)
    monkeypatch.setattr(residuals, "TRIANGLE", 1.0)
    q = p("q", 16, 2)
    _, parts = split(nn.attention(q, q, q, causal=True), [q])
    assert (16, 16) in [t.shape for t in parts.residuals]
