"""Row-major numbers taken apart and put together, and reshapes of symbolic sizes as gathers."""

from __future__ import annotations

import itertools

import pytest

import ted
from ted.domain import parameters
from ted.domain.sizes import Extent
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import add, const, dim, floordiv, index, load, mod, mul, substitute
from ted.transforms.reshapes import by_targets, ravelled, unravelled

n, m = ted.size("n"), ted.size("m")
i, j = dim(0), dim(1)


def number(e: Expr) -> int:
    assert e.op == "const"
    return e.attr


@pytest.mark.parametrize("extents", [(2, 3), (4,), (1, 3), (3, 1, 2), (2, 3, 4), (1, 1)])
def test_a_point_and_its_row_major_number(extents: tuple[int, ...]) -> None:
    dims = [dim(k) for k in range(len(extents))]
    position, back = ravelled(dims, extents), unravelled(i, extents)
    for count, point in enumerate(itertools.product(*map(range, extents))):
        assert number(substitute([position], [index(p) for p in point])[0]) == count
        assert tuple(number(e) for e in substitute(back, [index(count)])) == point


def test_dims_of_extent_one_are_in_no_number() -> None:
    assert ravelled([i, j], [1, 3]) is j
    assert unravelled(i, [1, 3, 1]) == [index(0), i, index(0)]


def scatter(extents: tuple[Extent, ...], write: list[Expr], shape: tuple[Extent, ...]) -> Equation:
    source = Tensor("g", extents, FLOAT64)
    body = load(source, [dim(k) for k in range(len(extents))])
    return Equation(extents, 0, parameters.box(extents), tuple(write), "add", body)


def test_a_flattened_tensor_is_read_by_the_dims_of_the_target() -> None:
    equation = scatter((n * m,), [floordiv(i, index(m)), mod(i, index(m))], (n, m))
    found = by_targets(equation, (n, m))
    assert found is not None
    assert found.extents == (n, m)
    assert found.write == (i, j)
    assert found.body.args == (add(mul(i, index(m)), j),)
    assert found.parallel == 0


def test_a_dim_beside_the_reshape_stays() -> None:
    equation = scatter((n * m, 4), [j, floordiv(i, index(m)), mod(i, index(m))], (4, n, m))
    found = by_targets(equation, (4, n, m))
    assert found is not None
    assert found.extents == (4, n, m)
    assert found.write == (dim(0), dim(1), dim(2))
    assert found.body.args == (add(mul(dim(1), index(m)), dim(2)), dim(0))


def test_what_is_no_reshape_stays() -> None:
    halves = [floordiv(i, index(m)), mod(i, index(m))]
    assert by_targets(scatter((n * m,), halves, (n, m)), (n, m + 1)) is None
    turned = [mod(i, index(m)), floordiv(i, index(m))]
    assert by_targets(scatter((n * m,), turned, (m, n)), (m, n)) is None
    assert by_targets(scatter((n,), [i], (n,)), (n,)) is None
    numbers = [floordiv(i, index(3)), mod(i, index(3))]
    assert by_targets(scatter((6,), numbers, (2, 3)), (2, 3)) is None
    whole = scatter((n * m,), halves, (n, m))
    first = whole.domain.intersect(parameters.box((m,)))
    part = Equation(whole.extents, 0, first, whole.write, "add", const(1.0, FLOAT64))
    assert by_targets(part, (n, m)) is None
