"""Few pieces an adjoint, one guarded gather above that, a reason for each scatter that stays."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ted
from ted.frontend.tensors import Tensor
from ted.ir.from_ops import from_module
from ted.testing import Counts
from ted.testing.tracing import interpreted
from unit.cpu.loop_trips import trips_and_points


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


def gradient(y: Tensor, x: Tensor) -> tuple[ted.api.DifferentiationResult, Tensor]:
    head = p("head", *y.shape)
    return ted.differentiate(y, [x], head=head), head


def clamped(count: int, twice: bool = False) -> tuple[Tensor, Tensor]:
    """A cube read at as many clamps as it has dims; twice, at different ones."""
    x = p("x", *[4] * count)

    def read(*at: object, low: int) -> object:
        return x[tuple(ted.minimum(ted.maximum(i - low, 0), 3) for i in at)]  # type: ignore[index]

    def body(*at: object) -> object:
        return read(*at, low=1) * read(*at, low=2) if twice else read(*at, low=1) * 2.0  # type: ignore[operator]

    return ted.compute((7,) * count, body), x


def wide_stride() -> tuple[Tensor, Tensor]:
    x, w, k = p("x", 64 * 9 + 70), p("w", 70), ted.reduce_axis(70, name="k")
    return ted.compute((10,), lambda i: ted.sum(x[64 * i + k] * w[k], axis=k)), x


def test_a_product_of_clamps_is_one_gather_that_runs_each_point_once() -> None:
    y, x = clamped(4)
    found, head = gradient(y, x)
    (equation,) = found[0].node.equations
    assert not equation.is_scatter
    counts, h = Counts(), np.random.default_rng(0).normal(size=y.shape)
    (got,) = interpreted([head], [found[0]], counts)(h)
    at = np.clip(np.arange(7) - 1, 0, 3)
    expected = np.zeros(x.shape)
    np.add.at(expected, np.ix_(at, at, at, at), 2 * h)
    np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert counts.points == 7**4
    assert trips_and_points([head], [found[0]]) == (7**4, 7**4)


def test_a_stride_with_many_classes_is_one_gather_with_exact_loops() -> None:
    y, x = wide_stride()
    found, head = gradient(y, x)
    assert len(found[0].node.equations) == 1
    inputs = [n for n in ted.ir.equations.topological([found[0].node]) if n.is_input]
    assert trips_and_points([*inputs], [found[0]]) == (700, 700)
    assert head.node in inputs


@pytest.mark.parametrize(
    ("make", "pieces"), [(lambda: clamped(4), 81), (wide_stride, 64)], ids=["clamps", "stride"]
)
def test_guards_in_place_of_pieces_are_reported(make, pieces: int) -> None:
    report = gradient(*make())[0].report()
    (remark,) = report.remarks
    assert f"1 guarded in place of {pieces} pieces, a read has at most 32" in remark
    assert "test_piece_limit.py:" in remark
    assert f"remark: {remark}" in str(report)
    assert json.loads(report.json())["remarks"] == [remark]


def test_up_to_the_limit_there_are_pieces_and_nothing_to_say() -> None:
    found, _ = gradient(*clamped(3))
    assert len(found[0].node.equations) == 27
    assert found.report().remarks == ()


def test_reads_that_together_exceed_the_limit_are_guarded_too() -> None:
    y, x = clamped(3, twice=True)
    found, head = gradient(y, x)
    assert len(found[0].node.equations) <= 32
    assert "an adjoint has at most 32" in found.report().remarks[0]
    random = np.random.default_rng(0)
    a, h = random.normal(size=x.shape), random.normal(size=y.shape)
    (got,) = interpreted([x, head], [found[0]])(a, h)
    one, two = (np.ix_(*[np.clip(np.arange(7) - low, 0, 3)] * 3) for low in (1, 2))
    expected = np.zeros(x.shape)
    np.add.at(expected, one, h * a[two])
    np.add.at(expected, two, h * a[one])
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_the_reason_of_a_scatter_is_in_the_ir_and_in_the_report() -> None:
    n = p("n", 40)
    found, _ = gradient(ted.compute((6, 6), lambda i, j: n[i * j] * 2.0), n)
    report = found.report()
    (scatter,) = report.scatters
    assert scatter.reason == "index expression: a product with a constant, got d0 * d1"
    assert report.remarks[0].endswith(f"a scatter stays, {scatter.reason}")
    module = ted.module(list(found))
    assert f'ted.scatter_reason = "{scatter.reason}"' in str(module)
    (again,) = from_module(module).outputs[0].equations
    assert again.scatter_reason == scatter.reason


def test_an_index_that_is_data_needs_no_stored_reason() -> None:
    table, at = p("t", 9, 2), ted.placeholder((4,), "int64", name="at")
    found, _ = gradient(ted.compute((4, 2), lambda i, j: table[at[i], j]), table)
    assert found.report().scatters[0].reason == "an index is data"
    assert "ted.scatter_reason" not in str(ted.module(list(found)))
