"""Operations in sets and tables: found by what they are, whatever is changed about them."""

from __future__ import annotations

from ted.mlir import arith, ir, make_context


def test_an_operation_is_found_after_it_has_changed() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            one, other = (arith.ConstantOp(ir.IndexType.get(), 7) for _ in "ab")
            total = arith.AddIOp(one.result, one.result).operation
        table = {total: "total", one.operation: "one", other.operation: "other"}
        total.attributes["note"] = ir.UnitAttr.get()
        one.result.replace_all_uses_with(other.result)
        one.operation.move_after(total)
        found = {op.operation: op for op in module.body.operations}
        assert [table[op] for op in found] == ["other", "total", "one"]
        assert table[found[total]] == "total", "a view is the operation, too"
        assert len({*table, *found}) == 3
        module.operation.verify()
