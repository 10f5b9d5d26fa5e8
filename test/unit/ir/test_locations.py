"""Places, remarks and files for repeating a failure."""

from __future__ import annotations

from ted.dialects import make_context
from ted.errors import SourceLocation
from ted.mlir import ir
from ted.mlir.locations import dim_names, mlir_location, source_location, user_name, with_dim_names

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
