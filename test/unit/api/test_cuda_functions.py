"""`target="cuda"` in the API: PTX without a GPU, bad targets, what the functions made of it do."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ted
from ted.api.cuda_functions import CudaFunction
from ted.api.options import compile_options
from ted.codegen.nvptx import toolkit
from ted.errors import CompileError, ExecutionError
from ted.machine import GPUS
from ted.options import CompileOptions
from unit.runtime.python_machine import device, without_driver

X = ted.placeholder((4, 32), name="x")


@pytest.fixture(scope="module")
def doubled() -> CudaFunction:
    return ted.compile([X], X * 2.0, target="cuda:sm_90a", name="doubled")


def test_a_chip_by_name_gives_its_ptx_without_a_gpu(doubled) -> None:
    assert ".target sm_90a" in doubled.ptx
    assert ".visible .entry" in doubled.ptx
    assert doubled.manifest.target == "sm_90a"
    assert doubled.peak_bytes == 4 * 32 * 4
    assert [str(s) for s in doubled.manifest.inputs] == ["x: float32[4, 32]"]


def test_what_kernels_take_is_the_assemblers_to_say(doubled, monkeypatch) -> None:
    monkeypatch.setattr(toolkit, "ptxas", lambda: None)
    with pytest.raises(CompileError, match="needs ptxas"):
        doubled.resources()


def test_a_sample_is_saved_with_its_results_and_what_they_are_sums_of(doubled, tmp_path) -> None:
    array = np.linspace(1, 2, 128, dtype=np.float32).reshape(4, 32)
    doubled.save(tmp_path / "doubled.ted", [array])
    ((_, (result,), summands),) = ted.load(tmp_path / "doubled.ted").samples
    np.testing.assert_array_equal(result, 2 * array)
    np.testing.assert_allclose(summands, [4.0], rtol=0.5)


def test_the_assembler_says_what_kernels_take(doubled) -> None:
    (kernel,) = doubled.resources().values()
    assert 0 < kernel.registers <= 255
    assert kernel.spill_stores == kernel.spill_loads == 0


@pytest.mark.parametrize("stage", CudaFunction.stages)
def test_every_stage_can_be_read(doubled, stage: str) -> None:
    assert {"ted": "ted.compute", "gpu": "gpu.launch_func", "nvvm": "nvvm", "ptx": ".entry"}.get(
        stage, ""
    ) in doubled.ir(stage)
    with pytest.raises(CompileError, match="ir: a stage in"):
        doubled.ir("sass")


def test_stages_name_the_tensor_and_the_line_of_an_index_that_is_checked() -> None:
    n = ted.placeholder((3,), "int64", name="n")
    picked = ted.compute((3,), lambda j: X[0, n[j]], name="picked")
    line = sys._getframe().f_lineno - 1
    f = ted.compile([X, n], picked, target="cuda:sm_80")
    for stage in ("gpu", "nvvm"):
        assert f'ted.checks = [["x", 1, 32, "test_cuda_functions.py:{line}"]]' in f.ir(stage)


def test_stages_are_those_of_the_options_that_the_program_was_compiled_with() -> None:
    n = ted.placeholder((3,), "int64", name="n")
    total = ted.index_add(X[0], 0, n, X[1, :3])
    for deterministic in (True, False):
        f = ted.compile([X, n], total, target="cuda:sm_80", deterministic=deterministic)
        assert ("atom.global.add" in f.ptx) == (not deterministic)
        assert ("atomic_rmw" in f.ir("gpu")) == (not deterministic)
    a, b = (ted.placeholder((64, 64), name=name) for name in "ab")
    for options in ("", ",tf32"):
        f = ted.compile([a, b], a @ b, target=f"cuda:sm_80{options}")
        assert ("mma.sync" in f.ptx) == ("mma.sync" in f.ir("gpu")) == bool(options)


@pytest.mark.parametrize(
    "target",
    ["gpu", "cuda-", "cuda:", "cuda:sm_80,quick", "CUDA", 80, "cuda:,tf32", "cuda:sm_80,",
     "cuda,tf32,tf32"],
)  # fmt: skip
def test_a_target_of_another_form_is_refused(target: object) -> None:
    with pytest.raises(CompileError, match=r"compile: a target is 'cpu', 'cuda', or 'cuda:' with"):
        ted.compile([X], X, target=target)  # pyright: ignore[reportArgumentType]
    with pytest.raises(CompileError, match="compile: a target is"):
        ted.function(lambda x: x, target=target)  # pyright: ignore[reportArgumentType]


def test_a_chip_that_nobody_knows_is_refused() -> None:
    with pytest.raises(CompileError, match=r"a chip is one of sm_75, sm_80, .* got 'sm_33'"):
        ted.compile([X], X, target="cuda:sm_33")


def test_the_chip_is_that_of_the_machine_or_sm_80(monkeypatch) -> None:
    monkeypatch.setattr("ted.runtime.cuda.driver.is_available", lambda: False)
    assert compile_options("cuda").machine.name == "sm_80"
    monkeypatch.undo()
    for capability, chip in (
        ((8, 0), "sm_80"),
        ((8, 8), "sm_87"),
        ((9, 0), "sm_90a"),
        ((10, 3), "sm_100"),
    ):
        with device(capability=capability):
            assert compile_options("cuda").machine.name == chip


def test_fast_math_is_an_option_of_the_target() -> None:
    assert compile_options("cuda:sm_80,fast_math") == CompileOptions(GPUS["sm_80"], fast_math=True)
    both = compile_options("cuda:sm_80,tf32,fast_math")
    assert both == CompileOptions(GPUS["sm_80"], fast_math=True, tf32=True)
    assert both.target == "cuda:sm_80,fast_math,tf32"
    quotient = lambda **options: ted.compile([X], X / (X + 1.5), **options).ptx  # noqa: E731
    assert "div.rn.f32" in quotient(target="cuda:sm_80")
    assert "div.rn.f32" not in quotient(target="cuda:sm_80,fast_math")


def test_a_tensor_past_2_to_the_31_is_refused_where_it_was_written() -> None:
    x = ted.placeholder((70_000, 40_000), "int8", name="x")
    with pytest.raises(CompileError, match=r"at most 2\^31 - 1 elements, got x.*2800000000"):
        ted.compile([x], ted.sum(x), target="cuda:sm_80")


def test_a_call_without_a_driver_says_so(doubled, monkeypatch) -> None:
    without_driver(monkeypatch)
    with pytest.raises(ExecutionError, match="no CUDA driver: tried libcuda"):
        doubled(np.zeros((4, 32), np.float32))
    with pytest.raises(ExecutionError, match="no CUDA driver"):
        ted.cuda.asarray(np.zeros(3))


def test_a_host_array_is_refused_with_the_name_of_the_argument(doubled) -> None:
    message = r"doubled: argument 'x': .* on the host"
    with ted.testing.emulated_gpu(), pytest.raises(ExecutionError, match=message):
        doubled(np.zeros((4, 32), np.float32))


def test_a_program_for_another_device_is_not_loaded(doubled) -> None:
    with (
        device(capability=(8, 0)),
        pytest.raises(
            ExecutionError, match="doubled: wrong compute capability: compiled for sm_90a"
        ),
    ):
        doubled(ted.cuda.asarray(np.zeros((4, 32), np.float32)))


def test_a_program_runs_on_the_device_of_its_arrays_and_is_loaded_there_once(doubled) -> None:
    array = np.ones((4, 32), np.float32)
    with ted.testing.emulated_gpu() as machine:
        machine.devices = 2
        assert doubled.program().context.ordinal == 0
        assert doubled.program() is doubled.program(0)
        for ordinal in (1, 0, 1):
            result = doubled(ted.cuda.asarray(array, device=ordinal))
            assert result.context is doubled.program(ordinal).context
            assert result.context.ordinal == ordinal
            np.testing.assert_array_equal(result.numpy(), 2 * array)
        with pytest.raises(ExecutionError, match="there are 2 devices, got number 2"):
            doubled.program(2)


def test_a_call_runs_on_the_stream_that_is_named(doubled) -> None:
    with ted.testing.emulated_gpu():
        x, stream = ted.cuda.asarray(np.ones((4, 32), np.float32)), ted.cuda.Stream()
        assert doubled(x).stream == 0
        assert doubled(x, stream=stream).stream == stream.handle != 0


def test_functions_and_gradients_carry_the_target() -> None:
    def loss(x):
        return ted.sum(ted.tanh(x) * x)

    on_gpu = ted.function(loss, target="cuda:sm_80")
    array = np.ones((3, 4), np.float32)
    assert isinstance(on_gpu.compiled(array), CudaFunction)
    for transformed in (
        ted.grad(on_gpu),
        ted.value_and_grad(loss, target="cuda:sm_80"),
        ted.function(ted.grad(loss), target="cuda:sm_80"),
    ):
        compiled = transformed.compiled(array)
        assert isinstance(compiled, CudaFunction)
        assert "atom" not in compiled.ptx
    assert not isinstance(ted.function(on_gpu, target="cpu").compiled(array), CudaFunction)
    assert ted.function(on_gpu) is on_gpu


def test_forward_and_backward_go_to_the_target() -> None:
    both = ted.forward_backward([ted.exp(X) * X], [X], target="cuda:sm_80")
    assert isinstance(both.first, CudaFunction)
    assert isinstance(both.second, CudaFunction)


def test_a_program_computes_on_an_emulated_gpu() -> None:
    y = ted.placeholder((4, 32), name="y")
    f = ted.compile([X, y], [ted.tanh(X) * y, ted.sum(X, axis=1)], target="cuda:sm_90a")
    a, b = np.random.default_rng(0).normal(size=(2, 4, 32)).astype(np.float32)
    with ted.testing.emulated_gpu():
        product, sums = f(ted.cuda.asarray(a), ted.cuda.asarray(b))
        np.testing.assert_allclose(product.numpy(), np.tanh(a) * b, rtol=2e-6, atol=1e-7)
        np.testing.assert_allclose(sums.numpy(), a.sum(1), rtol=1e-5, atol=1e-5)


def test_an_index_out_of_range_is_the_same_error_as_on_the_cpu() -> None:
    n = ted.placeholder((3,), "int64", name="n")
    picked = ted.compute((3,), lambda j: X[0, n[j]], name="picked")
    array, index = np.arange(128, dtype=np.float32).reshape(4, 32), np.array([1, 77, 2])
    with pytest.raises(ExecutionError) as on_cpu:
        ted.compile([X, n], picked)(array, index)
    f = ted.compile([X, n], picked, target="cuda:sm_80")
    with ted.testing.emulated_gpu():
        x = ted.cuda.asarray(array)
        with pytest.raises(ExecutionError) as on_gpu:
            f(x, ted.cuda.asarray(index)).numpy()
        assert on_gpu.value.message == on_cpu.value.message
        assert f(x, ted.cuda.asarray(np.array([1, 5, 2]))).numpy().tolist() == [1, 5, 2]


def test_donated_arrays_are_updated_in_place() -> None:
    state, drive = ted.placeholder((5,), name="state"), ted.placeholder((5,), name="drive")
    f = ted.compile(
        [state, drive], [ted.flip(state) + drive, ted.sum(state)], donate=(state,),
        target="cuda:sm_80",
    )  # fmt: skip
    with ted.testing.emulated_gpu():
        a, b = ted.cuda.asarray(np.arange(5, dtype="f4")), ted.cuda.asarray(np.ones(5, "f4"))
        new, total = f(a, b)
        assert new is a
        assert total.numpy() == 10
        assert a.numpy().tolist() == [5, 4, 3, 2, 1]


def test_a_bundle_allows_the_rounding_that_its_target_asked_for(tmp_path: Path) -> None:
    a, b = (ted.placeholder((64, 64), name=name) for name in "ab")
    f = ted.compile([a, b], a @ b, target="cuda:sm_80,tf32")
    sample = np.random.default_rng(2).normal(size=(2, 64, 64)).astype("f4")
    with ted.testing.emulated_gpu("sm_80"):
        f.save(tmp_path / "of the target", sample)
        f.save(tmp_path / "given", sample, tolerance=1e-6)
        assert ted.load(tmp_path / "of the target").check() == []
        (wrong,) = ted.load(tmp_path / "given").check()
    assert wrong.startswith("sample 0, result 'matmul'")


def test_a_training_step_is_replayed_as_a_graph() -> None:
    w, x = ted.placeholder((8,), name="w"), ted.placeholder((4, 8), name="x")
    loss = ted.mean(ted.square(x @ w - 1.0))
    (dw,) = ted.differentiate(loss, [w])
    f = ted.compile([w, x], [w - 0.1 * dw, loss], donate=(w,), target="cuda:sm_80")
    rng = np.random.default_rng(1)
    weights, data = rng.normal(size=8).astype("f4"), rng.normal(size=(4, 8)).astype("f4")
    on_cpu = ted.compile([w, x], [w - 0.1 * dw, loss])
    with ted.testing.emulated_gpu():
        step = f.graph(ted.cuda.asarray(weights), ted.cuda.asarray(data))
        for _ in range(3):
            step.replay()
            weights, expected = on_cpu(weights, data)
            found, value = step.outputs
            np.testing.assert_allclose(found.numpy(), weights, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(value.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_function_of_arrays_runs_where_its_target_says() -> None:
    @ted.value_and_grad
    def loss(w, x):
        return ted.sum(ted.relu(x @ w["a"]) * w["b"])

    on_gpu = ted.function(loss, target="cuda:sm_80")
    w = {"a": np.linspace(-1, 1, 16, dtype="f4").reshape(4, 4), "b": np.ones(4, "f4")}
    x = np.linspace(0, 1, 8, dtype="f4").reshape(2, 4)
    value, gradients = loss(w, x)
    with ted.testing.emulated_gpu():
        move = ted.cuda.asarray
        found, moved = on_gpu({k: move(v) for k, v in w.items()}, move(x))
        np.testing.assert_allclose(found.numpy(), value, rtol=1e-5)
        for name, gradient in gradients.items():
            np.testing.assert_allclose(moved[name].numpy(), gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_product_on_hopper_takes_its_matrices_by_tensor_maps() -> None:
    import ml_dtypes

    a = ted.placeholder((1024, 128), "bfloat16", name="a")
    b = ted.placeholder((128, 1024), "bfloat16", name="b")
    f = ted.compile([a, b], a @ b, target="cuda:sm_90a")
    assert "wgmma.mma_async" in f.ptx
    assert f.manifest.kernels[0].params.count("tensormap") == 2
    random = np.random.default_rng(0)
    left, right = (random.standard_normal(t.shape).astype(ml_dtypes.bfloat16) for t in (a, b))
    expected = left.astype(np.float64) @ right.astype(np.float64)
    with ted.testing.emulated_gpu("sm_90a"):
        found = f(ted.cuda.asarray(left), ted.cuda.asarray(right)).numpy()
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=2**-8, atol=1e-3)
