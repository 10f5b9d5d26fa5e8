"""Tensors that many loops of a step go on from: short chains, the same memory."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted import dialects
from ted.linalg.loop_chains import shorten_chains
from ted.linalg.ted_bufferize import TedBufferize
from ted.mlir import ir
from ted.mlir.queries import defining, operations

LOOP = """
    %{k} = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = {before}) -> (tensor<8xf32>) {{
      %e = tensor.extract %x[%i] : tensor<8xf32>
      %f = arith.addf %e, %e : f32
      %y = tensor.insert %f into %x[%i] : tensor<8xf32>
      scf.yield %y : tensor<8xf32>
    }}"""
LOOPS = "".join(LOOP.format(k=k, before=f"%{k - 1}" if k else "%t") for k in range(6))
CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index"""
IN_A_LOOP = f"""
func.func @f(%a: tensor<8xf32> {{bufferization.writable = true}}) -> tensor<8xf32> {{{CONSTANTS}
  %r = scf.for %k = %c0 to %c8 step %c1 iter_args(%t = %a) -> (tensor<8xf32>) {{{LOOPS}
    scf.yield %5 : tensor<8xf32>
  }}
  return %r : tensor<8xf32>
}}"""
IN_A_BRANCH = f"""
func.func @f(%t: tensor<8xf32> {{bufferization.writable = true}}, %c: i1)
    -> tensor<8xf32> {{{CONSTANTS}
  %r = scf.if %c -> tensor<8xf32> {{{LOOPS}
    scf.yield %5 : tensor<8xf32>
  }} else {{
    scf.yield %t : tensor<8xf32>
  }}
  return %r : tensor<8xf32>
}}"""


@pytest.mark.parametrize("text", [IN_A_LOOP, IN_A_BRANCH])
def test_no_chain_is_long_and_nothing_is_copied(text: str) -> None:
    with dialects.session():
        module = ir.Module.parse(text)
        shorten_chains(module.operation)
        assert module.operation.verify()
        (whole,) = operations(module.operation, "tensor.insert_slice")
        (end,) = (use.owner.operation for use in whole.results[0].uses)
        assert end.name == "scf.yield"
        assert defining(whole.operands[0], "scf.for")
        assert not defining(whole.operands[1])
        module = ir.Module.parse(text)
        TedBufferize().run(module)
        assert "memref.alloc" not in str(module)
        assert "memref.copy" not in str(module)


def test_a_step_of_many_pieces_has_the_right_numbers() -> None:
    pieces = 14

    def element(x: ted.Tensor, t: int, i: int) -> ted.Tensor:
        value = x[t - 1, i] + 1.0
        for k in range(pieces):
            value = ted.where(i == 2 * k, x[t - 1, i] * (k + 2), value)
        return ted.where(t == 0, 1.0, value)

    found = ted.function(lambda: ted.recurrence((4, 30), element, "float64", name="many"))()
    expected = np.ones((4, 30))
    for t in range(1, 4):
        expected[t] = expected[t - 1] + 1
        for k in range(pieces):
            expected[t, 2 * k] = expected[t - 1, 2 * k] * (k + 2)
    np.testing.assert_allclose(found, expected)
