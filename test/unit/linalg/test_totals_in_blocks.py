"""Totals that are rounded block by block: the numbers, which blocks, and why there are none."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ted.dialects import make_context
from ted.ir.pass_driver import run_pipeline
from ted.linalg.equation_groups import Candidates
from ted.linalg.rounded_totals import TotalBlocks, total_blocks
from ted.machine import CPUS
from ted.mlir import ir
from ted.mlir.queries import functions
from unit.cpu.contraction_programs import run

FILE = Path(__file__).parents[2] / "linalg" / "ted-choose-groups-blocks.mlir"
ROW = CPUS["avx512_amx"]


def program() -> str:
    """The function of the IR test, alone."""
    text = FILE.read_text()
    maps = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    body = text[text.index("\nfunc.func @totals(") :].partition("\n}\n")[0] + "\n}"
    return maps + body.replace("@totals", "@main")


def blocks(text: str) -> object:
    """What is planned for the last equation."""
    with make_context() as context:
        module = ir.Module.parse(text, context)
        (function,) = functions(module)
        block = function.entry_block
        last = list(block.operations)[-2].operation
        found = total_blocks(last, Candidates(block, ROW))
    return found.sizes if isinstance(found, TotalBlocks) else found.reason


def test_blocks_have_the_numbers_of_the_whole() -> None:
    """Cut for AMX, computed on the host, which need not have it."""
    with make_context() as context:
        module = ir.Module.parse(program(), context)
        run_pipeline(module, f"builtin.module(ted-emit-kernels{{cpu={ROW.name}}})")
        cut = str(module)
    assert "memref.alloc() : memref<320x128xf32>" in cut
    assert cut.count("scf.for ") == 2
    rng = np.random.default_rng(0)
    x, y, v = (rng.integers(-3, 4, s).astype(np.float32) for s in ((640, 8), (8, 256), 256))
    found = run(cut, (x, y, v), np.empty((640, 256), ml_dtypes.bfloat16), after="linalg")
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
    text = re.sub("256(?=[x,>])", columns, program().replace("640", rows))
    assert blocks(text) == expected


NO_MAP = "it is no map of totals of a contraction that it alone reads"
TRANSPOSED = "write = affine_map<(i, j) -> (j, i)>"
READER = """%g = "ted.stop_gradient"(%t) : (tensor<640x256xf32>) -> tensor<640x256xf32>
  %r = "ted.compute"(%t, %v"""
TOTAL = 'write = #ij3, combiner = "add"'
OTHERS = {
    "one type": ("xbf16", "xf32", "totals have the type of the result, and its memory"),
    "no product": ("arith.mulf %a, %b", "arith.maximumf %a, %b", NO_MAP),
    "a loop of its own": (
        TOTAL, f'{TOTAL}, ted.group = {{name = "padded_blocks", size = 1 : i64}}', NO_MAP,
    ),
    "two readers": ('%r = "ted.compute"(%t, %v', READER, NO_MAP),
    "transposed": ("write = #ij,", f"{TRANSPOSED},", NO_MAP),
    "another total": ('"set"', '"max"', NO_MAP),
    "at other points": ("reads = [#ij, #j]", "reads = [affine_map<(i, j) -> (0, j)>, #j]", NO_MAP),
    "under a condition": (
        "domain = #all3", "domain = affine_set<(i, j, k) : (i - j - k >= 0)>", NO_MAP,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_other_maps_are_made_at_once(case: str) -> None:
    old, new, reason = OTHERS[case]
    text = program().replace(old, new)
    assert text != program()
    if case == "one type":
        text = text.replace("%u = arith.truncf %s : f32 to bf16", "%u = arith.negf %s : f32")
        text = text.replace("bf16", "f32")
    if case == "transposed":
        text = text.replace("640x256xbf16", "256x640xbf16")
    assert blocks(text) == reason
