"""Campaigns: shares of every oracle's seeds; deaths and hangs are findings, and it goes on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import campaign
from fuzz.children import Child
from fuzz.oracles import answer
from fuzz.outcomes import Outcome
from fuzz.unwell import DYING, HANGING, busy, large, unwell
from ted.ir.equations import Equation
from ted.transforms.ted_scatter_to_gather import gather_forms

BLOCK, SHARE = 20, 30


def clean(oracle: str, first: int, count: int) -> campaign.Summary:
    summary = campaign.run(oracle, first, count)
    assert not summary.failed, str(summary)
    return summary


def test_a_few_systems_pass_at_both_orders() -> None:
    summary = clean("systems", 0, 1)
    assert summary.kinds["ok"] == 1
    assert summary.counts["points"] > 0
    assert summary.counts["pieces"] > 0


def test_a_few_programs_agree_with_torch() -> None:
    assert clean("torch", 0, 2).kinds["ok"] > 0


def test_a_few_programs_on_special_numbers_agree_with_torch() -> None:
    assert clean("special", 0, 2).kinds["ok"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(2, 92, SHARE))
def test_a_share_of_the_programs_on_special_numbers_agrees_with_torch(first: int) -> None:
    clean("special", first, SHARE)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4, 84, BLOCK))
def test_a_share_of_the_systems_passes(first: int) -> None:
    clean("systems", first, BLOCK)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4, 124, SHARE))
def test_a_share_of_the_programs_agrees_with_torch(first: int) -> None:
    clean("torch", first, SHARE)


def test_a_lost_piece_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(equation: Equation, *most: int) -> tuple[Equation, ...]:
        return gather_forms(equation, *most)[:1]

    monkeypatch.setattr("ted.transforms.ted_scatter_to_gather.gather_forms", losing)
    assert any(answer(("systems", seed, True)).kind == "wrong" for seed in range(6))


def test_a_death_and_a_hang_are_findings_and_the_campaign_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(campaign, "Child", lambda ask, _: Child(ask, seconds=0.3))
    summary = campaign.run("systems", 0, 7, ask=unwell)
    assert summary.failed == [1, HANGING, DYING]
    assert summary.kinds == {"ok": 4, "wrong": 1, "hung": 1, "died": 1}
    assert summary.counts["seeds"] == 4
    assert "7 programs, 3 failed[1, 3, 5]" in str(summary)


def test_computing_counts_and_not_the_clock() -> None:
    child = Child(busy, seconds=0.5)
    assert child.ask(None).kind == "hung"
    child.stop()


def test_memory_is_limited() -> None:
    child = Child(large, 60.0)
    assert child.ask(None).kind in ("error", "died")
    child.stop()


def test_a_failure_is_printed_as_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = type(
        "Failing", (), {"ask": lambda *_: Outcome("wrong", "value"), "stop": lambda _: 0}
    )
    monkeypatch.setattr(campaign, "Child", lambda *_: failing())
    summary = campaign.run("torch", 0, 1, tmp_path)
    assert summary.failed == [0]
    assert "FIRST=0 COUNT=1" in (tmp_path / "torch_0.py").read_text()
    assert "def program(" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--oracle", "--judge"])
def test_the_oracle_has_its_old_name_too(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(campaign, "run", lambda *given: asked.append(given) or campaign.Summary())
    monkeypatch.setattr(sys, "argv", ["campaign.py", option, "half", "--count", "3"])
    assert campaign.main() == 0
    assert asked == [("half", 0, 3, None)]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("variable", ["ORACLE", "JUDGE"])
def test_make_has_the_old_name_too_and_says_the_new_one(variable: str) -> None:
    command = ["make", "--dry-run", "--always-make", "fuzz", f"{variable}=half"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert "campaign.py --oracle half --first 0" in done.stdout
    assert ("JUDGE= is called ORACLE= now" in done.stderr) == (variable == "JUDGE")
