"""`check_grads` accepts right gradients and names the element of a wrong one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import DerivativeError, FrontendError
from ted.testing import check_grads, check_vjp
from ted.testing.gradients import paired

RNG = np.random.default_rng(0)


def test_right_gradients_of_two_orders_are_accepted():
    arguments = [RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2))]
    check_grads(lambda a, b: ted.tanh(a @ b), arguments, order=2)


def test_pair_of_tensors_and_several_outputs_are_accepted():
    x = ted.placeholder((3,), "float64", name="x")
    outputs = (ted.exp(x), ted.sum(x * x))
    check_grads((outputs, [x]), [RNG.normal(size=3)])


def test_nests_of_arrays_are_arguments():
    def model(params, x):
        return {"y": ted.tanh(x @ params["w"]) + params["b"], "z": x}

    params = {"w": RNG.normal(size=(3, 2)), "b": RNG.normal(size=2)}
    check_grads(model, [params, RNG.normal(size=(4, 3))])


def test_compiled_functions_can_be_checked():
    check_grads(lambda x: ted.sum(x * x), [RNG.normal(size=4)], evaluate=ted.compile)


def test_integer_arguments_are_not_differentiated():
    def pick(x, n):
        return ted.compute((2,), lambda i: x[n[i]] * x[n[i]])

    check_grads(pick, [RNG.normal(size=5), np.array([3, 1])], order=2)


def test_function_is_traced_in_double_precision():
    seen = []

    def square(x):
        seen.append(x.dtype.name)
        return x * x

    check_grads(square, [RNG.normal(size=3).astype(np.float32)])
    assert seen == ["float64"]


def test_single_precision_pair_is_compared_with_a_tolerance_of_its_type():
    x = ted.placeholder((3, 3), "float32", name="x")
    check_grads((ted.tanh(x @ x), x), [RNG.normal(size=(3, 3)).astype(np.float32)])


def twice(x):
    return 2 * x


def wrong_at_element(outputs, inputs, heads):
    """The gradient of `twice`, but zero at [1, 2]."""
    (head,) = heads
    shape = inputs[0].shape
    return [
        ted.compute(shape, lambda i, j: ted.where((i == 1) & (j == 2), 0.0, 2 * head[i, j])).node
    ]


def test_worst_element_of_a_wrong_gradient_is_named():
    with pytest.raises(
        DerivativeError, match=r"order 1: .* got dx0\[1, 2\] = 0 and -?\d.* \(argument 0\)"
    ):
        check_grads(twice, [RNG.normal(size=(2, 3))], derive=wrong_at_element)


def test_wrong_argument_is_named_among_several():
    def scaled(outputs, inputs, heads):
        gradients = list(ted.differentiate(outputs, inputs, heads))
        gradients[1] = 2 * gradients[1]
        return gradients

    arguments = [RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=3)]
    with pytest.raises(DerivativeError, match=r"dx1\[\d\] = .*\(argument 1\)"):
        check_grads(lambda a, b, c: a * b * c, arguments, derive=scaled)


def test_wrong_second_order_is_found_when_the_first_is_right():
    calls = []

    def second_is_wrong(outputs, inputs, heads):
        calls.append(outputs)
        gradients = ted.differentiate(outputs, inputs, heads)
        return gradients if len(calls) == 1 else [0 * g for g in gradients]

    with pytest.raises(DerivativeError, match="order 2: "):
        check_grads(lambda x: x * x * x, [RNG.normal(size=3)], order=2, derive=second_is_wrong)


def test_nan_gradient_is_refused():
    def nan(outputs, inputs, heads):
        return [heads[0] * float("nan")]

    with pytest.raises(DerivativeError, match="= nan and"):
        check_grads(twice, [RNG.normal(size=3)], derive=nan)


def test_bad_requests_are_refused():
    with pytest.raises(DerivativeError, match=r"modes are some of .*, got"):
        check_grads(twice, [np.ones(2)], modes=["sideways"])
    with pytest.raises(
        DerivativeError, match=r"float argument, got x0: int64\[2\] and results mul"
    ):
        check_grads(twice, [np.ones(2, np.int64)])


BOTH = ("fwd", "rev")


def test_both_modes_are_checked_to_the_third_order():
    def f(a, b):
        return ted.max(ted.tanh(a @ b) * ted.exp(b), axis=1)

    check_grads(f, [RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))], order=3, modes=BOTH)


def test_both_modes_are_checked_in_single_precision():
    x = ted.placeholder((3, 3), "float32", name="x")
    point = RNG.normal(size=(3, 3)).astype(np.float32)
    check_grads((ted.tanh(x @ x), x), [point], order=2, modes=BOTH)


def test_worst_element_of_a_wrong_tangent_is_named():
    def wrong(outputs, inputs, tangents):
        (v,) = tangents
        return [ted.compute(v.shape, lambda i, j: ted.where(i < j, 3 * v[i, j], 2 * v[i, j]))]

    with pytest.raises(
        DerivativeError, match=r"order 1: the JVP equals central .* got mul_dot\[[012], [012]\] = "
    ):
        check_grads(twice, [RNG.normal(size=(3, 3))], modes=["fwd"], push=wrong)


def test_modes_that_contradict_each_other_are_found():
    def slightly_wrong(outputs, inputs, heads):
        return [g * (1 + 1e-9) for g in ted.differentiate(outputs, inputs, heads)]

    # A point of its own: where the terms of <v, J^T dy> cancel, so small an error is rounding.
    point = [np.random.default_rng(7).normal(size=4)]
    check_grads(lambda x: x * x, point, derive=slightly_wrong)
    with pytest.raises(DerivativeError, match="<J v, dy> equals <v, J\\^T dy>"):
        check_grads(lambda x: x * x, point, modes=BOTH, derive=slightly_wrong)


def test_derivatives_of_the_user_are_checked():
    f = ted.custom_vjp(lambda x: ted.exp(x))
    f.defvjp(lambda inputs, outputs, heads: heads[0] * outputs[0])
    check_grads(f, [RNG.normal(size=4)], order=2, modes=BOTH)
    f.defvjp(lambda inputs, outputs, heads: -heads[0] * outputs[0])
    with pytest.raises(DerivativeError, match="the VJP equals central differences"):
        check_grads(f, [RNG.normal(size=4)])


@pytest.mark.parametrize("order", [0, -1, 1.5])
def test_an_order_that_checks_nothing_is_refused(order):
    with pytest.raises(DerivativeError, match=f"order is a number from 1 on, got {order}"):
        check_grads(ted.sin, [RNG.normal(size=3)], order=order)


POINT = np.array([1.0, 2.0, -1.0, 3.0])
LOSSES = {
    "elementwise": lambda x: ted.sqrt(x) * x,
    "beside a sum": lambda x: (ted.sum(ted.sqrt(x)), x * x),
    "of two": lambda x: (ted.sqrt(x - 1.5), ted.sin(x)),
}


@pytest.mark.fast(3)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("modes", [["rev"], ["fwd"], BOTH])
def test_what_is_nan_in_derivatives_and_differences_is_left_out(name, modes):
    check_grads(LOSSES[name], [POINT], order=2 if name == "elementwise" else 1, modes=modes)


def hand_written(slope):
    f = ted.custom_vjp(lambda x: ted.sqrt(x))
    f.defvjp(lambda inputs, outputs, heads: slope(inputs[0], outputs[0]) * heads[0])
    return f


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (hand_written(lambda x, y: ted.where(x == 2.0, 7.0, 0.5 / y)), r"dx0\[1\] = .* and -?\d"),
        (hand_written(lambda x, y: ted.where(x == 3.0, float("nan"), 0.5 / y)), r"dx0\[3\] = nan"),
        (hand_written(lambda x, y: ted.where(x < 0, 0.0, 0.5 / y)), r"dx0\[2\] = -?0 and nan"),
        (lambda x: ted.log(x), r"dx0\[2\] = .* and nan"),
    ],
)
def test_the_element_that_is_nan_on_one_side_is_named(function, named):
    with pytest.raises(DerivativeError, match=named):
        check_grads(function, [POINT])


def test_a_tangent_that_is_nan_on_one_side_is_named():
    with pytest.raises(DerivativeError, match=r"log_dot\[2\] = .* and nan"):
        check_grads(lambda x: ted.log(x), [POINT], modes=["fwd"])


@pytest.mark.parametrize("modes", [["rev"], ["fwd"]])
def test_a_check_where_nothing_is_a_number_is_refused(modes):
    with pytest.raises(DerivativeError, match="order 1: a result that is a number, got NaN at"):
        check_grads(lambda x: ted.sum(ted.sqrt(x)), [POINT], modes=modes)


def test_messages_name_the_function_that_was_called() -> None:
    def wrong(inputs: Any, outputs: Any, heads: Any) -> Any:
        return 2 * heads[0]

    with pytest.raises(DerivativeError, match=r"^check_vjp: order 1: the VJP equals central"):
        check_vjp(ted.sin, wrong, [np.ones(2)])
    with pytest.raises(DerivativeError, match=r"^check_vjp: args is a list .* check_vjp\(f, back"):
        check_vjp(ted.sin, wrong, np.ones(2))
    with pytest.raises(DerivativeError, match=r"^check_vjp: a float output and a float argument"):
        check_vjp(lambda x: x, wrong, [np.ones(2, "int32")])
    with pytest.raises(FrontendError, match=r"^check_vjp: seed"):
        check_vjp(ted.sin, wrong, [np.ones(2)], seed="seven")
    with pytest.raises(DerivativeError, match=r"^check_grads: order 1: the VJP equals central"):
        check_grads(paired(ted.sin, wrong), [np.ones(2)])


def test_differences_of_large_values_are_known_to_be_rounded() -> None:
    check_grads(lambda x: ted.sin(x) + 1e9, [np.linspace(0.1, 1.0, 4)], order=1)
    with pytest.raises(DerivativeError, match="order 1"):
        check_grads(lambda x: wrong_sine(x) + 1e3, [np.linspace(0.1, 1.0, 4)], order=1)


@ted.custom_vjp
def wrong_sine(x):
    return ted.sin(x)


@wrong_sine.defvjp
def _wrong(inputs, outputs, heads):
    return (heads[0] * ted.cos(inputs[0]) * 1.01,)
