"""What the other modes of differentiation promise beside numbers: forms, work, overrides."""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest

import ted
from ted import nn
from ted.api.modes import push_tensors
from ted.errors import DerivativeError, FrontendError
from ted.frontend.tensors import Tensor
from ted.ir.equations import System, topological
from ted.testing.tracing import module_of
from ted.transforms.ted_report_gradient import GradientReport, report_function
from unit.transforms.test_gradient_promises import OPERATORS, p

RNG = np.random.default_rng(0)


def equations(*tensors: Tensor) -> str:
    """The equations of the tensors that are computed, as printed, without declarations."""
    nodes = topological([t.node for t in tensors])
    system = System((), tuple(n for n in nodes if not n.is_input))
    from ted.ir.printing import format_tensor

    lines = [line for n in system.outputs for line in format_tensor(n).splitlines()[1:]]
    return "\n".join(line.strip() for line in lines)


def run(inputs: dict[Tensor, Any], *outputs: Tensor) -> list[np.ndarray[Any, Any]]:
    return list(ted.compile(list(inputs), outputs)(*inputs.values()))


# ------------------------------------------------------------------ forward mode


def tangent_report(y: Tensor) -> GradientReport:
    inputs = [n for n in topological([y.node]) if n.is_input]
    tangents = [p(f"{n.name}_dot", *n.shape) for n in inputs]
    wrap = ted.frontend.tensors.wrap
    found = push_tensors([y], [wrap(n) for n in inputs], tangents)
    module = module_of([*inputs, *(t.node for t in tangents)], [y.node, *(f.node for f in found)])
    with module.context:
        return report_function(module, "main", results=1)


@pytest.mark.parametrize("name", OPERATORS)
def test_tangents_are_gathers_of_bounded_work(name: str) -> None:
    report = tangent_report(OPERATORS[name]())
    assert not report.scatters
    assert all(e.disjoint for e in report.equations)
    if report.primal:
        assert report.ratio is not None
        assert report.ratio <= 3


def test_tangent_reuses_the_value_of_its_primal() -> None:
    x, v = p("x", 3), p("v", 3)
    (tangent,) = push_tensors([ted.exp(x)], [x], [v])
    assert equations(tangent) == "exp[i] = exp(x[i])\nexp_dot[i] = v[i]*exp[i]"


def test_guarded_square_root_has_a_finite_tangent_at_zero() -> None:
    def guarded(x: Any) -> Any:
        return ted.where(x > 0, ted.sqrt(x), 0)

    at = np.array([0.0, 4.0])
    np.testing.assert_array_equal(ted.jvp(guarded, (at,), (np.ones(2),))[1], [0, 0.25])


def test_integer_results_have_zero_tangents() -> None:
    x = RNG.normal(size=4)
    _, tangent = ted.jvp(lambda x: ted.argmax(x, 0), (x,), (x,))
    assert (tangent.dtype, tangent) == (np.int64, 0)


def test_tangents_of_the_wrong_type_are_refused() -> None:
    x, n = np.ones(3), np.arange(3)
    with pytest.raises(
        DerivativeError, match="jvp: only float tensors move, got a tangent for int"
    ):
        ted.jvp(lambda n: n * 1.0, (n,), (n,))
    with pytest.raises(
        DerivativeError, match="jvp: a tangent has the shape and type of its primal"
    ):
        ted.jvp(ted.sin, (x,), (np.ones(4),))
    with pytest.raises(DerivativeError, match="jvp: tangents have the nest of the primals"):
        ted.jvp(ted.sin, (x,), (x, x))


def test_functions_named_like_those_of_the_c_library_are_their_own() -> None:
    at = np.ones(3)
    value, tangent = ted.jvp(ted.sin, (at,), (None,))
    np.testing.assert_array_equal((value, tangent), (np.sin(at), np.zeros(3)))


def test_what_is_no_function_or_no_tuple_is_refused() -> None:
    with pytest.raises(DerivativeError, match="jvp: takes a function, a tuple of primals"):
        ted.jvp(3, (np.ones(2),), (np.ones(2),))
    with pytest.raises(DerivativeError, match="jvp: takes a function, a tuple of primals"):
        ted.jvp(ted.sin, np.ones(2), np.ones(2))
    x = p("x", 3)
    with pytest.raises(DerivativeError, match="override has the form"):
        ted.differentiate(ted.sum(x), [x], override={x: 3})  # type: ignore[dict-item]


