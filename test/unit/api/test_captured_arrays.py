"""Arrays that a function captures: values, derivatives, every transform, and what is compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import ted
from ted.api import programs
from ted.codegen import disk_cache
from ted.errors import DerivativeError, ExecutionError, FrontendError
from ted.ir.constants import LITERAL_BYTES
from ted.ir.equations import System
from ted.ir.printing import format_system
from ted.runtime.calls import WithConstants
from ted.testing import check_grads

GENERATOR = np.random.default_rng(3)
X = GENERATOR.normal(size=(5, 40))
SIZES = (3, 30)  # a literal, and what is none
WEIGHTS = {n: GENERATOR.normal(size=(40, n)) for n in SIZES}
assert WEIGHTS[3].nbytes <= LITERAL_BYTES < WEIGHTS[30].nbytes
TOLERANCE: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is compiled, of an empty cache."""
    monkeypatch.setenv("TED_CACHE_DIR", str(tmp_path / "cache"))
    done: list[str] = []
    compile_cached = programs.compile_cached
    monkeypatch.setattr(
        programs, "compile_cached", lambda *a: (done.append("compiled"), compile_cached(*a))[1]
    )
    return done


def loss(weights: Any, bias: Any = 0.0) -> Callable[[Any], Any]:
    return lambda x: ted.sum(ted.tanh(x @ weights + bias) ** 2)


def torch_loss(weights: Any) -> Callable[[Any], Any]:
    return lambda x: (torch.tanh(x @ torch.tensor(weights)) ** 2).sum()


@pytest.mark.fast(1)
@pytest.mark.parametrize("n", SIZES)
def test_values_and_derivatives_of_two_orders_are_those_of_torch(n: int) -> None:
    w, v = WEIGHTS[n], np.cos(X)
    mine, other = loss(w), torch_loss(w)
    x = torch.tensor(X, requires_grad=True)
    other(x).backward()
    assert x.grad is not None
    moved = torch.autograd.functional.hvp(other, torch.tensor(X), torch.tensor(v))[1].numpy()
    np.testing.assert_allclose(ted.function(mine)(X), other(x).item(), **TOLERANCE)
    np.testing.assert_allclose(ted.grad(mine)(X), x.grad.numpy(), **TOLERANCE)
    np.testing.assert_allclose(ted.hvp(mine, (X,), (v,))[0], moved, **TOLERANCE)
    np.testing.assert_allclose(ted.jvp(ted.grad(mine), (X,), (v,))[1], moved, **TOLERANCE)
    pulled = ted.vjp(lambda x: x @ w, X)[1](np.ones((5, n)))[0]
    np.testing.assert_allclose(pulled, np.ones((5, n)) @ w.T, **TOLERANCE)
    check_grads(mine, (X,), order=2)


@pytest.mark.parametrize("n", SIZES)
def test_a_gradient_is_the_same_alone_and_beside_other_results(n: int) -> None:
    mine = loss(WEIGHTS[n], WEIGHTS[n][0])
    value, gradient = ted.value_and_grad(mine)(X)
    np.testing.assert_array_equal(gradient, ted.grad(mine)(X))
    both = ted.function(lambda x: (ted.grad(mine)(x), mine(x), x @ WEIGHTS[n], WEIGHTS[n]))(X)
    np.testing.assert_allclose(both[0], gradient, **TOLERANCE)
    np.testing.assert_allclose(both[1], value, **TOLERANCE)
    np.testing.assert_array_equal(both[3], WEIGHTS[n])


