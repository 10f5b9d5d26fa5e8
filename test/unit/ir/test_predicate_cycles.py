"""Predicates of reads that need each other are weakened, the others stay."""

from ted.ir.dtypes import FLOAT64, INT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.ir.predicate_cycles import without, without_cycles
from ted.ir.scalar import INDEX, TRUE, cast, compare, const, dim, land, load, lor

TABLE = Tensor("table", (9,), INT64)
VALUES = Tensor("values", (9,), FLOAT64)


def at(position: Expr) -> Expr:
    return load(TABLE, [position])


def positive(value: Expr) -> Expr:
    return compare("lt", const(0, value.dtype), value)


A, B = at(dim(0)), at(dim(1))
INSIDE = compare("lt", dim(0), dim(1))


def test_what_asks_for_nothing_else_stays() -> None:
    given = {A: positive(B), B: INSIDE}
    assert without_cycles(given) == given


def test_a_predicate_does_not_mention_its_own_read() -> None:
    term = lor(positive(B), land(INSIDE, positive(A)))
    assert without_cycles({A: land(INSIDE, term), B: TRUE}) == {A: INSIDE, B: TRUE}


def test_of_two_that_ask_for_each_other_one_is_weakened() -> None:
    found = without_cycles({A: land(INSIDE, positive(B)), B: land(INSIDE, positive(A))})
    assert sorted(map(str, found.values())) == sorted(map(str, [INSIDE, land(INSIDE, positive(A))]))


def test_a_cycle_through_a_subscript_is_broken_at_a_predicate() -> None:
    inner = load(VALUES, [cast(A, INDEX)])
    found = without_cycles({A: positive(inner), inner: INSIDE})
    assert found == {A: TRUE, inner: INSIDE}


def test_parts_on_data_behind_one_that_is_left_out_go_with_it() -> None:
    term = land(land(positive(A), INSIDE), positive(B))
    assert without(term, A) is INSIDE
