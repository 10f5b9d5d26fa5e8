"""Translation validation: right passes agree in the prime field, planted errors are found."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import ted
from support.lowering_roads import ON_GPU, ON_TENSORS
from ted import nn
from ted.dialects import make_context
from ted.errors import PassFailed
from ted.frontend.tensors import Tensor
from ted.ir.equations import System, rewrite_system
from ted.ir.expressions import Expr
from ted.ir.pass_driver import run_pipeline
from ted.ir.passes import PASSES
from ted.ir.rewriting import rewrite_functions
from ted.ir.scalar import add, dim, index, load, loads, mul, neg, replace_nodes
from ted.mlir import ir, text_of
from ted.testing import field_evaluation
from ted.testing.interpreter import functions_of
from ted.testing.prime_field import INFINITY, Element, element_of, formal, hashed
from ted.testing.validation import Validator
from ted.transforms.ted_simplify import TedSimplify

TRANSFORMS = Path(__file__).parents[2] / "transforms"
INPUTS = [
    "ted-fuse-pointwise", "ted-inline-pointwise", "ted-scatter-to-gather", "ted-simplify",
    "ted-split-dims", "ted-differentiate",
]  # fmt: skip
ONLY_READS = ("ted-check-bounds", "ted-report-gradient")
ASKED = {"ted-differentiate": "_of = @", "ted-split-residuals": "ted.vjp_of = @"}  # by what
TEXTS = {"ted-limit-memory": "ted-limit-memory{bytes=1000}"}
KEEPING = [
    TEXTS.get(name, name)
    for name in PASSES
    if PASSES[name].package == "ted.transforms"
    and name not in (*ONLY_READS, *ASKED, "ted-specialise-sizes")
]


def pieces(name: str) -> list[str]:
    text = (TRANSFORMS / f"{name}.mlir").read_text()
    return re.split(r"^// -----.*$", text, flags=re.MULTILINE)


def validated(text: str, pipeline: str) -> list[str]:
    """Run a pipeline under the validator; what it says."""
    with make_context(threading=False) as context:
        module = ir.Module.parse(text, context)
        validator = Validator()
        run_pipeline(module, f"builtin.module({pipeline})", observers=[validator])
        return validator.summary()


def not_validated(said: list[str]) -> list[str]:
    return [line for line in said if "is not validated" in line]


@pytest.mark.fast(3)
@pytest.mark.parametrize("name", [*KEEPING, *ASKED])
@pytest.mark.parametrize("source", INPUTS)
def test_every_pass_keeps_the_value_of_every_input(source: str, name: str, capsys) -> None:
    del capsys
    for piece in pieces(source):
        if ASKED.get(name, "") not in piece:
            continue
        text = name if name != "ted-split-residuals" else f"ted-differentiate,{name}"
        remarks = validated(piece, text)
        assert not [r for r in remarks if "points, got" in r]


def test_whole_road_keeps_values() -> None:
    road = (
        "ted-inline-pointwise,ted-split-dims,ted-differentiate,ted-scatter-to-gather,ted-simplify"
    )
    for piece in pieces("ted-differentiate"):
        validated(piece, road)


OPERATORS = {
    "convolution": lambda: nn.conv2d(p("x", 1, 7, 6, 4), p("w", 3, 3, 2, 4), stride=2, groups=2),
    "max pool": lambda: nn.max_pool2d(p("x", 1, 7, 7, 2), 3, stride=2, padding=1),
    "softmax": lambda: nn.softmax(p("x", 3, 5)),
    "layer norm": lambda: nn.layer_norm(p("x", 3, 5), p("scale", 5), p("shift", 5)),
    "reflection": lambda: ted.pad(p("x", 5, 4), ((1, 2), (0, 3)), mode="reflect") ** 2,
    "rows by index": lambda: nn.embedding(p("x", 5, 4), ted.placeholder((3,), "int64", name="n")),
    "product": lambda: ted.prod(p("x", 3, 5), axis=1),
}


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float32", name=name)


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", OPERATORS)
def test_every_pass_keeps_an_operator_and_its_gradient(name: str) -> None:
    y = OPERATORS[name]()
    gradients = ted.differentiate(y, head=p("dy", *y.shape))
    assert not not_validated(validated(str(ted.module([y, *gradients])), ",".join(KEEPING)))


def symbolic() -> str:
    n, m = ted.size("n", min=2), ted.size("m", multiple_of=2)
    x = ted.placeholder((n, m), "float32", name="x")
    y = nn.softmax(x[1:] * x[:-1]) * n
    dy = ted.placeholder(y.shape, "float32", name="dy")
    return str(ted.module([y, *ted.differentiate(y, [x], head=dy)]))


def test_programs_of_symbolic_sizes_are_validated_at_some() -> None:
    assert not not_validated(validated(symbolic(), ",".join(KEEPING)))
    said = validated(symbolic(), "ted-specialise-sizes{values=3,4},ted-simplify")
    passes = "ted-specialise-sizes, ted-simplify"
    assert said == [
        f"ted-validate: @main is not validated around {passes}: its sizes became numbers"
    ]


def test_a_wrong_pass_over_symbolic_sizes_is_caught() -> None:
    with make_context(threading=False) as context:
        right = ir.Module.parse(symbolic(), context)
        wrong = ir.Module.parse(symbolic().replace("arith.mulf", "arith.addf"), context)
        validator = Validator()
        validator.before("ted-simplify", right)
        with pytest.raises(PassFailed, match="keeps its value at every point"):
            validator.after("ted-simplify", wrong)


MATMUL = """
func.func @main(%A: tensor<3x5xf32>, %B: tensor<5x4xf32>) -> tensor<3x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %C = "ted.compute"(%A, %B, %i) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.subf %a, %b : f32
    %p = arith.mulf %s, %b : f32
    %t = math.tanh %p : f32
    "ted.yield"(%t) : (f32) -> ()
  }) {
    extents = array<i64: 3, 4, 5>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<3x5xf32>, tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %C : tensor<3x4xf32>
}"""


def wrong_sign(body: Expr) -> Expr:
    return neg(body)


def doubled(body: Expr) -> Expr:
    return add(body, body)


def inside_the_function(body: Expr) -> Expr:
    (argument,) = body.args
    return replace_nodes(body, {argument: neg(argument)})


def other_place(body: Expr) -> Expr:
    read = next(r for r in loads(body) if r.attr.shape == (3, 5))
    (row, column) = read.args
    moved = load(read.attr, [row, add(mul(column, index(-1)), index(4))])
    return replace_nodes(body, {read: moved})


ERRORS = [wrong_sign, doubled, inside_the_function, other_place]


@pytest.mark.parametrize("error", ERRORS)
def test_a_wrong_pass_is_caught(error, monkeypatch: pytest.MonkeyPatch) -> None:
    def transform(system: System) -> System:
        return rewrite_system(
            system, lambda _, equations: tuple(replace(e, body=error(e.body)) for e in equations)
        )[0]

    monkeypatch.setattr(TedSimplify, "run", lambda _, module: rewrite_functions(module, transform))
    expected = r"ted-simplify: result 0 of @main keeps its value .* before and .* after at index \["
    with pytest.raises(PassFailed, match=expected):
        validated(MATMUL, "ted-split-dims,ted-simplify")


def test_a_pass_that_is_wrong_at_ties_alone_is_caught() -> None:
    x, y = p("x", 4, 4), p("y", 4, 4)
    right = str(ted.module([ted.where(x < y, x * y, x + y)]))
    assert "cmpf olt" in right
    with make_context(threading=False) as context:
        validator = Validator()
        validator.before("ted-simplify", ir.Module.parse(right, context))
        wrong = ir.Module.parse(right.replace("cmpf olt", "cmpf ole"), context)
        with pytest.raises(PassFailed, match="keeps its value at every point"):
            validator.after("ted-simplify", wrong)


def test_a_lost_point_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def shrink(system: System) -> System:
        def smaller(_, equations):
            return tuple(replace(e, domain=e.domain.subtract(corner(e.domain))) for e in equations)

        return rewrite_system(system, smaller)[0]

    def corner(domain):
        from ted.ir.affine import condition_set
        from ted.ir.scalar import compare

        return condition_set(compare("eq", add(add(dim(0), dim(1)), dim(2)), index(9)), domain)

    monkeypatch.setattr(TedSimplify, "run", lambda _, module: rewrite_functions(module, shrink))
    with pytest.raises(PassFailed, match=r"after at index \[2, 3\]"):
        validated(MATMUL, "ted-simplify")


# By names of lowerings the passes of which each keeps the values.
LOWERINGS = {
    "tensors": (ON_TENSORS, ("convert-ted-to-linalg", "canonicalize")),
    "CPU": (
        "ted-cpu-pipeline{until=buffers}",
        ("ted-emit-kernels", "ted-schedule-contractions", "ted-plan-memory"),
    ),
    "GPU": (
        ON_GPU,
        ("ted-sink-column-sums", "ted-emit-kernels", "ted-order-loops", "ted-mark-contractions",
         "ted-fuse-row-loops"),
    ),
}  # fmt: skip


@pytest.mark.fast(1)
@pytest.mark.parametrize("lowering", LOWERINGS)
@pytest.mark.parametrize("name", OPERATORS)
def test_lowering_keeps_an_operator_and_its_gradient(name: str, lowering: str) -> None:
    y = OPERATORS[name]()
    text = str(ted.module([y, *ted.differentiate(y, head=p("dy", *y.shape))]))
    road, passes = LOWERINGS[lowering]
    (said,) = validated(text, road)
    assert "@main is validated" in said
    assert [one for one in passes if one not in said] == []


@pytest.mark.parametrize("road", [ON_TENSORS, ON_GPU], ids=["tensors", "GPU"])
def test_tensors_without_elements_have_no_memory_to_compare(road: str) -> None:
    x, y = p("x", 0, 4), p("y", 3, 1)
    text = str(ted.module([x + x, y * y, ted.sum(x, 0)]))
    (said,) = validated(text, road)
    assert "@main is validated" in said


def test_what_only_comes_near_is_not_validated_and_that_is_said() -> None:
    said = validated(MATMUL, "ted-cpu-pipeline")
    expanded, on_llvm = (line for line in not_validated(said) if "@main" in line)
    assert "around ted-expand-math, " in expanded
    assert expanded.endswith("functions became sums and products that are near them")
    assert "ted-check-lowered" in on_llvm
    assert on_llvm.endswith("it is llvm.func now")


LOWERING_ERRORS = {
    "an operation": ("arith.subf", "arith.addf"),
    "a place": ("(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d0, -d2 + 4)"),
    "a start": ("linalg.fill ins(%cst", "linalg.fill ins(%one"),
    "a start that is nothing": ("outs(%1 :", "outs(%0 :"),
}


@pytest.mark.parametrize("name", LOWERING_ERRORS)
def test_a_wrong_lowering_is_caught(name: str) -> None:
    with make_context(threading=False) as context:
        validator, module = Validator(), ir.Module.parse(MATMUL, context)
        validator.before("convert-ted-to-linalg", module)
        run_pipeline(module, "builtin.module(convert-ted-to-linalg)")
        validator.after("convert-ted-to-linalg", module)
        validator.before("canonicalize", module)
        right = text_of(module, use_local_scope=True)
        old, new = LOWERING_ERRORS[name]
        assert old in right
        start = right.index("{", right.index("func.func")) + 1
        one = "%one = arith.constant 1.0 : f32\n"
        wrong = ir.Module.parse(right[:start] + one + right[start:].replace(old, new), context)
        with pytest.raises(PassFailed, match="keeps its value at every point"):
            validator.after("canonicalize", wrong)


def test_functions_of_constants_that_mlir_rounds_are_compared_in_floats() -> None:
    text = """
    func.func @main(%t: tensor<2xf64>) -> tensor<2xf64> {
      %c = arith.constant 0.1 : f64
      %s = math.sin %c : f64
      %i = linalg.fill ins(%s : f64) outs(%t : tensor<2xf64>) -> tensor<2xf64>
      func.return %i : tensor<2xf64>
    }"""
    said = validated(text, "cse,canonicalize,cse")
    assert "validated around cse: the same before and after at 2 points" in said[0]
    assert "validated around canonicalize: the same but for constants that were rounded" in said[1]


def test_what_is_too_large_is_left_with_a_remark() -> None:
    large = re.sub(r"\b4\b", "400000", MATMUL)
    (said,) = validated(large, "ted-simplify")
    assert "@main is not validated around ted-simplify: it has more than" in said


def test_field_is_exact_where_floats_round() -> None:
    tenth, third = element_of(0.1, "f32"), element_of(1 / 3, "f64")
    assert tenth * Element(10) == Element(1)
    assert third + third + third == Element(1)
    assert element_of(-0.75, "f64") * Element(4) == Element(-3)
    assert Element(7) / Element(3) * Element(3) == Element(7)
    assert Element(7) / Element(0) == Element(1) / Element(0)
    assert Element(-1) < Element(0) < element_of(0.1, "f32") < element_of(0.5, "f64") < Element(1)
    assert element_of(float("-inf"), "f32") == -INFINITY < Element(-(2**60)) < INFINITY
    assert element_of(-0.5, "f32") not in (INFINITY, -INFINITY)


def test_functions_of_the_field_know_their_arguments_alone() -> None:
    assert formal("math.exp", Element(3)) == formal("math.exp", Element(3 - 2**61 + 1))
    assert formal("math.exp", Element(3)) != formal("math.exp", Element(4))
    assert formal("math.exp", Element(3)) != formal("math.log", Element(3))
    assert formal("math.exp", Element(3)) == hashed("math.exp", Element(3))


def test_functions_of_the_field_know_whole_values_at_simple_fractions() -> None:
    assert formal("math.exp", Element(0)) == formal("math.cos", Element(0)) == Element(1)
    assert formal("math.floor", element_of(-2.5, "f64")) == Element(-3)
    assert formal("math.log", Element(0)) == -INFINITY


def test_points_of_a_program_are_those_of_its_equations() -> None:
    with make_context(threading=False) as context:
        module = ir.Module.parse(MATMUL, context)
        (function,) = functions_of(module).values()
        assert field_evaluation._points(function) == 3 * 4 * 5
