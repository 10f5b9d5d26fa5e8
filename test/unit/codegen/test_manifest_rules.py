"""Rules of manifests at their limits: the last value accepted, and the first that is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ted.codegen.manifest import (
    ERRORS,
    ArraySpec,
    Buffer,
    Constant,
    Copy,
    Kernel,
    Launch,
    Linear,
    Loop,
    Manifest,
    Pointer,
    Scalar,
    TensorMap,
    memories_of_kernels,
    with_constants,
)
from ted.codegen.manifest_rules import MOST_STEPS, validate
from ted.errors import CompileError

X, Y = Pointer(("input", 0)), Pointer(("output", 0))
ONE = (1, 1, 1)
ROW, MAPPED = Kernel("row", ONE, ONE, ("pointer", "i32")), Kernel("map", ONE, ONE, ("tensormap",))
PROGRAM = Manifest(
    "main", "sm_90a", "", (ArraySpec("x", (4, 8), "float32"),),
    outputs=(ArraySpec("y", (4, 8), "float32"),),
    kernels=(ROW, MAPPED), steps=(), buffers=(Buffer("b", 64, 0),),
    constants=(Constant("c", bytes(64)),),
)  # fmt: skip
TILE = TensorMap(X, "float32", (8, 4), (32,), (8, 4), (1, 1))


def arrays(*shape: int, dtype: str = "float32", donated_to: int | None = None) -> dict:
    return {"inputs": (ArraySpec("x", shape, dtype, donated_to),)}


def launched(grid: tuple = ONE, block: tuple = ONE) -> dict:
    return {"kernels": (Kernel("row", grid, block, ()),)}


def copied(size: int, source: Pointer = X, target: Pointer = Y) -> dict:
    return {"steps": (Copy(target, source, size),)}


def at(offset: int, *terms: tuple[str, int]) -> Pointer:
    return Pointer(("input", 0), Linear(offset, terms))


def looped(start: int, stop: int, step: int, size: int, factor: int = 32) -> dict:
    return {"steps": (Loop("t", start, stop, step, (Copy(Y, at(0, ("t", factor)), size),)),)}


def mapped(**changes: object) -> dict:
    return {"steps": (Launch("map", (replace(TILE, **changes),)),)}  # pyright: ignore


def given(*arguments: object) -> dict:
    return {"steps": (Launch("row", arguments),)}  # pyright: ignore[reportArgumentType]


def repeated(count: int) -> dict:
    return {"steps": (Loop("t", 0, 10 * count, 10, (Copy(Y, X, 4),)),)}


LIMITS = {
    "extents": (arrays(0, 8), arrays(-1, 8), "extents are 0 or more, got .-1, 8."),
    "elements": (arrays(2**31 - 1, dtype="bool"), arrays(2**31, dtype="bool"), "at most 2.31 - 1"),
    "donated": (arrays(4, 8, donated_to=0), arrays(4, 8, donated_to=-1), "to one output, got -1"),
    "buffer size": ({"buffers": (Buffer("b", 0, 0),)}, {"buffers": (Buffer("b", -1, 0),)},
                    "buffer b starts at a multiple of 256, got -1 bytes at 0"),
    "buffer place": ({"buffers": (Buffer("b", 1, 256),)}, {"buffers": (Buffer("b", 1, -256),)},
                     "got 1 bytes at -256"),
    "blocks in x": (launched((2**31 - 1, 1, 1)), launched((2**31, 1, 1)), "2147483647 blocks in x"),
    "blocks in y": (launched((1, 65535, 1)), launched((1, 65536, 1)), "1 to 65535 blocks in y"),
    "blocks in z": (launched((1, 1, 65535)), launched((1, 1, 65536)), "1 to 65535 blocks in z"),
    "no blocks": (launched(), launched((1, 0, 1)), "blocks in y, got grid .1, 0, 1."),
    "threads in x": (launched(block=(1024, 1, 1)), launched(block=(1025, 1, 1)), "threads in x"),
    "threads in y": (launched(block=(1, 1024, 1)), launched(block=(1, 1025, 1)), "threads in y"),
    "threads in z": (launched(block=(1, 1, 64)), launched(block=(1, 1, 65)), "64 threads in z"),
    "threads": (launched(block=(32, 4, 8)), launched(block=(32, 4, 9)), "at most 1024 threads"),
    "steps": (repeated(MOST_STEPS), repeated(MOST_STEPS + 1), "100000000 steps, got 100000001"),
    "bytes": (copied(128), copied(129), "the 128 bytes of .* got 129 bytes at 0 to 0"),
    "no bytes": (copied(0), copied(-1), "got -1 bytes at 0 to 0"),
    "bytes behind": (copied(28, at(100)), copied(29, at(100)), "got 29 bytes at 100 to 100"),
    "bytes before": (copied(4, at(0)), copied(4, at(-1)), "got 4 bytes at -1 to -1"),
    "bytes of errors": (copied(32, Pointer(ERRORS)), copied(33, Pointer(ERRORS)), "the 32 bytes"),
    "bytes of buffers": (copied(64, Pointer(("buffer", 0))), copied(65, Pointer(("buffer", 0))),
                         "the 64 bytes"),
    "bytes of constants": (copied(64, Pointer(("constant", 0))),
                           copied(65, Pointer(("constant", 0))), "the 64 bytes"),
    "memory": (copied(4), copied(4, Pointer(("input", 1))), "points to .* got .*'input', 1"),
    "kind of memory": (copied(4), copied(4, Pointer(("heap", 0))), "points to .* got .*'heap', 0"),
    "memory by itself": (copied(4), copied(4, Pointer(("input",))), "points to .* got .*'input',"),
    "loop": (looped(0, 4, 1, 32), looped(0, 5, 1, 32), "got 32 bytes at 0 to 128"),
    "loop of strides": (looped(0, 5, 3, 32), looped(0, 7, 3, 32), "got 32 bytes at 0 to 192"),
    "loop downwards": (looped(3, -1, -1, 32), looped(3, -2, -1, 32), "got 32 bytes at -32 to 96"),
    "loop of a falling place": (looped(-3, 1, 1, 32, -32), looped(-3, 2, 1, 32, -32), "-32 to 96"),
    "loop that never runs": (looped(0, 0, 1, 999), looped(0, 1, 1, 999), "got 999 bytes"),
    "arguments": (given(X, Scalar("i32", 1)), given(X, Scalar("i64", 1)),
                  r"row takes .'pointer', 'i32'., got .'pointer', 'i64'."),
    "number of arguments": (given(X, Scalar("i32", 1)), given(X), r"got .'pointer',."),
    "type of a scalar": (given(X, Scalar("i32", 1)), given(X, Scalar("u8", 1)), "'unknown u8'"),
    "places of arguments": (given(at(128), Scalar("i32", 1)), given(at(129), Scalar("i32", 1)),
                            "launch of row, argument 0: stays inside the 128 bytes"),
    "loops of scalars": (given(X, Scalar("i32", Linear(7))),
                         given(X, Scalar("i32", Linear(7, (("t", 1),)))),
                         "argument 1: names a loop around it, got 't'"),
    "map": (mapped(), mapped(pointer=at(129)), "argument 0: stays inside the 128 bytes"),
    "rank of a map": (
        mapped(dims=(1,) * 5, strides=(16,) * 4, box=(1,) * 5, element_strides=(1,) * 5),
        mapped(dims=(1,) * 6, strides=(16,) * 5, box=(1,) * 6, element_strides=(1,) * 6),
        "a tensor map has 1 to 5 dims"),
    "a map of no dims": (mapped(dims=(1,), strides=(), box=(1,), element_strides=(1,)),
                         mapped(dims=(), strides=(), box=(), element_strides=()), "1 to 5 dims"),
    "strides of a map": (mapped(), mapped(strides=(32, 32)), "strides, box of one rank"),
    "box of a map": (mapped(), mapped(box=(8,)), "strides, box of one rank"),
    "steps of a map": (mapped(), mapped(element_strides=(1,)), "strides, box of one rank"),
    "type of a map": (mapped(dtype="bfloat16"), mapped(dtype="tf32"), "of .*got 'tf32'"),
    "stride of a map": (mapped(strides=(48,)), mapped(strides=(40,)), "16 bytes, got .40,."),
    "wide box": (mapped(box=(256, 1)), mapped(box=(257, 1)), "1 to 256 elements in a dim, got"),
    "empty box": (mapped(box=(1, 1)), mapped(box=(1, 0)), r"in a dim, got .1, 0."),
    "swizzle": (mapped(swizzle="128B"), mapped(swizzle="256B"), "swizzles .* got '256B'"),
}  # fmt: skip


@pytest.mark.parametrize("case", LIMITS)
def test_a_limit_is_accepted_and_what_is_beyond_it_is_refused(case: str) -> None:
    accepted, refused, message = LIMITS[case]
    validate(replace(PROGRAM, **accepted))
    with pytest.raises(CompileError, match=message):
        validate(replace(PROGRAM, **refused))


def test_an_output_is_given_one_array() -> None:
    with pytest.raises(CompileError, match="input 0: is donated to one output, got 0"):
        validate(replace(PROGRAM, inputs=arrays(4, 8, donated_to=0)["inputs"] * 2))


def test_loops_have_variables_of_their_own() -> None:
    inner = Loop("t", 0, 1, 1, (Copy(Y, X, 4),))
    with pytest.raises(CompileError, match="a variable of its own"):
        validate(replace(PROGRAM, steps=(Loop("t", 0, 1, 1, (inner,)),)))


# ------------------------------------------------------------------ questions about a manifest


def test_kernels_are_found_by_name_with_the_memory_that_they_are_given() -> None:
    steps = (
        Loop("t", 0, 2, 1, (Launch("row", (Pointer(("buffer", 0)), Scalar("i32", 1))),)),
        Launch("row", (X, Scalar("i32", 1))), Launch("map", (TILE,)), Copy(Y, X, 4),
    )  # fmt: skip
    program = replace(PROGRAM, steps=steps)
    assert [program.kernel(name) for name in ("row", "map")] == [ROW, MAPPED]
    found = memories_of_kernels(program)
    assert found == {"row": {("buffer", 0), ("input", 0)}, "map": {("input", 0)}}


def test_known_inputs_become_constants_wherever_they_are_named() -> None:
    w = Pointer(("input", 1), Linear(4))
    steps = (
        Loop("t", 0, 2, 1, (Copy(Y, w, 4),)),
        Launch("row", (w, Scalar("i32", 1))), Launch("map", (replace(TILE, pointer=w),)),
    )  # fmt: skip
    program = replace(
        PROGRAM, inputs=(*PROGRAM.inputs, ArraySpec("w", (2,), "float32")), steps=steps
    )
    assert with_constants(program, []) == program
    made = with_constants(program, [b"12345678"])
    became = Pointer(("constant", 1), Linear(4))
    assert made.inputs == PROGRAM.inputs
    assert made.constants == (*PROGRAM.constants, Constant("w", b"12345678"))
    assert made.steps == (
        Loop("t", 0, 2, 1, (Copy(Y, became, 4),)),
        Launch("row", (became, Scalar("i32", 1))), Launch("map", (replace(TILE, pointer=became),)),
    )  # fmt: skip
    validate(made)


def test_what_a_call_takes_is_what_nobody_gives() -> None:
    spec = ArraySpec("z", (3,), "float64")
    program = replace(PROGRAM, outputs=(*PROGRAM.outputs, spec), **arrays(4, 8, donated_to=0))
    assert program.arena_bytes == 64
    assert program.peak_bytes == 24 + 64 + 64  # result z, the arena, the constant
    assert replace(program, buffers=()).arena_bytes == 0
