"""Which maps are one kernel, and where it stands: written as IR, each rule by itself."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest

from ted.dialects import make_context
from ted.ir.pass_driver import run_pipeline
from ted.linalg.kernel_strategies import COMMON_POINTS, Decisions, decide
from ted.machine import named_cpu
from ted.mlir import ir
from ted.mlir.locations import user_name
from ted.mlir.queries import functions, operations

SETS = """
#all = affine_set<(i) : (0 == 0)>
#some = affine_set<(i) : (i - 5 >= 0)>
#both = affine_set<(i, j) : (0 == 0)>
#i = affine_map<(i) -> (i)>
#next = affine_map<(i) -> (i + 1)>
#odd = affine_map<(i) -> (i mod 7)>
#back = affine_map<(i) -> (-i + 1999)>
#inner = affine_set<(i, j) : (j - 1 >= 0)>
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
"""
LINE, SQUARE = "tensor<2000xf32>", "tensor<64x64xf32>"
BODIES = {1: "%u = math.exp %a0 : f32", 2: "%u = arith.mulf %a0, %a1 : f32"}


def compute(
    name: str, reads: str, *, write: str = "i", init: str = "e", domain: str = "all",
    extents: str = "2000", guard: str = "", body: str = "", more: str = "",
) -> str:  # fmt: skip
    """An equation; `reads` are tensors with their maps: `x@i p@back`."""
    pairs = [read.split("@") for read in reads.split()]
    of = SQUARE if "," in extents else LINE
    kinds = ", ".join('"parallel"' for _ in extents.split(","))
    every = "both" if "," in extents else "all"
    args = ", ".join(f"%a{k}: f32" for k, _ in enumerate(pairs))
    return f"""
  %{name} = "ted.compute"({", ".join(f"%{t}" for t, _ in pairs)}, %{init}) ({{
  ^bb0({args}):
    {body or BODIES[len(pairs)]}
    "ted.yield"(%u) : (f32) -> ()
  }}) {{
    extents = array<i64: {extents}>, iterators = [{kinds}], write = #{write}, combiner = "set",
    domain = #{domain if of == LINE else every}, reads = [{", ".join(f"#{m}" for _, m in pairs)}],
    guards = [{", ".join(f"#{guard or every}" for _ in pairs)}]{more}
  }} : ({", ".join([of] * (len(pairs) + 1))}) -> {of} loc("{name}")"""


def program(results: str, *lines: str, of: str = LINE, in_place: str = "") -> str:
    """A function of x, y and z."""
    names = results.split()
    kinds = ", ".join([of] * len(names))
    taken = f" attributes {{ted.in_place = array<i64: {in_place}>}}" if in_place else ""
    return f"""{SETS}
func.func @f(%x: {of}, %y: {of}, %z: {of}) -> ({kinds}){taken} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {of}
  %filled = linalg.fill ins(%zero : f32) outs(%e : {of}) -> {of}
  {"".join(lines)}
  return {", ".join(f"%{n}" for n in names)} : {kinds}
}}"""


def decided(module: ir.Module) -> Decisions:
    (function,) = functions(module)
    return decide(function.entry_block, named_cpu("avx2"))


def names(ops: Iterable[ir.Operation]) -> str:
    return " ".join(user_name(op.location) or "" for op in ops)


def kernels(text: str) -> list[str]:
    """The members of each kernel, in order."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        return [names(kernel.members) for kernel in decided(module).kernels]


EXP, PRODUCT = compute("p", "x@i"), compute("q", "p@i x@i")

