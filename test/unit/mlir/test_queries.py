"""What is found behind a value, whose operands may be the same value many times."""

from __future__ import annotations

from ted.dialects import make_context
from ted.mlir import ir
from ted.mlir.queries import computed_from, factors_of

DEEP = 60  # a walk that meets a value twice for each that uses it twice would not end


def chain(operation: str, count: int) -> ir.Module:
    """x, x x, (x x) (x x), ... in a function."""
    steps = [f"%{k + 1} = arith.{operation} %{k}, %{k} : f32" for k in range(count)]
    text = "\n".join(steps).replace("%0,", "%x,").replace("%0 :", "%x :")
    return ir.Module.parse(f"func.func @f(%x: f32) -> f32 {{\n{text}\nreturn %{count} : f32 }}")


def last(module: ir.Module) -> ir.Value:
    return module.body.operations[0].regions[0].blocks[0].operations[-1].operands[0]


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
