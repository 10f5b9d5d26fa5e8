"""The generated IRDL file is up to date, and MLIR reads our ops with it alone."""

from __future__ import annotations

import re
import subprocess
from importlib.resources import files
from pathlib import Path
from textwrap import dedent

import pytest

from ted.dialects import make_context
from ted.dialects.irdl import irdl_form, irdl_text
from ted.dialects.ted import ComputeOp, IndexOp, LoadOp, ScanOp, SizeOp, StopGradientOp, YieldOp
from ted.mlir import ir, opt_tool
from ted.tools import ted_opt

OPERATIONS = (ComputeOp, IndexOp, LoadOp, ScanOp, SizeOp, StopGradientOp, YieldOp)

PROGRAM = """
func.func @argmax(%A: tensor<4x5xf32>, %v: tensor<4xf32>, %p: tensor<4xi64>) -> tensor<4xi64> {
  %0:2 = "ted.compute"(%A, %v, %p) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4, 5>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "argmax"
  } : (tensor<4x5xf32>, tensor<4xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>)
  func.return %0#1 : tensor<4xi64>
}
"""


def examples() -> list[str]:
    """The examples in the docstrings of all operations."""
    found = [re.search(r"```mlir\n(.*?)```", op.__doc__ or "", re.DOTALL) for op in OPERATIONS]
    return [dedent(one[1]) for one in found if one is not None]


def irdl_file() -> Path:
    return Path(str(files("ted.dialects") / "ted" / "ted.irdl.mlir"))


def test_the_irdl_file_says_what_the_ops_say() -> None:
    assert irdl_file().read_text() == irdl_text()


def read_by_another_tool(source: Path) -> str:
    """What MLIR's own tool prints of a file, with nothing of ted but the IRDL file."""
    tool = opt_tool()
    if tool is None:
        pytest.skip("the binding brings no opt tool")
    flags = ["--allow-unregistered-dialect", f"--irdl-file={irdl_file()}"]
    done = subprocess.run([tool, source, *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", [PROGRAM, *examples()])
def test_another_tool_reads_what_ted_opt_writes_and_back(tmp_path: Path, program: str) -> None:
    plain, source, back = (tmp_path / name for name in ("plain.mlir", "source.mlir", "back.mlir"))
    source.write_text(program)
    assert ted_opt.main([str(source), "-o", str(plain)]) == 0
    assert ted_opt.main([str(source), "--ted-irdl-form", "-o", str(source)]) == 0
    text = read_by_another_tool(source)
    assert '"ted.' in text
    back.write_text(text)
    assert ted_opt.main([str(back), "-o", str(back)]) == 0
    assert back.read_text() == plain.read_text()


def test_writing_for_another_tool_leaves_the_module_alone() -> None:
    with make_context():
        module = ir.Module.parse(PROGRAM)
        before = str(module)
        assert "operandSegmentSizes" in irdl_form(module)
        assert str(module) == before
