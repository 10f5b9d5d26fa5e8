"""Which operations of a block use a buffer, by whatever view, and where it is known by others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ted.dialects import make_context
from ted.mlir import ir
from ted.mlir.lifetimes import Lifetimes, is_passed_on
from ted.mlir.queries import functions, operations

TEXT = """
func.func @f(%p: i1, %z: f32, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() {name = "viewed"} : memref<2x4xf32>
  %v = memref.collapse_shape %a [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  linalg.fill {step = 0} ins(%z : f32) outs(%v : memref<8xf32>)
  %b = memref.alloc() {name = "chosen"} : memref<8xf32>
  scf.for %i = %c0 to %c1 step %c1 {
    memref.copy %v, %out : memref<8xf32> to memref<8xf32>
  } {step = 1}
  %c = arith.select %p, %b, %out : memref<8xf32>
  memref.copy %c, %out {step = 2} : memref<8xf32> to memref<8xf32>
  %d = memref.alloc() {name = "other"} : memref<8xf32>
  memref.copy %d, %out {step = 3} : memref<8xf32> to memref<8xf32>
  return
}
"""


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with make_context():
        yield ir.Module.parse(TEXT)


def buffers(module: ir.Module) -> dict[str, ir.Value]:
    makers = operations(module.operation, "memref.alloc")
    return {ir.StringAttr(op.attributes["name"]).value: op.results[0] for op in makers}


def steps(users: list[ir.Operation]) -> list[int]:
    return [ir.IntegerAttr(op.attributes["step"]).value for op in users]


def test_users_are_those_of_views_and_loops_stand_for_what_is_in_them(module: ir.Module) -> None:
    (function,) = functions(module)
    lifetimes, found = Lifetimes(function.entry_block), buffers(module)
    assert steps(lifetimes.users(found["viewed"])) == [0, 1]
    assert steps(lifetimes.users(found["other"])) == [3]


def test_a_buffer_that_becomes_another_one_has_the_users_of_both_in_order(
    module: ir.Module,
) -> None:
    (function,) = functions(module)
    lifetimes, found = Lifetimes(function.entry_block), buffers(module)
    (copy,) = lifetimes.users(found["other"])
    copy.move_before(lifetimes.users(found["viewed"])[0])
    lifetimes = Lifetimes(function.entry_block)
    both = [lifetimes.users(found[name]) for name in ("other", "viewed")]
    assert list(map(steps, both)) == [[3], [0, 1]]
    found["viewed"].set_type(found["other"].type)
    lifetimes.replace(found["other"], found["viewed"])
    assert steps(lifetimes.users(found["viewed"])) == [3, 0, 1]
    assert not list(found["other"].uses)


def test_what_is_chosen_is_known_by_another_value_and_views_are_not(module: ir.Module) -> None:
    found = buffers(module)
    assert {name for name, buffer in found.items() if is_passed_on(buffer)} == {"chosen"}
