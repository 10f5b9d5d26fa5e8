"""Requests in IR: VJPs and JVPs of each other, derivatives of the user's, recomputation."""

from __future__ import annotations

import numpy as np
import pytest

from ted import dialects
from ted.errors import DerivativeError, VerifyError
from ted.ir.pass_driver import run_pipeline
from ted.mlir import ir
from ted.testing.interpreter import Counts, interpret

T = "tensor<4xf64>"
X = np.array([0.3, -1.1, 0.7, 2.0])
DX, H, V = (np.random.default_rng(k).normal(size=4) for k in range(3))


def pointwise(name: str, ops: str, arguments: int = 1, attributes: str = "") -> str:
    """A function of tensors that does `ops`, from %a0, %a1, ... to %r, at every element."""
    given = ", ".join(f"%x{k}: {T}" for k in range(arguments))
    scalars = ", ".join(f"%a{k}: f64" for k in range(arguments))
    reads = ", ".join(["affine_map<(d0) -> (d0)>"] * arguments)
    guards = ", ".join(["affine_set<(d0) : (0 == 0)>"] * arguments)
    operands = ", ".join(f"%x{k}" for k in range(arguments))
    kinds = ", ".join([T] * (arguments + 1))
    return f"""
func.func private @{name}({given}) -> {T} {attributes} {{
  %e = tensor.empty() : {T}
  %0 = "ted.compute"({operands}, %e) ({{
  ^bb0({scalars}):
    {ops}
    "ted.yield"(%r) : (f64) -> ()
  }}) {{
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [{reads}], guards = [{guards}], write = affine_map<(d0) -> (d0)>, combiner = "set"
  }} : ({kinds}) -> {T}
  func.return %0 : {T}
}}
"""


def request(name: str, of: str, counts: tuple[int, int], kind: str = "vjp") -> str:
    """A request with numbers of arguments and results."""
    given, found = (", ".join([T] * n) for n in counts)
    return f"func.func private @{name}({given}) -> ({found}) attributes {{ted.{kind}_of = @{of}}}\n"


def filled(text: str, *pipelines: str) -> ir.Module:
    """A module after passes, by default `ted-differentiate` alone."""
    module = ir.Module.parse(text, dialects.make_context())
    for pipeline in pipelines or ("ted-differentiate",):
        run_pipeline(module, f"builtin.module({pipeline})")
    assert module.operation.verify()
    return module


SINE_TIMES = pointwise("f", "%s = math.sin %a0 : f64\n %r = arith.mulf %s, %a0 : f64")
CUBE = "%s = arith.mulf %a0, %a0 : f64\n %r = arith.mulf %s, %a0 : f64"
# Deliberately not the derivative of the cube, so that one sees which is used: 7 x dy.
SEVEN = pointwise(
    "bwd", "%c = arith.constant 7.0 : f64\n %s = arith.mulf %c, %a0 : f64\n"
    " %r = arith.mulf %s, %a2 : f64", 3,
)  # fmt: skip
CUSTOM = pointwise("g", CUBE, 1, "attributes {ted.custom_vjp = @bwd}") + SEVEN
CALLER = f"""
func.func @f(%x: {T}) -> {T} {{
  %s = func.call @sine(%x) : ({T}) -> {T}
  %g = func.call @g(%s) : ({T}) -> {T}
  func.return %g : {T}
}}
""" + pointwise("sine", "%r = math.sin %a0 : f64")


def first(x):
    """The derivative of x sin x."""
    return np.sin(x) + x * np.cos(x)


def second(x):
    """Its second derivative."""
    return 2 * np.cos(x) - x * np.sin(x)


def test_a_tangent_comes_with_the_result() -> None:
    module = filled(SINE_TIMES + request("f_jvp", "f", (2, 2), "jvp"))
    y, pushed = interpret(module, [X, V], "f_jvp")
    np.testing.assert_allclose(y, X * np.sin(X), rtol=1e-15)
    np.testing.assert_allclose(pushed, first(X) * V, rtol=1e-14)


