"""Tables of strategies: the first row with a plan, what is asked for, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from ted.errors import ScheduleError
from ted.mlir import arith, ir, make_context
from ted.mlir.strategies import (
    Declined,
    Strategy,
    annotate,
    asked_for,
    asked_of,
    check_is_kept,
    choose,
    forget,
    parameters,
)


@dataclass(frozen=True)
class Site:
    """An operation alone."""

    op: ir.Operation


@dataclass(frozen=True)
class Plan:
    """Parameters of three types, and something that is none."""

    threads: int = 32
    is_wide: bool = True
    template: str = "simt"
    shape: tuple[int, ...] = (2, 3)


def build(site: Site, plan: Plan) -> None:
    """Nothing."""


NEVER = Strategy("never", lambda _: Declined("it never fits"), build)
UNLIKED = Strategy("unliked", lambda _: Declined("another is better", Plan(1)), build)
FITS = Strategy("fits", lambda _: Plan(), build,
                check=lambda _, p: None if p.threads > 0 else "threads are positive")  # fmt: skip
TABLE = (NEVER, UNLIKED, FITS)


@pytest.fixture
def site() -> Iterator[Site]:
    with make_context(), ir.Location.name("y", ir.Location.file("model.py", 41, 0)):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            op = arith.ConstantOp(ir.IndexType.get(), 7).operation
        yield Site(op)


def ask(site: Site, text: str) -> None:
    site.op.attributes["ted.strategy"] = ir.Attribute.parse(text)


def test_the_first_row_with_a_plan_is_taken(site: Site) -> None:
    choice = choose(TABLE, site)
    assert (choice.row, choice.plan) == (FITS, Plan())
    assert choice.declined == (("never", "it never fits"), ("unliked", "another is better"))


def test_a_choice_is_written_read_and_taken_away(site: Site) -> None:
    annotate(site.op, choose(TABLE, site))
    asked = {"name": "fits", "threads": 32, "is_wide": True, "template": "simt"}
    found = asked_for(site.op)
    assert found == asked
    assert found is not None
    assert type(found["is_wide"]) is bool
    assert parameters(Plan()) == {k: v for k, v in asked.items() if k != "name"}
    forget(site.op)
    assert asked_for(site.op) is None
    forget(site.op)


def test_what_is_asked_for_is_obeyed(site: Site) -> None:
    ask(site, '{name = "fits", threads = 64, is_wide = false}')
    assert choose(TABLE, site).plan == Plan(64, is_wide=False)
    ask(site, '{name = "unliked"}')
    assert choose(TABLE, site).plan == Plan(1)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{name = "never"}', "never fits its operation, got: it never fits"),
        ('{name = "tiles"}', "name is one of never, unliked, fits, got tiles"),
        ('{name = "fits", threads = 0}', "fits: threads are positive, got threads = 0"),
        ('{name = "fits", threads = true}', "takes threads: int, .* got threads = True"),
        ('{name = "fits", shape = 3}', "takes threads: int, .* got shape = 3"),
        ("{threads = 3}", r'is \{name = "..."\} with numbers, flags or words, got \{threads = 3'),
        ("3", "with numbers, flags or words, got 3"),
    ],
)
def test_what_cannot_be_names_the_tensor_the_rule_and_the_place(
    site: Site, text: str, rule: str
) -> None:
    ask(site, text)
    with pytest.raises(ScheduleError, match=rule) as found:
        choose(TABLE, site)
    assert "(model.py:41" in str(found.value)


def test_what_a_row_plans_by_itself_may_be_asked_for_and_is_not_checked(site: Site) -> None:
    never_changed = Strategy("fits", lambda _: Plan(), build, check=lambda *_: "nothing is changed")
    annotate(site.op, choose((never_changed,), site))
    assert choose((never_changed,), site).plan == Plan()
    ask(site, '{name = "fits", threads = 64}')
    with pytest.raises(ScheduleError, match="fits: nothing is changed, got threads = 64"):
        choose((never_changed,), site)


def test_what_a_pass_would_lose_is_refused(site: Site) -> None:
    ask(site, '{name = "fits"}')
    parsed = ir.Module.parse(site.op.get_asm(enable_debug_info=True))
    asked = asked_of(parsed)
    check_is_kept(asked, parsed, "ted-fuse")
    forget(parsed.body.operations[0].operation)
    rule = r'y: .* got ted.strategy = \{name = "fits"\}, which ted-fuse would lose'
    with pytest.raises(ScheduleError, match=rule):
        check_is_kept(asked, parsed, "ted-fuse")


def test_a_table_in_which_nothing_fits_says_why(site: Site) -> None:
    with pytest.raises(ScheduleError, match=r"y: .* arith.constant, got never: it never fits;"):
        choose((NEVER,), site)
