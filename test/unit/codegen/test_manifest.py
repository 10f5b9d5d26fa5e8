"""Manifests: JSON keeps them, and a manifest that breaks a rule is refused with its values."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

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
    TensorMap,
    walk,
)
from ted.codegen.manifest_json import dumps, loads
from ted.codegen.manifest_rules import validate
from ted.codegen.nvptx.shared_memory import check_shared_memory
from ted.errors import CompileError

ROW = Linear(16, (("t", 64),))
PROGRAM = Manifest(
    name="main",
    target="sm_90a",
    ptx=".version 8.0\n",
    inputs=(ArraySpec("x", (8, 16), "float32", donated_to=0), ArraySpec("k", (), "int64")),
    outputs=(ArraySpec("y", (8, 16), "float32"),),
    kernels=(
        Kernel(
            "row",
            (4, 1, 1),
            (128, 1, 1),
            ("pointer", "pointer", "i32", "pointer"),
            1024,
        ),
        Kernel("tile", (1, 2, 1), (128, 1, 1), ("tensormap", "f32")),
    ),
    steps=(
        Loop(
            "t",
            6,
            -1,
            -1,
            (
                Launch(
                    "row",
                    (
                        Pointer(("input", 0), ROW),
                        Pointer(("buffer", 1)),
                        Scalar("i32", Linear(0, (("t", 1),))),
                        Pointer(ERRORS),
                    ),
                ),
                Copy(Pointer(("output", 0), ROW), Pointer(("buffer", 1)), 16),
            ),
        ),
        Launch(
            "tile",
            (
                TensorMap(
                    Pointer(("constant", 0)), "bfloat16", (8, 4), (16,), (8, 4), (1, 1), "32B"
                ),
                Scalar("f32", 0.5),
            ),
        ),
    ),
    buffers=(Buffer("a", 300, 0), Buffer("b", 64, 512)),
    constants=(Constant("c", bytes(range(64))),),
    checks=(Check("A", 1, 9),),
)


def test_json_gives_the_same_manifest_back() -> None:
    assert loads(dumps(PROGRAM)) == PROGRAM


def test_sizes_follow_from_the_parts() -> None:
    assert PROGRAM.arena_bytes == 576
    assert PROGRAM.peak_bytes == 576 + 64  # the result lies in the donated input
    assert PROGRAM.memory_bytes(ERRORS) == 32


def test_steps_are_walked_in_order_with_the_values_of_loops() -> None:
    seen = [(type(step).__name__, dict(at)) for step, at in walk(PROGRAM.steps)]
    assert seen[:3] == [("Launch", {"t": 6}), ("Copy", {"t": 6}), ("Launch", {"t": 5})]
    assert seen[-1] == ("Launch", {})
    assert len(seen) == 15


def test_an_index_error_reads_as_on_the_cpu() -> None:
    assert PROGRAM.checks[0].text("main", -3) == (
        "main: index out of range: tensor A has extent 9 in dim 1, got index -3"
    )
    assert Check("A", 0, 2, "found {value}").text("f", 7) == "f: found 7"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "reads version 1, got 2"),
        ({"kernels": [{"name": "row"}]}, "missing or malformed"),
        ({"steps": [{"kind": "jump"}]}, r"missing or malformed: .*steps\[0\] is of no known kind"),
        ({"more": 1}, "missing or malformed"),
        ({"name": 5}, "missing or malformed: manifest.name must be of type str, got 5"),
        ({"inputs": {}}, "missing or malformed: manifest.inputs must be a list"),
        ({"inputs": [7]}, r"missing or malformed: manifest.inputs\[0\] must have fields"),
        ({"buffers": [{"name": "b", "bytes": 2**70, "offset": 0}]}, "must be of type int"),
        ({"constants": [{"name": "c", "data": "?"}]}, "missing or malformed"),
        ({"target": "sm_²"}, "a target reads sm_80"),
    ],
)
def test_text_that_is_no_manifest_of_this_version_is_refused(change: dict, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        loads(json.dumps({**json.loads(dumps(PROGRAM)), **change}))


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(CompileError, match="expected JSON"):
        loads("PTX")
    with pytest.raises(CompileError, match="expected JSON"):
        loads("[" * 100_000)
    with pytest.raises(CompileError, match="expected JSON"):
        loads("9" * 10_000)


def test_a_program_that_would_never_end_is_refused() -> None:
    forever = Loop("t", 0, 2**62, 1, (Copy(Pointer(("output", 0)), Pointer(("input", 0)), 4),))
    with pytest.raises(CompileError, match=r"at most 100000000 steps, got 4611686018427387904"):
        validate(replace(PROGRAM, steps=(forever,)))


def kernel(**changes: object) -> dict[str, object]:
    return {"kernels": (replace(PROGRAM.kernels[0], **changes), PROGRAM.kernels[1])}  # pyright: ignore


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "gfx90a"}, "a target reads sm_80 or sm_90a, got 'gfx90a'"),
        ({"outputs": (ArraySpec("y", (8,), "complex64"),)}, "y: an element type of"),
        (
            {"inputs": (ArraySpec("x", (2**16, 2**15), "int8"),)},
            r"x: a cuda tensor has at most 2\^31 - 1 elements, got 2147483648 .* split it",
        ),
        ({"inputs": (ArraySpec("x", (), "int8", 1),)}, "is donated to one output, got 1"),
        ({"inputs": (ArraySpec("x", (), "int8", 0),)}, "is donated to an output like it"),
        ({"buffers": (Buffer("a", 4, 4),)}, "buffer a starts at a multiple of 256"),
        (kernel(grid=(1, 65536, 1)), "kernel row: 1 to 65535 blocks in y"),
        (kernel(grid=(2**31, 1, 1)), "kernel row: 1 to 2147483647 blocks in x"),
        (kernel(block=(64, 32, 1)), "at most 1024 threads a block"),
        (kernel(block=(0, 1, 1)), "1 to 1024 threads in x"),
        (kernel(params=("pointer", "u8")), "parameters are of"),
        (kernel(name="tile"), "names of kernels differ"),
        ({"steps": (Launch("other", ()),)}, "a launch names a kernel of .* got 'other'"),
        ({"steps": (Launch("tile", (Scalar("f32", 1.0),)),)}, "takes .* got"),
        ({"steps": (Loop("t", 0, 1, 0, ()),)}, "a loop has a step"),
        (
            {"steps": (Copy(Pointer(("output", 0)), Pointer(("input", 7)), 4),)},
            "points to an input, output, buffer, constant, got",
        ),
        (
            {"steps": (Copy(Pointer(("output", 0)), Pointer(("constant", 0)), 65),)},
            "stays inside the 64 bytes of .* got 65 bytes at 0 to 0",
        ),
        (
            {
                "steps": (
                    Loop(
                        "t",
                        0,
                        9,
                        1,
                        (Copy(Pointer(("output", 0), ROW), Pointer(("output", 0), ROW), 16),),
                    ),
                )
            },
            "stays inside the 512 bytes of .* got 16 bytes at 16 to 528",
        ),
        (
            {"steps": (Copy(Pointer(("output", 0), ROW), Pointer(("output", 0)), 4),)},
            "names a loop around it, got 't'",
        ),
    ],
)
def test_a_manifest_that_breaks_a_rule_is_refused(changes: dict, message: str) -> None:
    validate(PROGRAM)
    with pytest.raises(CompileError, match=message):
        validate(replace(PROGRAM, **changes))


def test_shared_memory_is_counted_against_the_target() -> None:
    ptx = """.version 8.0
.visible .entry row(
)
{
	.shared .align 16 .b8 tile[1024];
	mov.u64 %rd1, tile;
}
"""
    check_shared_memory(replace(PROGRAM, ptx=ptx, **kernel(dynamic_shared_bytes=231_424)))
    with pytest.raises(
        CompileError,
        match="main: too much shared memory: a block of sm_90a has at most 232448 bytes, "
        "kernel row needs 232449",
    ):
        check_shared_memory(replace(PROGRAM, ptx=ptx, **kernel(dynamic_shared_bytes=231_425)))
    with pytest.raises(CompileError, match="must be one of"):
        check_shared_memory(replace(PROGRAM, target="sm_33"))


def test_a_manifest_is_read_without_mlir() -> None:
    program = (
        "import sys\nimport ted.codegen.manifest_json\n"
        "assert not {'torch_mlir', 'islpy', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
