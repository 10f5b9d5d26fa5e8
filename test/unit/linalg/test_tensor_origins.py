"""Which operations wrote the elements of a tensor: each rule on a function of a few lines."""

from __future__ import annotations

import pytest

from ted.dialects import make_context
from ted.errors import PassFailed
from ted.linalg.tensor_origins import ANYTHING, Origins, tensor_origins
from ted.mlir import ir
from ted.mlir.queries import functions

HEAD = """
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<8xf32>, %b: i1, %i: index)
    -> tensor<{size}xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  {body}
  return %r : tensor<{size}xf32>
}}"""
EXP = "%{0} = linalg.exp ins(%x : tensor<4xf32>) outs(%{1} : tensor<4xf32>) -> tensor<4xf32>"
FILL = "%{0} = linalg.fill ins(%one : f32) outs(%{1} : tensor<{2}xf32>) -> tensor<{2}xf32>"
SLICES = "[2] [4] [1] : tensor<8xf32> to tensor<4xf32>"
INTO = "[2] [4] [1] : tensor<4xf32> into tensor<8xf32>"
ADD_TO = """%{0} = linalg.generic {{
    indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
  }} outs(%{1} : tensor<4xf32>) {{
  ^bb0(%e: f32):
    %s = arith.addf %e, %e : f32
    linalg.yield %s : f32
  }} -> tensor<4xf32>"""


def expected(body: str) -> Origins:
    """What a read of the returned tensor may find."""
    with make_context():
        module = ir.Module.parse(HEAD.format(body=body, size=4))
        (function,) = functions(module)
        block = function.entry_block
        end = block.operations[len(block.operations) - 1].operation
        return tensor_origins(function).expected(end.operands[0])


def origins(body: str, size: int = 4) -> tuple[list[str], list[str]]:
    """The names of operations whose elements the returned tensor must hold, and may hold."""
    with make_context():
        module = ir.Module.parse(HEAD.format(body=body, size=size))
        (function,) = functions(module)
        found = tensor_origins(function)
        block = function.entry_block
        end = block.operations[len(block.operations) - 1].operation
        wanted = found.of(end.operands[0])
        names = {number: op.name.split(".")[1] for op, number in found.numbers.items()}
    return tuple([names[k] for k in names if bits >> k & 1] for bits in wanted)  # pyright: ignore


@pytest.mark.parametrize(
    ("body", "must", "may"),
    [
        ("%r = tensor.empty() : tensor<4xf32>", [], []),
        ("%r = arith.constant dense<1.0> : tensor<4xf32>", [], []),
        (EXP.format("r", "y"), ["exp"], ["exp"]),
        (f"{FILL.format('p', 'y', 4)}\n{EXP.format('r', 'p')}", ["exp"], ["fill", "exp"]),
        (
            f"{FILL.format('p', 'y', 4)}\n{ADD_TO.format('r', 'p')}",
            ["fill", "generic"],
            ["fill", "generic"],
        ),
        (
            f"{EXP.format('p', 'y')}\n%r = tensor.insert %one into %p[%i] : tensor<4xf32>",
            ["exp", "insert"],
            ["exp", "insert"],
        ),
        (
            f"{FILL.format('p', 'z', 8)}\n%r = tensor.extract_slice %p{SLICES}",
            ["fill"],
            ["fill"],
        ),
        (
            f"{EXP.format('p', 'y')}\n%r = bufferization.materialize_in_destination %p in %x"
            " : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
            ["exp"],
            ["exp"],
        ),
        (
            f"""{EXP.format("p", "y")}
            %r = scf.if %b -> (tensor<4xf32>) {{ scf.yield %p : tensor<4xf32> }} else {{
              {FILL.format("q", "x", 4)}
              scf.yield %q : tensor<4xf32> }}""",
            [],
            ["exp", "fill"],
        ),
        (
            f"""{EXP.format("p", "y")}
            %r = scf.for %k = %c0 to %c2 step %c1 iter_args(%a = %p) -> (tensor<4xf32>) {{
              {FILL.format("q", "a", 4)}
              scf.yield %q : tensor<4xf32> }}""",
            ["fill"],
            ["exp", "fill"],
        ),
        (
            f"""{EXP.format("p", "y")}
            %r, %o = scf.for %k = %c0 to %c2 step %c1 iter_args(%a = %x, %b0 = %p)
                -> (tensor<4xf32>, tensor<4xf32>) {{
              scf.yield %b0, %a : tensor<4xf32>, tensor<4xf32> }}""",
            [],
            ["exp"],
        ),
        (
            f"""%r = scf.forall (%k) in (4) shared_outs(%a = %y) -> (tensor<4xf32>) {{
              %e = tensor.empty() : tensor<1xf32>
              {FILL.format("q", "e", 1)}
              scf.forall.in_parallel {{ tensor.parallel_insert_slice %q into %a[%k] [1] [1]
                : tensor<1xf32> into tensor<4xf32> }} }}""",
            ["fill"],
            ["fill"],
        ),
        (
            f"""{EXP.format("p", "y")}
            %r, %o = scf.forall (%k) in (4) shared_outs(%a = %x, %c = %p)
                -> (tensor<4xf32>, tensor<4xf32>) {{
              %q = tensor.extract_slice %c[%k] [1] [1] : tensor<4xf32> to tensor<1xf32>
              scf.forall.in_parallel {{ tensor.parallel_insert_slice %q into %a[%k] [1] [1]
                : tensor<1xf32> into tensor<4xf32> }} }}""",
            ["exp"],
            ["exp"],
        ),
    ],
)
def test_a_value_holds_what_wrote_it(body: str, must: list[str], may: list[str]) -> None:
    assert origins(body) == (must, may)


def test_a_read_of_what_nobody_wrote_may_find_anything() -> None:
    """Also of a slice of it; not what has been written in part, nor what a function is given."""
    empty = "%p = tensor.empty() : tensor<8xf32>\n"
    part = f"%r = tensor.extract_slice %p{SLICES}"
    assert expected(empty + part) == ANYTHING
    assert expected(f"%r = tensor.extract_slice %z{SLICES}") == Origins()
    filled = f"%q = tensor.empty() : tensor<8xf32>\n{FILL.format('p', 'q', 8)}\n"
    assert expected(filled + part) == Origins(2, 2)


def test_a_slice_of_all_leaves_nothing_of_what_was_there() -> None:
    whole = f"{FILL.format('p', 'y', 4)}\n{EXP.format('q', 'x')}\n"
    whole += "%r = tensor.insert_slice %q into %p[0] [4] [1] : tensor<4xf32> into tensor<4xf32>"
    assert origins(whole) == (["exp"], ["fill", "exp"])
    part = f"{FILL.format('p', 'z', 8)}\n{EXP.format('q', 'x')}\n"
    part += f"%r = tensor.insert_slice %q into %p{INTO}"
    assert origins(part, 8) == (["fill", "exp"], ["fill", "exp"])


def test_an_unknown_operation_is_refused_by_name() -> None:
    pad = "%r = tensor.pad %x low[0] high[0] { ^bb0(%k: index): tensor.yield %one : f32 }"
    with pytest.raises(PassFailed, match=r"tensor\.pad must be an operation known here"):
        origins(f"{pad} : tensor<4xf32> to tensor<4xf32>")
