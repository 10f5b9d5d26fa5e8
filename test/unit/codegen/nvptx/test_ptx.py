"""LLVM text -> PTX: which instructions are chosen, what is refused, what is remembered."""

from __future__ import annotations

import importlib
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from ted.codegen.llvm.child import child
from ted.codegen.nvptx import compile_to_ptx, toolkit
from ted.codegen.nvptx.ptx import EXACT
from ted.codegen.nvptx.shared_memory import static_shared_bytes
from ted.errors import CompileError
from ted.machine import GPUS


def kernel(body: str, declarations: str = "", name: str = "k") -> str:
    """A kernel that reads %x, computes %y by `body` and writes it."""
    return f"""{declarations}
define ptx_kernel void @{name}(ptr %p) {{
  %x = load float, ptr %p
  {body}
  store float %y, ptr %p
  ret void
}}"""


def call(function: str) -> str:
    return kernel(f"%y = call float @{function}(float %x)", f"declare float @{function}(float)")


@pytest.mark.parametrize("chip", GPUS)
def test_every_target_compiles_and_its_ptx_is_no_newer_than_9_0(chip: str) -> None:
    ptx = compile_to_ptx(kernel("%y = fadd float %x, 1.0"), chip)
    assert f".target {chip}\n" in ptx
    assert float(re.findall(r"\.version (\S+)", ptx)[0]) <= 9.0


def test_an_unknown_chip_is_refused_with_the_known_ones() -> None:
    with pytest.raises(CompileError, match=r"must be one of .*sm_80.*, got 'sm_13'"):
        compile_to_ptx(kernel("%y = fadd float %x, 1.0"), "sm_13")


def test_text_without_a_kernel_is_refused() -> None:
    with pytest.raises(CompileError, match="must define a kernel, got no function 'ptx_kernel'"):
        compile_to_ptx("define void @f() { ret void }")


def test_functions_that_a_kernel_calls_become_part_of_it() -> None:
    helper = "define float @helper(float %x) { %y = fmul float %x, %x ret float %y }"
    ptx = compile_to_ptx(kernel("%y = call float @helper(float %x)", helper))
    assert "helper" not in ptx
    assert "mul.rn.f32" in ptx


def test_arithmetic_is_exact_unless_asked() -> None:
    text = kernel(
        "%s = call float @llvm.sqrt.f32(float %x)  %y = fdiv float %x, %s",
        "declare float @llvm.sqrt.f32(float)",
    )
    exact, fast = compile_to_ptx(text), compile_to_ptx(text, fast_math=True)
    assert "sqrt.rn.f32" in exact
    assert "div.rn.f32" in exact
    assert "sqrt.approx.f32" in fast
    assert "div.full.f32" in fast


def test_the_library_s_square_root_is_exact_unless_asked() -> None:
    assert "sqrt.rn.f32" in compile_to_ptx(call("__nv_sqrtf"))
    assert "sqrt.approx.f32" in compile_to_ptx(call("__nv_sqrtf"), fast_math=True)


@pytest.mark.parametrize("contract", [False, True])
def test_a_product_and_a_sum_contract_where_the_text_says_so(contract: bool) -> None:
    flag = "contract " * contract
    ptx = compile_to_ptx(kernel(f"%m = fmul {flag}float %x, %x  %y = fadd {flag}float %m, 1.0"))
    assert ("fma.rn.f32" in ptx) is contract


def test_library_functions_are_inlined_and_the_rest_of_the_library_is_gone() -> None:
    ptx = compile_to_ptx(call("__nv_expf"))
    assert "ex2.approx" in ptx
    assert "__nv_" not in ptx
    assert ".func" not in ptx
    assert len(ptx) < 3000


@pytest.mark.parametrize("name", ["__nv_nonsense", "llvm.nvvm.nonsense"])
def test_a_function_that_nothing_defines_is_named(name: str) -> None:
    with pytest.raises(CompileError, match=rf"kernel 'k' for sm_80: .* got calls of {name};"):
        compile_to_ptx(call(name))


def test_functions_of_the_device_s_own_runtime_may_stay_undefined() -> None:
    text = kernel(
        "%i = call i32 @vprintf(ptr %p, ptr null)  %y = sitofp i32 %i to float",
        "declare i32 @vprintf(ptr, ptr)",
    )
    assert "vprintf" in compile_to_ptx(text)


def test_an_abort_names_the_kernel_and_the_process_survives() -> None:
    with pytest.raises(CompileError, match=r"kernel 'k' for sm_80: LLVM .* Cannot select: .*ftanh"):
        compile_to_ptx(call("llvm.tanh.f32"))
    assert "add.rn.f32" in compile_to_ptx(kernel("%y = fadd float %x, 1.0"))


def test_a_module_that_llvm_refuses_is_kept_to_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(CompileError, match="the module is in") as caught:
        compile_to_ptx(kernel("%y = fooo float %x, 1.0"))
    path = Path(caught.value.message.rpartition(" ")[2])
    assert path.parent.parent == tmp_path
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "fooo float %x, 0x3FF0000000000000" in path.read_text()
    monkeypatch.setattr(tempfile, "tempdir", str(path / "nowhere"))
    with pytest.raises(CompileError, match="expected instruction opcode"):
        compile_to_ptx(kernel("%y = fooo float %x, 1.0"))


@pytest.fixture
def hung() -> None:
    """The code generator takes requests, but does nothing."""
    compile_to_ptx(kernel("%y = fadd float %x, 7.0"))
    pid = child(EXACT).pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)


@pytest.mark.usefixtures("hung")
def test_a_kernel_that_takes_too_long_is_named() -> None:
    with pytest.raises(CompileError, match=r"kernel 'slow' for sm_80: .* no result within 0\.1 s"):
        compile_to_ptx(kernel("%y = fadd float %x, 1.0", name="slow"), timeout=0.1)