APART: dict[str, tuple[str, str]] = {
    "a guard": (
        program("p q", EXP, compute("q", "p@i x@i", guard="some")),
        "it is computed or read under a condition",
    ),
    "a domain": (
        program("p q", EXP, compute("q", "p@i x@i", domain="some", init="filled")),
        "it is computed or read under a condition",
    ),
    "a form": (
        program("p q", EXP, compute("q", "p@i x@i", more=', ted.form = {name = "generic"}')),
        "it asks for something else",
    ),
    "a strategy": (
        program("p q", EXP, compute("q", "p@i x@i", more=', ted.strategy = {name = "points"}')),
        "it asks for something else",
    ),
    "goes on": (
        program("q", EXP, compute("q", "x@i y@i", init="p", domain="some")),
        "it is computed or read under a condition",
    ),
    "starts from an argument": (
        program("p q", EXP, compute("q", "p@i x@i", init="y")),
        "it is what another one starts from, or starts from it",
    ),
    "starts another": (
        program("p q", EXP, compute("q", "p@i x@i"), compute("r", "x@i", init="q")),
        "it is what another one starts from, or starts from it",
    ),
    "another write": (
        program("p q", EXP, compute("q", "x@back p@back", write="back")),
        "it takes several operations",
    ),
    "another name": (
        program(
            "p q", EXP, f'\n  %s = "ted.stop_gradient"(%p) : ({LINE}) -> {LINE}',
            compute("q", "s@i x@i"),
        ),
        "it reads another element than that of its point",
    ),
    "elsewhere": (
        program("p q", EXP, compute("q", "p@back x@i")),
        "it reads another element than that of its point",
    ),
    "in tiles": (
        program(
            "p q", compute("p", "x@ij", extents="64, 64", write="ij"),
            compute("q", "p@ij x@ji", extents="64, 64", write="ij"), of=SQUARE,
        ),
        "it reads or writes across rows, in tiles",
    ),
    "in parts": (
        program("p q", EXP, compute("q", "x@i p@odd")),
        "it reads another element than that of its point",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_each_rule_keeps_maps_apart(name: str) -> None:
    text, reason = APART[name]
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        found = decided(module)
        (choice,) = [c for op, c in found.choices if names([op]) == "q"]
        assert all(len(kernel.members) == 1 for kernel in found.kernels)
        assert dict(choice.declined)[COMMON_POINTS] == reason


def test_without_these_they_are_one() -> None:
    assert kernels(program("p q", EXP, PRODUCT)) == ["p q"]


def between(reads: str) -> str:
    """What is computed between others, over other points."""
    return compute("k", reads, extents="1500")


HEAVY, LIGHT = between("p@back"), compute("k", "p@back", extents="1000")

AT_DATA = compute(
    "k", "y@i", extents="1500",
    body=f"""%n = "ted.index"() {{dim = 0 : i64}} : () -> index
    %true = arith.constant true
    %v = "ted.load"(%p, %true, %n) {{mode = "unchecked"}} : ({LINE}, i1, index) -> f32
    %u = arith.addf %a0, %v : f32""",
)  # fmt: skip

ORDERS: dict[str, tuple[str, list[str]]] = {
    # What stands between reads the first one, so that the second one rises.
    "rises": (program("p k q", EXP, HEAVY, compute("q", "x@i")), ["p q", "k"]),
    # It reads what stands between, so that the first one sinks.
    "sinks": (
        program("p k q", EXP, between("x@back"), compute("q", "k@i x@i")), ["k", "p q"]
    ),
    "neither": (program("p k q", EXP, HEAVY, compute("q", "k@i x@i")), ["p", "k", "q"]),
    # `t` would be kept for what is between.
    "an operand ends": (
        program(
            "p k q", compute("t", "z@back", extents="1500"), compute("p", "t@i x@i"),
            between("y@back"), compute("q", "k@i x@i"),
        ),
        ["t", "p", "k", "q"],
    ),
    "an argument does not": (
        program(
            "p k q", compute("p", "z@i x@i"), between("y@back"), compute("q", "k@i x@i")
        ),
        ["k", "p q"],
    ),
    # `q` would be there before it is needed.
    "a result begins": (
        program("p k r", EXP, HEAVY, compute("q", "x@i"), compute("r", "q@back")),
        ["p", "k", "q", "r"],
    ),
    "little is between": (
        program("p k r", EXP, LIGHT, compute("q", "x@i"), compute("r", "q@back")),
        ["p q", "k", "r"],
    ),
    "written elsewhere": (
        program(
            "p q", compute("p", "x@i", extents="1999", init="filled"),
            compute("q", "x@i", extents="1999", init="filled", write="next"),
        ),
        ["p", "q"],
    ),
    "read at data between": (
        program("p k q", EXP, AT_DATA, compute("q", "x@i k@i")), ["p", "k", "q"]
    ),
    "nothing in common": (program("p q", EXP, compute("q", "y@i")), ["p", "q"]),
    "a name between": (
        program(
            "p k q", EXP, f'\n  %s = "ted.stop_gradient"(%p) : ({LINE}) -> {LINE}',
            between("s@back"), compute("q", "x@i k@i"),
        ),
        ["p", "k", "q"],
    ),
    # What ends with `p` makes room for `q`, as `p` reads it backwards.
    "room for another": (
        program(
            "r", compute("t", "y@back", extents="1500"), compute("p", "t@back"),
            compute("q", "p@i"), compute("r", "q@back p@back"),
        ),
        ["t", "p", "q", "r"],
    ),
    "room that is needed later": (
        program(
            "r k", compute("t", "y@back", extents="1500"), compute("p", "t@back"),
            compute("q", "p@i"), between("t@back"), compute("r", "q@back p@back"),
        ),
        ["t", "p q", "k", "r"],
    ),
    "no room for another": (
        program(
            "r", compute("t", "z@back", extents="1500"), compute("p", "t@i"), compute("q", "p@i"),
            compute("r", "q@back p@back"),
        ),
        ["t", "p q", "r"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_where_a_kernel_is(name: str) -> None:
    text, expected = ORDERS[name]
    assert kernels(text) == expected


def emitted(text: str, pipeline: str = "ted-emit-kernels{cpu=avx2}") -> ir.Module:
    module = ir.Module.parse(text)
    run_pipeline(module, f"builtin.module({pipeline})")
    return module


def test_what_a_body_uses_stands_in_front_of_the_kernel() -> None:
    """`c` is made behind the kernel in whose place both would be."""
    q = compute("q", "x@i", body="%u = arith.mulf %a0, %c : f32")
    text = program("p k q", EXP, HEAVY, "\n  %c = arith.constant 3.0 : f32", q)
    assert kernels(text) == ["p", "k", "q"]
    with make_context(), ir.Location.unknown():
        assert emitted(text).operation.verify()


WISH = ', ted.group = {{name = "common_points", group = {0}}}'


def test_a_written_choice_is_built_as_it_was_made() -> None:
    """`p` reads what `k` writes over: it does not sink, whoever asks."""
    p, k = compute("p", "y@i x@i"), compute("k", "y@i", more=', ted.group = {name = "alone"}')
    text = program("p k q", p, k, compute("q", "x@i"), in_place="1, 1")
    assert kernels(text) == ["p q", "k"]
    asked = program(
        "p k q", compute("p", "y@i x@i", more=WISH.format(1)), k,
        compute("q", "x@i", more=WISH.format(1)), in_place="1, 1",
    )  # fmt: skip
    assert kernels(asked) == ["p q", "k"]


def test_what_is_asked_for_is_one_whatever_it_holds() -> None:
    lines = [
        compute("t", "y@back", extents="1500"), compute("p", "t@back", more=WISH.format(1)),
        compute("q", "p@i", more=WISH.format(1)), compute("r", "q@back p@back"),
    ]  # fmt: skip
    assert kernels(program("r", *lines)) == ["t", "p q", "r"]


def test_rows_that_are_read_under_a_condition_share_their_loop() -> None:
    lines = [
        compute("p", "x@ij", extents="64, 64", write="ij"),
        compute("q", "p@ij x@ij", extents="64, 64", write="ij", guard="inner"),
    ]
    text = program("p q", *lines, of=SQUARE)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (kernel,) = decided(module).kernels
        assert (names(kernel.members), kernel.is_of_points) == ("p q", False)


TAKEN: dict[str, tuple[str, list[str]]] = {
    "own elements": (
        program("p q", compute("p", "x@i y@i"), compute("q", "x@i z@i"), in_place="0, 1"), ["p q"]
    ),
    "own elements, written by the first": (
        program("p q", compute("p", "x@i y@i"), compute("q", "x@i z@i"), in_place="0, 0"), ["p q"]
    ),
    "elsewhere, in the same kernel": (
        program("p q", compute("p", "x@back y@i"), compute("q", "x@i y@i"), in_place="0, 1"),
        ["p", "q"],
    ),
    # In the place of `r`, `p` would read what `q` has written over.
    "would be read later": (
        program(
            "p q r k", compute("p", "x@back y@i"), compute("q", "x@i z@i"), between("q@back"),
            compute("r", "y@i k@i"), in_place="0, 1",
        ),
        ["p", "q", "k", "r"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_no_argument_is_copied_that_a_result_is_written_over(name: str) -> None:
    text, expected = TAKEN[name]
    assert kernels(text) == expected
    with make_context(), ir.Location.unknown():
        module = emitted(text)
        assert not operations(module, "memref.copy", "memref.alloc", "linalg.copy")
        assert len(operations(module, "linalg.generic")) == len(expected)


def test_kernels_have_a_limit() -> None:
    lines = [compute(f"v{k}", f"v{k - 1}@i" if k else "x@i") for k in range(40)]
    text = program(" ".join(f"v{k}" for k in range(40)), *lines)
    found = [kernel.split() for kernel in kernels(text)]
    assert [len(k) for k in found] == [15, 15, 10]
    for before, after in pairwise(found):
        assert int(before[-1][1:]) + 1 == int(after[0][1:])


COPIED: dict[str, tuple[str, list[str]]] = {
    "read elsewhere": (
        program(
            "p q", compute("p", "x@back y@i", more=WISH.format(1)),
            compute("q", "x@i y@i", more=WISH.format(1)), in_place="0, 1",
        ),
        ["p q"],
    ),
    "filled in front of the kernel": (
        program(
            "p q", compute("p", "x@i y@i", extents="1999"),
            compute("q", "x@i z@i", extents="1999", init="filled"), in_place="0, 1",
        ),
        ["p q"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIED)
def test_an_argument_is_copied_that_is_written_before_it_is_read(name: str) -> None:
    text, expected = COPIED[name]
    assert kernels(text) == expected
    with make_context(), ir.Location.unknown():
        assert len(operations(emitted(text), "memref.alloc")) == 1
