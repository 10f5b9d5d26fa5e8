"""Places, remarks and files for repeating a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from ted.dialects import make_context
from ted.errors import PassFailed, SourceLocation
from ted.ir.locations import dim_names, mlir_location, source_location, user_name, with_dim_names
from ted.ir.nesting import MAX_DEPTH, check_nesting
from ted.ir.remarks import Remark, collected, remark
from ted.ir.reproducer import reproducer_text, split_reproducer, write_reproducer
from ted.mlir import ir

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


def test_remarks_reach_every_listener_around_them() -> None:
    remark("nobody hears this")
    with collected() as outer:
        remark("first")
        with collected() as inner:
            remark("second", PLACE)
        remark("third")
    assert [r.message for r in outer] == ["first", "second", "third"]
    assert inner == [Remark("second", PLACE)]
    assert str(inner[0]) == f"{PLACE}: second"
    assert str(outer[0]) == "first"


def test_a_reproducer_gives_module_and_pipeline_back(tmp_path: Path) -> None:
    pipeline = 'builtin.module(x{path="a\\b"})'
    text, found = split_reproducer(reproducer_text("module {}\n", pipeline))
    assert found == pipeline
    assert text.split() == ["//", "run", "with:", "ted-opt", "--run-reproducer", "module", "{}"]
    assert text.count("\n") == reproducer_text("module {}\n", pipeline).count("\n")
    assert split_reproducer("module {}") == ("module {}", None)
    path = tmp_path / "again.mlir"
    assert write_reproducer(path, "module {}", "cse") == f"ted-opt {path} --run-reproducer"
    assert split_reproducer(path.read_text())[1] == "cse"
    with pytest.raises(PassFailed, match="reproducer: must be a writable file, got"):
        write_reproducer(tmp_path / "missing" / "again.mlir", "module {}", "cse")


def test_text_that_is_nested_too_deep_is_refused() -> None:
    check_nesting("(" * MAX_DEPTH + ")" * MAX_DEPTH)
    check_nesting("()" * (2 * MAX_DEPTH))
    check_nesting('"' + "(" * 2 * MAX_DEPTH + '"')
    check_nesting("// " + "[" * 2 * MAX_DEPTH + "\n")
    check_nesting("a -> b\n" * 2 * MAX_DEPTH)
    with pytest.raises(PassFailed, match=r"at most 500 deep, got more in line 2"):
        check_nesting("\n" + "[" * (MAX_DEPTH + 1))
    with pytest.raises(PassFailed, match="nest at most"):
        check_nesting("{" * (MAX_DEPTH + 1) + "}" * (MAX_DEPTH + 1))
    with pytest.raises(PassFailed, match="signs nest"):
        check_nesting("- " * 600 + "1")
