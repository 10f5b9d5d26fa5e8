"""Whole programs: the steps of a manifest on the interpreter."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from ptx_emulator import Statistics, errors
from support.ptx_programs import run_manifest
from ted.codegen.manifest import (
    ERRORS,
    ArraySpec,
    Buffer,
    Check,
    Constant,
    Copy,
    Kernel,
    Launch,
    Linear,
    Loop,
    Manifest,
    Pointer,
    Scalar,
)
from ted.errors import CompileError, ExecutionError

PTX = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 axpy_a, .param .u64 axpy_x, .param .u64 axpy_y, .param .f32 axpy_s,
                     .param .u64 axpy_errors)
{
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [axpy_a];
  ld.param.u64 %rd2, [axpy_x];
  ld.param.u64 %rd3, [axpy_y];
  ld.param.f32 %f1, [axpy_s];
  ld.param.u64 %rd7, [axpy_errors];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 4;
  add.u64 %rd1, %rd1, %rd4;
  add.u64 %rd2, %rd2, %rd4;
  add.u64 %rd3, %rd3, %rd4;
  ld.global.f32 %f2, [%rd1];
  ld.global.f32 %f3, [%rd2];
  fma.rn.f32 %f2, %f2, %f1, %f3;
  st.global.f32 [%rd3], %f2;
  setp.lt.f32 %p1, %f2, 0f00000000;
  @!%p1 bra done;
  atom.global.cas.b64 %rd5, [%rd7], 0, 1;
  setp.eq.u64 %p2, %rd5, 0;
  cvt.rni.s64.f32 %rd6, %f2;
  @%p2 st.global.u64 [%rd7+8], %rd6;
done:
  ret;
}
"""
FLOATS = 4 * 8


def program(**changes: Any) -> Manifest:
    """y = x + 2 k + k (k + 1) / 2 summed over k = 0, 1, 2, by way of a buffer of three rows."""

    def axpy(source: Pointer, target: Pointer) -> Launch:
        scale = Scalar("f32", Linear(1, (("k", 1),)))
        return Launch("axpy", (Pointer(("constant", 0)), source, target, scale, Pointer(ERRORS)))

    row = Pointer(("buffer", 0), Linear(0, (("k", FLOATS),)))
    following = Pointer(("buffer", 0), Linear(FLOATS, (("k", FLOATS),)))
    manifest = Manifest(
        name="example",
        target="sm_80",
        ptx=PTX,
        inputs=(ArraySpec("x", (2, 4), "float32"),),
        outputs=(ArraySpec("y", (8,), "float32"),),
        kernels=(Kernel("axpy", (1, 1, 1), (8, 1, 1), ("pointer",) * 3 + ("f32", "pointer")),),
        steps=(
            Copy(Pointer(("buffer", 0)), Pointer(("input", 0)), FLOATS),
            Loop("k", 0, 3, 1, (axpy(row, following),)),
            Copy(Pointer(("output", 0)), Pointer(("buffer", 0), Linear(3 * FLOATS)), FLOATS),
        ),
        buffers=(Buffer("rows", 4 * FLOATS, 0),),
        constants=(Constant("ones", np.ones(8, np.float32).tobytes()),),
        checks=(Check("x", 0, 8),),
    )  # fmt: skip
    return replace(manifest, **changes)


X = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.mark.parametrize("order", ["lockstep", "random", "reverse"])
@pytest.mark.parametrize("late", [True, False])
def test_copies_loops_and_launches_run_in_order(order: str, late: bool) -> None:
    counts: dict[str, Statistics] = {}
    (y,) = run_manifest(program(), [X], order=order, late_async=late, statistics=counts)
    assert (y == X.reshape(-1) + 1 + 2 + 3).all()
    assert counts["axpy"].thread_instructions > 3 * 8 * 15


def test_the_error_that_a_kernel_notes_is_raised() -> None:
    with pytest.raises(
        ExecutionError, match=r"example: index out of range: tensor x has extent 8 .* got index -\d"
    ):
        run_manifest(program(), [X - 9])


