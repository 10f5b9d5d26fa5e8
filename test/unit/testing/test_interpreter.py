"""The reference interpreter against numpy, one situation of the language a test."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import ted
from ted.errors import ExecutionError
from ted.testing import Counts, interpret
from unit.frontend.tracing import run

RNG = np.random.default_rng(0)


def equation(
    result: str,
    operands: list[tuple[str, str]],
    body: str,
    extents: list[int],
    write: str,
    *,
    maps: list[str] = (),
    iterators: str = "",
    domain: str = "0 == 0",
    guards: list[str] | None = None,
    combiner: str = "set",
    types: list[str] | None = None,
) -> str:
    """The text of one ted.compute; the last `results` operands are inits."""
    dims = "(" + ", ".join(f"d{k}" for k in range(len(extents))) + ")"
    kinds = {"p": '"parallel"', "r": '"reduction"'}
    guards = ["0 == 0"] * len(maps) if guards is None else guards
    inits = [t for _, t in operands[len(maps) :]]
    arguments = ", ".join(
        f"%a{k}: {t.rpartition('x')[2].rstrip('>')}" if "x" in t else f"%a{k}: {t[7:-1]}"
        for k, (_, t) in enumerate(operands[: len(maps)])
    )
    header = f"^bb0({arguments}):" if maps else ""
    names = ", ".join(n for n, _ in operands)
    results = ", ".join(inits)
    symbols = write.partition("|")
    target = f"{dims}[{symbols[2]}] -> ({symbols[0]})" if symbols[1] else f"{dims} -> ({write})"
    return f"""
    {result} = "ted.compute"({names}) ({{
    {header}
      {body}
    }}) {{
      extents = array<i64{": " if extents else ""}{", ".join(map(str, extents))}>,
      iterators = [{", ".join(kinds[c] for c in iterators or "p" * len(extents))}],
      domain = affine_set<{dims} : ({domain})>,
      reads = [{", ".join(f"affine_map<{dims} -> ({m})>" for m in maps)}],
      guards = [{", ".join(f"affine_set<{dims} : ({g})>" for g in guards)}],
      write = affine_map<{target}>,
      combiner = "{combiner}"
    }} : ({", ".join(t for _, t in operands)}) -> ({results})"""


def function(arguments: list[tuple[str, str]], lines: list[str], results: list[tuple[str, str]]):
    """The text of a module with one function."""
    given = ", ".join(f"{n}: {t}" for n, t in arguments)
    types = ", ".join(t for _, t in results)
    body = "\n    ".join(lines)
    return f"""func.func @main({given}) -> ({types}) {{
    {body}
    func.return {", ".join(n for n, _ in results)} : {types}
}}"""


def zeros(name: str, tensor: str, value: str = "0.0") -> list[str]:
    """A filled tensor."""
    element = tensor.rpartition("x")[2].rstrip(">") if "x" in tensor else tensor[7:-1]
    return [
        f"{name}e = tensor.empty() : {tensor}",
        f"{name}c = arith.constant {value} : {element}",
        f"{name} = linalg.fill ins({name}c : {element}) outs({name}e : {tensor}) -> {tensor}",
    ]


def apply(text: str, *inputs, counts: Counts | None = None):
    """Run and unpack a single result."""
    results = interpret(text, inputs, counts=counts)
    return results[0] if len(results) == 1 else results


YIELD = '"ted.yield"(%a0) : (f32) -> ()'


def matmul(element: str = "f32", extents=(3, 4, 5)) -> str:
    n, m, k = extents
    a, b, c = (f"tensor<{x}x{y}x{element}>" for x, y in ((n, k), (k, m), (n, m)))
    body = f'%p = arith.mulf %a0, %a1 : {element}\n"ted.yield"(%p) : ({element}) -> ()'
    compute = equation(
        "%C", [("%A", a), ("%B", b), ("%z", c)], body, [n, m, k], "d0, d1",
        maps=["d0, d2", "d2, d1"], iterators="ppr", combiner="add",
    )  # fmt: skip
    return function([("%A", a), ("%B", b)], [*zeros("%z", c), compute], [("%C", c)])


def test_matmul_equals_numpy_and_is_counted():
    a, b = RNG.normal(size=(3, 5)), RNG.normal(size=(5, 4))
    counts = Counts()
    got = apply(matmul("f64"), a, b, counts=counts)
    np.testing.assert_allclose(got, a @ b, rtol=1e-14)
    assert (counts.points, counts.total) == (60, 120)
    assert counts.per_op[0].combiner == "add"


def test_zero_extent_of_a_sum_gives_the_init_and_of_a_result_gives_nothing():
    assert (apply(matmul("f32", (2, 3, 0)), np.ones((2, 0), "f"), np.ones((0, 3), "f")) == 0).all()
    assert apply(matmul("f32", (0, 3, 2)), np.ones((0, 2), "f"), np.ones((2, 3), "f")).shape == (
        0,
        3,
    )


def test_guarded_read_gives_zero_outside_its_guard():
    t, r = "tensor<3xf32>", "tensor<6xf32>"
    compute = equation(
        "%C", [("%A", t), ("%e", r)], YIELD, [6], "d0",
        maps=["d0 - 2"], guards=["d0 - 2 >= 0, -d0 + 4 >= 0"],
    )  # fmt: skip
    text = function([("%A", t)], [f"%e = tensor.empty() : {r}", compute], [("%C", r)])
    a = np.array([1, 2, 3], "f")
    np.testing.assert_array_equal(apply(text, a), np.pad(a, (2, 1)))


def test_unguarded_read_outside_names_tensor_index_and_place():
    t, r = "tensor<3xf32>", "tensor<6xf32>"
    compute = equation("%C", [("%A", t), ("%e", r)], YIELD, [6], "d0", maps=["d0"])
    compute += ' loc("C"("model.py":41:3))'
    text = function([("%A", t)], [f"%e = tensor.empty() : {r}", compute], [("%C", r)])
    text = text.replace(f"%A: {t}", f'%A: {t} loc("weights"("model.py":7:1))')
    with pytest.raises(ExecutionError, match=r"read 0 of weights \[3\] .*\[3\] .*model.py:41"):
        apply(text, np.zeros(3, "f"))


def test_triangular_domain_sums_its_points_only():
    t, r = "tensor<5xf32>", "tensor<5xf32>"
    compute = equation(
        "%C", [("%A", t), ("%z", r)], YIELD, [5, 5], "d0",
        maps=["d1"], iterators="pr", domain="d0 - d1 >= 0", combiner="add",
    )  # fmt: skip
    counts = Counts()
    text = function([("%A", t)], [*zeros("%z", r), compute], [("%C", r)])
    a = np.arange(5, dtype="f")
    np.testing.assert_array_equal(apply(text, a, counts=counts), np.cumsum(a))
    assert (counts.points, counts.total) == (15, 15)


def test_strided_write_keeps_the_other_elements_of_init():
    t, r = "tensor<3xf32>", "tensor<7xf32>"
    compute = equation("%C", [("%A", t), ("%I", r)], YIELD, [3], "d0 * 2 + 1", maps=["d0"])
    text = function([("%A", t), ("%I", r)], [compute], [("%C", r)])
    a, init = np.arange(3, dtype="f"), np.full(7, 9, "f")
    want = init.copy()
    want[1::2] = a
    np.testing.assert_array_equal(apply(text, a, init), want)
    assert (init == 9).all()


def test_partly_written_empty_tensor_is_an_error_as_result_and_as_operand():
    t, r = "tensor<3xf32>", "tensor<7xf32>"
    part = equation("%C", [("%A", t), ("%e", r)], YIELD, [3], "d0 * 2 + 1", maps=["d0"])
    empty = f"%e = tensor.empty() : {r}"
    with pytest.raises(
        ExecutionError, match=r"result 0 of main is written, got none at index \[0\]"
    ):
        apply(function([("%A", t)], [empty, part], [("%C", r)]), np.zeros(3, "f"))
    copy = equation("%D", [("%C", r), ("%e", r)], YIELD, [7], "d0", maps=["d0"])
    with pytest.raises(ExecutionError, match=r"read 0 of .* written elements only, got none"):
        apply(function([("%A", t)], [empty, part, copy], [("%D", r)]), np.zeros(3, "f"))
    odd = equation("%D", [("%C", r), ("%F", t)], YIELD, [3], "d0", maps=["d0 * 2 + 1"])
    text = function([("%A", t), ("%F", t)], [empty, part, odd], [("%D", t)])
    np.testing.assert_array_equal(apply(text, np.ones(3, "f"), np.zeros(3, "f")), np.ones(3))


def test_accumulation_onto_an_unwritten_element_is_an_error():
    r = "tensor<3xf32>"
    compute = equation("%C", [("%A", r), ("%e", r)], YIELD, [3], "d0", maps=["d0"], combiner="add")
    text = function([("%A", r)], [f"%e = tensor.empty() : {r}", compute], [("%C", r)])
    with pytest.raises(ExecutionError, match="init 0 meets written elements only"):
        apply(text, np.zeros(3, "f"))


def test_second_set_of_an_element_is_an_error():
    t, r = "tensor<3xf32>", "tensor<2xf32>"
    compute = equation("%C", [("%A", t), ("%I", r)], YIELD, [3], "d0 floordiv 2", maps=["d0"])
    text = function([("%A", t), ("%I", r)], [compute], [("%C", r)])
    with pytest.raises(ExecutionError, match=r"sets an element once, got index \[0\] again"):
        apply(text, np.zeros(3, "f"), np.zeros(2, "f"))


def test_chain_of_sets_concatenates():
    a, b, r = "tensor<2xf32>", "tensor<3xf32>", "tensor<5xf32>"
    lines = [
        f"%e = tensor.empty() : {r}",
        equation("%0", [("%A", a), ("%e", r)], YIELD, [2], "d0", maps=["d0"]),
        equation("%1", [("%B", b), ("%0", r)], YIELD, [3], "d0 + 2", maps=["d0"]),
    ]
    text = function([("%A", a), ("%B", b)], lines, [("%1", r)])
    x, y = np.arange(2, dtype="f"), np.arange(3, dtype="f")
    np.testing.assert_array_equal(apply(text, x, y), np.concatenate([x, y]))


def arg_reduction(name: str, shape=(2, 3)) -> str:
    n, m = shape
    t, v, i = f"tensor<{n}x{m}xf32>", "tensor<f32>", "tensor<i64>"
    compute = equation(
        "%C:2", [("%A", t), ("%v", v), ("%i", i)], YIELD, [n, m], "",
        maps=["d0, d1"], iterators="rr", combiner=name,
    )  # fmt: skip
    start = "0xFF800000" if name == "argmax" else "0x7F800000"
    lines = [*zeros("%v", v, start), *zeros("%i", i, "-1"), compute]
    return function([("%A", t)], lines, [("%C#0", v), ("%C#1", i)])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_reduction_takes_the_first_of_ties_and_the_first_nan(name):
    reduce = getattr(np, name)
    for values in itertools.product([1.0, 2.0, np.nan, np.inf, -np.inf], repeat=3):
        a = np.array([[*values], [2.0, np.nan, 1.0]], "f")
        value, at = apply(arg_reduction(name), a)
        assert int(at) == reduce(a), a
        np.testing.assert_array_equal(value, a.flat[reduce(a)])


@pytest.mark.parametrize(("name", "value"), [("argmax", -np.inf), ("argmin", np.inf)])
def test_arg_reduction_of_the_identity_is_the_first_point(name, value):
    best, at = apply(arg_reduction(name), np.full((2, 3), value, "f"))
    assert (float(best), int(at)) == (value, 0)


@pytest.mark.parametrize(("name", "start"), [("max", "0xFF800000"), ("min", "0x7F800000")])
def test_extremum_propagates_nan(name, start):
    t, r = "tensor<2x3xf32>", "tensor<2xf32>"
    compute = equation(
        "%C", [("%A", t), ("%z", r)], YIELD, [2, 3], "d0",
        maps=["d0, d1"], iterators="pr", combiner=name,
    )  # fmt: skip
    text = function([("%A", t)], [*zeros("%z", r, start), compute], [("%C", r)])
    a = np.array([[1, np.nan, 3], [-0.0, 0.0, -0.0]], "f")
    got = apply(text, a)
    assert np.isnan(got[0])
    assert np.signbit(got[1]) == (name == "min")


def test_product_and_boolean_combiners():
    t, r = "tensor<4xf32>", "tensor<f32>"
    compute = equation(
        "%C", [("%A", t), ("%z", r)], YIELD, [4], "", maps=["d0"], iterators="r", combiner="mul"
    )
    text = function([("%A", t)], [*zeros("%z", r, "1.0"), compute], [("%C", r)])
    assert apply(text, np.array([1, 2, 3, 4], "f")) == 24
    for name, start, reduce in (("add", "false", np.any), ("mul", "true", np.all)):
        t, r = "tensor<3xi1>", "tensor<i1>"
        body = '"ted.yield"(%a0) : (i1) -> ()'
        compute = equation(
            "%C", [("%A", t), ("%z", r)], body, [3], "", maps=["d0"], iterators="r", combiner=name
        )
        lines = zeros("%z", r, start)
        lines[1] = f"%zc = arith.constant {start}"
        text = function([("%A", t)], [*lines, compute], [("%C", r)])
        for bits in itertools.product([False, True], repeat=3):
            assert apply(text, np.array(bits)) == reduce(bits)


def test_rank_zero_copy_and_empty_box():
    r = "tensor<f32>"
    compute = equation("%C", [("%A", r), ("%e", r)], YIELD, [], "", maps=[""])
    text = function([("%A", r)], [f"%e = tensor.empty() : {r}", compute], [("%C", r)])
    assert apply(text, np.float32(3)) == 3


def test_half_precision_accumulates_in_single_precision():
    t, h = "tensor<2048xf16>", "tensor<f16>"
    total = equation(
        "%C", [("%A", t), ("%z", h)], '"ted.yield"(%a0) : (f16) -> ()', [2048], "",
        maps=["d0"], iterators="r", combiner="add",
    )  # fmt: skip
    text = function([("%A", t)], [*zeros("%z", h), total], [("%C", h)])
    got = apply(text, np.full(2048, 1.5, np.float16))
    assert got.dtype == np.float16
    assert got == 3072


@pytest.mark.parametrize(("rounding", "expected"), [(False, [1, 1]), (True, [0, 1])])
def test_bfloat16_is_rounded_when_it_is_stored_or_converted(rounding, expected):
    r = "tensor<2xbf16>"
    through = """%w = arith.extf %s : bf16 to f32
      %n = arith.truncf %w : f32 to bf16""" if rounding else ""  # fmt: skip
    body = f"""%s = arith.addf %a0, %a1 : bf16
      {through}
      %d = arith.subf {"%n" if rounding else "%s"}, %a0 : bf16
      "ted.yield"(%d) : (bf16) -> ()"""
    compute = equation("%C", [("%A", r), ("%B", r), ("%e", r)], body, [2], "d0", maps=["d0", "d0"])
    text = function([("%A", r), ("%B", r)], [f"%e = tensor.empty() : {r}", compute], [("%C", r)])
    a, b = (np.array(v, ml_dtypes.bfloat16) for v in ([256, 1], [1, 1]))
    np.testing.assert_array_equal(apply(text, a, b).astype("f"), expected)


def test_integers_wrap_and_divisions_floor_or_truncate():
    r = "tensor<4xi8>"
    for name, reduce in (
        ("muli", lambda a, b: (a * b + 128) % 256 - 128),
        ("floordivsi", lambda a, b: a // b),
        ("divsi", lambda a, b: int(a / b)),
        ("remsi", lambda a, b: a - b * int(a / b)),
        ("maxsi", max),
        ("maxui", lambda a, b: (max(a % 256, b % 256) + 128) % 256 - 128),
    ):
        body = f'%p = arith.{name} %a0, %a1 : i8\n"ted.yield"(%p) : (i8) -> ()'
        compute = equation(
            "%C", [("%A", r), ("%B", r), ("%e", r)], body, [4], "d0", maps=["d0", "d0"]
        )
        lines = [f"%e = tensor.empty() : {r}", compute]
        text = function([("%A", r), ("%B", r)], lines, [("%C", r)])
        a, b = [100, -7, 7, -128], [3, 2, -2, 3]
        want = [reduce(x, y) for x, y in zip(a, b, strict=True)]
        assert apply(text, np.array(a, np.int8), np.array(b, np.int8)).tolist() == want, name


def test_integer_division_by_zero_is_an_error_with_the_place():
    r = "tensor<1xi32>"
    body = '%p = arith.divsi %a0, %a0 : i32\n"ted.yield"(%p) : (i32) -> ()'
    compute = equation("%C", [("%A", r), ("%e", r)], body, [1], "d0", maps=["d0"])
    compute += ' loc("m.py":3:1)'
    text = function([("%A", r)], [f"%e = tensor.empty() : {r}", compute], [("%C", r)])
    with pytest.raises(ExecutionError, match=r"got 0 \(m.py:3\)"):
        apply(text, np.zeros(1, np.int32))


SCATTER = """%i = arith.index_cast %a1 : i64 to index
      "ted.yield"(%a0, %i) : (f32, index) -> ()"""


def test_scatter_adds_at_data_indices_and_checks_them():
    t, n, r = "tensor<4xf32>", "tensor<4xi64>", "tensor<3xf32>"
    compute = equation(
        "%C", [("%A", t), ("%N", n), ("%z", r)], SCATTER, [4], "s0 | s0",
        maps=["d0", "d0"], combiner="add",
    )  # fmt: skip
    text = function([("%A", t), ("%N", n)], [*zeros("%z", r), compute], [("%C", r)])
    a = np.array([1, 2, 3, 4], "f")
    np.testing.assert_array_equal(apply(text, a, np.array([2, 0, 2, 2])), [2, 0, 8])
    with pytest.raises(ExecutionError, match=r"write of .* \[3\] stays inside, got index \[3\]"):
        apply(text, a, np.array([2, 3, 2, 2]))


@pytest.mark.parametrize(
    ("mode", "want"), [("check", None), ("unchecked", None), ("clip", [0, 2]), ("drop", [0, 0])]
)
def test_load_at_data_indices_obeys_its_mode(mode, want):
    t, n, r = "tensor<3xf32>", "tensor<2xi64>", "tensor<2xf32>"
    body = f"""%yes = arith.constant true
      %i = arith.index_cast %a0 : i64 to index
      %x = "ted.load"(%T, %yes, %i) {{mode = "{mode}"}} : (tensor<3xf32>, i1, index) -> f32
      "ted.yield"(%x) : (f32) -> ()"""
    compute = equation("%C", [("%N", n), ("%e", r)], body, [2], "d0", maps=["d0"])
    lines = [f"%e = tensor.empty() : {r}", compute]
    text = function([("%T", t), ("%N", n)], lines, [("%C", r)])
    table = np.arange(3, dtype="f")
    np.testing.assert_array_equal(apply(text, table, np.array([1, 2])), [1, 2])
    if want is not None:
        np.testing.assert_array_equal(apply(text, table, np.array([-1, 3])), want)
        return
    with pytest.raises(ExecutionError, match=r"load of .* \[3\] stays inside, got index \[-1\]"):
        apply(text, table, np.array([-1, 3]))


def test_index_values_casts_and_weights():
    r = "tensor<2x3xf32>"
    body = """%i = "ted.index"() {dim = 0 : i64} : () -> index
      %j = "ted.index"() {dim = 1 : i64} : () -> index
      %s = arith.addi %i, %j : index
      %n = arith.index_cast %s : index to i64
      %x = arith.sitofp %n : i64 to f32
      %below = arith.cmpi slt, %i, %j : index
      %e0 = math.exp %x : f32
      %q = arith.divf %e0, %a0 : f32
      %c = arith.cmpf olt, %q, %a0 : f32
      %y = arith.select %c, %q, %a0 : f32
      %z = arith.select %below, %y, %x : f32
      "ted.yield"(%z) : (f32) -> ()"""
    compute = equation("%C", [("%A", r), ("%e", r)], body, [2, 3], "d0, d1", maps=["d0, d1"])
    text = function([("%A", r)], [f"%e = tensor.empty() : {r}", compute], [("%C", r)])
    a = RNG.normal(size=(2, 3)).astype("f")
    i, j = np.indices((2, 3))
    q = np.exp((i + j).astype("f")) / a
    counts = Counts()
    got = apply(text, a, counts=counts)
    np.testing.assert_allclose(got, np.where(i < j, np.where(q < a, q, a), i + j), rtol=1e-6)
    assert counts.total == 6 * (16 + 4 + 1 + 1 + 1)


def test_tensor_ops_around_computes():
    text = """
    !x = tensor<2x3xf32>
    !f = tensor<6xf32>
    !p = tensor<3x4xf32>
    !c = tensor<2x2xf32>
    func.func private @twice(%x: !f) -> !f {
      %y = "ted.stop_gradient"(%x) : (!f) -> !f
      func.return %y : !f
    }
    func.func @main(%x: !x) -> (!f, !p, !c, !x) {
      %flat = tensor.collapse_shape %x [[0, 1]] : !x into !f
      %0 = func.call @twice(%flat) : (!f) -> !f
      %back = tensor.expand_shape %0 [[0, 1]] output_shape [2, 3] : !f into !x
      %z = arith.constant 7.0 : f32
      %pad = tensor.pad %back low[1, 0] high[0, 1] {
      ^bb0(%i: index, %j: index):
        tensor.yield %z : f32
      } : !x to !p
      %cut = tensor.extract_slice %x[0, 0] [2, 2] [1, 2] : !x to !c
      %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : !c
      %in = tensor.insert_slice %c into %x[0, 0] [2, 2] [1, 2] : !c into !x
      func.return %0, %pad, %cut, %in : !f, !p, !c, !x
    }"""
    x = np.arange(6, dtype="f").reshape(2, 3)
    flat, pad, cut, inserted = interpret(text, [x])
    np.testing.assert_array_equal(flat, x.ravel())
    np.testing.assert_array_equal(pad, np.pad(x, ((1, 0), (0, 1)), constant_values=7))
    np.testing.assert_array_equal(cut, x[:, ::2])
    np.testing.assert_array_equal(inserted, [[1, 1, 2], [3, 4, 4]])


def test_wrong_inputs_are_named():
    with pytest.raises(ExecutionError, match="2 inputs, got 1"):
        apply(matmul(), np.zeros((3, 5), "f"))
    with pytest.raises(ExecutionError, match=r"argument 0 of type float32\[3, 5\], got float64"):
        apply(matmul(), np.zeros((3, 5)), np.zeros((5, 4)))
    with pytest.raises(ExecutionError, match="a function of the module, got other"):
        interpret(matmul(), [], function="other")
    for inputs, got in ((5, "'int' object is not iterable"), ([[[1], [2, 3]]], "inhomogeneous")):
        with pytest.raises(ExecutionError, match=f"inputs are a list of arrays, got .*{got}"):
            interpret(matmul(), inputs)


@pytest.mark.parametrize("kind", ["i64", "i32", "i8"])
def test_integers_are_added_exactly(kind: str) -> None:
    t, s = f"tensor<3x{kind}>", f"tensor<{kind}>"
    total = equation(
        "%C", [("%A", t), ("%z", s)], f'"ted.yield"(%a0) : ({kind}) -> ()', [3], "",
        maps=["d0"], iterators="r", combiner="add",
    )  # fmt: skip
    text = function([("%A", t)], [*zeros("%z", s, "0"), total], [("%C", s)])
    numbers = np.iinfo(kind.replace("i", "int"))
    got = apply(text, np.array([numbers.max, -3, 2], numbers.dtype))
    assert (got.dtype, int(got)) == (numbers.dtype, numbers.max - 1)


@pytest.mark.parametrize("kind", ["uint64", "uint8", "int64"])
def test_the_place_of_the_greatest_integer_is_exact(kind: str) -> None:
    most = np.iinfo(kind).max
    x = np.array([1, most - 1, most, most - 2], kind)
    assert run(lambda x: [ted.argmax(x), ted.argmin(most - x)], x) == [2, 2]
