"""The assembler: what kernels take, its refusals, its cache, its absence."""

from __future__ import annotations

import importlib.util
import shutil
import stat
from pathlib import Path

import pytest

from ted.codegen.nvptx import compile_to_ptx, ptxas, toolkit
from ted.codegen.nvptx.ptxas import Resources, assemble
from ted.errors import CompileError
from unit.codegen.nvptx.gpu_kernels import SCALE, llvm_text

SPILLING = """.version 8.0
.target sm_80
.address_size 64
.visible .entry small() { ret; }
.visible .entry shared(.param .u64 p) {
  .reg .b32 %r<2>;
  .shared .align 16 .b8 tile[128];
  mov.u32 %r1, %tid.x;
  st.shared.b32 [tile], %r1;
  ret;
}"""


@pytest.mark.parametrize("chip", ["sm_80", "sm_90", "sm_90a", "sm_100a"])
def test_a_kernel_is_assembled_without_spills(chip: str) -> None:
    assembled = assemble(compile_to_ptx(llvm_text(SCALE), chip), chip)
    assert assembled.cubin.startswith(b"\x7fELF")
    (resources,) = assembled.kernels.values()
    assert 0 < resources.registers <= 32
    assert (resources.spill_stores, resources.spill_loads, resources.stack) == (0, 0, 0)
    assert assembled.warnings == ()


def test_each_kernel_has_its_own_resources() -> None:
    kernels = assemble(SPILLING, "sm_80").kernels
    assert set(kernels) == {"small", "shared"}
    assert (kernels["small"].shared, kernels["shared"].shared) == (0, 128)


def test_a_report_with_spills_and_warnings_is_read() -> None:
    said = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    56 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 2048 bytes smem, 360 bytes cmem[0]
ptxas warning : something"""
    assert ptxas._resources(said) == {"k": Resources(255, 56, 40, 44, 2048)}
    assert ptxas._warnings(said) == ("ptxas warning : something",)


def test_what_the_assembler_rejects_is_reported_in_its_words() -> None:
    with pytest.raises(CompileError, match=r"for sm_80, got .*Not a name of any known instruction"):
        assemble(SPILLING.replace("ret;", "rex;"), "sm_80")


def test_ptx_of_another_chip_is_rejected() -> None:
    with pytest.raises(CompileError, match="ptxas must accept the PTX for sm_80"):
        assemble(SPILLING.replace("sm_80", "sm_90a"), "sm_80")


def test_an_equal_request_is_answered_from_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    first = assemble(SPILLING, "sm_80")

    def run(*arguments: object) -> None:
        raise AssertionError("assembled again")

    monkeypatch.setattr(ptxas, "_run", run)
    assert assemble(SPILLING, "sm_80") == first
    with pytest.raises(AssertionError, match="assembled again"):
        assemble(SPILLING, "sm_90")


def test_a_missing_assembler_says_how_to_get_it_or_do_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toolkit, "ptxas", lambda: None)
    with pytest.raises(CompileError, match=r"pip install nvidia-cuda-nvcc, or let the driver"):
        assemble(SPILLING, "sm_80")


def test_an_assembler_that_cannot_run_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ptxas"
    path.write_text("not a program")
    monkeypatch.setenv("TED_PTXAS", str(path))
    with pytest.raises(CompileError, match=r"ptxas must run, got .*Permission denied"):
        assemble(SPILLING, "sm_80")


def test_an_assembler_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ptxas"
    path.write_text("#!/bin/sh\nexec sleep 60\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("TED_PTXAS", str(path))
    monkeypatch.setattr(ptxas, "TIMEOUT", 0.1)
    with pytest.raises(CompileError, match=r"ptxas must run, got .*timed out after 0\.1 seconds"):
        assemble(SPILLING, "sm_80")


def test_the_wheel_s_assembler_goes_before_the_one_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TED_PTXAS", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))
    found = toolkit.ptxas()
    assert found is not None
    assert found.parts[-4:-2] == ("nvidia", "cu13")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert toolkit.ptxas() == tmp_path / "ptxas"