@pytest.mark.usefixtures("hung")
def test_a_long_list_of_kernels_is_cut_short_in_a_message() -> None:
    text = "\n".join(kernel("%y = fadd float %x, 1.0", name=f"k{n}") for n in range(9))
    with pytest.raises(CompileError, match=r"kernel 'k0', 'k1', 'k2', 'k3' and 5 more for sm_80"):
        compile_to_ptx(text, timeout=0.1)


def test_llvm_is_not_loaded_into_this_process() -> None:
    program = f"""
import sys
from ted.codegen.nvptx import compile_to_ptx
compile_to_ptx({kernel("%y = fadd float %x, 1.0")!r})
assert {{"llvmlite", "torch_mlir", "numpy"}}.isdisjoint(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def shared(*kernels: tuple[str, str]) -> str:
    """Kernels that use shared arrays @a (400 bytes), @b (800) and @c (48 KiB)."""
    text = """declare void @llvm.nvvm.barrier0()
@a = internal addrspace(3) global [100 x float] undef, align 16
@b = internal addrspace(3) global [200 x float] undef, align 16
@c = internal addrspace(3) global [12288 x float] undef, align 16
"""
    for name, arrays in kernels:
        stores = "\n".join(f"store volatile float 1.0, ptr addrspace(3) @{a}" for a in arrays)
        text += f"define ptx_kernel void @{name}() {{ {stores} ret void }}\n"
    return text


def test_static_shared_memory_is_counted_for_each_kernel() -> None:
    ptx = compile_to_ptx(shared(("one", "a"), ("both", "ab"), ("none", ""), ("most", "c")))
    assert static_shared_bytes(ptx) == {"one": 400, "both": 1200, "none": 0, "most": 48 * 1024}


def test_more_static_shared_memory_than_there_is_is_refused() -> None:
    with pytest.raises(CompileError, match=r"'k' .* at most 49152 .*, got 49552; use dynamic"):
        compile_to_ptx(shared(("k", "ac")))


def no_child(options: object = ()) -> None:
    raise AssertionError("compiled again")


def test_an_equal_request_is_answered_from_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    text = kernel("%y = fadd float %x, 1.0")
    ptx = compile_to_ptx(text)
    monkeypatch.setattr("ted.codegen.llvm.request.child", no_child)
    assert compile_to_ptx(text) == ptx
    for other in ({"chip": "sm_90"}, {"fast_math": True}):
        with pytest.raises(AssertionError, match="compiled again"):
            compile_to_ptx(text, **other)
    monkeypatch.setattr("ted.codegen.llvm.request.version", lambda: "another")
    with pytest.raises(AssertionError, match="compiled again"):
        compile_to_ptx(text)


def test_another_library_is_another_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "libdevice.bc"
    library.write_bytes(toolkit.libdevice().read_bytes())
    compile_to_ptx(call("__nv_expf"))
    monkeypatch.setenv("TED_LIBDEVICE", str(library))
    monkeypatch.setattr("ted.codegen.llvm.request.child", no_child)
    compile_to_ptx(call("__nv_expf"))  # the same content elsewhere
    library.write_bytes(library.read_bytes() + b"\0\0\0\0")
    with pytest.raises(AssertionError, match="compiled again"):
        compile_to_ptx(call("__nv_expf"))


def test_a_damaged_entry_is_compiled_again(cache_folder: Path) -> None:
    text = kernel("%y = fadd float %x, 1.0")
    ptx = compile_to_ptx(text)
    (entry,) = (path for path in cache_folder.rglob("*") if path.is_file())
    entry.write_bytes(entry.read_bytes()[:-5])
    assert compile_to_ptx(text) == ptx


def test_failures_are_not_remembered(cache_folder: Path) -> None:
    with pytest.raises(CompileError):
        compile_to_ptx(call("llvm.tanh.f32"))
    assert not [path for path in cache_folder.rglob("*") if path.is_file()]


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wheel of NVIDIA's and no toolkit."""
    for variable in ("TED_LIBDEVICE", "TED_PTXAS", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(toolkit, "TOOLKITS", ())
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)  # an import of it fails


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_library_says_how_to_get_it() -> None:
    with pytest.raises(CompileError, match=r"need libdevice.*pip install nvidia-nvvm, or name"):
        compile_to_ptx(call("__nv_expf"))


def test_a_kernel_without_mathematical_functions_needs_no_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TED_LIBDEVICE", "nowhere.bc")
    assert "add.rn.f32" in compile_to_ptx(kernel("%y = fadd float %x, 1.0"))


def test_a_variable_that_names_no_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TED_LIBDEVICE", "nowhere.bc")
    with pytest.raises(CompileError, match=r"TED_LIBDEVICE must name a file, got 'nowhere\.bc'"):
        compile_to_ptx(call("__nv_expf"))


@pytest.mark.usefixtures("nothing_installed")
def test_the_library_is_found_in_a_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / toolkit.LIBDEVICE
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert toolkit.libdevice() == path


@pytest.mark.usefixtures("nothing_installed")
def test_the_library_is_found_in_a_wheel_the_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / release / toolkit.LIBDEVICE for release in ("cu12", "cu13")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"")
    wheels = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: wheels)
    assert toolkit.libdevice() == paths[1]


@pytest.mark.usefixtures("nothing_installed")
def test_the_library_is_found_by_pathfinder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pathfinder = SimpleNamespace(find_bitcode_lib=lambda name: str(tmp_path / f"{name}.bc"))
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", pathfinder)
    assert toolkit.libdevice() == tmp_path / "device.bc"
