"""Places, remarks and files for repeating a failure."""

from __future__ import annotations

from ted.dialects import make_context
from ted.errors import SourceLocation
from ted.mlir import ir
from ted.mlir.locations import (
    NAMELESS,
    dim_names,
    mlir_location,
    rename_files,
    source_location,
    user_name,
    with_dim_names,
)

TEXT = """func.func @f(%x: f32) -> f32 {
  %y = scf.execute_region -> f32 { %z = arith.negf %x : f32 loc("-":3:4)
    scf.yield %z : f32 }
  return %y : f32 loc("own.mlir":7:8)
}"""
PLACE = SourceLocation("model.py", 41, 3)


def test_names_and_lines_survive_mlir() -> None:
    with make_context():
        plain, named = mlir_location(PLACE), mlir_location(PLACE, "C")
        fused = with_dim_names(named, ["i", "r"])
        call = ir.Location.callsite(named, [mlir_location(SourceLocation("other.py", 1, 0))])
        unknown = mlir_location(None)
        for location in (plain, named, fused, call, ir.Location.fused([unknown, named])):
            assert source_location(location) == PLACE
        assert [user_name(p) for p in (plain, named, fused, unknown)] == [None, "C", "C", None]
        assert user_name(ir.Location.fused([unknown, named])) == "C"
        assert dim_names(fused) == ("i", "r")
        assert dim_names(named) == ()
        assert dim_names(ir.Location.fused([named, plain])) == ()
        assert with_dim_names(named, []) is named
        assert source_location(unknown) is None
        assert source_location(ir.Location.fused([unknown, unknown])) is None


def test_a_file_is_renamed_in_all_operations_and_arguments() -> None:
    with make_context():
        module = ir.Module.parse(TEXT)
        rename_files(module, NAMELESS, "model.mlir")
        found = str(module.operation.get_asm(enable_debug_info=True, use_local_scope=True))
        assert found.count('"model.mlir":1:') == 2  # the function and its argument
        assert 'loc("model.mlir":3:4)' in found
        assert 'loc("own.mlir":7:8)' in found
        assert '"-"' not in found
        named = ir.Location.name("y", ir.Location.file(NAMELESS, 1, 2))
        module.body.operations[0].operation.location = named
        rename_files(module, NAMELESS, "other.mlir")
        assert source_location(module.body.operations[0].location) == SourceLocation(
            "other.mlir", 1, 2
        )
