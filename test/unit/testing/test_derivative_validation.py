"""Derivatives against dual numbers: ted's rules agree with calculus, planted errors are found."""

from __future__ import annotations

import re

import pytest

import ted
from support.random_programs import random_program
from ted import nn
from ted.autodiff import rules, support
from ted.dialects import make_context
from ted.errors import PassFailed
from ted.frontend.tensors import Tensor
from ted.ir.pass_driver import run_pipeline
from ted.ir.scalar import add, apply, div, mul, neg, sub
from ted.ir.to_ops import to_module
from ted.mlir import ir
from ted.testing.dual_numbers import PARTIALS, SCALED, Dual
from ted.testing.prime_field import Element
from ted.testing.validation import Validator

_FLOAT = re.compile(r"f\d+>")


def requesting(text: str, *kinds: str) -> str:
    """A module of one function @main, and declarations of derivatives of it: `vjp`, `jvp`."""
    with make_context(threading=False) as context:
        module = ir.Module.parse(text, context)  # its block does not keep it alive
        function = module.body.operations[0]
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        inputs, results = [str(t) for t in kind.inputs], [str(t) for t in kind.results]
    moving, moved = ([t for t in ts if _FLOAT.search(t)] for ts in (inputs, results))
    types = {"vjp": (moved, moving), "jvp": (moving, moved)}
    lines = [
        f"func.func private @main_{k}({', '.join(inputs + types[k][0])}) -> "
        f"({', '.join(results + types[k][1])}) attributes {{ted.{k}_of = @main}}\n"
        for k in kinds
    ]
    end = text.rindex("}")
    return text[:end] + "".join(lines) + text[end:]


def validated(text: str, pipeline: str = "ted-differentiate") -> list[str]:
    with make_context(threading=False) as context:
        validator = Validator()
        module = ir.Module.parse(text, context)
        run_pipeline(module, f"builtin.module({pipeline})", observers=[validator])
        return [line for line in validator.summary() if "P of" in line]


def p(name: str, *shape: int, dtype: str = "float32") -> Tensor:
    return ted.placeholder(shape, dtype, name=name)


def verdicts(*outputs: Tensor) -> list[str]:
    said = validated(requesting(str(ted.module(list(outputs))), "vjp", "jvp"))
    return [line.partition("@main, ")[2].partition(" around")[0] for line in said]


FUNCTIONS = {
    name: lambda x, y, name=name: getattr(ted, name)(x)
    for name in (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh",
        "erf", "erfc", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "round",
        "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    )
} | {
    "atan2": ted.atan2,
    "fmod": ted.fmod,
    "power": lambda x, y: x**y,
    "remainder": lambda x, y: x % y,
    "hypot": ted.hypot,
    "maximum": lambda x, y: ted.maximum(x, y) * ted.minimum(x, y),
    "choice": lambda x, y: ted.where(x > y, x * y, ted.sin(y)),
    "stopped": lambda x, y: ted.stop_gradient(x * y) * y,
    "product": lambda x, y: ted.prod(x + y, 1),
    "largest": lambda x, y: ted.max(x * y, 1),
    "softmax": lambda x, y: nn.softmax(x * y),
    "running product": lambda x, y: ted.cumprod(x, 1) * y,
    "rows by data": lambda x, y: x[ted.placeholder((4,), "int64", name="n")],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.slow), "float64"])
def test_every_rule_is_that_of_calculus(dtype: str) -> None:
    x, y = p("x", 2, 3, dtype=dtype), p("y", 2, 3, dtype=dtype)
    for name, f in FUNCTIONS.items():
        assert verdicts(f(x, y)) == ["is validated", "is validated"], name


def test_every_function_that_has_a_rule_has_a_row() -> None:
    known = {name.partition(".")[2] for name in (*PARTIALS, *SCALED)}
    spelled = {"abs": "absf", "pow": "powf", "round": "roundeven", "fmod": "remf"}
    ring = {"add", "sub", "neg", "mul", "div", "maximum", "minimum", "select", "cast"}
    discrete = {
        "stop_gradient", "floordiv", "mod", "bitand", "bitor", "bitxor", "shiftleft", "shiftright",
        "unchecked", "lt", "le", "eq", "ne", "and", "or", "not",
    }  # fmt: skip
    assert {spelled.get(n, n) for n in rules.RULES if n not in ring | discrete} <= known


@pytest.mark.fast(1)
@pytest.mark.parametrize("seeds", [range(6), range(6, 12)], ids=lambda r: f"from_{r.start}")
def test_derivatives_of_random_programs_are_exact(seeds: range) -> None:
    for seed in seeds:
        with make_context(threading=False):
            text = str(to_module(random_program(seed).system))
        said = validated(requesting(text, "vjp", "jvp"))
        assert len(said) == 2
        assert not [line for line in said if "not validated" in line], seed


def test_second_derivatives_are_validated() -> None:
    f = requesting(str(ted.module([ted.sin(p("x", 3)) * p("y", 3)])), "vjp")
    t = "tensor<3xf32>"
    second = (
        f"func.func private @again({', '.join([t] * 6)}) -> ({', '.join([t] * 6)}) "
        "attributes {ted.vjp_of = @main_vjp}\n"
    )
    end = f.rindex("}")
    said = validated(f[:end] + second + f[end:])
    assert [line.split(", ")[0] for line in said] == [
        "ted-validate: @main_vjp",
        "ted-validate: @again",
    ]
    assert all("is validated" in line for line in said)


