"""What leaves less to be kept comes as early as it can, what is computed again as late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ted.ir.dtypes import (
    FLOAT64,
)  # fmt: skip
from ted.ir.equations import (
    System,
    Tensor,
)  # fmt: skip
from ted.ir.scalar import (
    add,
    apply,
    const,
    dim,
    load,
    mul,
)  # fmt: skip
from ted.ir.tensor_order import tensor_order
from unit.autodiff.systems import defined
from unit.transforms.recurrences import cumsum, equation, given

i, j, r = dim(0), dim(1), dim(2)


X, A, B = given("x", 4), given("a", 4, 3), given("b", 3, 5)


x = load(X, [i])


def test_results_that_nothing_reads_come_as_early_as_they_can() -> None:
    a = defined("a", (4,), equation((4,), apply("exp", x)))
    b = defined("b", (4,), equation((4,), apply("exp", load(a, [i]))))
    late = defined("late", (4,), equation((4,), apply("sin", load(a, [i]))))
    both = defined("both", (4,), equation((4,), add(load(a, [i]), load(b, [i]))))
    number = defined("number", (4,), equation((4,), const(1.0, FLOAT64)))
    order = tensor_order(System((X,), (b, both, late, number)))
    assert order == [[X], [a], [late], [b], [both], [number]]
    c = cumsum(4)
    assert tensor_order(System(c.inputs, (c.output,))) == [[c.inputs[0]], [c.output]]


def test_products_smaller_than_what_nobody_reads_behind_them_come_at_once() -> None:
    def table(name: str, source: Tensor, function: str = "exp") -> Tensor:
        return defined(name, (4, 3), equation((4, 3), apply(function, load(source, [i, j]))))

    def product(name: str, left: Tensor, right: Tensor) -> Tensor:
        body = mul(load(left, [r, i]), load(right, [r, j]))
        return defined(name, (3, 3), equation((3, 3, 4), body, "add", parallel=2))

    def order(reader: Callable[[str, Tensor, Tensor], Tensor], last: Tensor) -> list[str]:
        first, second = reader("first", a, b), reader("second", b, c)
        here = [i, j][: len(first.shape)]
        both = add(load(first, here), load(second, here))
        step = defined("step", first.shape, equation(first.shape, both))
        return [g[0].name for g in tensor_order(System((A,), (last, step)))]

    a, b = (a := table("a1", A)), table("b1", a)
    c = table("c1", b)
    last = table("last", table("d1", c), "sin")
    early = ["a", "a1", "b1", "first", "c1", "second", "step", "d1", "last"]
    assert order(product, last) == early

    def sums(name: str, left: Tensor, right: Tensor) -> Tensor:
        body = add(load(left, [r, i]), load(right, [r, i]))
        return defined(name, (3,), equation((3, 4), body, "add", parallel=1))

    # Which might be totals of a loop that makes what they read.
    assert order(sums, last)[-4:] == ["last", "first", "second", "step"]


@pytest.mark.parametrize(
    ("rows", "again", "is_result", "is_early"),
    [
        (False, False, False, True),  # 72 bytes for 96
        (True, False, False, False),  # 128
        (True, False, True, True),  # which are the caller's
        (False, True, False, False),
    ],
)
def test_a_product_is_early_where_it_takes_less_than_it_frees(
    rows: bool, again: bool, is_result: bool, is_early: bool
) -> None:
    def table(name: str, *sources: Tensor) -> Tensor:
        body = load(sources[0], [i, j])
        for other in sources[1:]:
            body = add(body, load(other, [i, j]))
        return defined(name, (4, 3), equation((4, 3), apply("exp", body)))

    a, b = table("a1", A), table("b1", A)
    c = table("c1", a, b)
    at, extents = ([i, r], (4, 4, 3)) if rows else ([r, i], (3, 3, 4))
    other = [j, r] if rows else [r, j]
    body = mul(load(a, at), load(A, other))
    made = replace(equation(extents, body, "add", parallel=2), recomputed=int(again))
    product = defined("product", extents[:2], made)
    step = defined("step", product.shape, equation(product.shape, load(product, [i, j])))
    last = table("last", table("d1", c))
    outputs = (last, step, product) if is_result else (last, step)
    order = [g[0].name for g in tensor_order(System((A,), outputs))]
    # Of `a1`, which `c1` reads, too; the input is there anyway.
    assert order[:4] == ["a", "a1", "b1", "c1"]
    assert (order[4] == "product") == is_early


def test_what_is_computed_again_comes_right_before_its_first_reader() -> None:
    def made(name: str, *reads: Tensor, again: bool = False) -> Tensor:
        body = load(reads[0], [i])
        for other in reads[1:]:
            body = add(body, load(other, [i]))
        return defined(name, (4,), replace(equation((4,), apply("exp", body)), recomputed=again))

    copy = made("copy", X, again=True)
    of_copy = made("of copy", copy, again=True)
    b = made("b", made("a", X))
    c = made("c", of_copy, b)
    unread = made("unread", X, again=True)
    order = [g[0].name for g in tensor_order(System((X,), (made("d", copy, c), unread)))]
    assert order == ["x", "a", "b", "copy", "of copy", "c", "d", "unread"]
