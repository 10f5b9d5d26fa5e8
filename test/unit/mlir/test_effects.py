"""What operations read and write, what of it is asked for before, and who may change places."""

from __future__ import annotations

import itertools

import pytest

from ted.dialects import session
from ted.mlir import ir
from ted.mlir.aliasing import ANYWHERE
from ted.mlir.effects import OUTSIDE, Effects, effects_of
from ted.mlir.queries import functions

M = "memref<8xf32>"
MAP = "affine_map<(i) -> (i)>"


def generic(yielded: str, inside: str = "") -> str:
    return f"""linalg.generic {{indexing_maps = [{MAP}, {MAP}], iterator_types = ["parallel"]}}
      ins(%a : {M}) outs(%b : {M}) {{
      ^bb0(%p: f32, %q: f32): {inside} linalg.yield {yielded} : f32 }}"""


# Text: what is read, written, asked for, and met inside; arguments by name, what is none as it is.
OPERATIONS = {
    f"%0 = memref.load %a[%i] : {M}": ("a", "", "", ""),
    f"memref.store %x, %b[%i] : {M}": ("", "b", "", ""),
    f"memref.copy %a, %b : {M} to {M}": ("a", "b", "", ""),
    f"%0 = vector.load %a[%i] : {M}, vector<4xf32>": ("a", "", "", ""),
    f"vector.store %v, %b[%i] : {M}, vector<4xf32>": ("", "b", "", ""),
    f"%0 = vector.transfer_read %a[%i], %x : {M}, vector<4xf32>": ("a", "", "", ""),
    f"vector.transfer_write %v, %b[%i] : vector<4xf32>, {M}": ("", "b", "b", ""),
    f"memref.dealloc %a : {M}": ("", "a", "a", ""),
    f"linalg.fill ins(%x : f32) outs(%b : {M})": ("", "b", "", ""),
    generic("%p"): ("a", "b", "", ""),
    generic("%q"): ("", "b", "b", ""),
    generic("%x"): ("", "b", "", ""),
    generic("%l", f"%l = memref.load %c[%i] : {M}"): ("c", "b", "", "c"),
    f"scf.for %k = %i to %j step %j {{ memref.store %x, %c[%k] : {M} }}": ("", "c", "", "c"),
    "%0 = arith.addf %x, %x : f32": ("", "", "", ""),
    f"%0 = memref.cast %a : {M} to memref<?xf32>": ("", "", "", ""),
    "%0 = memref.alloc() : memref<2xf32>": ("", "", "", ""),
    "func.call @g() : () -> ()": ("", OUTSIDE, OUTSIDE, ""),
    f"func.call @h(%a) : ({M}) -> ()": ("", f"{OUTSIDE} a", f"{OUTSIDE} a", ""),
    "func.return": ("", "", "", ""),
}


@pytest.mark.parametrize("text", OPERATIONS)
def test_effects_of_an_operation(text: str) -> None:
    with session():
        module = ir.Module.parse(f"""module {{ func.func private @g() func.func private @h({M})
          func.func @f(%a: {M}, %b: {M}, %c: {M}, %x: f32, %v: vector<4xf32>, %i: index, %j: index)
          {{ {text} {"" if "return" in text else "func.return"} }} }}""")
        (function,) = functions(module)
        block = function.entry_block
        names = dict(zip(block.arguments, "abcxvij", strict=True))
        found = effects_of(block.operations[0].operation)
        kinds = (found.reads, found.writes, found.asks, found.inside)
        assert [{names.get(m, m) for m in kind} for kind in kinds] == [  # pyright: ignore
            set(kind.split()) for kind in OPERATIONS[text]
        ]


def test_memory_of_two_names_counts_as_one() -> None:
    with session():
        module = ir.Module.parse(
            f"func.func @f(%a: {M}, %b: {M}) {{ memref.copy %a, %b : {M} to {M} return }}"
        )
        (function,) = functions(module)
        a, b = function.entry_block.arguments
        found = effects_of(function.entry_block.operations[0].operation, {b: a})
        assert (found.reads, found.writes) == ({a}, {a})


def test_neighbours_may_change_places_unless_one_writes_what_the_other_meets() -> None:
    some = [set(), {"a"}, {"b"}, {ANYWHERE}]
    kinds = [Effects(reads, writes) for reads, writes in itertools.product(some, some)]
    for one, other in itertools.product(kinds, kinds):
        is_known = ANYWHERE not in one.touched | other.touched
        met = [
            m == n or not is_known
            for mine, others in ((one.writes, other.touched), (one.reads, other.writes))
            for m, n in itertools.product(mine, others)
        ]
        assert one.may_swap(other) == (not any(met)), (one, other)


def test_effects_are_joined_and_memory_is_left_out() -> None:
    both = Effects({"a"}, {"b"}, {"b"}, {"a"}) | Effects({"c"}, {"a"})
    assert both == Effects({"a", "c"}, {"a", "b"}, {"b"}, {"a"})
    assert both.touched == {"a", "b", "c"}
    assert both.without({"a", "b"}) == Effects({"c"}, set(), set(), set())
