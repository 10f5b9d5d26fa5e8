"""What the report says of moved elements and needed points, against an enumeration of the points.

The enumeration evaluates the maps and sets of every op at every point as the interpreter does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import ted
from ted import nn
from ted.dialects.ted import ComputeOp
from ted.mlir import ir
from ted.testing.interpreter_affine import condition_text, map_texts
from ted.transforms.compute_sets import computes
from ted.transforms.ted_report_gradient import report_function


def p(name: str, *shape: int) -> ted.Tensor:
    return ted.placeholder(shape, "float64", name=name)


def holds(condition: str, point: dict[str, int]) -> bool:
    return not condition or eval(condition, {}, point)


def accesses(op: ComputeOp) -> Iterator[tuple[tuple[int, ...], list[tuple[ir.Value, tuple]]]]:
    """Every point of an op: the element that it writes, and those that it reads."""
    domain, write = condition_text(op.domain_set), map_texts(op.write_map)
    reads = [
        (value, condition_text(guard), map_texts(read))
        for value, read, guard in zip(op.inputs, op.read_maps, op.guard_sets, strict=True)
    ]
    for place in itertools.product(*map(range, op.box)):
        point = {f"d{k}": x for k, x in enumerate(place)}
        if holds(domain, point):
            read = [
                (value, tuple(eval(t, {}, point) for t in texts))
                for value, guard, texts in reads
                if holds(guard, point)
            ]
            yield tuple(eval(t, {}, point) for t in write), read


def enumerated(module: ir.Module) -> list[tuple[int, int]]:
    """The elements that each op touches, and the points that are needed for the results."""
    block = module.body.operations[0].regions[0].blocks[0]
    ops = computes(module)
    wanted: dict[ir.Value, np.ndarray] = {}

    def of(value: ir.Value) -> np.ndarray:
        shape = ir.RankedTensorType(value.type).shape
        return wanted.setdefault(value, np.zeros(shape, np.bool_))

    *_, last = block.operations
    for value in last.operands:
        of(value)[...] = True
    found: list[tuple[int, int]] = []
    for op in reversed(ops):
        result = of(op.results[0]) | of(op.results[-1])
        touched: set[object] = set()
        needed = 0
        for written, reads in accesses(op):
            touched |= {*reads, *((r, written) for r in op.results)}
            if result[written]:
                needed += 1
                for value, element in reads:
                    of(value)[element] = True
        for init in op.inits:
            of(init)[...] |= result
        found.append((len(touched), needed))
    return found[::-1]


def slices() -> list[ted.Tensor]:
    a, b = p("a", 8, 5), p("b", 5, 6)
    y = (a @ b)[2:4, ::2]
    return [y, *ted.differentiate(y, [a, b], head=p("h", *y.shape))]


def chain() -> list[ted.Tensor]:
    x = p("x", 7, 7)
    joined = ted.concatenate([nn.softmax(x), x[:2]], axis=0)
    return [joined[5:8, 1:3]]


def skewed() -> list[ted.Tensor]:
    x = p("x", 12)
    square = ted.compute((12,), lambda i: x[11 - i] * x[i // 2], name="square")
    y = ted.compute((3, 3), lambda i, j: ted.where(j <= i, square[2 * i + 3 * j], 0.0), name="y")
    return [y]


def pool() -> list[ted.Tensor]:
    x = p("x", 1, 9, 9, 2)
    y = nn.max_pool2d(x, 3, stride=2)[:, 1]
    return [y, *ted.differentiate(y, [x], head=p("h", *y.shape))]


@pytest.mark.parametrize("make", [slices, chain, skewed, pool])
def test_counts_are_those_of_an_enumeration(make: Callable[[], list[ted.Tensor]]) -> None:
    module = ted.module(make())
    report = report_function(module)
    with module.context:
        expected = enumerated(module)
    assert [(e.bytes // 8, e.needed) for e in report.equations] == expected
    assert all(e.exact for e in report.equations)


def test_the_results_of_a_slice_need_its_rows_only() -> None:
    a, b = p("a", 40, 40), p("b", 40, 40)
    y = (a @ b)[:2]
    report = ted.differentiate(y, [a, b], head=p("h", 2, 40)).report()
    points = {e.name: (e.points, e.needed) for e in report.equations}
    assert points["matmul"] == (64000, 3200)
    assert points["da"] == points["db"] == (3200, 3200)
    assert report.needed == 3 * 6400
    assert "64000 points, 3200 of them needed" in str(report)
    assert "needed for what is asked: 19200 operations" in str(report)


def test_what_is_read_at_data_is_needed_altogether() -> None:
    a, at = p("a", 9, 2), ted.placeholder((3,), "int64", name="at")
    square = ted.compute((9, 2), lambda i, j: a[i, j] ** 2, name="square")
    y = ted.compute((3, 2), lambda i, j: square[at[i], j], name="y")
    first, _ = report_function(ted.module(y)).equations
    assert (first.points, first.needed) == (18, 18)


def test_an_operation_is_needed_for_one_of_its_two_results() -> None:
    (row,) = report_function(ted.module(ted.argmax(p("x", 4, 5), axis=1))).equations
    assert row.needed == 20


def test_recurrences_are_needed_altogether() -> None:
    report = report_function(ted.module(ted.cumsum(p("x", 6), axis=0)[:2]))
    assert all(e.needed == e.points for e in report.equations if e.recurrent)


def test_what_nobody_reads_is_not_needed_at_all() -> None:
    x = p("x", 6)
    pieces = ted.concatenate([x * 2.0, x * 3.0], axis=0)
    report = report_function(ted.module(pieces[:6] - 1.0))
    assert sorted(e.needed for e in report.equations if e.operations) == [0, 6, 6]


def test_a_copy_costs_no_work_and_moves_bytes() -> None:
    x = p("x", 2, 3, 4)
    report = ted.differentiate(x.reshape(2, -1), head=p("h", 2, 12)).report()
    assert report.ratio is None
    assert report.moved_ratio == 1.0
    assert report.moved == 4 * 24 * 8


def test_a_stored_copy_shows_in_what_is_moved() -> None:
    x = p("x", 30)
    copied = ted.compute((30,), lambda i: x[i], name="copied")
    plain, twice = (report_function(ted.module(v * 2.0)).moved for v in (x, copied))
    assert (plain, twice) == (480, 960)


def test_scatters_of_the_results_are_not_those_of_the_gradients() -> None:
    at, v = ted.placeholder((5,), "int64", name="at"), p("v", 5)
    y = ted.scatter((3,), at, v)
    report = ted.differentiate(y, [v], head=p("h", 3)).report()
    assert not report.scatters
    assert sum(e.form == "scatter" for e in report.results) == 1
    assert "0 scatter and 1 of the results" in str(report)


def test_results_count_as_they_are_without_gradients() -> None:
    x = p("x", 8)
    y = ted.compute((8, 9), lambda i, j: ted.tanh(x[i]) * ted.exp(x[i] * j), name="y")
    found = ted.differentiate(y, [x], head=p("h", 8, 9))
    report = found.report()
    assert report.primal == report_function(ted.module(y)).total == 72 * (16 + 1 + 16 + 1)
    assert report.gradient + sum(e.operations for e in report.equations if e.primal) == report.total