def test_results_that_nobody_wrote_are_an_error() -> None:
    with pytest.raises(ExecutionError, match=r"element of y is written, got none at index \[0\]"):
        run_manifest(program(steps=program().steps[:2]), [X])


def test_temporaries_that_nobody_wrote_are_not_read() -> None:
    with pytest.raises(ExecutionError, match="of rows of 128 bytes") as caught:
        run_manifest(program(steps=program().steps[1:]), [X])
    assert type(caught.value.__cause__) is errors.UninitialisedRead


def test_buffers_have_bounds_of_their_own() -> None:
    small = (Buffer("rows", 2 * FLOATS, 0), Buffer("next", 4 * FLOATS, 256))
    with pytest.raises(ExecutionError, match="of rows of 64 bytes"):
        run_manifest(program(buffers=small), [X])
    wide = (*program().steps[:1], Copy(Pointer(("output", 0)), Pointer(("buffer", 0)), 2 * FLOATS))
    with pytest.raises(ExecutionError, match="a copy inside y of 32 bytes"):
        run_manifest(program(steps=wide), [X])


@pytest.mark.parametrize("arrays", [[], [X.astype(np.float64)], [X.reshape(8)]])
def test_arrays_have_the_exact_types(arrays: list[np.ndarray]) -> None:
    with pytest.raises(ExecutionError, match="example: "):
        run_manifest(program(), arrays)


def test_results_may_take_the_memory_of_donated_inputs() -> None:
    donated = (ArraySpec("x", (8,), "float32", donated_to=0),)
    steps = (
        Launch("axpy", (
            Pointer(("constant", 0)), Pointer(("input", 0)), Pointer(("output", 0)),
            Scalar("f32", 0.5), Pointer(ERRORS),
        )),
    )  # fmt: skip
    manifest, x = program(inputs=donated, steps=steps, buffers=()), X.reshape(8)
    for donate in (True, False):
        assert (run_manifest(manifest, [x], donate=donate)[0] == x + 0.5).all()
    assert x[0] == 0


def test_halves_and_scalars_are_arrays_like_others() -> None:
    spec = ArraySpec("h", (), "bfloat16")
    copy = Copy(Pointer(("output", 0)), Pointer(("input", 0)), 2)
    manifest = program(inputs=(spec,), outputs=(spec,), steps=(copy,), buffers=())
    value = np.array(1.5, ml_dtypes.bfloat16)
    (found,) = run_manifest(manifest, [value])
    assert found.dtype == value.dtype
    assert found.shape == ()
    assert found == value


def test_text_that_is_no_ptx_is_an_error_of_compilation() -> None:
    with pytest.raises(CompileError, match="ptx") as caught:
        run_manifest(replace(program(), ptx="no kernel"), [X])
    assert isinstance(caught.value.__cause__, errors.InvalidPtx)


def test_without_the_package_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ptx_emulator.device", None)
    monkeypatch.delitem(sys.modules, "ted.testing.emulator")
    monkeypatch.delitem(sys.modules, "ted.testing.ptx_machine", raising=False)
    assert callable(ted.testing.emulated_gpu)
    way = r"needs the package ptx-emulator, got .*; install it with: pip install ./ptx-emulator"
    with pytest.raises(ExecutionError, match=way), ted.testing.emulated_gpu():
        pass


def test_a_machine_that_nobody_knows_is_refused() -> None:
    with (
        pytest.raises(CompileError, match=r"must be one of sm_75, .*, got 'sm_85'"),
        ted.testing.emulated_gpu("sm_85"),
    ):
        pass
    with (
        pytest.raises(ExecutionError, match=r"order is one of .*, got 'sideways'"),
        ted.testing.emulated_gpu(order="sideways"),
    ):
        pass
    with ted.testing.emulated_gpu("sm_86") as library:
        assert (library.capability, library.shared_bytes) == ((8, 6), 99 << 10)


def test_a_fault_has_the_line_of_ptx_and_no_other() -> None:
    with pytest.raises(ExecutionError) as caught:
        run_manifest(program(steps=program().steps[1:]), [X])
    assert str(caught.value) == str(caught.value.__cause__)
    assert "test_ptx_programs" not in str(caught.value)
