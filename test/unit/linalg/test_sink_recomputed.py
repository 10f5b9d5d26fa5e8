"""Recomputed equations that go into steps: as many types of histories as IRDL can hold."""

from __future__ import annotations

import pytest

from ted import dialects
from ted.dialects.ted import MAX_RUNS
from ted.linalg.ted_sink_recomputed import TedSinkRecomputed
from ted.mlir import ir
from ted.mlir.queries import operations

EQUATION = """{{
    extents = array<i64: 2>, iterators = ["parallel"], domain = affine_set<(t) : (0 == 0)>,
    reads = [affine_map<(t) -> (t)>], guards = [affine_set<(t) : (0 == 0)>],
    write = affine_map<(t) -> (t)>, combiner = "set"{mark}
  }}"""


def steps_with(others: int) -> ir.Module:
    """A scan that reads a recomputed tensor, with so many histories of other types."""
    kinds = ["tensor<2xf64>", *(f"tensor<2x{k + 1}xf64>" for k in range(others))]
    starts = [f"%e{k} = tensor.empty() : {kind}" for k, kind in enumerate(kinds)]
    names = ", ".join(f"%e{k}" for k in range(len(kinds)))
    states = ", ".join(f"%h{k}: {kind}" for k, kind in enumerate(kinds))
    after = ", ".join(["%new", *(f"%h{k}" for k in range(1, len(kinds)))])
    listed = ", ".join(kinds)
    body = '({ ^bb0(%a: f64): "ted.yield"(%a) : (f64) -> () })'
    return ir.Module.parse(f"""
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {{
  {" ".join(starts)}
  %start = tensor.empty() : tensor<2xf64>
  %again = "ted.compute"(%x, %start) {body} {EQUATION.format(mark=", ted.recomputed")}
    : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %s:{len(kinds)} = "ted.scan"({names}) ({{
  ^bb0({states}):
    %new = "ted.compute"(%again, %h0) {body} {EQUATION.format(mark="")}
      : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    "ted.yield"({after}) : ({listed}) -> ()
  }}) {{times = array<i64: {", ".join("0" for _ in kinds)}>, steps = 2 : i64, reverse = false}}
    : ({listed}) -> ({listed})
  return %s#0 : tensor<2xf64>
}}""")


# The moved history is of the first type but comes last: a run of its own.
@pytest.mark.parametrize(("others", "moves"), [(MAX_RUNS - 2, True), (MAX_RUNS - 1, False)])
def test_equations_move_as_long_as_the_types_of_the_histories_fit(others: int, moves: bool) -> None:
    with dialects.session():
        module = steps_with(others)
        TedSinkRecomputed().run(module)
        module.operation.verify()
        (scan,) = operations(module.operation, "ted.scan")
        inside = [op for op in operations(scan, "ted.compute") if "ted.recomputed" in op.attributes]
    assert len(inside) == moves
