"""Options of compilation: one value that every transformation of a function carries on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.api import Function, cpu_functions
from ted.api.host import host_cpu
from ted.api.options import compile_options
from ted.errors import CompileError, DerivativeError, ExecutionError
from ted.machine import CPUS, GPUS, Cpu
from ted.options import CompileOptions

CHIP = "cuda:sm_90a,tf32"
ON_CHIP = CompileOptions(GPUS["sm_90a"], deterministic=False, tf32=True)
MADE: dict[str, Callable[..., Any]] = {
    "function": ted.function,
    "grad": ted.grad,
    "value_and_grad": ted.value_and_grad,
    "jacobian": ted.jacobian,
    "hessian": ted.hessian,
    "vmap": ted.vmap,
}
A = np.array([1.0, 2.0], "float32")
V = np.array([1.0, 0.5], "float32")
MANY = np.arange(1000, dtype="float32")


def cubes(x: Any) -> Any:
    return ted.sum(x * x * x)


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_of_a_function_has_its_options(name: str) -> None:
    of_chip = ted.function(cubes, CHIP, deterministic=False)
    assert of_chip.options == ON_CHIP
    bound = functools.partial(functools.partial(of_chip))
    for wrapped in (of_chip, ted.checkpoint(of_chip), ted.custom_vjp(of_chip), bound):
        assert MADE[name](wrapped).options == ON_CHIP
    assert MADE[name](MADE[name](of_chip)).options == ON_CHIP


@pytest.mark.parametrize("name", MADE)
def test_options_that_are_given_go_first(name: str) -> None:
    make, of_chip = MADE[name], ted.function(cubes, CHIP, deterministic=False)
    assert make(cubes, target=CHIP, deterministic=False).options == ON_CHIP
    assert make(cubes).options == make(of_chip, target="cpu", deterministic=True).options
    assert make(of_chip, target="cpu").options == CompileOptions(host_cpu(), False)
    assert make(of_chip, deterministic=True).options == CompileOptions(GPUS["sm_90a"], tf32=True)
    with pytest.raises(CompileError, match="a target is 'cpu'"):
        make(cubes, target="gpu")
    with pytest.raises(CompileError, match="deterministic is True or False, got 1"):
        make(cubes, deterministic=1)


@pytest.mark.parametrize("of_function", [True, False])
def test_directional_derivatives_run_where_the_function_does(of_function: bool) -> None:
    function = ted.function(cubes, "cuda:sm_80") if of_function else cubes
    options = {} if of_function else {"target": "cuda:sm_80"}
    with ted.testing.emulated_gpu("sm_80"):
        x, v = ted.cuda.asarray(A), ted.cuda.asarray(V)
        value, pushed = ted.jvp(function, (x,), (v,), **options)
        (product,) = ted.hvp(function, (x,), (v,), **options)
        assert all(isinstance(r, ted.cuda.DeviceArray) for r in (value, pushed, product))
        assert (value.numpy(), pushed.numpy()) == (9, 9)
        assert product.numpy().tolist() == [6, 6]


def test_derivatives_of_functions_on_a_gpu_run_there() -> None:
    function = ted.function(cubes, "cuda:sm_80")
    with ted.testing.emulated_gpu("sm_80"):
        x = ted.cuda.asarray(A)
        assert ted.hessian(function)(x).numpy().tolist() == [[6, 0], [0, 12]]
        assert ted.jacobian(function)(x).numpy().tolist() == [3, 12]
        rows = ted.cuda.asarray(np.stack([A, V]))
        assert ted.vmap(function)(rows).numpy().tolist() == [9, 1.125]


def test_functions_and_what_is_compiled_show_their_options() -> None:
    assert str(ted.function(cubes, CHIP, deterministic=False).options) == (
        "cuda:sm_90a,tf32, not deterministic"
    )
    row = CPUS["sse2"]
    assert str(CompileOptions(row)) == "cpu:sse2, deterministic"
    assert str(CompileOptions(row.native())) == "cpu (sse2, native), deterministic"
    x = ted.placeholder((2,), name="x")
    assert ted.compile([x], x + 1.0).options == compile_options()
    assert ted.compile([x], x + 1.0, target="cuda:sm_80").options == CompileOptions(GPUS["sm_80"])
    assert ted.function(cubes).compiled(A).options == Function(cubes).options == compile_options()


@pytest.mark.parametrize("row", CPUS.values(), ids=CPUS)
def test_a_row_of_cpus_is_a_target(row: Cpu) -> None:
    function = ted.function(cubes, f"cpu:{row.name},threads=2")
    assert function.options == CompileOptions(row, threads=2)
    assert function.target == f"cpu:{row.name},threads=2"
    assert ted.grad(function).options == function.options
    assert compile_options(f"cpu:{row.name}").target == f"cpu:{row.name}"


@pytest.mark.skipif(host_cpu().name == "neon", reason="rows of x86")
def test_code_for_a_row_has_its_instructions_and_runs_where_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = ted.function(lambda x: x * 2.0, "cpu:avx2")
    monkeypatch.setattr(cpu_functions, "executable_cpus", lambda: (CPUS["sse2"],))
    assert "%ymm" in (code := function.compiled(MANY).ir("asm"))
    assert "%zmm" not in code
    with pytest.raises(ExecutionError, match=r"'cpu:avx2' needs a CPU with avx2, fma, f16c, which"):
        function(MANY)
    other_units = Function(lambda x: x * 3.0, CompileOptions(CPUS["sse2"].with_grain(1)))
    np.testing.assert_array_equal(other_units(MANY), 3 * MANY)
    doubled = ted.function(lambda x: x * 2.0, "cpu:sse2")
    assert "%ymm" not in doubled.compiled(MANY).ir("asm")
    np.testing.assert_array_equal(doubled(MANY), 2 * MANY)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("cpu:", "on a CPU a target is 'cpu', 'cpu:avx2' for code of a row of CPUs, or .* 'cpu:'"),
        ("cpu:avx2,tf32", "on a CPU a target is .* got 'cpu:avx2,tf32'"),
        ("cpu:avx", "a CPU is one of avx512.*, neon, got 'cpu:avx'"),
    ],
)
def test_what_is_no_row_of_cpus_is_refused(target: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        ted.function(cubes, target)


def test_a_program_and_its_gradient_show_their_options() -> None:
    n = ted.size("n")
    for extent in (2, n):
        x = ted.placeholder((extent,), name="x")
        assert ted.forward_backward(x * x, [x]).options == compile_options()
    pair = ted.forward_backward(x * x, [x], target=CHIP, deterministic=False)
    assert pair.options == ON_CHIP


def test_what_is_made_of_a_pullback_has_the_options_of_its_function() -> None:
    with ted.testing.emulated_gpu("sm_80"):
        _, pullback = ted.vjp(ted.function(cubes, "cuda:sm_80"), ted.cuda.asarray(A))
        assert ted.function(pullback).options == CompileOptions(GPUS["sm_80"])


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(CompileError, match="options of GPUs, got a CPU"):
        CompileOptions(CPUS["avx2"], fast_math=True)
    with pytest.raises(CompileError, match=r"tf32 needs .* sm_80 or later, got 'cuda:sm_75,tf32'"):
        compile_options("cuda:sm_75,tf32")


def test_options_of_other_kinds_are_refused() -> None:
    with pytest.raises(CompileError, match=r"a machine is a row of ted.machine, got 'sm_80'"):
        CompileOptions("sm_80")  # type: ignore[arg-type]
    with pytest.raises(CompileError, match="tf32 is True or False, got 'no'"):
        CompileOptions(GPUS["sm_80"], tf32="no")  # type: ignore[arg-type]
    with pytest.raises(CompileError, match=r"got 'cuda:sm_80'; write ted.function\(fn, target\)"):
        Function(cubes, "cuda:sm_80")  # type: ignore[arg-type]
    x = ted.placeholder((2,), name="x")
    with pytest.raises(DerivativeError, match=r"has no target, got target='cuda'.* ted.compile"):
        ted.jacobian(x * x, x, target="cuda")


def test_pullbacks_run_where_the_function_does() -> None:
    with ted.testing.emulated_gpu("sm_80"):
        x = ted.cuda.asarray(A)
        value, pullback = ted.vjp(ted.function(cubes, "cuda:sm_80"), x)
        assert isinstance(value, ted.cuda.DeviceArray)
        (gradient,) = pullback(ted.cuda.asarray(np.ones((), "float32")))
        assert gradient.numpy().tolist() == [3, 12]
