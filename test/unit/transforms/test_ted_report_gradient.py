"""The report of a function: forms and reasons, proofs, exact counts, ratio."""

from __future__ import annotations

import json

import pytest

import ted
from ted.dialects import make_context
from ted.errors import PassFailed
from ted.mlir import ir
from ted.transforms.ted_report_gradient import report_function

MATMUL = """
func.func @main(%A: tensor<3x5xf32>, %B: tensor<5x4xf32>, %D: tensor<3x4xf32>)
    -> (tensor<3x4xf32>, tensor<3x5xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %C = "ted.compute"(%A, %B, %i) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 3, 4, 5>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<3x5xf32>, tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    loc("C"("model.py":41:3))
  %ed = tensor.empty() : tensor<3x5xf32>
  %id = linalg.fill ins(%z : f32) outs(%ed : tensor<3x5xf32>) -> tensor<3x5xf32>
  %dA = "ted.compute"(%D, %B, %id) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 3, 4, 5>, iterators = ["reduction", "reduction", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d2)>, combiner = "add"
  } : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %C, %dA : tensor<3x4xf32>, tensor<3x5xf32>
}"""


def one(
    write: str, target: str, iterators: list[str], domain: str = "0 == 0", extra: str = ""
) -> str:
    """A function with one sum over a 4 x 4 box."""
    kinds = ", ".join(f'"{k}"' for k in iterators)
    return f"""
    func.func @main(%A: tensor<4x4xf64>, %I: {target}) -> {target} {{
      %C = "ted.compute"(%A, %I) ({{
      ^bb0(%a: f64):
        %e = math.exp %a : f64
        %q = arith.divf %e, %a : f64
        "ted.yield"(%q) : (f64) -> ()
      }}) {{
        extents = array<i64: 4, 4>, iterators = [{kinds}],
        domain = affine_set<(d0, d1) : ({domain})>,
        reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
        write = affine_map<(d0, d1) -> ({write})>, combiner = "add"{extra}
      }} : (tensor<4x4xf64>, {target}) -> {target}
      func.return %C : {target}
    }}"""


def report(text: str, **options):
    with make_context():
        return report_function(ir.Module.parse(text), **options)


def test_gather_and_scatter_are_told_apart_with_counts_and_ratio():
    found = report(MATMUL, results=1)
    primal, adjoint = found.equations
    assert (primal.name, primal.place, primal.form) == ("C", "model.py:41", "gather")
    assert (adjoint.form, adjoint.reason) == (
        "scatter",
        "the write depends on reduction dims d0, d2",
    )
    assert [e.operations for e in found.equations] == [120, 120]
    assert (primal.primal, adjoint.primal, found.ratio) == (True, False, 1.0)
    assert primal.bytes == 4 * (15 + 20 + 12)
    assert "C: add, gather, disjoint, 120 operations at 60 points" in str(found)
    assert json.loads(found.json())["ratio"] == 1.0


def test_counts_are_of_the_domain_and_weighted():
    triangle = report(one("d0", "tensor<4xf64>", ["parallel", "reduction"], "d0 - d1 >= 0"))
    (equation,) = triangle.equations
    assert (equation.points, equation.operations) == (10, 10 * (16 + 4 + 1))
    assert triangle.ratio is None


@pytest.mark.parametrize(
    ("write", "size", "disjoint"),
    [("d0 * 4 + d1", 16, True), ("d0 * 3 + d1", 13, False), ("d0 floordiv 2, d1", 2, False)],
)
def test_disjoint_parallel_writes_are_proved_over_the_integers(write, size, disjoint):
    target = f"tensor<{size}{'x4' if ',' in write else ''}xf64>"
    (equation,) = report(one(write, target, ["parallel", "parallel"])).equations
    assert (equation.form, equation.disjoint) == ("gather", disjoint)


def test_stored_reason_of_a_kept_scatter_is_repeated():
    text = one(
        "d1", "tensor<4xf64>", ["reduction", "reduction"], extra=', ted.scatter_reason = "budget"'
    )
    (equation,) = report(text).equations
    assert (equation.reason, equation.disjoint) == ("budget", True)


def test_unknown_function_is_refused():
    with pytest.raises(PassFailed, match="a function of main, got other"):
        report(MATMUL, function="other")


def test_proof_fails_when_the_bound_of_one_gather_piece_is_widened():
    x = ted.placeholder((9,), "float64", name="x")
    w = ted.placeholder((2,), "float64", name="w")
    r = ted.reduce_axis(2, name="r")
    y = ted.compute((4,), lambda i: ted.sum(x[2 * i + r] * w[r], axis=r), name="y")
    (dx,) = ted.differentiate(y, [x], head=ted.placeholder((4,), "float64", name="dy"))
    text = str(ted.module(dx))
    proved = report(text).equations
    # The two residue classes of x are the rows of a 4 x 2 box, written at 2 * row + class.
    assert [(e.form, e.disjoint, e.points) for e in proved] == [("gather", True, 8)]
    assert text.count("extents = array<i64: 4, 2>") == 1
    broken = report(text.replace("extents = array<i64: 4, 2>", "extents = array<i64: 4, 3>"))
    assert [(e.form, e.disjoint) for e in broken.equations] == [("gather", False)]
