"""Sums that a loop over rows advances: what they begin with, and where they are rounded."""

from __future__ import annotations

from typing import cast

import pytest

from ted.dialects import make_context
from ted.linalg.kernel_totals import begun_total, end_total, row_of
from ted.linalg.memory_places import Places
from ted.linalg.subdomain import Start
from ted.mlir import arith, ir
from ted.mlir.queries import operations

COLUMNS = """
#all = affine_set<(k, i, j) : (0 == 0)>
func.func @f(%memory: memref<9xTYPE>, %x: tensor<40x9x1xTYPE>, %o: tensor<9xTYPE>)
    -> tensor<9xTYPE> {
  %y = "ted.compute"(%x, %o) ({
  ^bb0(%a: TYPE):
    "ted.yield"(%a) : (TYPE) -> ()
  }) {
    extents = array<i64: 9, 1, 40>, iterators = ["parallel", "reduction", "reduction"],
    domain = #all, reads = [affine_map<(k, i, j) -> (j, k, i)>], guards = [#all],
    write = affine_map<(k, i, j) -> (k)>, combiner = "add"
  } : (tensor<40x9x1xTYPE>, tensor<9xTYPE>) -> tensor<9xTYPE>
  return %y : tensor<9xTYPE>
}
"""


class Memory:
    """The memory of one sum."""

    def __init__(self, result: ir.Value, memory: ir.Value, start: Start) -> None:
        self.memory = {result: memory}
        self.starts = {result: start}


@pytest.mark.parametrize(
    ("kind", "is_known", "made"),
    [
        ("f32", True, ["linalg.fill"]),  # the memory itself is the total
        ("f32", False, []),
        ("f16", True, ["memref.alloc", "linalg.fill", "linalg.generic"]),
        ("f16", False, ["memref.alloc", "linalg.generic", "linalg.generic"]),
    ],
)
def test_a_total_is_as_wide_as_it_must_be_to_be_rounded_once(
    kind: str, is_known: bool, made: list[str]
) -> None:
    with make_context():
        module = ir.Module.parse(COLUMNS.replace("TYPE", kind))
        (op,) = operations(module.operation, "ted.compute")
        memory = op.block.arguments[0]
        with ir.InsertionPoint(op), op.location:
            number = arith.ConstantOp(ir.Type.parse(kind), 0.5).result
            start = Start(memory, number) if is_known else Start(memory, None)
            places = cast(Places, Memory(op.results[0], memory, start))
            total = begun_total(op, places)
            end_total(op, total, places)
        assert (total == memory) == (kind == "f32")
        assert str(total.type) == "memref<9xf32>"
        assert places.starts == {op.results[0]: None}, "it has begun"
        found = [view.operation.name for view in op.block.operations]
        assert [name for name in found if name.startswith(("memref.", "linalg."))] == made
        assert module.operation.verify()


def test_the_row_is_the_dim_that_has_more_than_one_point() -> None:
    with make_context():
        module = ir.Module.parse(COLUMNS.replace("TYPE", "f32"))
        (op,) = operations(module.operation, "ted.compute")
        assert row_of(op) == 1, "of dims k and j"
