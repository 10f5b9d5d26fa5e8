"""A share of the campaign of damaged inputs; all of it is one command, see `mutated_inputs.py`."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

from fuzz import mutated_inputs
from fuzz.isolation import End, isolated
from fuzz.mutated_inputs import check_damaged
from fuzz.mutations import damaged_bytes, damaged_text, tokens
from fuzz.test_campaign import clean
from ted.errors import CompileError
from ted.transforms.ted_simplify import TedSimplify

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
BLOCK = 50


@pytest.mark.fast(1)
@pytest.mark.parametrize("kind", mutated_inputs.KINDS)
def test_damaged_inputs_of_a_kind_end_in_messages(kind: str) -> None:
    found = [check_damaged(seed, kind) for seed in range(2)]
    assert all(outcome.kind == "ok" and outcome.counts[kind] for outcome in found), found


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, BLOCK))
def test_a_share_of_the_campaign_passes(first: int) -> None:
    clean("inputs", first, BLOCK)


def test_an_internal_error_is_found_and_its_files_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise IndexError("planted")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(TedSimplify, "rewrite", fail)
    monkeypatch.setattr(mutated_inputs, "damaged_text", lambda rng, text, others: text)
    monkeypatch.setattr(mutated_inputs, "_passes", lambda rng, piece: ["--ted-simplify"])
    found = [check_damaged(seed, "opt") for seed in range(12)]
    assert "opt: internal error" in {outcome.label for outcome in found}
    assert list(tmp_path.glob("ted-damaged-*/in.mlir"))


def test_an_entry_of_the_cache_that_lies_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("ted.codegen.disk_cache._digest", lambda name, content: b"0" * 32)
    assert any(check_damaged(seed, "cache").failed for seed in range(10))


def _print_and(end: object) -> int:
    print("internal error, got IndexError()" if end == "internal" else "a message")
    if end == "raise":
        raise CompileError("compile: must not get here, got here")
    if end == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if end == "sleep":
        time.sleep(100)
    while end == "spin":
        pass
    return end if isinstance(end, int) else 0


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("end", "fault"),
    [
        (0, ""),
        (1, ""),
        (7, "exit code 7"),
        ("raise", "traceback"),
        ("internal", "internal error"),
        ("die", "death (SIGKILL)"),
        ("sleep", "hang"),
        ("spin", "hang"),
    ],
)
def test_the_end_of_a_child_is_told(end: object, fault: str, tmp_path: Path) -> None:
    outcome = isolated(lambda: _print_and(end), tmp_path, seconds=0.5 if end == "sleep" else 1)
    assert outcome.fault == fault


def test_a_child_leaves_its_parent_alone(tmp_path: Path) -> None:
    outcome = isolated(lambda: print(os.getcwd()) or sys.exit(2), tmp_path)
    assert outcome == End(2, f"{tmp_path}\n")
    assert os.getcwd() != str(tmp_path)


def test_damages_follow_from_the_seed() -> None:
    text = 'f(%a: tensor<4xf32>) {combiner = "set"} // comment\n'
    assert "".join(tokens(text)) == text
    made = [damaged_text(random.Random(7), text, tokens(text)) for _ in range(2)]
    assert made[0] == made[1]
    different = {damaged_text(random.Random(k), text, ["else"]) for k in range(50)}
    assert len(different) > 20
    data = bytes(range(100))
    assert damaged_bytes(random.Random(7), data) == damaged_bytes(random.Random(7), data)
    assert len({damaged_bytes(random.Random(k), data) for k in range(50)}) > 40
