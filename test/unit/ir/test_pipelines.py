"""Pipelines as text, one after the other."""

from __future__ import annotations

from ted.cpu.pipeline import Held, cpu_stages
from ted.ir.pipelines import Stage, Step, joined, pipeline_text
from ted.machine import DEFAULT, named_cpu

STAGES = (Stage("one", (Step("a", "first"), Step("b", "then"))), Stage("two", (Step("c", ""),)))


def test_pipelines_are_joined_and_an_empty_one_adds_nothing() -> None:
    assert joined("builtin.module(a)", "builtin.module(b,c)") == "builtin.module(a,b,c)"
    assert joined("builtin.module()", "builtin.module(a)") == "builtin.module(a)"
    assert joined("builtin.module()") == "builtin.module()"


def test_the_text_ends_with_a_stage() -> None:
    assert pipeline_text(STAGES) == "builtin.module(a,b,c)"
    assert pipeline_text(STAGES, until="one") == "builtin.module(a,b)"


def test_what_limits_memory_knows_the_strips_that_are_held() -> None:
    steps = pipeline_text(cpu_stages(named_cpu(DEFAULT), Held(1000)), until="ted").split(",")
    assert steps.index("ted-limit-memory{bytes=1000}") == steps.index("ted-cut-strips") + 1