@pytest.mark.parametrize("n", SIZES)
def test_a_constant_goes_through_vmap_scan_and_checkpoints(n: int) -> None:
    w = WEIGHTS[n]
    np.testing.assert_allclose(ted.vmap(lambda row: row @ w)(X), X @ w, **TOLERANCE)

    def fed(x: Any) -> Any:
        def step(carry: Any, row: Any) -> tuple[Any, Any]:
            after = ted.tanh(carry + row @ w)
            return after, after * w[0]

        last, all_of_them = ted.scan(step, np.linspace(0.0, 1.0, n), x)
        return ted.sum(last) + ted.sum(all_of_them)

    def fed_torch(x: Any) -> Any:
        carry, total = torch.linspace(0.0, 1.0, n, dtype=torch.float64), 0
        for row in x:
            carry = torch.tanh(carry + row @ torch.tensor(w))
            total = total + (carry * torch.tensor(w[0])).sum()
        return carry.sum() + total

    x = torch.tensor(X, requires_grad=True)
    fed_torch(x).backward()
    assert x.grad is not None
    np.testing.assert_allclose(ted.function(fed)(X), fed_torch(x).item(), **TOLERANCE)
    np.testing.assert_allclose(ted.grad(fed)(X), x.grad.numpy(), **TOLERANCE)
    np.testing.assert_allclose(
        ted.grad(lambda x: ted.checkpoint(fed)(x))(X), x.grad.numpy(), **TOLERANCE
    )


def test_transforms_inside_of_a_function_take_arrays_as_arguments() -> None:
    w = WEIGHTS[30]
    product = ted.vmap(lambda a, b: ted.sum(a * b))
    found = ted.function(lambda x: product(x, w[:5, :].T[:5, :].copy()))(X[:, :5].copy())
    np.testing.assert_allclose(found, (X[:, :5] * w[:5, :].T[:5, :]).sum(1), **TOLERANCE)
    inner = ted.grad(lambda a, b: ted.sum(a * a @ b), 1)
    found = ted.function(lambda x: inner(x, w))(X)
    np.testing.assert_allclose(found, (X * X).T @ np.ones((5, 30)), **TOLERANCE)


def test_the_value_is_that_at_capture_and_each_trace_captures() -> None:
    table = np.array([1.0, 2.0])
    tensor = ted.constant(table)
    f = ted.function(lambda x: x + table)
    zero = np.zeros(2)
    np.testing.assert_array_equal(f(zero), [1, 2])
    table[0] = 9
    np.testing.assert_array_equal(f(zero), [1, 2])
    np.testing.assert_array_equal(ted.function(lambda x: x + tensor)(zero), [1, 2])
    np.testing.assert_array_equal(f(np.zeros((3, 2)))[2], [9, 2])


@pytest.mark.parametrize("n", SIZES)
def test_compiled_tensors_hide_their_large_constants(n: int) -> None:
    x = ted.placeholder((5, 40), "float64", name="x")
    y = x @ WEIGHTS[n]
    f = ted.compile([x], y)
    out = np.empty((5, n))
    assert f(X, out=out) is out
    np.testing.assert_allclose(out, X @ WEIGHTS[n], **TOLERANCE)
    assert ("dense" in f.ir()) == (n == 3)
    assert len(f.ir()) < 5000
    assert f.profile(X, repeats=2).kernels
    with pytest.raises(ExecutionError, match="expected 1 arguments"):
        f(X, WEIGHTS[n])
    donated = ted.compile([x], x + WEIGHTS[30][:5, :1], donate=[x])
    np.testing.assert_allclose(donated(X.copy()), X + WEIGHTS[30][:5, :1], **TOLERANCE)


def test_large_constants_share_machine_code_and_small_ones_never_share(
    compilations: list[str],
) -> None:
    large = [WEIGHTS[30], -WEIGHTS[30], WEIGHTS[30] + 1]
    for w in (*large, large[0]):
        np.testing.assert_allclose(ted.function(lambda x, w=w: x @ w)(X), X @ w, **TOLERANCE)
        gradient = ted.grad(loss(w))(X)
        np.testing.assert_allclose(
            gradient, 2 * (t := np.tanh(X @ w)) * (1 - t * t) @ w.T, **TOLERANCE
        )
    assert len(compilations) == 2
    small = [WEIGHTS[3], -WEIGHTS[3]]
    for w in (*small, *small):
        np.testing.assert_allclose(ted.function(lambda x, w=w: x @ w)(X), X @ w, **TOLERANCE)
        ted.grad(loss(w))(X)
    assert len(compilations) == 6


