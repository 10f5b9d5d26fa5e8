"""Tensors that very many operations go on from: parts of a block, each analysed by itself."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted import dialects
from ted.linalg import long_chains
from ted.linalg.long_chains import inline_parts, outline_parts
from ted.linalg.ted_bufferize import TedBufferize
from ted.mlir import ir
from ted.mlir.queries import functions, operations
from ted.testing import check_grads

LINK = """
  %e{k} = tensor.extract_slice %t{k}[{k}] [1] [1] : tensor<{n}xf32> to tensor<f32>
  %x{k} = tensor.extract_slice %x[{k}] [1] [1] : tensor<{n}xf32> to tensor<f32>
  %g{k} = linalg.exp ins(%x{k} : tensor<f32>) outs(%e{k} : tensor<f32>) -> tensor<f32>
  %t{after} = tensor.insert_slice %g{k} into %t{k}[{k}] [1] [1]
    : tensor<f32> into tensor<{n}xf32>"""


def _chain(count: int, end: str = "") -> str:
    kind, memory = f"tensor<{count}xf32>", f"memref<{count}xf32>"
    links = "".join(LINK.format(k=k, after=k + 1, n=count) for k in range(count))
    return f"""func.func @main(%a: {memory}, %b: {memory}, %s: f32) -> {kind} {{
  %x = bufferization.to_tensor %a restrict : {memory} to {kind}
  %o = bufferization.to_tensor %b restrict writable : {memory} to {kind}
  %c0 = arith.constant 0 : index
  %t0 = tensor.insert %s into %x[%c0] : {kind}{links}
  %end = {end or f"tensor.insert %s into %t{count}[%c0]"} : {kind}
  %r = bufferization.materialize_in_destination %end in %o : ({kind}, {kind}) -> {kind}
  return %r : {kind}
}}"""


def _bufferized(text: str) -> str:
    with dialects.session():
        module = ir.Module.parse(text)
        TedBufferize().run(module)
        return str(module)


def test_a_long_chain_becomes_parts_that_go_back_where_they_were() -> None:
    with dialects.session():
        module = ir.Module.parse(_chain(100))
        outline_parts(module)
        assert module.operation.verify()
        calls = operations(module.operation, "func.call")
        assert len(list(functions(module))) == 1 + len(calls) == 1 + 400 // 32
        inline_parts(module)
        assert module.operation.verify()
        assert [f.name.value for f in functions(module)] == ["main"]
        assert len(operations(module.operation, "linalg.exp")) == 100


def test_a_chain_that_is_not_long_stays() -> None:
    with dialects.session():
        module = ir.Module.parse(_chain(12))
        outline_parts(module)
        assert not operations(module.operation, "func.call")


@pytest.mark.parametrize("text", [_chain(12), _chain(12, "tensor.insert %s into %t3[%c0]")])
def test_memory_is_the_same_whether_a_block_is_cut(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _bufferized(text)
    monkeypatch.setattr(long_chains, "LONGEST", 5)
    monkeypatch.setattr(long_chains, "PART", 4)
    cut = _bufferized(text)
    assert cut.count("linalg.exp") == whole.count("linalg.exp") == 12
    for op in ("memref.alloc", "memref.copy"):
        assert cut.count(op) <= whole.count(op)


def test_slices_do_not_go_from_part_to_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_chains, "LONGEST", 1)
    monkeypatch.setattr(long_chains, "PART", 1)
    with dialects.session():
        module = ir.Module.parse(_chain(6))
        outline_parts(module)
        for call in operations(module.operation, "func.call"):
            kinds = {str(v.type) for v in (*call.operands, *call.results)}
            assert "tensor<f32>" not in kinds


def test_a_slice_that_another_part_uses_is_taken_there_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(long_chains, "LONGEST", 4)
    monkeypatch.setattr(long_chains, "PART", 4)
    text = _chain(12).replace("exp ins(%x9 ", "exp ins(%x1 ").replace("ins(%x10 ", "ins(%x1 ")
    with dialects.session():
        module = ir.Module.parse(text)
        outline_parts(module)
        assert module.operation.verify()
        of_one = [f for f in functions(module) if "%arg1[1] [1] [1]" in str(f)]
        assert len(of_one) > 1
        inline_parts(module)
        assert module.operation.verify()


def _written(x: ted.Tensor, w: ted.Tensor) -> ted.Tensor:
    """Each element is set once, from elements that are set already, or will be."""
    y = x
    for i in range(24):
        y = y.at[i].set(y[i - 1] * w[i] + y[(7 * i) % 24] + x[i])
    return y


def test_values_and_gradients_of_long_chains_are_right() -> None:
    draw = np.random.default_rng(3)
    x, w = draw.normal(size=24), draw.normal(size=24) * 0.5
    expected = x.copy()
    for i in range(24):
        expected[i] = expected[i - 1] * w[i] + expected[(7 * i) % 24] + x[i]
    np.testing.assert_allclose(ted.function(_written)(x, w), expected, rtol=1e-13)
    check_grads(_written, (x, w), order=1)


KEPT = """
  %y = bufferization.to_tensor %s restrict : memref<4xf32> to tensor<4xf32>
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>"""


def test_what_is_not_to_be_written_is_made_outside_of_parts() -> None:
    links = "".join(LINK.format(k=k, after=k + 1, n=100) for k in range(100))
    ends = "\n".join(
        f"%q{n} = tensor.insert %z into {v}[%c0] : tensor<4xf32>\n"
        f"%r{n} = bufferization.materialize_in_destination %q{n} in %o{n} "
        ": (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"
        for n, v in enumerate(("%y", "%c"))
    )
    given = "\n".join(
        f"%o{n} = bufferization.to_tensor %b{n} restrict writable : memref<4xf32> to tensor<4xf32>"
        for n in range(2)
    )
    text = f"""func.func @main(%a: memref<100xf32>, %b: memref<100xf32>, %s: memref<4xf32>, %z: f32,
        %b0: memref<4xf32>, %b1: memref<4xf32>)
        -> (tensor<100xf32>, tensor<4xf32>, tensor<4xf32>) {{
      %c0 = arith.constant 0 : index {KEPT}
      {given}
      %x = bufferization.to_tensor %a restrict : memref<100xf32> to tensor<100xf32>
      %t0 = bufferization.to_tensor %b restrict writable : memref<100xf32> to tensor<100xf32>{links}
      {ends}
      return %t100, %r0, %r1 : tensor<100xf32>, tensor<4xf32>, tensor<4xf32>
    }}"""
    with dialects.session():
        module = ir.Module.parse(text)
        outline_parts(module)
        assert len(operations(module.operation, "func.call")) > 5
    made = _bufferized(text)  # which proves that arguments and constants are left as they are
    assert "memref.store %arg3, %arg2" not in made


def _swept(a: ted.Tensor, b: ted.Tensor) -> tuple[ted.Tensor, ted.Tensor]:
    shifted = ted.compute(
        (2, 3, 4),
        lambda i, j, k: ted.where(i % 2 == 1, b[0, (j - k) % 4, 0] - a[0, 0], 0.0),
    )
    return a, shifted


def test_arguments_stay_as_they_are() -> None:
    draw = np.random.default_rng(5)
    shapes = [(4, 1), (1, 4, 4), (4, 1), (2, 3, 4)]
    inputs = [ted.placeholder(shape, "float64") for shape in shapes]
    arrays = [draw.normal(size=shape) for shape in shapes]
    values = _swept(*inputs[:2])
    slopes = ted.differentiate(list(values), inputs[:2], inputs[2:])
    given = [array.copy() for array in arrays]
    found = ted.compile(inputs, [values[1], slopes[0]])(*given)
    for array, left in zip(arrays, given, strict=True):
        np.testing.assert_array_equal(array, left)
    wanted = arrays[2].copy()
    wanted[0, 0] -= arrays[3][1].sum()
    np.testing.assert_allclose(found[1], wanted, rtol=1e-13)


def test_a_step_of_a_scan_may_hold_a_long_chain() -> None:
    draw = np.random.default_rng(4)
    x, rows = draw.normal(size=24), draw.normal(size=(3, 24)) * 0.5
    last, _ = ted.function(lambda x, w: ted.scan(lambda c, w: (_written(c, w), None), x, w))(
        x, rows
    )
    for w in rows:
        before = x.copy()
        for i in range(24):
            x[i] = x[i - 1] * w[i] + x[(7 * i) % 24] + before[i]
    np.testing.assert_allclose(last, x, rtol=1e-12)
