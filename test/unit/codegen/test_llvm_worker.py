"""What the process that holds LLVM does with a request, asked for in this one."""

from __future__ import annotations

from pathlib import Path

import pytest
from llvmlite import binding as llvm

from ted.codegen.llvm_worker import _link

USES = """declare float @twice(float)
define float @f(float %x) {
  %y = call float @twice(float %x)
  ret float %y
}"""
DEFINES = """target triple = "nvptx64"
define float @twice(float %x) {
  %y = fadd float %x, %x
  ret float %y
}"""


def test_bitcode_of_a_library_is_linked_for_the_target_of_the_module(tmp_path: Path) -> None:
    path = tmp_path / "library.bc"
    path.write_bytes(llvm.parse_assembly(DEFINES).as_bitcode())
    module = llvm.parse_assembly(USES)
    module.triple = "x86_64-unknown-linux-gnu"
    _link(llvm, module, str(path))
    assert not module.get_function("twice").is_declaration
    assert "fadd float" in str(module)
    assert module.triple == "x86_64-unknown-linux-gnu"
    with pytest.raises(FileNotFoundError):
        _link(llvm, module, str(tmp_path / "absent.bc"))
