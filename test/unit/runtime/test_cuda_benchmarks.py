"""The scripts of benchmarks/cuda run, on an emulated device: right comes before fast."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import ted
from ted.runtime.cuda import loading

SCRIPTS = Path(__file__).resolve().parents[3] / "benchmarks" / "cuda"


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import measure
    import prepare

    few = [replace(c, large=c.small) for c in prepare.CASES if c.name in ("softmax", "matmul_f32")]
    monkeypatch.setattr(prepare, "CASES", few)
    monkeypatch.setattr(measure, "torch_with_cuda", lambda: None)
    monkeypatch.setattr(measure, "CALLS", 1)
    monkeypatch.setattr(loading, "_CALLS_PER_TIMING", 1)
    return prepare, measure


def test_cases_are_prepared_checked_and_timed(scripts, tmp_path: Path, capsys) -> None:
    prepare, measure = scripts
    assert prepare.prepare(tmp_path, "cuda:sm_80", []) == []
    with ted.testing.emulated_gpu("sm_80"):
        assert measure.measure(tmp_path, loading, [], 1, 4096) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(text.startswith("softmax ") and "of copy" in text for text in lines)
    assert any(text.startswith("matmul_f32 ") and "TFLOP/s" in text for text in lines)
    results = json.loads((tmp_path / "results.json").read_text())
    assert [r["name"] for r in results] == ["softmax", "matmul_f32"]


def test_a_case_that_is_wrong_is_counted(scripts, tmp_path: Path, capsys) -> None:
    prepare, measure = scripts
    prepare.prepare(tmp_path, "cuda:sm_80", ["softmax"])
    other = tmp_path / "softmax-small" / "kernels.ptx"
    other.write_text(other.read_text().replace("add.rn.f32", "sub.rn.f32"))
    with ted.testing.emulated_gpu("sm_80"):
        assert measure.measure(tmp_path, loading, ["softmax"], 1, 4096) == 1
    assert "softmax: WRONG: sample 0" in capsys.readouterr().out
