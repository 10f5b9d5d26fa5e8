"""`ted.mlir` finds the binding when it is used, and says so when it cannot."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ted import dialects, mlir
from ted.mlir import ir

SET = "affine_set<(d0, d1)[s0] : (d0 - 1 >= 0, d0 mod 3 + d1 floordiv 2 - s0 == 0)>"


MISSING = "import sys; sys.modules['torch_mlir'] = None; "  # which `import` takes for not found


def python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, input="", capture_output=True, text=True, check=False)


def test_importing_ted_mlir_loads_no_binding() -> None:
    assert python("import ted.mlir, sys; sys.exit('torch_mlir' in sys.modules)").returncode == 0


def test_a_missing_binding_is_named_with_the_way_out() -> None:
    done = python(MISSING + "from ted.mlir import ir; ir.Context")
    assert done.returncode == 1
    assert "mlir: the binding must be installed and have torch_mlir.ir" in done.stderr
    assert "install torch-mlir" in done.stderr


def test_a_tool_without_a_binding_fails_without_a_traceback() -> None:
    done = python(MISSING + "from ted.tools.ted_opt import main; sys.exit(main(['-']))")
    assert done.returncode == 1
    assert done.stderr.startswith("-: error: mlir: the binding must be installed")


AHEAD = """
import sys
from ted.mlir import ir, linalg, llvm, load_ahead
load_ahead()
def loaded(part): return [name for name in sys.modules if part in name]
with ir.Context() as context, ir.Location.unknown():
    context.enable_multithreading(False)
    module = ir.Module.parse("llvm.func @f(%x: f32) { llvm.return } func.func private @g()")
    function = module.body.operations[0].operation
    block = function.regions[0].blocks[0]
    print(function.name, *(op.operation.name for op in block), loaded("_llvm_ops"), loaded("opdsl"))
    with ir.InsertionPoint.at_block_begin(block):
        made = llvm.BitcastOp(ir.Type.parse("i32"), block.arguments[0]).result
    print(made.owner.name, len(loaded("_llvm_ops")), linalg.FillOp.OPERATION_NAME)
    print(type(module.body.operations[0]).__name__)
"""


def test_a_process_that_compiles_loads_classes_of_llvm_when_it_makes_operations() -> None:
    done = python(AHEAD)
    assert done.stdout.splitlines() == [
        "llvm.func llvm.return [] []", "llvm.bitcast 1 linalg.fill", "LLVMFuncOp",
    ], done.stderr  # fmt: skip


def test_an_unknown_name_is_no_module_of_the_binding() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mlir.nothing


@pytest.mark.parametrize("text", [SET, "affine_set<() : (0 == 0)>", "affine_set<(d0) : (1 == 0)>"])
def test_the_set_of_an_attribute_is_read_back(text: str) -> None:
    with dialects.make_context():
        attribute = ir.Attribute.parse(text)
        assert ir.IntegerSetAttr.get(mlir.integer_set(attribute)) == attribute


def test_every_exported_module_exists() -> None:
    for name in mlir._EXPORTS:
        assert getattr(mlir, name) is not None
