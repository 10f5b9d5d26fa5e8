"""How partial results are joined: with the identity a total is what it was, in every type."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ted.dialects import session
from ted.mlir import ir
from ted.mlir.combining import combiner_of
from ted.testing import interpret

FLOATS = np.array([-np.inf, -2.5, -0.0, 0.0, 1.0, 3e38, np.inf], "f4")
NAMES = ("addf", "subf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf", "addi", "subi",
         "muli", "maxsi", "minsi", "maxui", "minui", "ori", "andi", "xori")  # fmt: skip
JOINED = [f"arith.{name}" for name in NAMES]
WIDTHS = {"i8": np.int8, "i64": np.int64}
CASES = [(name, kind) for name in JOINED for kind in (["f32"] if name.endswith("f") else [*WIDTHS])]


def program(name: str, kind: str, operands: str) -> str:
    return f"""func.func @f(%t: tensor<{kind}>, %u: tensor<{kind}>) -> tensor<{kind}> {{
      %total = tensor.extract %t[] : tensor<{kind}>
      %x = tensor.extract %u[] : tensor<{kind}>
      %y = {name} {operands} : {kind}
      %r = tensor.splat %y : tensor<{kind}>
      return %r : tensor<{kind}> }}"""


def made(module: ir.Module) -> list[ir.Value]:
    """The total, the number, and what is made of both."""
    block = module.body.operations[0].regions[0].blocks[0]
    return [block.operations[k].operation.results[0] for k in range(3)]


@pytest.fixture(autouse=True)
def mlir() -> Iterator[None]:
    with session():
        yield


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_an_identity_leaves_every_number_as_it_is(name: str, kind: str) -> None:
    module = ir.Module.parse(program(name, kind, "%total, %x"))
    total, x, y = made(module)
    combiner = combiner_of(total, y)
    assert combiner is not None
    assert combiner.operation == name.replace("sub", "add")
    end = next(iter(y.uses)).owner.operation
    with end.location, ir.InsertionPoint(end):
        end.operands[0] = combiner.join(x, combiner.identity())
    if kind == "f32":
        numbers = [*FLOATS, *([np.float32(np.nan)] if "num" not in name else [])]
    else:
        ends = np.iinfo(WIDTHS[kind])
        numbers = [WIDTHS[kind](n) for n in (ends.min, -1, 0, 1, ends.max)]
    for number in numbers:
        (found,) = interpret(module, [np.zeros_like(number), number], "f")
        np.testing.assert_array_equal(found, number)
        assert np.signbit(found) == np.signbit(number)


@pytest.mark.parametrize("name", JOINED)
def test_a_total_is_on_the_left_of_a_difference_and_used_once(name: str) -> None:
    kind = "f32" if name.endswith("f") else "i32"

    def found(operands: str) -> bool:
        module = ir.Module.parse(program(name, kind, operands))
        total, _, y = made(module)
        return combiner_of(total, y) is not None

    assert found("%total, %x")
    assert found("%x, %total") == (name not in ("arith.subf", "arith.subi"))
    assert not found("%total, %total")
    assert not found("%x, %x")


def test_another_operation_joins_nothing() -> None:
    module = ir.Module.parse(program("arith.divf", "f32", "%total, %x"))
    total, x, y = made(module)
    assert combiner_of(total, y) is None
    assert combiner_of(x, total) is None
