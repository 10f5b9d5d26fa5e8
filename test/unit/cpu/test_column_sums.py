"""Sums over rows in the loops that make the rows: which may, why another may not, what is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted.cpu.ted_fuse_columns import TABLE
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.ir.pass_driver import run_pipeline
from ted.linalg import ted_emit_kernels
from ted.linalg.kernel_strategies import COLUMNS, Decisions
from ted.linalg.shared_rows import ALONE
from ted.mlir import ir
from ted.mlir.queries import functions, is_inside, operations

FILE = Path(__file__).parents[2] / "cpu" / "ted-fuse-columns.mlir"
# Functions of the IR test whose sum stays behind the loop, and why.
REASONS = {
    "total_in_use": "the loop over its rows touches the total",
    "other_rows_of_one_memory": "the loop over its rows makes them by another view",
    "rows_behind": "the loop over its rows touches other rows than its own",
    "fewer_rows": "scf.for before it uses the same memory, and is no such loop",
    "no_loop": "no loop over its rows stands before it",
}


def asked(name: str, wish: str) -> str:
    """The message for a function of the IR test whose sum over rows asks for this."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(FILE.read_text())
        for function in functions(module):
            if function.name.value != name:
                function.operation.erase()
        for op in operations(module, "linalg.generic"):
            op.attributes["ted.group"] = ir.Attribute.parse(wish)
        with pytest.raises(ScheduleError) as caught:
            run_pipeline(module, "builtin.module(ted-fuse-columns)")
        return str(caught.value)


@pytest.mark.parametrize("name", REASONS)
def test_a_sum_that_cannot_move_says_why(name: str) -> None:
    assert f"column_sums fits its operation, got: {REASONS[name]}" in asked(
        name, '{name = "column_sums"}'
    )


@pytest.mark.parametrize(
    ("wish", "rule"),
    [
        ('{name = "common_rows", group = 1}', "name is one of column_sums, alone, got common_rows"),
        ('{name = "alone", group = 1}', "alone takes nothing, got group = 1"),
        ('"alone"', 'is {name = "..."} with numbers, flags or words, got "alone"'),
    ],
)
def test_what_is_no_row_is_refused(wish: str, rule: str) -> None:
    assert rule in asked("column_sum_of_rows", wish)


def programs() -> tuple[list[Any], list[Any]]:
    x = ted.placeholder((40, 24), "float64", name="x")
    y = ted.exp(x - ted.max(x, axis=1, keepdims=True))
    z = y / ted.sum(y, axis=1, keepdims=True)
    return [x], [z, ted.sum(z, axis=0)]


@pytest.mark.parametrize(
    ("wish", "is_in_the_loop"), [(None, True), (COLUMNS, True), (ALONE, False)]
)
def test_a_sum_is_where_it_is_asked_to_be(
    wish: str | None, is_in_the_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {row.name for row in TABLE} == {COLUMNS, ALONE}
    met: list[str] = []
    decide = ted_emit_kernels.decide

    def decided(block: ir.Block, *rest: Any) -> Decisions:
        for op, choice in decide(block, *rest).choices:
            if choice.row.name == COLUMNS:
                met.append(op.name)
                if wish is not None:
                    text = f'{{name = "{wish}"}}'
                    op.attributes["ted.group"] = ir.Attribute.parse(text, op.context)
        return decide(block, *rest)

    compile_here(monkeypatch)
    monkeypatch.setattr(ted_emit_kernels, "decide", decided)
    inputs, outputs = programs()
    f = ted.compile(inputs, outputs)
    assert met == ["ted.compute"]
    x = np.random.default_rng(3).normal(size=(40, 24))
    e = np.exp(x - x.max(1, keepdims=True))
    z = e / e.sum(1, keepdims=True)
    for given, wanted in zip(f(x), (z, z.sum(0)), strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-12)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(f.ir("buffers"))
        sums = [
            op
            for op in operations(module, "linalg.generic")
            if '"reduction", "parallel"' in str(op)
        ]
        loops = operations(module, "scf.for")
        assert [any(is_inside(op, loop) for loop in loops) for op in sums] == [is_in_the_loop]
        assert "ted.group" not in str(module)


def test_a_sum_joins_the_loop_behind_it_that_reads_the_rows_again() -> None:
    x, w, b = (
        ted.placeholder(n, "float64", name=s) for n, s in (((40, 24), "x"), (24, "w"), (24, "b"))
    )
    d = ted.placeholder((40, 24), "float64", name="d")
    loss = ted.sum(ted.nn.layer_norm(x, w, b) * d)
    f = ted.compile([x, w, b, d], list(ted.differentiate(loss, [x, w, b])))
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(f.ir("buffers"))
        loops = operations(module, "scf.for")
        sums = [o for o in operations(module, "linalg.generic") if '["reduction", "pa' in str(o)]
        assert [any(is_inside(op, loop) for loop in loops) for op in sums] == [True, True]
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=t.shape) for t in (x, w, b, d)]
    a, scale, _, g = arrays
    spread = np.sqrt(a.var(1, keepdims=True) + 1e-5)
    h = (a - a.mean(1, keepdims=True)) / spread
    k = g * scale
    wanted = (k - k.mean(1, keepdims=True) - h * (k * h).mean(1, keepdims=True)) / spread
    for given, want in zip(f(*arrays), (wanted, (g * h).sum(0), g.sum(0)), strict=True):
        np.testing.assert_allclose(given, want, rtol=1e-10)
