"""Properties of equations and systems, and rewriting them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ted.ir.dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT8,
    INT32,
    INT64,
    DType,
)  # fmt: skip
from ted.ir.equations import (
    System,
    Tensor,
    components,
    identity,
    identity_dims,
    is_contraction,
    is_recurrence,
    operands,
    reads,
    reads_itself,
    recurrent_tensors,
    reorder_dims,
    replace_operands,
    rewrite_system,
    row_major,
    topological,
    whole,
    with_expressions,
)  # fmt: skip
from ted.ir.scalar import (
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    index,
    load,
    mul,
    select,
    sub,
)  # fmt: skip
from unit.autodiff.systems import defined
from unit.transforms.recurrences import cumsum, equation, given

i, j, r = dim(0), dim(1), dim(2)


X, A, B = given("x", 4), given("a", 4, 3), given("b", 3, 5)


x = load(X, [i])


PRODUCT = equation((4, 5, 3), mul(load(A, [i, r]), load(B, [r, j])), "add", 2)


@pytest.mark.parametrize(
    ("combiner", "dtype", "neutral"),
    [
        ("add", FLOAT64, 0), ("set", INT8, 0), ("mul", INT32, 1), ("argmax", FLOAT64, -1),
        ("argmin", INT8, -1), ("max", FLOAT64, -math.inf), ("min", FLOAT32, math.inf),
        ("max", BOOL, False), ("min", BOOL, True), ("max", INT8, -128), ("min", INT8, 127),
        ("max", INT64, -(2**63)), ("min", INT64, 2**63 - 1),
    ],
)  # fmt: skip
def test_neutral_elements(combiner: str, dtype: DType, neutral: float) -> None:
    assert identity(combiner, dtype) == neutral


def test_a_box_becomes_a_set_when_it_is_asked_for() -> None:
    box = replace(PRODUCT, domain=None)
    assert box.is_box
    other = with_expressions(box, (add(box.body, box.body), *box.write))
    assert "domain" not in {**vars(box), **vars(other)}
    assert (other.is_box, other.domain, box.domain) == (True, PRODUCT.domain, PRODUCT.domain)
    assert not replace(box, extents=(4, 5, 4)).is_box  # its domain is what it was


def test_forms_of_equations() -> None:
    assert PRODUCT.rank == 3
    assert list(PRODUCT.reduction_dims) == [2]
    assert PRODUCT.is_box
    assert not PRODUCT.is_scatter
    assert PRODUCT.is_identity_write
    assert PRODUCT.covers((4, 5))
    assert not PRODUCT.covers((4, 6))
    part = equation((4,), x, where=compare("lt", i, index(3)))
    assert (part.is_box, part.covers((4,))) == (False, False)
    shifted = equation((3,), x, write=(add(i, index(1)),))
    assert not shifted.is_identity_write
    assert not shifted.covers((3,))
    assert not shifted.is_scatter
    assert replace(shifted, parallel=0).is_scatter
    n = Tensor("n", (4,), INT64)
    assert equation((4,), x, write=(cast(load(n, [i]), INDEX),)).is_scatter
    assert whole((2, 3), x, None, "add").write == identity_dims(2) == (i, j)


def test_contractions_reuse_both_factors() -> None:
    assert is_contraction(PRODUCT)
    assert not is_contraction(replace(PRODUCT, combiner="max"))
    assert not is_contraction(replace(PRODUCT, parallel=3))
    assert not is_contraction(equation((4, 3), mul(load(A, [i, j]), load(X, [i])), "add", 1))
    assert not is_contraction(equation((4, 4), mul(x, x), "add", 1))
    assert not is_contraction(replace(PRODUCT, body=add(*PRODUCT.body.args)))


def test_the_number_of_a_point_is_row_major() -> None:
    three = equation((2, 3, 5), load(A, [i, j]), "max", 1)
    assert row_major(three) is add(mul(j, index(5)), r)
    assert row_major(equation((4,), x)) is index(0)


def test_operands_and_order() -> None:
    s = defined("s", (4,), equation((4,), add(x, load(A, [i, index(0)]))))
    n = Tensor("n", (4,), INT64)
    y = defined("y", (4,), equation((4,), mul(load(s, [i]), x)),
                equation((4,), x, "add", 0, write=(cast(load(n, [i]), INDEX),)))  # fmt: skip
    assert operands(s) == (X, A)
    assert operands(y) == (s, X, n)
    assert [r.attr for r in reads(y.equations[1])] == [X, n]
    assert topological([y]) == [X, A, s, n, y]
    assert topological([y], stop=[s]) == [s, X, n, y]
    assert System((X,), (y,)).consumers()[X] == [s, y]
    assert [is_recurrence(g) for g in components([y])] == [False] * 5


def test_recurrences_are_found() -> None:
    c = cumsum(4)
    y = defined("y", (4,), equation((4,), load(c.output, [i])))
    assert recurrent_tensors([y]) == {c.output}
    assert reads_itself(c.output)
    assert not reads_itself(y)
    assert not reads_itself(replace(y, time=0))


def test_rewriting_keeps_what_does_not_change() -> None:
    s = defined("s", (4,), equation((4,), apply("exp", x)))
    t = defined("t", (4,), equation((4,), apply("sin", x)))
    y = defined("y", (4,), equation((4,), load(s, [i])))
    system, became = rewrite_system(System((X,), (y, t)), lambda tensor, e: e)
    assert system.outputs == (y, t)
    system, became = rewrite_system(System((X,), (y, t)), lambda q, e: t if q is s else e)
    assert became[s] is t
    assert system.outputs[1] is t
    assert operands(system.outputs[0]) == (t,)
    body = replace_operands(y.equations[0], {X: A})
    assert body is y.equations[0]


def test_rewriting_a_recurrence_closes_it_again() -> None:
    c = cumsum(4)
    (source,) = c.inputs

    def doubled(tensor: Tensor, equations: tuple) -> tuple:
        return tuple(replace(e, body=add(e.body, e.body)) for e in equations)

    system, became = rewrite_system(System(c.inputs, (c.output,)), doubled)
    (new,) = system.outputs
    assert new is became[c.output] is not c.output
    assert set(operands(new)) == {new, source}
    assert set(operands(c.output)) == {c.output, source}


def test_dims_in_another_order() -> None:
    lower = equation((4, 3), load(A, [i, j]), where=compare("le", j, i))
    turned = reorder_dims(replace(lower, dim_names=("p", "q")), [1, 0])
    assert turned.extents == (3, 4)
    assert turned.write == (j, i)
    assert turned.body is load(A, [j, i])
    assert turned.dim_names == ("q", "p")
    assert turned.domain.is_equal(
        equation((3, 4), x, where=compare("le", i, j)).domain
    )  # fmt: skip


def test_members_of_a_recurrence_that_stand_for_each_other_are_one() -> None:
    a, b = (Tensor(name, (4,), FLOAT64, 0, time=0) for name in "ab")
    past = select(compare("le", index(1), i), load(b, [sub(i, index(1))]), const(1.0, FLOAT64))
    a.equations = (equation((4,), past),)
    b.equations = (equation((4,), load(a, [i])),)
    system, became = rewrite_system(
        System((), (a, b)), lambda tensor, e: {a: b, b: a}.get(tensor, e)
    )
    assert became[a] in system.outputs
    system, became = rewrite_system(System((), (a, b)), lambda t, e: a if t is b else e)
    assert system.outputs[0] is system.outputs[1]
    assert operands(system.outputs[0]) == (system.outputs[0],)