def test_a_primal_without_a_tangent_is_constant() -> None:
    x, n = np.array([2.0, 3.0]), np.array([3, 4])
    value, tangent = ted.jvp(lambda x, n: x * x * n, (x, n), (np.ones(2), None))
    np.testing.assert_array_equal((value, tangent), ([12, 36], [12, 24]))


# ------------------------------------------------------------------ vmap


def test_vmap_adds_a_parallel_dim_and_shares_what_has_none() -> None:
    w, x = p("w", 4, 3), p("x", 5, 4)
    y = ted.vmap(lambda x: ted.sum(x @ ted.exp(w)), in_axes=0)(x)
    text = equations(y)
    assert "exp[i, j] = exp(w[i, j])" in text
    assert re.search(r"\w+\[i, j\] \+= x\[i, r\]\*exp\[r, j\]  for r < 4", text)


def test_vmap_over_another_axis_moves_no_data() -> None:
    x = p("x", 4, 5)
    assert equations(ted.vmap(ted.exp, in_axes=1)(x)) == "exp[i, j] = exp(x[j, i])"


def test_vmap_of_a_batched_index_reads_per_example() -> None:
    table, at = RNG.normal(size=(6,)), np.array([[0, 5], [2, 2], [3, 1]])
    found = ted.vmap(lambda t, i: ted.sum(t[i] ** 2), in_axes=(None, 0))(table, at)
    np.testing.assert_allclose(found, (table[at] ** 2).sum(1), rtol=1e-14)


def test_bad_vmaps_are_refused() -> None:
    x, y = np.ones((3, 2)), np.ones((4, 2))
    with pytest.raises(FrontendError, match=r"number of examples, got 3 of .* 4 of"):
        ted.vmap(lambda a, b: a + b)(x, y)
    with pytest.raises(FrontendError, match="agree on one number of examples, got none"):
        ted.vmap(ted.sin, in_axes=None)(x)
    with pytest.raises(FrontendError, match="in_axes is a dim, or has one entry per argument"):
        ted.vmap(ted.sin, in_axes=(0, 0))(x)
    with pytest.raises(FrontendError, match="out_axes None is the same for all"):
        ted.vmap(ted.sin, out_axes=None)(x)


# ------------------------------------------------------------------ jacobians

IDENTITY = np.eye(6).reshape(2, 3, 2, 3)


def test_jacobian_of_a_map_fills_a_diagonal() -> None:
    x = p("x", 7)
    assert equations(ted.jacobian(x * x, x)) == "dx[i, i] = x[i] + x[i]  for i < 7"


@pytest.mark.parametrize("function", [lambda x: x, lambda x: ted.stack([x, x])[1]])
def test_jacobian_whose_rows_are_the_heads_themselves(function: Any) -> None:
    np.testing.assert_array_equal(ted.jacobian(function)(np.ones((2, 3))), IDENTITY)
    x = p("x", 2, 3)
    f: Any = ted.compile([x], ted.jacobian(function)(x))
    np.testing.assert_array_equal(f(np.ones((2, 3))), IDENTITY)


def test_jacobian_of_a_product_is_one_copy() -> None:
    a, b = p("a", 4, 5), p("b", 5, 6)
    assert equations(ted.jacobian(a @ b, a)) == (
        "da[i, j, i, k] = b[k, j]  for i < 4, j < 6, k < 5"
    )


@pytest.mark.parametrize("several", [list, tuple])
def test_jacobians_of_a_tensor_are_as_many_as_its_inputs(several: Any) -> None:
    a, b = p("a", 2, 3), p("b", 3)
    found = ted.jacobian(a @ b, several([a, b]))
    assert [t.shape for t in found] == [(2, 2, 3), (2, 3)]
    numbers = {a: RNG.normal(size=(2, 3)), b: RNG.normal(size=3)}
    np.testing.assert_array_equal(run(numbers, found[1])[0], numbers[a])
    np.testing.assert_array_equal(run(numbers, ted.jacobian(a @ b, b))[0], numbers[a])


def test_missing_head_names_jacobian() -> None:
    x = p("x", 3)
    with pytest.raises(DerivativeError, match=r"ask for ted\.jacobian"):
        ted.differentiate(ted.exp(x), [x])