def test_one_array_twice_is_another_program_than_two_arrays(compilations: list[str]) -> None:
    a, b = WEIGHTS[30], WEIGHTS[30][::-1]
    for first, second in ((a, a), (a, b), (b, a), (b, b), (a, a.copy())):
        f = ted.function(lambda x, p=first, q=second: ted.tanh(x @ p) @ np.ones(30) + (x @ q)[:, 0])
        expected = np.tanh(X @ first) @ np.ones(30) + (X @ second)[:, 0]
        np.testing.assert_allclose(f(X), expected, **TOLERANCE)
    assert len(compilations) == 2
    x = ted.placeholder((5, 40), "float64", name="x")
    program = ted.compile([x], ted.tanh(x @ a) @ np.ones(30) + (x @ a.copy())[:, 0])
    assert len(program.system.inputs) == 2, "equal arrays are one input"


def test_without_a_cache_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TED_CACHE_DIR", "")
    assert disk_cache.folder() is None
    for n in SIZES:
        np.testing.assert_allclose(
            ted.function(lambda x, n=n: x @ WEIGHTS[n])(X), X @ WEIGHTS[n], **TOLERANCE
        )


@pytest.mark.fast(1)
@pytest.mark.parametrize("n", SIZES)
def test_symbolic_sizes_and_batches_bring_constants_along(n: int) -> None:
    rows = ted.placeholder((ted.size("rows"), 40), "float64", name="x")
    f = ted.compile([rows], ted.tanh(rows @ WEIGHTS[n]))
    assert "is a batch" in f.explain()
    for count in (1, 3, 70):
        x = GENERATOR.normal(size=(count, 40))
        np.testing.assert_allclose(f(x), np.tanh(x @ WEIGHTS[n]), **TOLERANCE)
    special = f.specialise(rows=2)
    np.testing.assert_allclose(special(X[:2]), np.tanh(X[:2] @ WEIGHTS[n]), **TOLERANCE)
    size = ted.size("size")
    square = ted.placeholder((size, size), "float64", name="a")
    f = ted.compile([square], square @ square + WEIGHTS[n][:1, :1])
    a = GENERATOR.normal(size=(4, 4))
    np.testing.assert_allclose(f(a), a @ a + WEIGHTS[n][:1, :1], **TOLERANCE)
    step = ted.grad(lambda w, x: ted.mean(ted.tanh(x @ w @ WEIGHTS[n].T)), batch=1)
    w, x = GENERATOR.normal(size=(6, n)), GENERATOR.normal(size=(130, 6))
    known = torch.tensor(w, requires_grad=True)
    torch.tanh(torch.tensor(x) @ known @ torch.tensor(WEIGHTS[n].T)).mean().backward()
    assert known.grad is not None
    np.testing.assert_allclose(step(w, x), known.grad.numpy(), **TOLERANCE)


@pytest.mark.fast(5)
@pytest.mark.parametrize("count", [7, 2000])
@pytest.mark.parametrize(
    "name", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "bool"]
)
def test_every_type_keeps_its_bits(name: str, count: int) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    array = GENERATOR.integers(0, 2 if name == "bool" else 100, count).astype(dtype)
    if array.dtype.kind not in "ib":
        array[:3] = [-0.0, np.inf, np.nan]
    constant = ted.constant(array)
    assert (constant.dtype.name, constant.shape) == (name, (count,))
    copied, turned = ted.function(lambda at: (array, constant[::-1][at]))(np.arange(count))
    np.testing.assert_array_equal(copied.view(np.uint8), array.view(np.uint8))
    np.testing.assert_array_equal(turned.view(np.uint8), array[::-1].copy().view(np.uint8))


def test_a_gpu_gets_large_constants_once() -> None:
    w = WEIGHTS[30]
    f = ted.function(lambda x: x @ w, target="cuda:sm_90a").compiled(X)
    assert [spec.name for spec in f.manifest.inputs] == ["x"]
    assert [c.data for c in f.manifest.constants] == [w.tobytes()]
    few = GENERATOR.normal(size=30)
    both = ted.function(lambda x: x @ w + few, target="cuda:sm_90a").compiled(X)
    assert [c.data for c in both.manifest.constants] == [few.tobytes(), w.tobytes()]
    with ted.testing.emulated_gpu():
        np.testing.assert_allclose(both(ted.cuda.asarray(X))[0].numpy(), X @ w + few, rtol=1e-12)
    shared = ted.function(lambda x: x @ -w, target="cuda:sm_90a").compiled(X)
    assert (shared.ptx, shared.manifest.constants[0].data) == (f.ptx, (-w).tobytes())


