"""Operation budgets for isl: some calls never return without one, and no signal interrupts them.

isl counts its own basic operations and raises when a limit is passed. The count is a property of
the input alone, so a step that is skipped for its price is skipped on every machine and every run.
`bounded` is for optional steps (None: do without); `total_budget` is for a whole analysis.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from ted.domain import isl
from ted.errors import DomainError
from ted.records import dataclass

_log = logging.getLogger(__name__)

STEP_OPERATIONS = 20_000
TOTAL_OPERATIONS = 200_000

_Result = TypeVar("_Result")


class BudgetExhausted(DomainError):
    """An analysis over integer sets was given up because it needed too many operations."""


@dataclass
class _Budget:
    remaining: int


_current: ContextVar[_Budget | None] = ContextVar("ted_isl_budget", default=None)


def _is_quota(error: isl.Error) -> bool:
    return "maximal number of operations" in str(error)


def _check_not_exhausted() -> None:
    """Every isl object costs an operation, so making one fails when the count has run out.

    A few calls (printing, callbacks) do not report that themselves but give an incomplete result.
    """
    isl.Val.zero(isl.DEFAULT_CONTEXT)


def _apply(budget: _Budget | None) -> None:
    """Start counting anew against `budget`; to isl zero means no limit, so one means none left."""
    context = isl.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(0 if budget is None else max(budget.remaining, 1))


@contextmanager
def _counting(operations: int) -> Generator[_Budget]:
    """Count isl operations against a fresh budget, inside what the enclosing one has left."""
    outer = _current.get()
    inner = _Budget(operations if outer is None else min(operations, outer.remaining))
    token = _current.set(inner)
    _apply(inner)
    try:
        yield inner
    finally:
        _current.reset(token)
        _apply(outer)


def bounded(
    call: Callable[..., _Result], *args: object, operations: int = STEP_OPERATIONS
) -> _Result | None:
    """`call(*args)`, or None when it needs more than `operations`.

    What an exhausted call has cost is taken from the enclosing budget; a call that finished in time
    is free, which bounds the total because every analysis makes a bounded number of calls.
    """
    outer = _current.get()
    with _counting(operations) as inner:
        try:
            result = call(*args)
            _check_not_exhausted()
            return result
        except isl.Error as error:
            if not _is_quota(error):
                raise
            _log.debug("gave up an isl step after %d operations: %r", inner.remaining, call)
            if outer is not None:
                outer.remaining = max(outer.remaining - inner.remaining, 0)
            return None


@contextmanager
def total_budget(operations: int = TOTAL_OPERATIONS) -> Generator[None]:
    """Run the block under one budget.

    Raises: BudgetExhausted when the budget is spent.
    """
    with _counting(operations):
        try:
            yield
            _check_not_exhausted()
        except isl.Error as error:
            if not _is_quota(error):
                raise
            raise BudgetExhausted(
                f"integer set analysis: at most {operations} operations, needed more"
            ) from None


@contextmanager
def own_budget() -> Generator[None]:
    """Run the block as if no budget enclosed it: for results that are cached for all callers."""
    outer, token = _current.get(), _current.set(None)
    _apply(None)
    try:
        yield
    finally:
        _current.reset(token)
        _apply(outer)


def required(call: Callable[..., _Result], *args: object) -> _Result:
    """`call(*args)` under a total budget, for a question that has no second-best answer.

    Raises: BudgetExhausted when the budget is spent.
    """
    with total_budget():
        return call(*args)
