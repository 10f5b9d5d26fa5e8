"""Validation of kernels on memory: programs with every kind of loop agree, errors are found."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import ted
from ted import nn
from ted.dialects import make_context
from ted.errors import PassFailed
from ted.frontend.tensors import Tensor
from ted.ir.pass_driver import run_pipeline
from ted.linalg import memory_places
from ted.linalg.memory_places import Places
from ted.linalg.ted_emit_kernels import TedEmitKernels
from ted.mlir import ir
from ted.testing.validation import Validator

IN_PLACE = "attributes {ted.in_place = array<i64: 0, 0>}"


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float32", name=name)


def steps() -> Tensor:
    x, w = p("x", 5, 3), p("w", 3, 3)

    def step(h: Any, t: Any, i: Any) -> Any:
        before = ted.where(t > 0, h[t - 1, i], 0.0)
        return ted.tanh(before * w[i, i] + x[t, i])

    return ted.recurrence((5, 3), step)


PROGRAMS: dict[str, Callable[[], Tensor]] = {
    "rows": lambda: nn.softmax(p("x", 6, 5) @ p("w", 5, 4)),
    "a padded convolution": lambda: nn.conv2d(p("x", 1, 5, 6, 4), p("w", 3, 3, 4, 2), padding=1),
    "a recurrence": steps,
    "totals of columns": lambda: ted.sum(ted.exp(p("x", 7, 5)), axis=0),
    "a product": lambda: nn.relu(p("x", 9, 3) @ p("w", 3, 17)),
    "a loop that is left": lambda: ted.while_loop(
        lambda x: ted.max(abs(x)) < 10.0, lambda x: x * 2.0, p("x", 3), max_steps=6
    ),
    "no elements": lambda: ted.sum(p("x", 0, 4), axis=0),
}


def with_gradients(y: Tensor) -> str:
    return str(ted.module([y, *ted.differentiate(y, head=p("dy", *y.shape))]))


def validated(text: str, until: str = "linalg") -> list[str]:
    with make_context(threading=False) as context:
        validator = Validator()
        pipeline = f"builtin.module(ted-cpu-pipeline{{until={until}}})"
        run_pipeline(ir.Module.parse(text, context), pipeline, observers=[validator])
        return validator.summary()


def in_place(text: str) -> str:
    """The program whose first argument lies in the memory of the first result."""
    return re.sub(r"(func\.func @main\(.*?\) -> \S+) \{", rf"\1 {IN_PLACE} {{", text, count=1)


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_and_their_schedule_keep_a_program_and_its_gradient(name: str) -> None:
    (said,) = validated(with_gradients(PROGRAMS[name]()), "buffers")
    assert "@main is validated" in said
    assert "ted-emit-kernels, ted-lower-tensors, ted-schedule-contractions" in said


def test_kernels_that_are_no_loops_any_more_are_left_with_a_remark() -> None:
    with make_context(threading=False) as context:
        module = ir.Module.parse(str(ted.module([ted.argmax(p("x", 3, 4), axis=1)])), context)
        run_pipeline(module, "builtin.module(ted-cpu-pipeline{until=kernels})")
        validator = Validator()
        road = "func.func(convert-linalg-to-loops),convert-scf-to-cf"
        run_pipeline(module, f"builtin.module({road})", observers=[validator])
    said = [line for line in validator.summary() if "@main" in line]
    assert "is validated around convert-linalg-to-loops: the same" in said[0]
    assert "is not validated around convert-scf-to-cf: it calls @kernel_" in said[1]
    assert re.search(r"which has (cf|memref)\.\w+, and that is not evaluated", said[1])


def test_padding_that_is_made_block_by_block_keeps_a_program() -> None:
    conv = nn.conv2d(p("x", 4, 2, 5, 5), p("w", 3, 2, 3, 3), padding=1, layout="NCHW")
    with make_context(threading=False) as context:
        module = ir.Module.parse(str(ted.module([conv])), context)
        run_pipeline(module, "builtin.module(ted-cpu-pipeline{until=ted},ted-choose-groups)")
        chosen = str(module)
        asked = chosen.replace('{name = "alone"}', '{name = "padded_blocks", size = 2 : i64}')
        assert asked != chosen
        validator, module = Validator(), ir.Module.parse(asked, context)
        run_pipeline(module, "builtin.module(ted-emit-kernels)", observers=[validator])
    assert "scf.for" in str(module)
    assert "@main is validated" in validator.summary()[0]


def test_arguments_that_lie_in_results_are_there_when_a_call_starts() -> None:
    x, y = p("x", 3, 4), p("y", 3, 4)
    for program in (x * y + x, x[::-1] * y, nn.softmax(x) * y):
        text = in_place(str(ted.module([program])))
        assert IN_PLACE in text
        (said,) = validated(text)
        assert "@main is validated" in said


def without_starts(patch: pytest.MonkeyPatch) -> None:
    start = Places._start

    def nothing(self: Places, init: ir.Value, memory: ir.Value) -> Any:
        found = start(self, init, memory)
        return found and replace(found, value=None)

    patch.setattr(Places, "_start", nothing)


def one_memory_for_all_of_a_shape(patch: pytest.MonkeyPatch) -> None:
    known: dict[tuple[int, ...], ir.Value] = {}
    allocated = memory_places.allocated

    def again(shape: list[int], kind: ir.Type) -> ir.Value:
        if tuple(shape) not in known:
            known[tuple(shape)] = allocated(shape, kind)
        return known[tuple(shape)]

    patch.setattr(memory_places, "allocated", again)
    patch.setattr(Places, "_check", lambda *_: None)


def results_of_others(patch: pytest.MonkeyPatch) -> None:
    give = Places.give
    patch.setattr(Places, "give", lambda self, outs: give(self, outs[::-1]))


def arguments_that_are_never_saved(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_places, "_is_read_before", lambda *_: True)
    patch.setattr(Places, "_check", lambda *_: None)


def a_kernel_that_is_lost(patch: pytest.MonkeyPatch) -> None:
    run = TedEmitKernels.run

    def without_last(self: TedEmitKernels, module: ir.Module) -> None:
        run(self, module)
        (function,) = [view.operation for view in module.body.operations]
        body = [view.operation for view in function.regions[0].blocks[0].operations]
        [op for op in body if op.name.startswith("linalg.") or op.name == "scf.for"][-1].erase()

    patch.setattr(TedEmitKernels, "run", without_last)


def two_results() -> str:
    x, y = p("x", 3, 4), p("y", 3, 4)
    return str(ted.module([x * y, x + y]))


def chain() -> str:
    x, w = p("x", 4, 4), p("w", 4, 4)
    first, second = x @ w, w @ x
    return str(ted.module([first @ second]))


UNWRITTEN = r"reads what has been written, got nothing at index \["
OTHER = "keeps its value at every point, got .* before and .* after at index"
ERRORS = {
    "products without starts": (chain, without_starts, rf"linalg\.matmul: {UNWRITTEN}"),
    "rows without starts": (
        lambda: with_gradients(PROGRAMS["rows"]()), without_starts, UNWRITTEN,
    ),
    "two tensors in one memory": (chain, one_memory_for_all_of_a_shape, OTHER),
    "results of others": (two_results, results_of_others, OTHER),
    "an argument that is overwritten": (
        lambda: in_place(str(ted.module([p("x", 3, 4)[::-1] * p("y", 3, 4)]))),
        arguments_that_are_never_saved,
        "memory has what is read from it",
    ),
    "a result that is not written": (
        two_results, a_kernel_that_is_lost, "got .* before and None after",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_a_wrong_emission_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, sabotage, message = ERRORS[name]
    program = text()
    assert "@main is validated" in validated(program)[0]
    sabotage(monkeypatch)
    with pytest.raises(PassFailed, match=f"ted-emit-kernels: .*{message}"):
        validated(program)