# ------------------------------------------------------------------ what is asked for, and no more


def test_gradients_compute_only_what_the_chosen_inputs_need() -> None:
    x, w, b = p("x", 4, 3), p("w", 2, 3), p("b", 2)
    y = ted.sum(ted.tanh(nn.linear(x, w, b)) ** 2)
    (db,) = ted.differentiate(y, [b])
    names = {n.name for n in topological([db.node])}
    assert "db" in names
    assert not {"dx", "dw"} & names
    assert "dmatmul" not in names


def test_unused_inputs_have_zeros_and_the_result_says_so() -> None:
    x, y = p("x", 3), p("y", 2)
    result = ted.differentiate(ted.sum(x * x), [x, y])
    assert result.unused == (y,)
    assert "zeros: y" in repr(result)
    np.testing.assert_array_equal(run({x: np.ones(3), y: np.ones(2)}, result[1])[0], np.zeros(2))


def test_integer_inputs_have_no_gradient() -> None:
    x, n = p("x", 3), ted.placeholder((3,), "int64", name="n")
    with pytest.raises(DerivativeError, match="only float tensors have gradients, got n of int64"):
        ted.differentiate(ted.sum(x * n), [n])
    with pytest.raises(DerivativeError, match="array of floats, got int64 as argument 0"):
        ted.grad(lambda n: ted.sum(n * 1.0))(np.arange(3))
    with pytest.raises(DerivativeError, match="array of floats, got int64 as argument 0"):
        ted.jacobian(lambda n: n * 1.0)(np.arange(3))


# ------------------------------------------------------------------ derivatives of the user's


def test_override_may_depend_on_tensors_further_down() -> None:
    x, w = p("x", 3), p("w", 3)
    y = ted.exp(x) * w
    z = ted.sin(y)
    seen = []

    def fn(out: Tensor, deps: Any, head: Tensor) -> Any:
        seen.append((out, tuple(deps)))
        return [10.0 * head * out, 20.0 * head]

    dx, dw = ted.differentiate(ted.sum(z * z), [x, w], override={z: ([x, w], fn)})
    values = RNG.normal(size=3), RNG.normal(size=3)
    found = run(dict(zip((x, w), values, strict=True)), dx, dw)
    value = np.sin(np.exp(values[0]) * values[1])
    np.testing.assert_allclose(found, [20 * value * value, 40 * value], rtol=1e-13)
    assert seen == [(z, (x, w))]
    assert "cos" not in equations(dx, dw)


def test_override_that_would_drop_a_gradient_is_refused() -> None:
    x, w = p("x", 3), p("w", 3)
    z = ted.exp(x) * w
    with pytest.raises(DerivativeError, match=r"override of mul\[3\]: .* a way to w\[3\] past"):
        ted.differentiate(ted.sum(z), [x, w], override={z: ([x], lambda z, d, h: [h])})
    ted.differentiate(ted.sum(z), [x], override={z: ([x], lambda z, d, h: [h])})


def test_overrides_that_do_not_fit_are_refused() -> None:
    x, other = p("x", 3), p("other", 3)
    z = ted.exp(x)
    with pytest.raises(DerivativeError, match="one adjoint per dependency, got 2 for 1"):
        ted.differentiate(ted.sum(z), [x], override={z: ([x], lambda z, d, h: [h, h])})
    with pytest.raises(DerivativeError, match="an adjoint has the shape and type of its dep"):
        ted.differentiate(ted.sum(z), [x], override={z: ([x], lambda z, d, h: ted.sum(h))})
    with pytest.raises(DerivativeError, match=r"that it is computed from, got .*other"):
        ted.differentiate(ted.sum(z), [x], override={z: ([other], lambda z, d, h: [h])})


def test_override_of_a_tensor_that_is_not_used_is_refused() -> None:
    x = p("x", 3)
    misspelt = {ted.cos(x): ([x], lambda z, d, h: [h])}
    with pytest.raises(DerivativeError, match=r"override of cos: an output .* none of \['sum'\]"):
        ted.differentiate(ted.sum(ted.sin(x)), [x], override=misspelt)
    with pytest.raises(DerivativeError, match="an output depends on the tensor"):
        ted.differentiate(ted.sum(x), [x], override={ted.exp(x): ([x], lambda z, d, h: [h])})
    used = ted.sin(x)
    ted.differentiate(ted.sum(used), [x], override={used: ([x], lambda z, d, h: [h])})


