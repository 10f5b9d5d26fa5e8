"""What is found behind a value, whose operands may be the same value many times."""

from __future__ import annotations

import pytest

from ted.dialects import make_context
from ted.errors import PassFailed
from ted.mlir import ir
from ted.mlir.queries import (
    computed_from,
    factors_of,
    functions,
    is_zero,
    operations,
    replace_op,
    trip_count,
)

DEEP = 60  # a walk that meets a value twice for each that uses it twice would not end


def chain(operation: str, count: int) -> ir.Module:
    """x, x x, (x x) (x x), ... in a function."""
    steps = [f"%{k + 1} = arith.{operation} %{k}, %{k} : f32" for k in range(count)]
    text = "\n".join(steps).replace("%0,", "%x,").replace("%0 :", "%x :")
    return ir.Module.parse(f"func.func @f(%x: f32) -> f32 {{\n{text}\nreturn %{count} : f32 }}")


def last(module: ir.Module) -> ir.Value:
    return module.body.operations[0].regions[0].blocks[0].operations[-1].operands[0]


@pytest.mark.parametrize(
    ("bounds", "trips"),
    [((0, 10, 3), 4), ((0, 9, 3), 3), ((1, 10, 3), 3), ((-4, 4, 1), 8), ((5, 5, 1), 0),
     ((5, 3, 1), 0), ((0, 10, 0), None), ((0, 10, -1), None)],
)  # fmt: skip
def test_trips_are_those_of_python(bounds: tuple[int, int, int], trips: int | None) -> None:
    with make_context():
        constants = "".join(f"%c{k} = arith.constant {b} : index\n" for k, b in enumerate(bounds))
        module = ir.Module.parse(f"{constants} scf.for %i = %c0 to %c1 step %c2 {{ }}")
        (loop,) = operations(module.operation, "scf.for")
        assert trip_count(loop) == trips
        assert trips is None or trips == len(range(*bounds))


def test_bounds_that_only_a_run_knows_have_no_trips() -> None:
    with make_context():
        module = ir.Module.parse("""func.func @f(%n: index) { %c = arith.constant 2 : index
          scf.for %i = %c to %n step %c { } scf.for %i = %n to %c step %c { } return }""")
        assert [trip_count(loop) for loop in operations(module.operation, "scf.for")] == [None] * 2


def test_only_functions_with_a_body_of_one_block_are_met() -> None:
    with make_context():
        module = ir.Module.parse("""module { func.func private @g() memref.global @m : memref<2xf32>
          func.func @f() { return } }""")
        assert [one.name.value for one in functions(module)] == ["f"]
        branches = ir.Module.parse("func.func @h() { cf.br ^b ^b: return }")
        with pytest.raises(PassFailed, match=r"must have one block, .* got 2 blocks in @h"):
            list(functions(branches))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("0 : i32", True), ("0.0 : f64", True), ("-0.0 : f32", True), ("1 : i32", False),
     ("1.0e-40 : f32", False), ("dense<0> : vector<2xi32>", False)],
)  # fmt: skip
def test_zeros_of_scalars(text: str, is_one: bool) -> None:
    with make_context():
        module = ir.Module.parse(f"%c = arith.constant {text}")
        assert is_zero(module.body.operations[0].operation.results[0]) == is_one


def test_values_take_the_place_of_an_operation() -> None:
    with make_context():
        module = chain("addf", 2)
        block = module.body.operations[0].regions[0].blocks[0]
        replace_op(block.operations[0].operation, [block.arguments[0]])
        assert [op.operation.name for op in block.operations] == ["arith.addf", "func.return"]
        assert list(block.operations[0].operands) == [block.arguments[0]] * 2


def test_each_value_is_met_once() -> None:
    with make_context():
        module = chain("addf", DEEP)
        found = computed_from([last(module)])
        assert len(found) == DEEP + 1
        assert module.body.operations[0].regions[0].blocks[0].arguments[0] in found


def test_values_of_other_blocks_are_met_and_not_followed() -> None:
    with make_context():
        module = ir.Module.parse("""
          func.func @f(%x: f32) { %y = arith.negf %x : f32
            scf.execute_region { %z = arith.addf %y, %y : f32
              %w = math.exp %z : f32
              scf.yield }
            return }""")
        outer = module.body.operations[0].regions[0].blocks[0]
        inner = outer.operations[1].regions[0].blocks[0]
        found = computed_from([inner.operations[1].results[0]], inner)
        assert outer.operations[0].results[0] in found
        assert outer.arguments[0] not in found


def test_a_product_of_too_many_factors_is_one() -> None:
    with make_context():
        few, many = chain("mulf", 3), chain("mulf", DEEP)
        assert len(factors_of(last(few), ["arith.mulf"])) == 8
        assert factors_of(last(many), ["arith.mulf"]) == [last(many)]
