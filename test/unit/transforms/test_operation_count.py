"""Weights, points and bytes of single ops."""

from __future__ import annotations

import pytest

import ted
from ted.dialects import make_context
from ted.errors import DomainError
from ted.mlir import ir
from ted.transforms.compute_sets import ComputeSets, computes
from ted.transforms.operation_count import moved_bytes, point_count, point_weight

X = ted.placeholder((4, 3), "float64", name="x")
B = ted.placeholder((4,), "bfloat16", name="b")


def op_of(*outputs: ted.Tensor) -> object:
    module = ted.module(list(outputs))
    return computes(module)[-1], module


@pytest.mark.parametrize(
    ("value", "weight"),
    [
        (lambda i, j: X[i, j], 0),
        (lambda i, j: X[i, j] + X[j, 0], 1),
        (lambda i, j: X[i, j] * X[i, j] - 2.0, 2),
        (lambda i, j: ted.where(X[i, j] < 2, X[i, j] * 3.0, 0.0), 3),
        (lambda i, j: ted.cast(i * 3 + j, "float64"), 0),
        (lambda i, j: ted.maximum(X[i, j], 1.0), 1),
    ],
)
def test_weights_of_one_point(value: object, weight: int) -> None:
    op, _module = op_of(ted.compute((3, 3), value, name="y"))
    assert point_weight(op) == weight


def test_a_combiner_is_one_operation_a_point() -> None:
    op, _module = op_of(ted.sum(X * X, axis=1))
    assert op.combiner_name == "add"
    weights = [point_weight(c) for c in computes(_module)]
    assert sum(weights) == 2


def test_points_of_boxes_and_triangles() -> None:
    op, _module = op_of(ted.sum(X, axis=1))
    assert point_count(ComputeSets(op)).points == 12
    k = ted.reduce_axis(4, name="k")
    lower = ted.compute((4,), lambda i: ted.sum(X[k, 0], axis=k, where=k <= i), name="low")
    op, _module = op_of(lower)
    assert point_count(ComputeSets(op)).points == 10


def test_bytes_count_each_element_once() -> None:
    op, _module = op_of(ted.compute((4,), lambda i: X[i, 0] * X[i, 1] + X[i, 2], name="y"))
    assert moved_bytes(ComputeSets(op)).points == 8 * 12 + 8 * 4
    op, _module = op_of(ted.compute((2,), lambda i: B[i] * B[i + 1], name="y"))
    assert moved_bytes(ComputeSets(op)).points == 2 * 3 + 2 * 2


def test_bytes_of_symbolic_sizes_are_refused() -> None:
    n = ted.size("n")
    x = ted.placeholder((n,), "float64", name="x")
    op, _module = op_of(x * 2.0)
    with pytest.raises(DomainError, match="extents must be numbers here"):
        moved_bytes(ComputeSets(op))


def test_truth_values_are_free_unless_they_read_data() -> None:
    text = """
    func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
      %e = tensor.empty() : tensor<4xf64>
      %0 = "ted.compute"(%x, %e) ({
      ^bb0(%a: f64):
        %i = "ted.index"() {dim = 0 : i64} : () -> index
        %two = arith.constant 2 : index
        %one = arith.constant 1.0 : f64
        %early = arith.cmpi slt, %i, %two : index
        %small = arith.cmpf olt, %a, %one : f64
        %both = arith.andi %early, %small : i1
        %s = math.fma %a, %a, %a : f64
        %r = arith.select %both, %s, %a : f64
        "ted.yield"(%r) : (f64) -> ()
      }) {
        extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
        reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
        write = affine_map<(d0) -> (d0)>, combiner = "set"
      } : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
      func.return %0 : tensor<4xf64>
    }
    """
    module = ir.Module.parse(text, make_context())
    (op,) = computes(module)
    assert point_weight(op) == 1 + 1 + 2 + 1  # a comparison, and, fused multiply and add, select
    assert moved_bytes(ComputeSets(op)).points == 8 * 4 + 8 * 4
