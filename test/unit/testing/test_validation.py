"""Translation validation: right passes agree in the prime field, planted errors are found."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import ted
from ted import nn
from ted.dialects import make_context
from ted.errors import PassFailed
from ted.frontend.tensors import Tensor
from ted.ir.equations import System, rewrite_system
from ted.ir.pass_driver import run_pipeline
from ted.ir.passes import PASSES
from ted.ir.remarks import collected
from ted.ir.rewriting import rewrite_functions
from ted.ir.scalar import Expr, add, dim, index, load, loads, mul, neg, replace_nodes
from ted.mlir import ir
from ted.testing.prime_field import LARGEST, Element, element_of, hashed
from ted.testing.validation import Validator, keeps_meaning
from ted.transforms.ted_simplify import TedSimplify

TRANSFORMS = Path(__file__).parents[2] / "transforms"
INPUTS = [
    "ted-fuse-pointwise", "ted-inline-pointwise", "ted-scatter-to-gather", "ted-simplify",
    "ted-split-dims", "ted-differentiate",
]  # fmt: skip
KEEPING = [name for name in PASSES if keeps_meaning(name)]
ONLY_READS = ("ted-check-bounds", "ted-report-gradient")


def pieces(name: str) -> list[str]:
    text = (TRANSFORMS / f"{name}.mlir").read_text()
    return re.split(r"^// -----.*$", text, flags=re.MULTILINE)


def validated(text: str, pipeline: str) -> list[str]:
    """Run a pipeline under the validator; the remarks."""
    with make_context(threading=False) as context, collected() as remarks:
        module = ir.Module.parse(text, context)
        run_pipeline(module, f"builtin.module({pipeline})", observers=[Validator()])
        return [r.message for r in remarks]


@pytest.mark.parametrize("name", [n for n in KEEPING if n not in ONLY_READS])
@pytest.mark.parametrize("source", INPUTS)
def test_every_pass_keeps_the_value_of_every_input(source: str, name: str, capsys) -> None:
    del capsys
    for piece in pieces(source):
        remarks = validated(piece, name)
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


@pytest.mark.parametrize("name", OPERATORS)
def test_every_pass_keeps_an_operator_and_its_gradient(name: str) -> None:
    y = OPERATORS[name]()
    gradients = ted.differentiate(y, head=p("dy", *y.shape))
    road = [n for n in KEEPING if n not in ONLY_READS]
    remarks = validated(str(ted.module([y, *gradients])), ",".join(road))
    assert not [r for r in remarks if "not validated" in r]


def symbolic() -> str:
    n, m = ted.size("n", min=2), ted.size("m", multiple_of=2)
    x = ted.placeholder((n, m), "float32", name="x")
    y = nn.softmax(x[1:] * x[:-1]) * n
    dy = ted.placeholder(y.shape, "float32", name="dy")
    return str(ted.module([y, *ted.differentiate(y, [x], head=dy)]))


def test_programs_of_symbolic_sizes_are_validated_at_some() -> None:
    road = [n for n in KEEPING if n not in (*ONLY_READS, "ted-specialise-sizes")]
    assert not [r for r in validated(symbolic(), ",".join(road)) if "not validated" in r]
    remarks = validated(symbolic(), "ted-specialise-sizes{values=3,4},ted-simplify")
    assert remarks == ["ted-specialise-sizes: @main is not validated: its sizes became numbers"]


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


def test_what_is_too_large_is_left_with_a_remark() -> None:
    large = re.sub(r"\b4\b", "400000", MATMUL)
    (said,) = validated(large, "ted-simplify")
    assert "@main is not validated: it has more than" in said


def test_passes_of_the_lowering_are_not_compared() -> None:
    assert not keeps_meaning("convert-ted-to-linalg")
    assert not keeps_meaning("cse")
    assert keeps_meaning("ted-simplify")


def test_field_is_exact_where_floats_round() -> None:
    tenth, third = element_of(0.1, "f32"), element_of(1 / 3, "f64")
    assert tenth * Element(10) == Element(1)
    assert third + third + third == Element(1)
    assert element_of(-0.75, "f64") * Element(4) == Element(-3)
    assert Element(7) / Element(3) * Element(3) == Element(7)
    assert Element(7) / Element(0) == Element(1) / Element(0)
    assert element_of(float("-inf"), "f32").signed == -LARGEST
    assert Element(-1) < Element(0) < Element(1)


def test_functions_of_the_field_know_their_arguments_alone() -> None:
    assert hashed("math.exp", Element(3)) == hashed("math.exp", Element(3 - 2**61 + 1))
    assert hashed("math.exp", Element(3)) != hashed("math.exp", Element(4))
    assert hashed("math.exp", Element(3)) != hashed("math.log", Element(3))