@pytest.mark.parametrize("fdiff", [3, "exact"])
def test_fdiff_is_a_function(fdiff: Any) -> None:
    x = p("x", 3)
    with pytest.raises(DerivativeError, match=r"fdiff is a function of \(out, inp, head\), got"):
        ted.differentiate(ted.sum(ted.exp(x)), [x], fdiff=fdiff)


def test_an_input_that_is_not_used_is_named() -> None:
    x, w = p("x", 3), p("w", 2)
    found = ted.differentiate(ted.sum(ted.sin(x)), [x, w])
    assert [t.name for t in found.unused] == ["w"]
    (said,) = found.report().remarks
    assert said.endswith("ted-differentiate: no output depends on w[2], its gradient is zeros")
    assert not ted.differentiate(ted.sum(ted.sin(x)), [x]).report().remarks
    slopes = ted.grad(lambda a, b: ted.sum(ted.sin(a)), argnums=(0, 1))(np.ones(3), np.ones(2))
    assert slopes[1].tolist() == [0.0, 0.0]


VALUE, PULLBACK = ted.vjp(lambda a: ted.exp(a), np.ones(3))
HEADS = {
    "shape": (np.ones(4), r"of its result, float64\[3\], got float64\[4\]"),
    "rank": (np.ones((3, 1)), r"got float64\[3, 1\]"),
    "type": (np.ones(3, "float32"), r"got float32\[3\]"),
    "number": ((np.ones(3), np.ones(3)), "one cotangent per result, got 2 for 1"),
}


@pytest.mark.parametrize("case", HEADS)
def test_a_cotangent_of_another_type_is_refused(case: str) -> None:
    head, message = HEADS[case]
    with pytest.raises(DerivativeError, match=message):
        PULLBACK(head)
    np.testing.assert_allclose(PULLBACK(np.ones(3))[0], VALUE)


def test_fdiff_is_asked_for_every_step_and_may_call_the_engine() -> None:
    x = p("x", 3)
    y = ted.exp(x)
    z = ted.sum(y * x)
    steps = []

    def fdiff(out: Tensor, inp: Tensor, head: Tensor) -> Tensor:
        steps.append((out.name, inp.name))
        return ted.adjoint_product(out, inp, head)

    (dx,) = ted.differentiate(z, [x], fdiff=fdiff)
    value = RNG.normal(size=3)
    np.testing.assert_allclose(run({x: value}, dx)[0], np.exp(value) * (1 + value), rtol=1e-13)
    assert sorted(steps) == [("exp", "x"), ("mul", "exp"), ("mul", "x"), ("sum", "mul")]


def clipped(limit: float) -> Any:
    """The identity whose gradient is clipped."""

    @ted.custom_vjp
    def identity(x: Any) -> Any:
        return x

    @identity.defvjp
    def _(inputs: Any, outputs: Any, heads: Any) -> Any:
        return ted.clip(heads[0], -limit, limit)

    return identity


def test_custom_gradient_of_an_identity_is_used() -> None:
    clip = clipped(1.0)
    x = np.array([0.25, -3.0])
    np.testing.assert_array_equal(ted.grad(lambda x: ted.sum(clip(x) ** 2))(x), [0.5, -1])
    np.testing.assert_array_equal(clip(x), x)


def test_custom_gradient_survives_a_guard_and_other_transformations() -> None:
    clip = clipped(1.0)

    def f(x: Any) -> Any:
        return ted.sum(ted.where(x > 0, ted.sqrt(clip(ted.exp(x) * 0 + x)), 0))

    x = np.array([1e-4, 4.0])
    np.testing.assert_allclose(ted.grad(f)(x), [1, 0.25], rtol=1e-14)
    np.testing.assert_allclose(ted.vmap(ted.grad(f))(x[:, None])[:, 0], [1, 0.25], rtol=1e-14)

    def of_batch(x: Any) -> Any:
        return ted.sum(ted.vmap(f)(x))

    np.testing.assert_allclose(ted.grad(of_batch)(x[:, None])[:, 0], [1, 0.25], rtol=1e-14)


