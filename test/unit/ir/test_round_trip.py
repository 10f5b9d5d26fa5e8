"""Equations -> ops -> equations -> ops: the text settles at once, and the numbers never change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ted import dialects
from ted import frontend as ted
from ted.errors import VerifyError
from ted.ir.equations import System, Tensor
from ted.ir.from_ops import from_module
from ted.ir.printing import format_system
from ted.ir.to_ops import to_module
from ted.mlir import ir
from ted.testing.interpreter import interpret

N = 6
Program = Callable[[], tuple[Sequence[Any], Sequence[Any]]]


def inputs(*names: str) -> list[Any]:
    return [ted.placeholder((N, N), "float64", name=name) for name in names]


def matmul() -> Any:
    a, b = inputs("A", "B")
    r = ted.reduce_axis(N, name="r")
    return [a, b], [ted.compute((N, N), lambda i, j: ted.sum(a[i, r] * b[r, j], axis=r), name="C")]


def padding() -> Any:
    (a,) = inputs("A")
    inside = lambda i: (i >= 1) & (i < N + 1)  # noqa: E731
    out = ted.compute((N + 2, N), lambda i, j: ted.where(inside(i), a[i - 1, j], 0.0), name="P")
    return [a], [out]


def root_under_a_condition() -> Any:
    (a,) = inputs("A")
    out = ted.compute(
        (N + 1, N), lambda i, j: ted.where(i < N, ted.sqrt(a[i, j] ** 2), 7.0), name="R"
    )
    return [a], [out]


def clamped_index() -> Any:
    (a,) = inputs("A")
    return [a], [ted.compute((N, N), lambda i, j: a[ted.minimum(i + j, N - 1), j], name="K")]


def divided_index() -> Any:
    (a,) = inputs("A")
    return [a], [ted.compute((N, N), lambda i, j: a[i // 4, j] * a[i % 5, (i + j) % N], name="D")]


def table_lookup() -> Any:
    (a,) = inputs("A")
    at = ted.placeholder((N,), "int64", name="at")
    out = ted.compute((N, N), lambda i, j: ted.where(i > 1, a[at[i], j], 0.0), name="L")
    return [a, at], [out]


def lookup_under_data() -> Any:
    (a,) = inputs("A")
    at = ted.placeholder((N,), "int64", name="at")
    out = ted.compute(
        (N, N), lambda i, j: ted.where((a[i, j] > 0) & (i > 0), a[at[i - 1], j], 2.0), name="L"
    )
    return [a, at], [out]


def union_inside_the_tensor() -> Any:
    (a,) = inputs("A")
    return [a], [ted.compute((N,), lambda i: ted.where((i < 2) | (i > 3), a[i, i], 0.0), name="U")]


def union_leaving_the_tensor() -> Any:
    (a,) = inputs("A")
    either = lambda i: (i < 2) | (i > N + 1)  # noqa: E731
    out = ted.compute((N + 4,), lambda i: ted.where(either(i), a[i % (N + 2), 0], 1.0), name="U")
    return [a], [out]


def triangle() -> Any:
    (a,) = inputs("A")
    r = ted.reduce_axis(N, name="r")
    return [a], [
        ted.compute((N,), lambda i: ted.sum(a[i, r], axis=r, where=r <= i), name="T"),
        ted.compute((N,), lambda i: ted.max(a[i, r], axis=r, where=(r < i) | (r > i)), name="M"),
    ]


def first_of_the_greatest() -> Any:
    (a,) = inputs("A")
    return [a], [ted.argmax(a, axis=1), ted.argmin(a, axis=0), ted.max(a, axis=0)]


def softmax() -> Any:
    (a,) = inputs("A")
    return [a], [ted.nn_softmax(a) if hasattr(ted, "nn_softmax") else _softmax(a)]


def _softmax(a: Any) -> Any:
    e = ted.exp(a - ted.max(a, axis=1, keepdims=True))
    return e / ted.sum(e, axis=1, keepdims=True)


PROGRAMS: list[Program] = [
    matmul, padding, root_under_a_condition, clamped_index, divided_index, table_lookup,
    lookup_under_data, union_inside_the_tensor, union_leaving_the_tensor, triangle,
    first_of_the_greatest, softmax,
]  # fmt: skip


def system_of(program: Program) -> System:
    given, made = program()
    return System(tuple(t.node for t in given), tuple(t.node for t in made))


def arrays(tensors: Sequence[Tensor]) -> list[Any]:
    random = np.random.default_rng(7)
    return [
        random.normal(size=t.shape) if t.dtype.is_float else random.integers(0, N, size=t.shape)
        for t in tensors
    ]


def with_locations(module: ir.Module) -> str:
    return module.operation.get_asm(enable_debug_info=True)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_program_keeps_its_text_and_its_numbers(program: Program) -> None:
    system = system_of(program)
    first = to_module(system)
    assert first.operation.verify()
    second = to_module(from_module(first))
    third = to_module(from_module(second))
    assert with_locations(second) == with_locations(third)
    assert str(first) == str(second)
    given = arrays(system.inputs)
    for one, other in zip(interpret(first, given), interpret(third, given), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("program", [matmul, table_lookup, divided_index], ids=lambda p: p.__name__)
def test_equations_read_as_they_were_written(program: Program) -> None:
    system = system_of(program)
    assert format_system(from_module(to_module(system))) == format_system(system)


def test_names_and_lines_of_the_user_are_kept() -> None:
    system = system_of(matmul)
    back = from_module(to_module(system))
    assert [t.name for t in back.tensors()] == ["A", "B", "C"]
    assert [t.location for t in back.tensors()] == [t.location for t in system.tensors()]
    assert back.outputs[0].equations[0].location == system.outputs[0].equations[0].location


def test_a_guard_replaces_the_select_that_it_comes_from() -> None:
    text = str(to_module(system_of(padding)))
    assert "arith.select" not in text
    assert "affine_set<(d0, d1) : (-d0 + 6 >= 0, d0 - 1 >= 0)>" in text


def test_a_clamped_read_inside_its_tensor_needs_no_check() -> None:
    assert 'mode = "unchecked"' in str(to_module(system_of(clamped_index)))
    assert 'mode = "check"' in str(to_module(system_of(table_lookup)))


def parsed(text: str) -> System:
    return from_module(ir.Module.parse(text, dialects.make_context()))


SCATTER = """func.func @main(%v: tensor<5xf32>, %n: tensor<5xi64>, %start: tensor<3xf32>)
    -> tensor<3xf32> {{
  %0 = "ted.compute"(%v, %n, %start) ({{
  ^bb0(%a: f32, %b: i64):
    %i = arith.index_cast %b : i64 to index
    "ted.yield"(%a, %i) : (f32, index) -> ()
  }}) {{
    extents = array<i64: 5>, iterators = ["reduction"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0)[s0] -> (s0)>, combiner = "{combiner}"{mode}
  }} : (tensor<5xf32>, tensor<5xi64>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}}"""
JOIN = {"add": np.add, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("combiner", JOIN)
@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_a_write_that_clips_or_drops_still_does_as_equations(mode, combiner) -> None:
    text = SCATTER.format(combiner=combiner, mode=f', mode = "{mode}"')
    values = np.array([3, -1, 4, 1, -5], "f4")
    places, start = np.array([-2, 0, 2, 3, 1]), np.array([1, 2, 3], "f4")
    wanted = start.copy()
    for value, place in zip(values, places, strict=True):
        if mode == "clip" or 0 <= place < 3:
            at = min(max(place, 0), 2)
            wanted[at] = JOIN[combiner](wanted[at], value)
    for program in (text, str(to_module(parsed(text)))):
        (found,) = interpret(program, [values, places, start])
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("mode", ["unchecked", "check"])
def test_a_write_that_is_not_checked_stays_so(mode) -> None:
    written = "" if mode == "check" else ', mode = "unchecked"'
    text = str(to_module(parsed(SCATTER.format(combiner="add", mode=written))))
    assert text.count('mode = "unchecked"') == (mode == "unchecked")


IDENTITY = """
  %{result} = "ted.compute"(%{source}, %{init}) ({{
  ^bb0(%x: f32):
    "ted.yield"(%x) : (f32) -> ()
  }}) {{
    extents = array<i64: {extent}>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 + {shift})>, combiner = "{combiner}"
  }} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
