"""Totals that are rounded block by block: the numbers, which blocks, and why there are none."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ted.dialects import make_context
from ted.ir.pass_driver import run_pipeline
from ted.linalg.totals_in_blocks import TotalBlocks, planned
from ted.machine import CPUS
from ted.mlir import ir
from ted.mlir.queries import functions
from unit.cpu.contraction_programs import run

FILE = Path(__file__).parents[2] / "linalg" / "ted-choose-rows.mlir"
ROW = CPUS["avx512_amx"]


def program() -> str:
    """The function of the IR test, alone."""
    text = FILE.read_text()
    maps = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    return f"{maps}\n" + text[text.rindex("func.func @totals") :].replace("@totals", "@main")


def blocks(text: str) -> object:
    """What is planned for the last operation with results."""
    with make_context() as context:
        module = ir.Module.parse(text, context)
        (function,) = functions(module)
        found = planned(list(function.entry_block.operations)[-2].operation, ROW)
    return found.sizes if isinstance(found, TotalBlocks) else found.reason


def test_blocks_have_the_numbers_of_the_whole() -> None:
    """Cut for AMX, computed on the host, which need not have it."""
    with make_context() as context:
        module = ir.Module.parse(program(), context)
        run_pipeline(module, f"builtin.module(ted-fuse-rows{{cpu={ROW.name}}})")
        cut = str(module)
    assert "scf.forall (%arg3, %arg4) in (2, 2)" in cut
    rng = np.random.default_rng(0)
    x, y, v = (rng.integers(-3, 4, s).astype(np.float32) for s in ((640, 8), (8, 256), 256))
    found = run(cut, (x, y, v), np.empty((640, 256), ml_dtypes.bfloat16))
    np.testing.assert_array_equal(found.astype(np.float32), x @ y + v)  # all below 256


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        ("1024", "1024", (512, 128)),
        ("1000", "1000", (500, 125)),
        ("2080", "96", (416, 96)),
        ("509", "521", "there are no equal blocks that fill registers"),
        ("512", "256", "the second cache holds the totals"),
    ],
)
def test_blocks_are_equal_parts(rows: str, columns: str, expected: object) -> None:
    assert blocks(program().replace("640", rows).replace("256x", f"{columns}x")) == expected


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("xbf16", "xf32", "totals have the type of the result, and its memory"),
        ("attrs = {ted.contraction}", "", "it is no map of totals of a claimed contraction that"),
        (
            "attrs = {ted.contraction}",
            'attrs = {ted.contraction, ted.group = {name = "padded_blocks", size = 1 : i64}}',
            "it is no map of totals",
        ),
        (
            "%s = tensor.empty()",
            "%z = tensor.extract_slice %t[0, 0] [1, 1] [1, 1] : tensor<640x256xf32>"
            " to tensor<1x1xf32>\n  %s = tensor.empty()",
            "it is no map of totals",
        ),
        ("[#ij, #j, #ij]", "[#ij, #j, affine_map<(i, j) -> (j, i)>]", "it is no map of totals"),
    ],
)
def test_other_maps_are_made_at_once(old: str, new: str, reason: str) -> None:
    text = program().replace(old, new)
    if new == "xf32":
        text = text.replace("%u = arith.truncf %m : f32 to bf16", "%u = arith.negf %m : f32")
        text = text.replace("bf16", "f32")
    if "(j, i)" in new:
        text = text.replace("640x256xbf16", "256x640xbf16")
    assert str(blocks(text)).startswith(reason)