def test_a_vjp_of_a_jvp() -> None:
    text = SINE_TIMES + request("f_jvp_vjp", "f_jvp", (4, 4)) + request("f_jvp", "f", (2, 2), "jvp")
    *_, dx, dv = interpret(filled(text), [X, V, DX, H], "f_jvp_vjp")
    np.testing.assert_allclose(dx, first(X) * DX + second(X) * V * H, rtol=1e-13)
    np.testing.assert_allclose(dv, first(X) * H, rtol=1e-14)


def test_a_jvp_of_a_vjp() -> None:
    text = SINE_TIMES + request("f_vjp", "f", (2, 2)) + request("f_vjp_jvp", "f_vjp", (4, 4), "jvp")
    y, dx, y_dot, dx_dot = interpret(filled(text), [X, DX, V, H], "f_vjp_jvp")
    np.testing.assert_allclose(y, X * np.sin(X), rtol=1e-15)
    np.testing.assert_allclose(dx, first(X) * DX, rtol=1e-14)
    np.testing.assert_allclose(y_dot, first(X) * V, rtol=1e-14)
    np.testing.assert_allclose(dx_dot, second(X) * V * DX + first(X) * H, rtol=1e-13)


@pytest.mark.parametrize(
    "passes", ["ted-differentiate", "ted-differentiate,ted-scatter-to-gather,ted-simplify,inline"]
)
def test_a_call_has_the_derivative_of_the_user(passes) -> None:
    both = f"""
func.func @both(%x: {T}, %dy: {T}) -> ({T}, {T}) {{
  %0:2 = func.call @d(%x, %dy) : ({T}, {T}) -> ({T}, {T})
  func.return %0#0, %0#1 : {T}, {T}
}}
"""
    module = filled(CALLER + CUSTOM + both + request("d", "f", (2, 2)), passes)
    y, dx = interpret(module, [X, DX], "both")
    np.testing.assert_allclose(y, np.sin(X) ** 3, rtol=1e-14)
    np.testing.assert_allclose(dx, 7 * np.sin(X) * DX * np.cos(X), rtol=1e-14)


def test_a_request_of_the_function_itself_has_the_derivative_of_the_user() -> None:
    _, dx = interpret(filled(CUSTOM + request("d", "g", (2, 2))), [X, DX], "d")
    np.testing.assert_allclose(dx, 7 * X * DX, rtol=1e-15)


def test_the_derivative_of_the_user_is_transposed_for_forward_mode() -> None:
    text = CALLER + CUSTOM + request("d", "f", (2, 2), "jvp")
    _, pushed = interpret(filled(text), [X, V], "d")
    np.testing.assert_allclose(pushed, 7 * np.sin(X) * np.cos(X) * V, rtol=1e-14)


@pytest.mark.parametrize("runs", [1, 2], ids=["one_run", "two_runs"])
def test_the_derivative_of_the_user_counts_at_order_two(runs) -> None:
    """dx = 7 s c dy of s = sin x; that of y, in it as a result, is the user's again."""
    text = CALLER + CUSTOM + request("d", "f", (2, 2))
    later = request("dd", "d", (4, 4))
    module = filled(text + later if runs == 1 else text)
    if runs == 2:
        module = filled(str(module).rstrip().rstrip("}") + later + "}")
    *_, dx, ddy = interpret(module, [X, DX, V, H], "dd")
    s, c = np.sin(X), np.cos(X)
    np.testing.assert_allclose(dx, 7 * s * c * V + 7 * (c * c - s * s) * DX * H, rtol=1e-12)
    np.testing.assert_allclose(ddy, 7 * s * c * H, rtol=1e-14)


