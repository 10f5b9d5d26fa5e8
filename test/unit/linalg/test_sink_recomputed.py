"""Recomputed equations that go into steps: as many types of histories as IRDL can hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ted import dialects
from ted.dialects.ted import MAX_RUNS
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, whole
from ted.ir.scalar import add, compare, const, dim, index, load, select
from ted.ir.to_ops import to_module
from ted.linalg.ted_sink_recomputed import TedSinkRecomputed
from ted.mlir.queries import operations


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
