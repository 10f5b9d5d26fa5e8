"""Sums over rows in the loops that make the rows: which may, why another may not, what is asked."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted.dialects import make_context
from ted.linalg import ted_emit_kernels
from ted.linalg.kernel_strategies import COLUMNS, Decisions
from ted.linalg.shared_rows import ALONE
from ted.mlir import ir
from ted.mlir.queries import functions, is_inside, operations
from ted.testing.tracing import interpreted


def normed(x: Any) -> Any:
    return x / ted.sum(x * x, axis=1, keepdims=True)


def total(x: Any) -> Any:
    return ted.sum(x, axis=0)


def own_sizes(x: Any) -> Any:
    """A sum of rows that reads a number of each row, at its columns."""
    size = ted.sum(x * x, axis=1)
    return [x / ted.reshape(size, (24, 1)), total(x * size)]


# Results of programs whose sum over rows is alone, and why.
NO_GROUP = "no group over its rows reads or makes what it reads"
REASONS: dict[str, tuple[Any, tuple[int, int], str]] = {
    "no group": (lambda x: [total(x)], (40, 24), NO_GROUP),
    "fewer rows": (lambda x: [normed(x[:20]), total(x)], (40, 24), NO_GROUP),
    "needed": (
        lambda x: [normed(x * total(x))],
        (40, 24),
        "the group, or what is before it, reads the sum",
    ),
    "numbers of other rows": (
        own_sizes,
        (24, 24),
        "it reads other rows of the group than its own",
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_a_sum_that_stays_apart_says_why(name: str) -> None:
    results, shape, reason = REASONS[name]
    x = ted.placeholder(shape, "float64", name="x")
    assert f"\n  not column_sums: {reason}\n" in ted.compile([x], results(x)).explain()


def sums_of(module: ir.Module) -> list[ir.Operation]:
    """The operations that add to a vector of the caller's, of one row or of all."""
    (function,) = functions(module)
    vectors = [a for a in function.entry_block.arguments if str(a.type) == "memref<24xf64>"]
    found = operations(module, "linalg.generic")
    return [op for op in found if op.operands[len(op.operands) - 1] in vectors]


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
        loops = operations(module, "scf.for")
        assert [any(is_inside(op, loop) for loop in loops) for op in sums_of(module)] == [
            is_in_the_loop
        ]
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
        sums = [any(is_inside(op, loop) for loop in loops) for op in sums_of(module)]
        assert sums == [True, True]
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=t.shape) for t in (x, w, b, d)]
    a, scale, _, g = arrays
    spread = np.sqrt(a.var(1, keepdims=True) + 1e-5)
    h = (a - a.mean(1, keepdims=True)) / spread
    k = g * scale
    wanted = (k - k.mean(1, keepdims=True) - h * (k * h).mean(1, keepdims=True)) / spread
    for given, want in zip(f(*arrays), (wanted, (g * h).sum(0), g.sum(0)), strict=True):
        np.testing.assert_allclose(given, want, rtol=1e-10)


@pytest.mark.parametrize("number", [lambda i, j: i * i - j, lambda i, j: (i + j) // 3])
def test_terms_may_count_their_row(number: Any) -> None:
    x = ted.placeholder((40, 24), "float64", name="x")
    i = ted.reduce_axis(40, name="i")
    s = ted.compute((24,), lambda j: ted.sum(x[i, j] * ted.cast(number(i, j), "float64"), i))
    f = ted.compile([x], [normed(x), s])
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(f.ir("buffers"))
        loops = operations(module, "scf.for")
        assert [any(is_inside(op, loop) for loop in loops) for op in sums_of(module)] == [True]
    a, (k, j) = np.random.default_rng(4).normal(size=(40, 24)), np.ogrid[:40, :24]
    expected = a / (a * a).sum(1, keepdims=True), (a * number(k, j)).sum(0)
    for given, want in zip(f(a), expected, strict=True):
        np.testing.assert_allclose(given, want, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_totals_of_short_types_are_rounded_once(dtype: str) -> None:
    """300 rows of ones and less: rounded at each row, a sum of bf16 would end at 256."""
    x = ted.placeholder((300, 24), dtype, name="x")
    y = x / ted.sum(x, axis=1, keepdims=True) * 24
    f = ted.compile([x], [y, total(y)])
    assert ": column_sums, group = 1\n" in f.explain()
    ones = np.ones((300, 24), ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    np.testing.assert_array_equal(np.asarray(f(ones)[1], "f8"), 300)


def grouped(x: Any) -> list[Any]:
    """Rows are images and groups of channels; the sum is over images."""
    y = ted.reshape(x, (6, 4, 6))
    y = ted.reshape(y / ted.sum(y * y, axis=2, keepdims=True), (6, 24))
    return [y, total(y), total(x)]


def turned(x: Any) -> list[Any]:
    """A group writes its rows as columns."""
    y = ted.swapaxes(normed(x), 0, 1)
    return [y, total(y)]


def several(x: Any) -> list[Any]:
    """Two sums of one group, one of what nothing else reads."""
    y = normed(x)
    return [y, total(y * x), total(ted.exp(y) + x)]


@pytest.mark.parametrize(("program", "shape"), [(grouped, (6, 24)), (turned, (24, 24)),
                                                (several, (700, 24))])  # fmt: skip
@pytest.mark.parametrize("threads", [1, 3])
def test_sums_of_rows_are_right_in_every_group(program: Any, shape: Any, threads: int) -> None:
    x = ted.placeholder(shape, "float64", name="x")
    array = np.random.default_rng(4).normal(size=shape)
    results = program(x)
    before = ted.set_num_threads(threads)
    try:
        found = ted.compile([x], results)(array)
    finally:
        ted.set_num_threads(before)
    for one, wanted in zip(found, interpreted([x], results)(array), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=1e-13)
