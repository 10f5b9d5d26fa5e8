"""Programs that the disk knows: nothing is derived, everything that was asked for counts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from ted.api import derived, lowerings, programs
from ted.autodiff.rules import RULES
from ted.codegen import disk_cache
from ted.errors import DerivativeError, ExecutionError
from ted.ir.derivations import Deferred
from ted.transforms import gradient

X = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 0.5]])
W = np.array([[0.5, 1.0], [2.0, -1.0], [0.25, 3.0]])


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, so that what is in it comes from the test."""
    monkeypatch.setenv("TED_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is derived and written, in order."""
    done: list[str] = []

    def noted(module: Any, name: str) -> None:
        function = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, **k: (done.append(name), function(*a, **k))[1])

    noted(gradient, "differentiate")
    noted(gradient, "push_forward")
    noted(programs, "with_saved_values")
    noted(lowerings, "pipeline_text")
    return done


def loss(x: Any, w: Any) -> Any:
    return ted.sum(ted.tanh(x @ w) ** 2)


def step(x: Any, w: Any) -> Any:
    value, dw = ted.value_and_grad(loss, 1)(x, w)
    return value, w - 0.1 * dw


def penalised(x: Any, w: Any) -> Any:
    dw = ted.grad(loss, 1)(x, w)
    return loss(x, w) + ted.sum(dw * dw)


def twice(x: Any, w: Any) -> Any:
    (dx,), dw = ted.grad(lambda p, w: loss(p[0], w), (0, 1))((x,), w)
    return dx, dw, ted.grad(loss)(x, w)


def rows_at(x: Any, w: Any) -> Any:
    k = ted.floor(w[:2, 0]).astype("int64") * 0
    return ted.sum(ted.tanh(ted.take(x, k)) * ted.tanh(ted.take(x, k + 0)))


PROGRAMS: dict[str, Callable[[], Callable[..., Any]]] = {
    "gradient": lambda: ted.grad(loss, (0, 1)),
    "value and gradient": lambda: ted.function(ted.value_and_grad(loss, 1)),
    "training step": lambda: ted.function(step),
    "two gradients": lambda: ted.function(twice),
    "gradient of a gradient": lambda: ted.grad(penalised, 1),
    "tangent": lambda: lambda x, w: ted.jvp(loss, (x, w), (w.T, x.T)),
    "tangent of a gradient": lambda: lambda x, w: ted.hvp(loss, (x, w), (w.T, x.T)),
    "reads at data": lambda: ted.value_and_grad(rows_at),
    "pullback": lambda: lambda x, w: ted.vjp(lambda x, w: x @ w, x, w)[1](x @ w),
    "checkpoint": lambda: ted.grad(lambda x, w: loss(ted.checkpoint(ted.sin)(x), w)),
    "equal gradients": lambda: ted.grad(lambda x, y: ted.sum(ted.exp(x + y.T)), (0, 1)),
    "a gradient that is an argument": lambda: ted.grad(lambda x, w: ted.sum(x * x[0, 0]), 0),
    "no gradient": lambda: ted.grad(lambda x, w: ted.sum(x), 1),
}

# What is done with gradients may need their equations.
MORE = {
    "gradient of a gradient, and the value": lambda: ted.value_and_grad(penalised, 1),
    "all second derivatives": lambda: ted.hessian(loss, 1),
    "gradients of a batch": lambda: ted.vmap(ted.grad(lambda x, w: ted.sum(x @ w)), (0, None)),
}


def arrays_in(nest: Any) -> list[Any]:
    return [a for part in nest for a in arrays_in(part)] if isinstance(nest, tuple) else [nest]