def test_a_function_that_calls_its_derivative_is_compared_with_what_it_was() -> None:
    f = requesting(str(ted.module([ted.sin(p("x", 3))])), "vjp")
    caller = """
    func.func @caller(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0:2 = func.call @main_vjp(%x, %x)
          : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
      func.return %0#1 : tensor<3xf32>
    }
    """
    end = f.rindex("}")
    with make_context(threading=False) as context:
        validator = Validator()
        module = ir.Module.parse(f[:end] + caller + f[end:], context)
        run_pipeline(module, "builtin.module(ted-differentiate,inline)", observers=[validator])
    (line,) = [line for line in validator.summary() if "@caller" in line]
    assert "is validated around ted-differentiate, inline" in line


# ------------------------------------------------------------------ planted errors


def fmod_that_rounds_down(node, g):
    a, b = node.args
    return [(0, rules.TRUE, g), (1, rules.TRUE, neg(mul(g, apply("floor", div(a, b)))))]


def quotient_without_its_square(node, g):
    quotient = div(g, node.args[1])
    return [(0, rules.TRUE, quotient), (1, rules.TRUE, neg(quotient))]


RULES = {
    "fmod": (fmod_that_rounds_down, lambda x, y: ted.fmod(x, y)),
    "div": (quotient_without_its_square, lambda x, y: x / y),
    "sub": (rules.RULES["add"], lambda x, y: x - y),
    "tanh": (rules._unary(lambda _, y: add(y, y)), lambda x, y: ted.tanh(x) * y),
    "maximum": (rules.RULES["minimum"], lambda x, y: ted.maximum(x, y)),
    "sin": (rules._unary(lambda x, _: apply("sin", x)), lambda x, y: ted.sin(x) * y),
    "cos": (rules._unary(lambda x, _: apply("sin", x)), lambda x, y: ted.cos(x) * y),
    "exp2": (rules._unary(lambda _, y: y), lambda x, y: ted.exp2(x) * y),
    "atan": (rules._quotient(lambda x, _: sub(rules._number(x, 1.0), mul(x, x))),
             lambda x, y: ted.atan(x * y)),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_a_wrong_rule_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, f = RULES[name]
    monkeypatch.setitem(rules.RULES, name, wrong)
    text = str(ted.module([f(p("x", 2, 3), p("y", 2, 3))]))
    for kind, what in (("vjp", "the gradient of argument"), ("jvp", "the elements of tangent 0")):
        with pytest.raises(PassFailed, match=rf"@main_{kind}, {kind.upper()} of @main: {what}"):
            validated(requesting(text, kind))


def ties_to_the_second(node, g):
    a, b = node.args
    first = rules.compare("lt", b, a)
    return [(0, first, g), (1, rules.lnot(first), g)]


def test_a_rule_that_is_wrong_at_ties_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    text = requesting(str(ted.module([ted.maximum(p("x", 4, 4), p("y", 4, 4))])), "vjp", "jvp")
    assert all("is validated" in line for line in validated(text))
    monkeypatch.setitem(rules.RULES, "maximum", ties_to_the_second)
    with pytest.raises(PassFailed, match=r"got 1 for 2|got 2 for 1|got 0 for|for 0 at index"):
        validated(text)


def test_an_element_that_is_lost_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = p("A", 4), p("B", 3)
    y = ted.compute(
        (4,), lambda i: a[i] * ted.cos(ted.where(i > 0, b[ted.maximum(i - 1, 0)], 0.0)), name="y"
    )
    text = requesting(str(ted.module([y])), "vjp")
    assert "is validated" in validated(text)[0]
    monkeypatch.setattr(support, "_KEEPS_ZERO", support._KEEPS_ZERO | {"cos"})
    with pytest.raises(PassFailed, match=r"argument 0 is .* got 0 for .* at index \[0\]"):
        validated(text)


# ------------------------------------------------------------------ what is not validated


def test_shared_ties_are_not_validated_and_that_is_said() -> None:
    (line,) = validated(requesting(str(ted.module([ted.max(p("x", 3, 2), 1, ties="even")])), "vjp"))
    assert "is not validated around ted-differentiate: @main shares between ties" in line


def test_a_derivative_of_the_users_is_not_validated_and_that_is_said() -> None:
    text = """
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = func.call @g(%x) : (tensor<3xf32>) -> tensor<3xf32>
      func.return %0 : tensor<3xf32>
    }
    func.func private @g(%x: tensor<3xf32>) -> tensor<3xf32> attributes {ted.custom_vjp = @back} {
      func.return %x : tensor<3xf32>
    }
    func.func private @back(%x: tensor<3xf32>, %y: tensor<3xf32>, %h: tensor<3xf32>)
        -> tensor<3xf32> {
      func.return %h : tensor<3xf32>
    }
    func.func private @f_vjp(tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
        attributes {ted.vjp_of = @main}"""
    (line,) = validated(text)
    assert "is not validated around ted-differentiate: @g has a derivative of the user's" in line


def test_dual_numbers_follow_the_rules_of_products_and_quotients() -> None:
    x, y = Dual(Element(3), Element(5)), Dual(Element(7), Element(11))
    assert (x * y).tangent == Element(5 * 7 + 3 * 11)
    assert (x / y * y).tangent == x.tangent
    assert (x - y).tangent == Element(-6)
    assert x < y
    assert x == Dual(Element(3), Element(0))
