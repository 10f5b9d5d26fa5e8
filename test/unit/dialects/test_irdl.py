"""The generated IRDL file is up to date, and MLIR reads our ops with it alone."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from ted.dialects import make_context
from ted.dialects.irdl import irdl_form, irdl_text
from ted.mlir import ir, opt_tool

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


def irdl_file() -> Path:
    return Path(str(files("ted.dialects") / "ted" / "ted.irdl.mlir"))


def test_the_irdl_file_says_what_the_ops_say() -> None:
    assert irdl_file().read_text() == irdl_text()


def test_another_mlir_tool_reads_our_ops_with_the_irdl_file(tmp_path: Path) -> None:
    tool = opt_tool()
    if tool is None:
        pytest.skip("the binding brings no opt tool")
    with make_context():
        module = ir.Module.parse(PROGRAM)
        before = str(module)
        text = irdl_form(module)
        assert str(module) == before
    source = tmp_path / "argmax.mlir"
    source.write_text(text)
    flags = ["--allow-unregistered-dialect", f"--irdl-file={irdl_file()}"]
    done = subprocess.run([tool, source, *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"ted.compute"' in done.stdout