def test_custom_gradient_inside_a_custom_gradient_is_used_at_second_order() -> None:
    tripled = ted.custom_vjp(lambda x: ted.sin(x))
    tripled.defvjp(lambda inputs, outputs, heads: 3.0 * heads[0])
    outer = ted.custom_vjp(lambda x: x * x)
    outer.defvjp(lambda inputs, outputs, heads: heads[0] * tripled(inputs[0]))
    second = ted.grad(lambda x: ted.sum(ted.grad(lambda x: ted.sum(outer(x)))(x)))
    np.testing.assert_allclose(second(np.array([0.3, 0.4])), [3, 3], rtol=1e-14)


def test_custom_function_of_several_results_gets_a_head_for_each() -> None:
    pair = ted.custom_vjp(lambda x, y: (x * y, {"sum": x + y}))

    @pair.defvjp
    def _(inputs: Any, outputs: Any, heads: Any) -> Any:
        product, rest = heads
        return 2.0 * product + rest["sum"], outputs[0] * rest["sum"]

    def f(x: Any, y: Any) -> Any:
        product, rest = pair(x, y)
        return ted.sum(product) + ted.sum(3.0 * rest["sum"])

    x, y = RNG.normal(size=3), RNG.normal(size=3)
    dx, dy = ted.grad(f, argnums=(0, 1))(x, y)
    np.testing.assert_allclose(dx, np.full(3, 5.0), rtol=1e-14)
    np.testing.assert_allclose(dy, 3 * x * y, rtol=1e-14)


@pytest.mark.parametrize("wrap", [lambda y: y, lambda y: (y,), lambda y: [y]])
def test_a_custom_derivative_gets_tuples_of_one_for_one_result(wrap: Any) -> None:
    f = ted.custom_vjp(lambda x: wrap(x * x))
    kinds: list[tuple[Any, int]] = []

    @f.defvjp
    def _(inputs: Any, outputs: Any, heads: Any) -> Any:
        kinds.extend((type(given), len(given)) for given in (inputs, outputs, heads))
        return 2.0 * inputs[0] * heads[0] + outputs[0] * heads[0]

    def total(x: Any) -> Any:
        result = f(x)
        return ted.sum((result if isinstance(result, ted.Tensor) else result[0]) * x)

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ted.grad(total)(x), x * x + x * (2 * x + x * x))
    assert kinds == [(tuple, 1)] * 3


def test_a_custom_derivative_gets_a_nest_that_is_no_tuple_as_one_result() -> None:
    f = ted.custom_vjp(lambda x: {"square": x * x})
    f.defvjp(lambda inputs, outputs, heads: 2.0 * inputs[0] * heads[0]["square"])
    np.testing.assert_allclose(ted.grad(lambda x: ted.sum(f(x)["square"]))(np.ones(2)), [2, 2])


def test_custom_functions_that_do_not_fit_are_refused() -> None:
    f = ted.custom_vjp(lambda x: ted.exp(x))
    with pytest.raises(DerivativeError, match="custom_vjp: <lambda> needs a derivative"):
        f(np.ones(2))
    f.defvjp(lambda inputs, outputs, heads: ted.sum(heads[0]))
    with pytest.raises(DerivativeError, match="an adjoint has the shape and type of its dep"):
        ted.grad(lambda x: ted.sum(f(x)))(np.ones(2))
    f.defvjp(lambda inputs, outputs, heads: heads[0] * heads[0])
    with pytest.raises(DerivativeError, match="must be linear in the head for forward mode"):
        ted.jvp(f, (np.ones(2),), (np.ones(2),))


def test_custom_function_with_a_captured_tensor_is_refused() -> None:
    def outer(w: Any) -> Any:
        scaled = ted.custom_vjp(lambda x: x * w)
        scaled.defvjp(lambda inputs, outputs, heads: heads[0])
        return ted.sum(scaled(ted.exp(w)))

    with pytest.raises(DerivativeError, match="dependencies stand between it and all inputs"):
        ted.grad(outer)(np.ones(2))


def test_marked_tensors_can_be_freed() -> None:
    clip = clipped(1.0)
    x = p("x", 3)
    y = ted.vmap(lambda x: clip(x) ** 2)(clip(x))
    nodes = [weakref.ref(n) for n in topological([y.node])]
    del x, y
    gc.collect()
    assert [n() for n in nodes if n() is not None] == []
