"""The interpreter on scans: order of steps, histories that do not exist yet, counts."""

from __future__ import annotations

import numpy as np
import pytest

from ted.errors import ExecutionError
from ted.testing.interpreter import Counts, OperationCount, interpret

CHAIN = """
func.func @main(%x: tensor<5xf64>, %init: tensor<5xf64> loc("c")) -> tensor<5xf64> {{
  %c = "ted.scan"(%init) ({{
  ^bb0(%c0: tensor<5xf64> loc("c")):
    %c1 = "ted.compute"(%c0, %x, %c0) ({{
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }}) {{
      extents = array<i64: 5>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> ({read})>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : ({guard})>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    }} : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64> loc("c")
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }}) {{times = array<i64: 0>, steps = 5 : i64, reverse = {reverse}}}
    : (tensor<5xf64>) -> tensor<5xf64>
  func.return %c : tensor<5xf64>
}}
"""
X = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
INIT = np.full(5, 100.0)


def chain(read: str, guard: str, reverse: str = "false") -> str:
    return CHAIN.format(read=read, guard=guard, reverse=reverse)


def test_steps_run_forwards_over_the_init() -> None:
    (found,) = interpret(chain("d0 - 1", "d0 - 1 >= 0"), [X, INIT])
    np.testing.assert_array_equal(found, np.cumsum(X))


def test_steps_run_in_reverse() -> None:
    (found,) = interpret(chain("d0 + 1", "3 - d0 >= 0", "true"), [X, INIT])
    np.testing.assert_array_equal(found, np.cumsum(X[::-1])[::-1])


@pytest.mark.parametrize(
    ("read", "guard", "reverse", "at"),
    [
        ("d0 + 1", "3 - d0 >= 0", "false", 1),
        ("d0 - 1", "d0 - 1 >= 0", "true", 3),
        ("d0", "d0 - 2 >= 0", "false", 2),
    ],
    ids=["a later step", "a later step in reverse", "its own step"],
)
def test_what_no_step_has_written_is_not_read(read: str, guard: str, reverse: str, at: int) -> None:
    with pytest.raises(ExecutionError, match=rf"read 0 of c \[5\] .* got none at index \[{at}\]"):
        interpret(chain(read, guard, reverse), [X, INIT])


def test_a_scan_counts_the_points_of_its_equations_once() -> None:
    counts = Counts()
    interpret(chain("d0 - 1", "d0 - 1 >= 0"), [X, INIT], counts=counts)
    assert counts.per_op == [OperationCount("c", "set", 5, 5)]
