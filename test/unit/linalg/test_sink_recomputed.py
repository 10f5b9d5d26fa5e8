"""Recomputed equations that go into steps: as many types of histories as IRDL can hold, and beside
loops over blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted import dialects
from ted.dialects.ted import MAX_RUNS
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, System, Tensor, whole
from ted.ir.recurrences import ONE_LOOP
from ted.ir.scalar import add, compare, const, dim, index, load, select
from ted.ir.to_ops import to_module
from ted.linalg.ted_sink_recomputed import TedSinkRecomputed
from ted.mlir.queries import operations
from ted.plan import block_choices

ONE_THREAD = "cpu,threads=1"


def steps_with(others: int) -> System:
    """A recurrence that reads a recomputed tensor, of so many other tensors of other types."""
    x, again = (Tensor(name, (2,), FLOAT64) for name in ("x", "again"))
    again.equations = (replace(whole((2,), load(x, (dim(0),)), None), recomputed=1),)
    loop = [Tensor(f"h{k}", (2, k + 1), FLOAT64, 0, (), None, 0) for k in range(others + 1)]
    for k, tensor in enumerate(loop):
        before = load(loop[k - 1], (add(dim(0), index(-1)), index(0)))
        body = select(compare("lt", index(0), dim(0)), before, const(0, FLOAT64))
        if not k:
            body = add(body, load(again, (dim(0),)))
        tensor.equations = (whole(tensor.shape, body, None),)
    return System((x,), (loop[0],))


@pytest.mark.parametrize(("others", "moves"), [(MAX_RUNS - 2, True), (MAX_RUNS - 1, False)])
def test_equations_move_as_long_as_the_types_of_the_histories_fit(others: int, moves: bool) -> None:
    with dialects.session():
        module = to_module(steps_with(others))
        TedSinkRecomputed().run(module)
        module.operation.verify()
        (scan,) = operations(module.operation, "ted.scan")
        inside = [op for op in operations(scan, "ted.compute") if "ted.recomputed" in op.attributes]
    assert len(inside) == moves


def in_one_loop(*, again: bool) -> System:
    """A loop over blocks that reads what is recomputed, or is so itself, and a recurrence of it."""
    x = Tensor("x", (3,), FLOAT64)
    copy, first, second, history = (
        Tensor(name, (3,), FLOAT64, 0, (), None, 0) for name in ("copy", "first", "second", "h")
    )

    def of(source: Tensor, number: float) -> Equation:
        return whole((3,), add(load(source, (dim(0),)), const(number, FLOAT64)), None)

    copy.time = None
    copy.equations = (replace(of(x, 1.0), recomputed=1),)
    first.equations = (replace(of(copy, 2.0), recomputed=int(again)),)
    second.equations = (replace(of(first, 3.0), recomputed=int(again)),)
    before = load(history, (add(dim(0), index(-1)),))
    carried = select(compare("lt", index(0), dim(0)), before, const(0, FLOAT64))
    history.equations = (whole((3,), add(carried, load(second, (dim(0),))), None),)
    return System((x,), (history,), together=((first, second),))


@pytest.mark.parametrize("again", [False, True])
def test_loops_over_blocks_stay_as_they_are(again: bool) -> None:
    with dialects.session():
        module = to_module(in_one_loop(again=again))
        (marked, _) = operations(module.operation, "ted.scan")
        before = str(marked)
        TedSinkRecomputed().run(module)
        module.operation.verify()
        found = [op for op in operations(module.operation, "ted.scan") if ONE_LOOP in op.attributes]
        assert [str(op) for op in found] == [before]
        assert len(operations(found[0], "ted.compute")) == 2


def test_steps_compute_again_beside_loops_over_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of one kind does not make another keep all of its steps."""

    def recurrence(x: Any, w: Any) -> Any:
        def step(c: Any, k: Any) -> Any:
            for _ in range(4):
                c = ted.tanh(c[::-1] * w + k)
            return c, None

        return ted.sum(ted.scan(step, x, ted.arange(64, dtype="float32"), checkpoint=8)[0])

    def attention(q: Any, k: Any, v: Any) -> Any:
        return ted.sum(ted.nn.softmax(q @ ted.matrix_transpose(k)) @ v)

    def both(x: Any, w: Any, *others: Any) -> Any:
        return recurrence(x, w) + attention(*others)

    def compiled(f: Any, arrays: list[Any]) -> Any:
        made = ted.function(ted.value_and_grad(f, tuple(range(len(arrays)))), target=ONE_THREAD)
        return made(*arrays), made.compiled(*arrays)

    compile_here(monkeypatch)
    monkeypatch.setattr(block_choices, "WHOLE", 0)
    rng = np.random.default_rng(0)
    steps = [rng.normal(size=4096).astype("float32") for _ in range(2)]
    rows = [rng.normal(size=(1024, 32)).astype("float32") for _ in range(3)]
    apart = [compiled(recurrence, steps), compiled(attention, rows)]
    (value, slopes), together = compiled(both, [*steps, *rows])
    np.testing.assert_allclose(value, sum(found[0] for found, _ in apart), rtol=1e-5)
    wanted = [*apart[0][0][1], *apart[1][0][1]]
    for mine, its in zip(slopes, wanted, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-5)
    assert "is made in blocks of" in together.explain()
    assert together.peak_bytes <= sum(one.peak_bytes for _, one in apart)
