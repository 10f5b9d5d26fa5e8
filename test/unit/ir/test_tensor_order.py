"""Results that nothing reads come as early as they can."""

from __future__ import annotations

from dataclasses import replace

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
    assert order == [[number], [X], [a], [late], [b], [both]]
    c = cumsum(4)
    assert tensor_order(System(c.inputs, (c.output,))) == [[c.inputs[0]], [c.output]]


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
