"""Pipelines as text, one after the other."""

from __future__ import annotations

from ted.ir.pipelines import Stage, Step, joined, pipeline_text, with_step

STAGES = (Stage("one", (Step("a", "first"), Step("b", "then"))), Stage("two", (Step("c", ""),)))


def test_pipelines_are_joined_and_an_empty_one_adds_nothing() -> None:
    assert joined("builtin.module(a)", "builtin.module(b,c)") == "builtin.module(a,b,c)"
    assert joined("builtin.module()", "builtin.module(a)") == "builtin.module(a)"
    assert joined("builtin.module()") == "builtin.module()"


def test_a_step_comes_right_behind_a_pass() -> None:
    grown = with_step(STAGES, "b", Step("d{n=1}", "last"))
    assert pipeline_text(grown) == "builtin.module(a,b,d{n=1},c)"
    assert pipeline_text(grown, until="one") == "builtin.module(a,b,d{n=1})"
