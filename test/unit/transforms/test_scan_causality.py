"""Steps of a scan read what is complete, and nothing of the future."""

from __future__ import annotations

import pytest

from ted.dialects import make_context
from ted.mlir import ir
from ted.transforms.compute_sets import scans
from ted.transforms.scan_causality import reads_of_the_future


def problems(read: str, guard: str, reverse: bool = False) -> list[str]:
    """What is wrong with `h[t] += h[read]` where the guard holds."""
    text = f"""
    func.func @f(%h0: tensor<6xf64>) -> tensor<6xf64> {{
      %h = "ted.scan"(%h0) ({{
      ^bb0(%s: tensor<6xf64>):
        %0 = "ted.compute"(%s, %s) ({{
        ^bb0(%a: f64):
          "ted.yield"(%a) : (f64) -> ()
        }}) {{
          extents = array<i64: 6>, iterators = ["parallel"],
          domain = affine_set<(d0) : ({guard})>,
          reads = [affine_map<(d0) -> ({read})>], guards = [affine_set<(d0) : (0 == 0)>],
          write = affine_map<(d0) -> (d0)>, combiner = "add"
        }} : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
        "ted.yield"(%0) : (tensor<6xf64>) -> ()
      }}) {{steps = 6 : i64, times = array<i64: 0>, reverse = {str(reverse).lower()}}}
        : (tensor<6xf64>) -> tensor<6xf64>
      func.return %h : tensor<6xf64>
    }}"""
    module = ir.Module.parse(text, make_context())
    (scan,) = scans(module)
    return [message for _, message in reads_of_the_future(scan)]


@pytest.mark.parametrize(
    ("read", "guard", "reverse", "fine"),
    [
        ("d0 - 1", "d0 - 1 >= 0", False, True), ("d0 - 3", "d0 - 3 >= 0", False, True),
        ("d0 + 1", "4 - d0 >= 0", False, False), ("d0 + 1", "4 - d0 >= 0", True, True),
        ("d0 - 1", "d0 - 1 >= 0", True, False), ("d0", "0 == 0", False, False),
        ("d0 floordiv 2", "d0 - 1 >= 0", False, True), ("d0 floordiv 2", "0 == 0", False, False),
        ("0", "d0 - 1 >= 0", False, True), ("5 - d0", "d0 - 3 >= 0", False, True),
        ("5 - d0", "d0 - 2 >= 0", False, False),
    ],
)  # fmt: skip
def test_only_earlier_times_are_read(read: str, guard: str, reverse: bool, fine: bool) -> None:
    assert (problems(read, guard, reverse) == []) == fine


def test_a_read_of_the_future_is_named_with_its_first_point() -> None:
    (message,) = problems("5 - d0", "d0 - 2 >= 0")
    assert "2" in message
    assert "3" in message