@pytest.mark.fast(2)
@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_what_the_disk_knows_is_not_derived(
    make: Callable[[], Callable[..., Any]], work: list[str]
) -> None:
    first = arrays_in(make()(X, W))
    assert len(work) > 2
    work.clear()
    second = arrays_in(make()(X, W))
    assert work == []
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.fast(2)
@pytest.mark.parametrize("make", [*PROGRAMS.values(), *MORE.values()], ids=[*PROGRAMS, *MORE])
def test_what_is_derived_late_is_what_was_derived_at_once(
    make: Callable[[], Callable[..., Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = arrays_in(make()(X, W))
    make_anew = programs.Key.name
    monkeypatch.setattr(programs.Key, "name", lambda *given: make_anew(*given)[::-1])
    second = arrays_in(make()(X, W))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


SCRIPT = """
import numpy as np, ted
import sys
from ted.codegen import requests
def loss(w, x): return ted.sum(ted.tanh(x @ w) ** 2)
def step(w, x):
    value, dw = ted.value_and_grad(loss)(w, x)
    return value, w - 0.1 * dw
done = []
if WARM:
    requests._compile = lambda *a, **k: done.append("work")
value, w = ted.function(step)(np.full((3, 2), 0.25, "f4"), np.ones((4, 3), "f4"))
print(done, value.tobytes().hex(), w.tobytes().hex())
print(*sorted(sys.modules))
"""
# What has no place in a process that calls what the disk has.
COMPILER = (
    "torch_mlir", "ted.autodiff.vjp", "ted.transforms.gradient", "ted.ir.to_ops",
    "ted.ir.pass_driver", "ted.dialects.ted", "ted.api.lowerings", "ted.codegen.objects", "islpy",
)  # fmt: skip
OWN_MODULES = 220  # of ted: half of what it has up to LLVM


def test_a_second_process_derives_nothing_and_loads_no_compiler(tmp_path: Path) -> None:
    environment = {**os.environ, "TED_CACHE_DIR": str(tmp_path), "PYTHONHASHSEED": "random"}
    printed, loaded = zip(*(
        subprocess.run(
            [sys.executable, "-c", f"WARM = {warm}{SCRIPT}"],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout.splitlines()
        for warm in (False, True)
    ), strict=True)  # fmt: skip
    assert printed[0].startswith("[] ")
    assert printed[1] == printed[0]
    cold, warm = (modules.split() for modules in loaded)
    assert {"torch_mlir", "ted.transforms.gradient", "ted.api.lowerings"} <= set(cold)
    assert set(COMPILER).isdisjoint(warm)
    assert sum(name.split(".")[0] == "ted" for name in warm) <= OWN_MODULES


def test_equations_are_there_for_those_who_look(work: list[str]) -> None:
    known = ted.value_and_grad(loss, 1).compiled(X, W)
    text, explained = known.ir(), known.explain()
    found = ted.value_and_grad(loss, 1)
    compiled = found.compiled(X, W)
    assert isinstance(found.trace(X, W).outputs[1].node, Deferred)
    work.clear()
    assert compiled.ir() == text
    assert "differentiate" in work
    assert compiled.explain() == explained
    assert compiled.system.outputs[1].equations


def test_gradients_of_tensors_wait_too(work: list[str]) -> None:
    def compiled() -> tuple[Any, Any]:
        x, w = (ted.placeholder(a.shape, "float64", name=n) for a, n in ((X, "x"), (W, "w")))
        y = loss(x, w)
        gradients = ted.differentiate(y, [x, w])
        return gradients, ted.compile([x, w], [y, *gradients])

    first, f = compiled()
    results = f(X, W)
    work.clear()
    second, g = compiled()
    assert all(np.array_equal(a, b) for a, b in zip(results, g(X, W), strict=True))
    assert work == []
    assert (repr(second), len(second)) == (repr(first), 2)
    assert str(second) == str(first)
    assert second.report() == first.report()
    assert set(second.adjoints.values()) >= set(second)


# ------------------------------------------------------------------ what makes another program


def scaled(factor: float) -> Callable[..., Any]:
    @ted.custom_vjp
    def plain(x: Any) -> Any:
        return x * x

    plain.defvjp(lambda inputs, outputs, heads: heads[0] * factor)
    return lambda x, w: ted.sum(plain(x))


def with_override(factor: float) -> Callable[..., Any]:
    def gradient(x: Any, w: Any) -> Any:
        y = x * x
        override = {y: ([x], lambda out, deps, head: [head * factor])}
        return ted.differentiate(ted.sum(y), x, override=override)[0]

    return ted.function(gradient)


def rows(ties: str) -> Callable[..., Any]:
    return lambda x, w: ted.sum(ted.max(x, axis=1, ties=ties))


def in_steps(checkpoint: int | None) -> Callable[..., Any]:
    def total(x: Any, w: Any) -> Any:
        def body(carry: Any, row: Any) -> tuple[Any, Any]:
            carry = ted.tanh(carry + row)
            return carry, carry

        return ted.sum(ted.scan(body, ted.zeros((3,), "float64"), x, checkpoint=checkpoint)[1])

    return total


def first_slope(a: Any, b: Any) -> Any:
    return ted.grad(lambda a, b: ted.sum(a * b * b))(a, b)


OTHERS: dict[str, Callable[[], Callable[..., Any]]] = {
    "the first argument": lambda: ted.grad(loss),
    "the second argument": lambda: ted.grad(loss, 1),
    "both": lambda: ted.grad(loss, (0, 1)),
    "both in the other order": lambda: ted.grad(loss, (1, 0)),
    "with the value": lambda: ted.value_and_grad(loss),
    "the second order": lambda: ted.hessian(loss),
    "constant 2": lambda: ted.grad(lambda x, w: loss(x * 2.0, w)),
    "constant 3": lambda: ted.grad(lambda x, w: loss(x * 3.0, w)),
    "no recomputation": lambda: ted.grad(lambda x, w: loss(ted.sin(x), w)),
    "recomputation": lambda: ted.grad(lambda x, w: loss(ted.checkpoint(ted.sin)(x), w)),
    "first of ties": lambda: ted.grad(rows("first")),
    "even ties": lambda: ted.grad(rows("even")),
    "the user's derivative 2": lambda: ted.grad(scaled(2.0)),
    "the user's derivative 3": lambda: ted.grad(scaled(3.0)),
    "an override 2": lambda: with_override(2.0),
    "an override 3": lambda: with_override(3.0),
    "all steps": lambda: ted.grad(in_steps(None)),
    "segments of a step": lambda: ted.grad(in_steps(1)),
    "segments of two steps": lambda: ted.grad(in_steps(2)),
    "arguments": lambda: ted.function(lambda x, w: first_slope(x * 2.0, w.T * 2.0)),
    "arguments the other way round": lambda: ted.function(
        lambda x, w: first_slope(w.T * 2.0, x * 2.0)
    ),
    "other options": lambda: ted.grad(loss, deterministic=False),
}


@pytest.mark.slow
def test_every_part_of_what_is_asked_for_makes_another_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored: list[str] = []
    keep = disk_cache.store

    def store(name: str, content: bytes) -> None:
        if b'"inputs"' in content:
            stored.append(name)
        keep(name, content)

    monkeypatch.setattr(programs.disk_cache, "store", store)
    cold = {name: arrays_in(make()(X, W)) for name, make in OTHERS.items()}
    assert len(set(stored)) == len(stored) == len(OTHERS)
    for name, make in OTHERS.items():
        warm = arrays_in(make()(X, W))
        assert all(np.array_equal(a, b) for a, b in zip(cold[name], warm, strict=True)), name
    assert len(stored) == len(OTHERS)


def test_another_ted_derives_again(work: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ted.grad(loss)(X, W)
    for module in (derived, programs):
        monkeypatch.setattr(module, "toolchain", lambda: ("other",))
    work.clear()
    ted.grad(loss)(X, W)
    assert work == ["differentiate", "with_saved_values", "pipeline_text"]


def test_damaged_entries_are_made_again(work: list[str], cache_folder: Path) -> None:
    expected = ted.grad(loss)(X, W)
    for path in cache_folder.rglob("??/*"):
        path.write_bytes(path.read_bytes()[:-1])
    work.clear()
    assert np.array_equal(ted.grad(loss)(X, W), expected)
    assert work == ["differentiate", "with_saved_values", "pipeline_text"]


def test_code_that_is_gone_is_made_again(work: list[str], cache_folder: Path) -> None:
    expected = ted.grad(loss)(X, W)
    derived = []
    for path in sorted(cache_folder.rglob("??/*")):
        work.clear()
        path.unlink()
        assert np.array_equal(ted.grad(loss)(X, W), expected)
        derived.append(work.count("differentiate"))
    # The object is made of kernels that are there; without those, the program or its derivation.
    assert sorted(derived) == [0, 1, 1, 1]


# ------------------------------------------------------------------ what users are told


def test_errors_come_at_the_same_call_each_time(
    work: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def caught(x: Any, w: Any) -> Any:
        try:
            return ted.grad(loss)(x, w)
        except DerivativeError as error:
            told.append(str(error))
            return x

    told: list[str] = []
    monkeypatch.delitem(RULES, "tanh")
    for _ in range(2):
        assert np.array_equal(ted.function(caught)(X, W), X)
    assert told[0] == told[1]
    assert "tanh: no derivative rule" in told[0]
    assert "test_programs.py" in told[0]
    assert work.count("differentiate") == 2


def test_names_and_lines_of_checked_accesses_are_those_of_the_program() -> None:
    def made(name: str) -> Any:
        table = ted.placeholder((3,), "float64", name=name)
        k = ted.placeholder((2,), "int64", name="k")
        return ted.compile([table, k], ted.compute((2,), lambda i: table[k[i]], name="y"))

    for name in ("first", "second", "first", "second"):
        with pytest.raises(ExecutionError, match=rf"tensor {name} .*got index 5"):
            made(name)(X[0], np.array([0, 5]))


def test_arguments_are_named_as_this_program_names_them() -> None:
    def made(name: str) -> Any:
        x = ted.placeholder((3,), "float64", name=name)
        return ted.compile([x], x * 2.0)

    for name in ("first", "second", "first", "second"):
        with pytest.raises(ExecutionError, match=f"argument '{name}'"):
            made(name)(X)


def test_a_donated_input_is_one_in_the_next_process_too() -> None:
    for donate in (True, False, True, False):
        x = ted.placeholder((3,), "float64", name="x")
        f = ted.compile([x], [x * 2.0], donate=[x] if donate else [])
        given = X[0].copy()
        (result,) = f(given)
        assert (result is given) == donate


def test_without_a_cache_everything_is_derived(
    work: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TED_CACHE_DIR", "")
    for _ in range(2):
        ted.grad(loss)(X, W)
    assert work.count("differentiate") == 2