def test_a_constant_has_no_gradient_and_is_no_input() -> None:
    x = ted.placeholder((40,), "float64", name="x")
    w = ted.constant(WEIGHTS[30], name="weights")
    y = ted.sum(x @ w)
    (dx,) = ted.differentiate(y)
    np.testing.assert_allclose(ted.compile([x], dx)(X[0]), WEIGHTS[30].sum(1), **TOLERANCE)
    rule = "a constant has no gradient; make it a ted.placeholder, or an argument, got weights"
    with pytest.raises(DerivativeError, match=rule):
        ted.differentiate(y, [w])
    with pytest.raises(FrontendError, match=r"input 1 must be a placeholder, .* is a constant"):
        ted.compile([x, w], y)
    assert "weights: float64[40, 30] constant values " in format_system(System((), (y.node,)))
    few = ted.constant([1, 2], name="few").node
    assert format_system(System((), (few,))) == "few: int64[2] constant [1 2]"


@pytest.mark.parametrize("n", SIZES)
def test_an_emulated_gpu_computes_the_same(n: int, tmp_path: Path) -> None:
    w, x = WEIGHTS[n].astype("float32"), X.astype("float32")
    f = ted.grad(lambda x: ted.sum(ted.tanh(x @ w)), target="cuda:sm_90a")
    expected = (1 - np.tanh(x @ w) ** 2) @ w.T
    with ted.testing.emulated_gpu():
        given = ted.cuda.asarray(x)
        np.testing.assert_allclose(f(given).numpy(), expected, rtol=1e-4, atol=1e-4)
        f.compiled(given).save(tmp_path / "bundle", [x])
        assert ted.load(tmp_path / "bundle").check() == []


@pytest.mark.parametrize("n", SIZES)
def test_forward_and_backward_both_have_it(n: int) -> None:
    x = ted.placeholder((5, 40), "float64", name="x")
    w = WEIGHTS[n]
    both = ted.forward_backward([ted.tanh(x @ w) * w[:5], x @ w], [x])
    _, saved = both.forward(X)
    assert [array.shape for array in saved] == [(5, n)], "of the constants nothing is passed on"
    heads = GENERATOR.normal(size=(2, 5, n))
    (found,) = both.backward(saved, *heads)
    expected = (heads[0] * (1 - np.tanh(X @ w) ** 2) * w[:5] + heads[1]) @ w.T
    np.testing.assert_allclose(found, expected, **TOLERANCE)
    rows = w[0, :1] + GENERATOR.normal(size=(5, 40))
    v, k = ted.placeholder((40, 2), "float64"), ted.placeholder((5, 40), "int64")
    cheap = ted.forward_backward([(k * rows) @ v], [v, k], recompute=100)
    assert cheap.split.residuals == (), "all is made again from k and the constant"
    whole = np.round(X).astype(int)
    _, saved = cheap.forward(np.ones((40, 2)), whole)
    found = cheap.backward(saved, np.ones((5, 2)))[0][:, 0]
    np.testing.assert_allclose(found, (whole * rows).sum(0), **TOLERANCE)
    gradients = ted.differentiate(ted.sum(ted.tanh(x @ w)), [x])
    assert "dense" not in str(gradients)
    assert gradients.report().total


@pytest.mark.parametrize("n", SIZES)
def test_no_program_writes_into_a_constant(n: int) -> None:
    start, at = WEIGHTS[n], np.array([1, 1, 3])
    f = ted.function(
        lambda v: (ted.index_add(start, 0, at, v), ted.cumsum(start, 0), ted.exp(start))
    )
    values = GENERATOR.normal(size=(3, n))
    added = start.copy()
    np.add.at(added, at, values)
    for _ in range(3):
        for found, expected in zip(f(values), (added, start.cumsum(0), np.exp(start)), strict=True):
            np.testing.assert_allclose(found, expected, **TOLERANCE)


