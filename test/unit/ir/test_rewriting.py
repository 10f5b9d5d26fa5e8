"""Functions of a module replaced by what a transform makes of their systems."""

from __future__ import annotations

from dataclasses import replace

import ted
from ted.dialects import make_context
from ted.ir.equations import System
from ted.ir.rewriting import has_equations, rewrite_functions
from ted.ir.scalar import add
from ted.mlir import ir

OTHERS = """
func.func @plain(%x: tensor<2xf64>) -> tensor<2xf64> { return %x : tensor<2xf64> }
func.func @caller(%x: tensor<2xf64>) -> tensor<2xf64> {
  %y = func.call @plain(%x) : (tensor<2xf64>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}
"""


def module() -> ir.Module:
    x = ted.placeholder((2,), "float64", name="x")
    text = str(ted.module([ted.compute((2,), lambda i: ted.exp(x[i]), name="y")]))
    body = text.replace("@main", "@f").rstrip().removesuffix("}") + OTHERS + "}"
    return ir.Module.parse(body, make_context())


def test_only_functions_of_equations_are_rewritten() -> None:
    found = module()
    tops = [op.operation for op in found.body.operations]
    assert [has_equations(op) for op in tops] == [True, False, False]


def test_a_rewritten_function_keeps_its_place_name_and_attributes() -> None:
    found = module()
    first = found.body.operations[0].operation
    with found.context:
        first.attributes["mine"] = ir.StringAttr.get("kept")
    seen: list[System] = []

    def doubled(system: System) -> System:
        seen.append(system)
        (y,) = system.outputs
        more = tuple(replace(e, body=add(e.body, e.body)) for e in y.equations)
        return replace(system, outputs=(replace(y, equations=more),))

    rewrite_functions(found, doubled)
    assert len(seen) == 1
    names = [str(op.attributes["sym_name"]) for op in found.body.operations]
    assert names == ['"f"', '"plain"', '"caller"']
    assert 'mine = "kept"' in str(found)
    assert "arith.addf" in str(found)
    before = str(found)
    rewrite_functions(found, lambda system: system)
    assert str(found) == before
