"""Tensors computed again: how much is held then, counted by hand, and the same numbers."""

from __future__ import annotations

import numpy as np

import ted
from ted.frontend.systems import system_of
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor
from ted.ir.scalar import add, apply, dim, load
from ted.transforms.live_memory import LiveMemory
from ted.transforms.ted_limit_memory import limit_memory
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import equation, given

i = dim(0)
X = given("x", 4)
BYTES = 4 * FLOAT64.bits // 8


def pointwise(name: str, *reads: Tensor) -> Tensor:
    body = load(reads[0], [i])
    for other in reads[1:]:
        body = add(body, load(other, [i]))
    return defined(name, (4,), equation((4,), apply("sin", body)))


def chain() -> System:
    """`a` is held over `b`, `c` and `d`, and read again at the end."""
    a = pointwise("a", X)
    b = pointwise("b", a)
    c = pointwise("c", b)
    return System((X,), (pointwise("d", c, a),))


def test_what_is_held_at_each_place() -> None:
    live = LiveMemory.of(chain())
    assert [t.name for t in live.order] == ["a", "b", "c", "d"]
    assert live.held == (2 * BYTES, 3 * BYTES, 4 * BYTES, 3 * BYTES)
    assert (live.most, live.peak, live.above(3 * BYTES)) == (4 * BYTES, 2, BYTES)
    assert LiveMemory.of(System((X,), (X,))).most == 0


def test_a_tensor_that_is_read_late_is_computed_again() -> None:
    made = limit_memory(chain(), 3 * BYTES)
    live = LiveMemory.of(made)
    assert [t.name for t in live.order] == ["a", "b", "c", "a", "d"]
    assert live.most == 3 * BYTES
    assert [e.recomputed for t in live.order for e in t.equations] == [0, 0, 0, 1, 0]
    numbers = [[1.0, 2.0, 3.0, 4.0]]
    old, new = (values([X], s.outputs, numbers)[0] for s in (chain(), made))
    assert old.tolist() == new.tolist()


def test_what_fits_or_cannot_be_helped_stays_as_it_is() -> None:
    system = chain()
    assert limit_memory(system, 4 * BYTES) is system
    assert LiveMemory.of(limit_memory(system, 1)).most == 3 * BYTES


def test_what_it_is_made_of_is_made_again_where_that_is_gone() -> None:
    b = pointwise("b", pointwise("a", X))  # `a` is not read after it
    d = pointwise("d", pointwise("c", b))
    middle = defined("middle", (1,), equation((1,), load(d, [i])))
    end = defined("end", (1,), equation((1,), add(load(middle, [i]), load(b, [i]))))
    most = 2 * BYTES + 2 * FLOAT64.bits // 8
    live = LiveMemory.of(limit_memory(System((X,), (end,)), most))
    assert [t.name for t in live.order] == ["a", "b", "c", "d", "middle", "a", "b", "end"]
    assert live.most == most


def test_results_are_kept_and_histories_are_not_made_again() -> None:
    x = ted.placeholder((6, 4), "float64", name="x")
    total = ted.cumsum(x, axis=0)
    other = ted.sin(ted.sin(total))
    system = system_of([x], [ted.sum(ted.exp(other) * total), total])
    made = limit_memory(system, 1)
    assert made.outputs[1] is system.outputs[1]
    assert sum(t.time is not None for t in LiveMemory.of(made).order) == 1


def test_bytes_are_those_of_arrays() -> None:
    for kind in ("bool", "int8", "bfloat16", "float64"):
        x = ted.placeholder((3, 5), kind, name="x")
        width = 2 if kind == "bfloat16" else np.dtype(kind).itemsize
        assert x.node.nbytes == 15 * width