"""


def step(result: str, source: str, init: str, combiner: str = "add", extent: int = 4) -> str:
    return IDENTITY.format(
        result=result, source=source, init=init, combiner=combiner, extent=extent, shift=4 - extent
    )


def function(body: str, results: str = "%1") -> str:
    kinds = ", ".join(["tensor<4xf32>"] * len(results.split(",")))
    return f"""
    func.func @main(%A: tensor<4xf32>, %B: tensor<4xf32>) -> ({kinds}) {{
      %e = tensor.empty() : tensor<4xf32>
      {body}
      func.return {results} : {kinds}
    }}"""


def test_a_chain_of_inits_is_one_tensor() -> None:
    system = parsed(function(step("0", "A", "e", "set") + step("1", "B", "0")))
    (out,) = system.outputs
    assert [e.combiner for e in out.equations] == ["set", "add"]
    assert out.fill is None


def test_an_init_that_is_used_elsewhere_is_copied_by_value() -> None:
    body = step("0", "A", "e", "set") + step("1", "B", "0") + step("2", "B", "0", extent=2)
    system = parsed(function(body, "%0, %1, %2"))
    assert [len(t.equations) for t in system.outputs] == [1, 2, 2]
    assert to_module(system).operation.verify()


def test_an_argument_may_be_an_init() -> None:
    text = function(step("1", "A", "B"))
    system = parsed(text)
    module = to_module(system)
    assert "tensor.empty" not in str(module)  # the copy is the argument itself
    given = [np.arange(4, dtype=np.float32), np.ones(4, dtype=np.float32)]
    np.testing.assert_array_equal(interpret(module, given)[0], given[0] + given[1])


def test_constants_outside_of_bodies_are_found() -> None:
    text = """
    func.func @main(%A: tensor<4xf32>) -> tensor<4xf32> {
      %two = arith.constant 2.0 : f32
      %zeros = arith.constant dense<0.0> : tensor<4xf32>
      %1 = "ted.compute"(%A, %zeros) ({
      ^bb0(%x: f32):
        %y = arith.mulf %x, %two : f32
        "ted.yield"(%y) : (f32) -> ()
      }) {
        extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
        reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
        write = affine_map<(d0) -> (d0)>, combiner = "add"
      } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }"""
    (out,) = parsed(text).outputs
    assert out.fill == 0.0
    assert str(out.equations[0].body) == "arg0[d0]*2"


@pytest.mark.parametrize(
    "values",
    [
        "dense<[1.0, -0.0, 0x7FC00001, 0x7F800000]> : tensor<4xf32>",
        "dense<[1.0, 2.5, 0x7FC0, 3.004060e+38]> : tensor<4xbf16>",
        "dense<[true, false, true, true]> : tensor<4xi1>",
        'dense<"0x0000803F004040408040A040"> : tensor<6xbf16>',
        "dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>",
    ],
)
def test_a_constant_is_a_tensor_with_values(values: str) -> None:
    kind = values.rpartition(" : ")[2]
    text = f"""
    func.func @main() -> {kind} {{
      %values = arith.constant {values}
      func.return %values : {kind}
    }}"""
    system = parsed(text)
    (constant,) = system.outputs
    assert constant.constant is not None
    again = str(to_module(system))
    with dialects.make_context():
        assert str(ir.Attribute.parse(values)) in again
    assert str(to_module(parsed(again))) == again


def test_an_equation_starts_from_a_constant() -> None:
    values = "%c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
    system = parsed(function(values + step("1", "A", "c"), "%1"))
    again = str(to_module(system))
    assert "linalg.fill" not in again
    assert str(to_module(parsed(again))) == again
    x = np.array([1.0, 1.0, 1.0, 2.0], np.float32)
    (found,) = interpret(again, [x, x])
    np.testing.assert_array_equal(found, [2, 3, 4, 6])


@pytest.mark.parametrize(
    ("body", "results", "message"),
    [
        (step("1", "e", "A"), "%1", "a tensor must be written before it is read"),
        ("%1 = arith.addf %A, %B : tensor<4xf32>", "%1", "ops with an equation form are"),
        ('%1 = arith.constant dense_resource<"w"> : tensor<4xf32>', "%1", "got arith.constant"),
    ],
)
def test_what_has_no_equation_form_is_refused_at_its_line(
    body: str, results: str, message: str
) -> None:
    with pytest.raises(VerifyError, match="function: ") as caught:
        parsed(function(body, results))
    assert message in str(caught.value)
    assert caught.value.location is not None


def test_an_unknown_op_in_a_body_is_refused() -> None:
    text = function(step("1", "A", "e", "set")).replace(
        '"ted.yield"(%x)', '%y = math.ctlz %n : i64\n"ted.yield"(%x)'
    )
    text = text.replace("^bb0(%x: f32):", "^bb0(%x: f32):\n%n = arith.constant 1 : i64")
    with pytest.raises(VerifyError, match=r"ops that equations know, got math\.ctlz"):
        parsed(text)


def test_a_module_of_several_functions_wants_a_name() -> None:
    text = "func.func @f() { return } func.func @g() { return }"
    with pytest.raises(VerifyError, match=r"must have a function 'main', got \['f', 'g'\]"):
        parsed(text)