def test_a_derivative_need_not_read_a_constant() -> None:
    rest = GENERATOR.normal(size=(5, 40))
    gradient = ted.grad(lambda x: ted.sum(x * 2 + rest))
    for _ in range(2):
        np.testing.assert_array_equal(gradient(X), np.full((5, 40), 2.0))
    again = ted.grad(lambda x: ted.sum(x * 2 + rest))
    np.testing.assert_array_equal(again(X), np.full((5, 40), 2.0))


def test_matrices_of_derivatives_and_batches_of_gradients() -> None:
    for w in WEIGHTS.values():
        slopes = 1 - np.tanh(X @ w) ** 2
        jacobian = ted.jacobian(lambda x, w=w: ted.tanh(x @ w))(X[0])
        np.testing.assert_allclose(jacobian, slopes[0][:, None] * w.T, **TOLERANCE)
        single = ted.grad(lambda row, w=w: ted.sum(ted.tanh(row @ w)))
        np.testing.assert_allclose(ted.vmap(single)(X), slopes @ w.T, **TOLERANCE)
        hessian = ted.hessian(lambda row, w=w: ted.sum(ted.tanh(row @ w)))(X[0])
        curves = (-2 * np.tanh(X[0] @ w) * slopes[0]) * w
        np.testing.assert_allclose(hessian, curves @ w.T, rtol=1e-10, atol=1e-12)


def test_programs_with_equal_arrays_are_equivalent() -> None:
    x = ted.placeholder((40,), "float64", name="x")
    for w in WEIGHTS.values():
        one, other = x @ w, ted.sum(x[:, None] * w.copy(), axis=0)
        assert ted.testing.equivalent((one, [x]), (other, [x]))
        assert not ted.testing.equivalent((one, [x]), (x @ (w + 1), [x]))


def test_a_user_derivative_reads_a_constant() -> None:
    w = WEIGHTS[30]

    @ted.custom_vjp
    def product(x: Any) -> Any:
        return x @ w

    product.defvjp(lambda inputs, outputs, heads: 2 * (heads[0] @ w.T))
    found = ted.grad(lambda x: ted.sum(product(x)))(X)
    np.testing.assert_allclose(found, np.tile(2 * w.sum(1), (5, 1)), **TOLERANCE)


def test_a_kernel_with_constants_counts_the_arguments_of_the_caller() -> None:
    calls: list[Any] = []

    class Fake:
        """A kernel that refuses some argument."""

        peak_bytes = 7
        refused: int | None = None

        def fill(self, *arguments: Any) -> int | None:
            calls.append(arguments)
            return self.refused

        def fresh(self, *inputs: Any) -> tuple[Any, ...] | None:
            return inputs

    kernel, (a, b) = Fake(), np.zeros((2, 1))
    whole = WithConstants(kernel, 1, [a, b])
    for refused, own in ((None, None), (0, 0), (3, 1), (4, 2)):
        kernel.refused = refused
        assert whole.fill("x", "out", "more") == own
    assert [(x, y, z) for x, _, _, y, z in calls] == [("x", "out", "more")] * 4
    assert calls[0][1] is a
    assert whole.fresh("x") == ("x", a, b)
    assert whole.peak_bytes == 7


def test_arguments_that_do_not_fit_are_named_beside_constants() -> None:
    x = ted.placeholder((5, 40), "float64", name="x")
    f = ted.compile([x], [x @ WEIGHTS[30], ted.sum(x)])
    spread, total = np.empty((5, 60))[:, ::2], np.empty(())
    assert f(X[:, ::-1], out=[spread, total])[0] is spread
    np.testing.assert_allclose(spread, X[:, ::-1] @ WEIGHTS[30], **TOLERANCE)
    with pytest.raises(ExecutionError, match=r"argument 'x': expected shape \(5, 40\)"):
        f(X[:4])
    with pytest.raises(ExecutionError, match="out='sum': expected dtype float64"):
        f(X, out=[spread, np.empty((), "f4")])


