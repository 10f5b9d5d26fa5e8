"""Functions of a module as systems: calls are expanded, and what cannot be is refused."""

from __future__ import annotations

import pytest

from ted.dialects import make_context
from ted.errors import VerifyError
from ted.ir.equations import topological
from ted.mlir import ir
from ted.transforms.overrides import override_of
from ted.transforms.programs import Program
from unit.autodiff.systems import values

T = "tensor<4xf64>"


def unary(name: str, op: str, attributes: str = "") -> str:
    return f"""
    func.func private @{name}(%x: {T}) -> {T} {attributes} {{
      %e = tensor.empty() : {T}
      %0 = "ted.compute"(%x, %e) ({{
      ^bb0(%a: f64):
        %r = {op} %a : f64
        "ted.yield"(%r) : (f64) -> ()
      }}) {{
        extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
        reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
        write = affine_map<(d0) -> (d0)>, combiner = "set"
      }} : ({T}, {T}) -> {T}
      func.return %0 : {T}
    }}"""


def caller(name: str, *callees: str) -> str:
    calls = "\n".join(
        f"%{k + 1} = func.call @{c}(%{k or 'x'}) : ({T}) -> {T}" for k, c in enumerate(callees)
    )
    return f"func.func @{name}(%x: {T}) -> {T} {{ {calls}\n func.return %{len(callees)} : {T} }}"


def program(*functions: str) -> Program:
    module = ir.Module.parse("\n".join(functions), make_context())
    with module.context:
        made = Program(module)
    vars(made)["module"] = module  # what its operations live in
    return made


def test_calls_become_the_equations_of_what_is_called() -> None:
    found = program(unary("sine", "math.sin"), unary("root", "math.sqrt"),
                    caller("f", "sine", "root", "sine"))  # fmt: skip
    system = found.system("f")
    ops = [e.body.op for t in topological(system.outputs) for e in t.equations]
    assert ops == ["sin", "sqrt", "sin"]
    assert found.system("f") is system
    assert found.reachable("f") == {"f", "sine", "root"}
    assert set(found.references("f")) == {"sine", "root"}
    assert found.has_body("sine")
    assert not found.has_body("nothing")


def test_a_function_that_calls_itself_or_has_no_body_is_refused() -> None:
    found = program(caller("f", "g"), caller("g", "f"))
    with pytest.raises(VerifyError):
        found.system("f")
    found = program(caller("f", "g"), f"func.func private @g({T}) -> {T}")
    with pytest.raises(VerifyError):
        found.system("f")


def test_derivatives_of_the_users_are_marked() -> None:
    backward = f"""
    func.func private @bwd(%x: {T}, %y: {T}, %d: {T}) -> {T} {{ func.return %d : {T} }}"""
    found = program(unary("g", "math.sin", "attributes {ted.custom_vjp = @bwd}"), backward,
                    unary("c", "math.exp", "attributes {ted.checkpoint}"),
                    caller("f", "g", "c"))  # fmt: skip
    tensors = topological(found.system("f").outputs)
    assert sum(override_of(t) is not None for t in tensors) == 2
    assert found.is_marked("g")
    assert found.is_marked("c")
    assert not found.is_marked("f")


def test_the_cotangent_of_a_result_that_is_not_asked_for_is_zero() -> None:
    pair = f"""
    func.func private @g(%x: {T}) -> ({T}, {T}) attributes {{ted.custom_vjp = @bwd}} {{
      %0 = func.call @sine(%x) : ({T}) -> {T}
      func.return %x, %0 : {T}, {T}
    }}
    func.func private @bwd(%x: {T}, %y: {T}, %z: {T}, %dy: {T}, %dz: {T}) -> {T} {{
      func.return %dz : {T}
    }}
    func.func @f(%x: {T}) -> {T} {{
      %0:2 = func.call @g(%x) : ({T}) -> ({T}, {T})
      func.return %0#0 : {T}
    }}"""
    (result,) = program(unary("sine", "math.sin"), pair).system("f").outputs
    override = override_of(result)
    assert override is not None
    (found,) = override.adjoints(result, result)
    assert values([], [found], [])[0].tolist() == [0, 0, 0, 0]


def test_a_derivative_of_another_type_is_refused() -> None:
    with pytest.raises(VerifyError, match=r"custom_vjp"):
        program(
            unary("g", "math.sin", "attributes {ted.custom_vjp = @bwd}"), unary("bwd", "math.cos")
        )