def test_a_call_of_a_request_is_differentiated_like_any_call() -> None:
    caller = f"""
func.func @step(%x: {T}, %dy: {T}) -> {T} {{
  %0:2 = func.call @f_vjp(%x, %dy) : ({T}, {T}) -> ({T}, {T})
  func.return %0#1 : {T}
}}
"""
    text = SINE_TIMES + caller + request("d", "step", (3, 3)) + request("f_vjp", "f", (2, 2))
    dx, ddx, ddy = interpret(filled(text), [X, DX, H], "d")
    np.testing.assert_allclose(dx, first(X) * DX, rtol=1e-14)
    np.testing.assert_allclose(ddx, second(X) * DX * H, rtol=1e-13)
    np.testing.assert_allclose(ddy, first(X) * H, rtol=1e-14)


def operations(module: ir.Module, name: str) -> int:
    """The weighted operations that a function executes."""
    counts = Counts()
    interpret(module, [X, DX], name, counts)
    return counts.total


def test_a_checkpointed_call_computes_its_values_again() -> None:
    sine = pointwise("sine", "%r = math.sin %a0 : f64")
    counts = []
    for attributes in ("", "attributes {ted.checkpoint}"):
        text = f"""
func.func private @g(%x: {T}) -> {T} {attributes} {{
  %s = func.call @sine(%x) : ({T}) -> {T}
  %t = func.call @sine(%s) : ({T}) -> {T}
  func.return %t : {T}
}}
"""
        text += sine + request("d", "g", (2, 2))
        module = filled(text, "ted-differentiate,ted-scatter-to-gather,ted-simplify")
        y, dx = interpret(module, [X, DX], "d")
        np.testing.assert_allclose(y, np.sin(np.sin(X)), rtol=1e-15)
        np.testing.assert_allclose(dx, np.cos(np.sin(X)) * np.cos(X) * DX, rtol=1e-14)
        counts.append(operations(module, "d"))
        assert ("ted.recomputed" in str(module)) == bool(attributes)
    assert counts[1] == counts[0] + 16 * 4  # one more sine of each element


BAD = {
    "of_another_type": (
        pointwise("g", CUBE, 1, "attributes {ted.custom_vjp = @bwd}") + pointwise("bwd", CUBE, 2),
        "g: ted.custom_vjp takes arguments, results and a cotangent for each float result",
    ),
    "missing": (
        pointwise("g", CUBE, 1, "attributes {ted.custom_vjp = @none}"),
        "g: ted.custom_vjp must name a function, got @none",
    ),
    "both": (
        pointwise("g", CUBE, 1, "attributes {ted.custom_vjp = @bwd, ted.checkpoint}") + SEVEN,
        "g: a function has ted.custom_vjp or ted.checkpoint, got both",
    ),
    "recursion": (
        f"func.func @g(%x: {T}) -> {T} {{\n"
        f"  %0 = func.call @g(%x) : ({T}) -> {T}\n  func.return %0 : {T}\n}}\n",
        r"calls must not form a cycle, got \['g', 'g'\]",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_attributes_and_calls_that_do_not_fit_are_refused(case) -> None:
    text, message = BAD[case]
    with pytest.raises(VerifyError, match=message):
        filled(text + request("d", "g", (2, 2)))


def test_a_request_names_an_argument_once() -> None:
    text = f"func.func private @d({T}, {T}) -> ({T}, {T}) attributes " + (
        "{ted.jvp_of = @f, ted.wrt = array<i64: 0, 0>}"
    )
    with pytest.raises(VerifyError, match=r"ted.wrt names an argument once, got \[0, 0\]"):
        filled(SINE_TIMES + text)


def test_a_derivative_that_is_not_linear_has_no_forward_mode() -> None:
    squared = pointwise("bwd", "%r = arith.mulf %a2, %a2 : f64", 3)
    text = pointwise("g", CUBE, 1, "attributes {ted.custom_vjp = @bwd}") + squared
    with pytest.raises(DerivativeError, match="must be linear in the head for forward mode"):
        filled(text + request("d", "g", (2, 2), "jvp"))