# Transforms of a function that reads a tensor of the function around it, called on arrays alone.
A, M, DIAG = np.array([0.3, 0.7, 1.1]), np.arange(6.0).reshape(2, 3), np.eye(3)
S = np.float64(0.6)
AROUND: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "function": (lambda t: ted.function(lambda a: t * a)(A), lambda t: t * A),
    "places": (lambda t: ted.function(lambda i: t[i])(np.array([2, 0])), lambda t: t[[2, 0]]),
    "vmap": (lambda t: ted.vmap(lambda a: t * a)(M), lambda t: t * M),
    "vmap of vmap": (
        lambda t: ted.vmap(lambda x: ted.vmap(lambda a: ted.sum(t) * a * x)(A))(A),
        lambda t: t.sum() * np.outer(A, A),
    ),
    "grad": (lambda t: ted.grad(lambda a: ted.sum(t * a**2))(A), lambda t: 2 * t * A),
    "grad of a buffer": (
        lambda t: ted.grad(lambda a: ted.sum(t * a**2))(memoryview(A)), lambda t: 2 * t * A,
    ),
    "vmap of grad": (
        lambda t: ted.vmap(lambda a: ted.grad(lambda s: ted.sum(ted.sin(s * a)))(t))(M),
        lambda t: M * np.cos(t * M),
    ),
    "vjp": (lambda t: ted.vjp(lambda a: t * a**2, A)[1](np.ones(3))[0], lambda t: 2 * t * A),
    "jvp": (lambda t: ted.jvp(lambda a: t * a**2, (A,), (A,))[1], lambda t: 2 * t * A**2),
    "jacobian": (lambda t: ted.jacobian(lambda a: t * a**2)(A), lambda t: DIAG * 2 * t * A),
    "hessian": (lambda t: ted.hessian(lambda a: ted.sum(t * a**3))(A), lambda t: DIAG * 6 * t * A),
    "grad of a number": (
        lambda t: ted.grad(lambda a: ted.sum(t * a**2))(S), lambda t: 2 * t.sum() * S,
    ),
    "jvp of a number": (
        lambda t: ted.jvp(lambda a: t * a**2, (S,), (S,))[1], lambda t: 2 * t * S**2,
    ),
    "vjp of a number": (
        lambda t: ted.vjp(lambda a: t * a**2, S)[1](np.ones(3))[0], lambda t: 2 * t.sum() * S,
    ),
    "hessian of a number": (
        lambda t: ted.hessian(lambda a: ted.sum(t * a**3))(np.array(S)), lambda t: 6 * t.sum() * S,
    ),
    "laplacian": (
        lambda t: ted.laplacian(lambda a: ted.sum(t * a**3))(A), lambda t: np.sum(6 * t * A),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AROUND)
def test_transforms_on_arrays_read_tensors_of_the_function_around_them(name: str) -> None:
    mine, other = AROUND[name]
    t = np.array([0.1, 0.2, 0.4])
    found = ted.function(mine)
    np.testing.assert_allclose(found(t), other(t), **TOLERANCE)
    np.testing.assert_allclose(found(2 * t), other(2 * t), **TOLERANCE)
    check_grads(lambda t: ted.sum(ted.sin(mine(t))), [t], order=2)


def test_a_function_that_has_run_on_arrays_is_part_of_the_one_around_it() -> None:
    """Inside nothing runs: what it prints, it prints in every call of that."""
    twice = ted.function(lambda a: 2 * a)
    assert isinstance(twice(A), np.ndarray)
    kinds: list[type] = []

    def around(t: Any) -> Any:
        kinds.append(type(twice(A)))
        return t * twice(A)

    np.testing.assert_allclose(ted.function(around)(A), 2 * A**2)
    assert kinds == [ted.Tensor]


def test_placeholders_of_no_function_are_not_seen_by_a_call_on_arrays() -> None:
    x = ted.placeholder((3,), "float64", name="x")
    times = ted.vmap(lambda a: x * a)
    with pytest.raises(FrontendError, match=r"got none for x of .*ted\.constant\(array\)"):
        times(A)
    found = ted.compile([x], times(ted.constant(A)))
    np.testing.assert_allclose(found(A), np.outer(A, A))
