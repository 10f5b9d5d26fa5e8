"""Operation budgets: what is too expensive is given up, and the outer budget is put back."""

import islpy as isl
import pytest

from ted.domain.budget import BudgetExhausted, bounded, own_budget, required, total_budget
from ted.errors import DomainError

POINTS = isl.Set("{ [a, b, c] : exists e : a = 3e + b and 0 <= a < 1000 and 0 <= b < c < 100 }")


def limit() -> int:
    return isl.DEFAULT_CONTEXT.get_max_operations()


def test_a_cheap_call_returns_its_result() -> None:
    assert bounded(POINTS.is_empty) is False
    assert limit() == 0


def test_an_expensive_call_gives_none_and_isl_works_afterwards() -> None:
    assert bounded(POINTS.complement, operations=10) is None
    assert limit() == 0
    assert not POINTS.complement().is_empty()


def test_a_spent_total_budget_raises() -> None:
    with pytest.raises(BudgetExhausted, match="at most 10 operations"), total_budget(10):
        POINTS.complement().make_disjoint()
    assert limit() == 0


def test_an_inner_budget_is_capped_by_the_outer_one_which_is_put_back() -> None:
    with total_budget(5000):
        assert bounded(limit, operations=9000) == 5000
        assert bounded(limit, operations=10) == 10
        assert limit() == 5000
    assert limit() == 0


def test_an_exhausted_step_is_charged_to_the_outer_budget() -> None:
    with total_budget(5000):
        assert bounded(POINTS.complement, operations=10) is None
        assert limit() == 4990


def test_cached_work_does_not_see_the_budget_of_its_caller() -> None:
    with total_budget(5000):
        with own_budget():
            assert limit() == 0
        assert limit() == 5000


def test_other_isl_errors_are_not_swallowed() -> None:
    half = isl.Aff("{ [a, b, c] -> [a/2] }")
    with pytest.raises(isl.Error, match="expecting integer"):
        bounded(POINTS.max_val, half)


def test_a_required_question_raises_a_domain_error() -> None:
    with pytest.raises(DomainError):
        required(lambda: [POINTS.complement().make_disjoint() for _ in range(2000)])
