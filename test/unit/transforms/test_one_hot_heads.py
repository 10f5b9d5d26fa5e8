"""Rows of Jacobians: the head that is one at a place, as a condition on indices."""

from __future__ import annotations

from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor
from ted.ir.scalar import apply, dim, load, mul
from ted.transforms.one_hot_heads import with_one_hot
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import equation, given

k, i, j = dim(0), dim(1), dim(2)
HEAD = Tensor("h", (3, 3), FLOAT64)


def test_a_sum_over_the_head_is_one_read() -> None:
    b = given("b", 3, 2)
    body = mul(load(HEAD, [k, j]), load(b, [j, i]))
    rows = defined("J", (3, 2), equation((3, 2, 3), body, "add", 2))
    system, became = with_one_hot(System((HEAD, b), (rows,)), HEAD)
    (root,) = system.outputs
    assert became[rows] is root is b
    squares = defined("J", (3, 2), equation((3, 2, 3), mul(body, body), "add", 2))
    (root,) = with_one_hot(System((HEAD, b), (squares,)), HEAD)[0].outputs
    assert [e.rank for e in root.equations] == [2]
    assert values([b], [root], [[[1, 2], [3, 4], [5, 6]]])[0].tolist() == [
        [1, 4],
        [9, 16],
        [25, 36],
    ]


def test_a_stored_product_is_zero_beside_the_place() -> None:
    x = given("x", 3)
    rows = defined("J", (3, 3), equation((3, 3), mul(load(HEAD, [k, i]), load(x, [i]))))
    (root,) = with_one_hot(System((HEAD, x), (rows,)), HEAD)[0].outputs
    found = values([x], [root], [[2, 3, 5]])[0].tolist()
    assert found == [[2, 0, 0], [0, 3, 0], [0, 0, 5]]
    assert sum(e.domain.count_val().to_python() for e in root.equations) == 3


def test_a_head_of_two_dims_has_two_for_the_row() -> None:
    head = Tensor("h", (2, 2, 2, 2), FLOAT64)
    x = given("x", 2, 2)
    dims = [dim(d) for d in range(4)]
    body = mul(load(head, dims), load(x, dims[2:]))
    rows = defined("J", (2, 2, 2, 2), equation((2, 2, 2, 2), body))
    (root,) = with_one_hot(System((head, x), (rows,)), head)[0].outputs
    found = values([x], [root], [[[1, 2], [3, 4]]])[0]
    assert [found[a, b, a, b] for a in range(2) for b in range(2)] == [1, 2, 3, 4]
    assert found.sum() == 10


def test_what_does_not_read_the_head_stays_itself() -> None:
    x = given("x", 3)
    other = defined("y", (3,), equation((3,), apply("exp", load(x, [k]))))
    rows = defined("J", (3, 3), equation((3, 3), mul(load(HEAD, [k, i]), load(other, [i]))))
    system, became = with_one_hot(System((HEAD, x), (other, rows)), HEAD)
    assert system.outputs[0] is other
    assert became[other] is other


def test_a_maximum_keeps_its_points() -> None:
    rows = defined("m", (3,), equation((3, 3), load(HEAD, [k, i]), "max", 1), fill=-1.0)
    (root,) = with_one_hot(System((HEAD,), (rows,)), HEAD)[0].outputs
    assert values([], [root], [])[0].tolist() == [1, 1, 1]


def test_a_head_that_is_a_result_itself_is_the_identity() -> None:
    (root,) = with_one_hot(System((HEAD,), (HEAD,)), HEAD)[0].outputs
    assert values([], [root], [])[0].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
