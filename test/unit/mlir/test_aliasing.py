"""All memory that a value may be in, through views, choices and loops."""

from __future__ import annotations

import pytest

from ted.dialects import session
from ted.mlir import ir
from ted.mlir.aliasing import ANYWHERE, memories
from ted.mlir.queries import functions

M = "memref<8xf32>"
# What makes a value, and the memory that it may be in.
VALUES = {
    f"memref.cast %a : {M} to {M}": {"a"},
    f"memref.subview %a[0] [8] [1] : {M} to memref<8xf32, strided<[1]>>": {"a"},
    f"arith.select %c, %a, %b : {M}": {"a", "b"},
    f"scf.if %c -> ({M}) {{ scf.yield %a : {M} }} else {{ scf.yield %b : {M} }}": {"a", "b"},
    f"scf.for %k = %i to %j step %j iter_args(%p = %a) -> ({M}) {{ scf.yield %b : {M} }}":
        {"a", "b"},
    f"scf.for %k = %i to %j step %j iter_args(%p = %a) -> ({M}) {{ scf.yield %p : {M} }}": {"a"},
    f"memref.get_global @table : {M}": {"table"},
    f"func.call @made() : () -> {M}": {ANYWHERE},
    f"arith.select %c, %a, %unknown : {M}": {"a", ANYWHERE},
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_memory_of_a_value(text: str) -> None:
    with session():
        module = ir.Module.parse(f"""module {{ func.func private @made() -> {M}
          memref.global @table : {M} = uninitialized
          func.func @f(%a: {M}, %b: {M}, %c: i1, %i: index, %j: index) {{
            %unknown = func.call @made() : () -> {M}
            %r = {text}
            return }} }}""")
        (function,) = functions(module)
        block = function.entry_block
        names = dict(zip(block.arguments, "abcij", strict=True))
        found = memories(block.operations[1].operation.results[0])
        assert {names.get(m, m) for m in found} == VALUES[text]  # pyright: ignore


def test_what_allocates_makes_memory_of_its_own() -> None:
    with session():
        module = ir.Module.parse(f"func.func @f() {{ %a = memref.alloc() : {M} return }}")
        (function,) = functions(module)
        value = function.entry_block.operations[0].operation.results[0]
        assert memories(value) == {value}
