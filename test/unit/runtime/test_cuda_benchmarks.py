"""The scripts of benchmarks/cuda run, on an emulated device: right comes before fast."""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import torch

import ted
from ted.runtime.cuda import loading

SCRIPTS = Path(__file__).resolve().parents[3] / "benchmarks" / "cuda"


CASES = ("chain", "chain_vjp", "chain_and_vjp", "softmax", "softmax_vjp", "layer_norm",
         "layer_norm_vjp", "matmul_f32", "matmul_f16", "matmul_bf16", "conv_f32", "conv_dx_f32",
         "conv_dw_f32", "conv_bf16", "conv_dx_bf16", "conv_dw_bf16")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_torchs_way_to_compute_a_case_is_the_same_case(monkeypatch, name: str) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import measure
    import prepare

    case = next(case for case in prepare.CASES if case.name == name)
    inputs, outputs = case.program(case.small)
    random = np.random.default_rng(0)
    arrays = [prepare.numbers(tensor, random) for tensor in inputs]
    tensors = [as_torch(array) for array in arrays]
    call, as_ours = measure.baseline(torch, name, tensors)
    ours = [as_torch(a) for a in ted.compile(inputs, outputs)(*arrays)]
    theirs = as_ours(call())
    assert measure.differences(torch, ours, theirs, case.dtype) == []
    if len(ours) == 1:
        assert measure.differences(torch, [2 * ours[0]], theirs, case.dtype) != []


def as_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array)


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


@pytest.mark.slow
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
    path = tmp_path / "softmax-small.ted"
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in ("program.json", "kernels.ptx")}
        samples = archive.read("samples.npz")
    parts["kernels.ptx"] = re.sub(r"\badd((?:\.rn)?\.f32)", r"sub\1", parts["kernels.ptx"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**parts, "samples.npz": samples}.items():
            archive.writestr(name, data)
    with ted.testing.emulated_gpu("sm_80"):
        assert measure.measure(tmp_path, loading, ["softmax"], 1, 4096) == 1
    assert "softmax: WRONG: sample 0" in capsys.readouterr().out


def test_compiling_is_timed(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.setenv("TED_CACHE_DIR", "")
    import compile_time

    found = compile_time.once("sum", 1)
    columns = compile_time.line("sum", found).split()
    assert columns[:2] == ["sum", "2"]
    assert min(*found["again"], found["first"]) > 0
    assert found["spills"] == 0


def test_the_interpreter_is_timed(monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import interpreter_time

    monkeypatch.setattr("sys.argv", ["interpreter_time", "--runs", "1", "--size", "48"])
    interpreter_time.main()
    assert capsys.readouterr().out.count(" lockstep ") == 3
