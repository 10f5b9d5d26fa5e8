"""Tracing: arrays in nests become placeholders, results keep their nest, values stay values."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.frontend import functions
from ted.frontend.systems import system_of, unique_names
from ted.frontend.trees import flatten, unflatten
from ted.ir.equations import topological

Pair = namedtuple("Pair", "left right")


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def test_placeholders_are_named_after_the_path_of_the_argument():
    def loss(params, xs):
        return ted.sum(params["w"] * xs[0]) + xs[1]

    traced = functions.trace(loss, ({"w": zeros(3)}, [zeros(3), zeros()]))
    assert [t.name for t in traced.inputs] == ["params.w", "xs.0", "xs.1"]
    assert traced.name == "loss"
    assert traced.system().outputs[0].shape == ()


def test_results_keep_their_nest():
    def both(x):
        return {"a": x + 1, "rest": (x * 2, [x - 1]), "pair": Pair(x, -x)}

    traced = functions.trace(both, (zeros(2),))
    assert traced.results(range(5)) == {"a": 0, "rest": (1, [2]), "pair": Pair(3, 4)}


def test_python_values_are_part_of_the_program():
    def power(x, exponent, mode="plain"):
        assert mode == "plain"
        return x**exponent

    square = functions.signature_of(power, (zeros(2), 2), {})
    assert square != functions.signature_of(power, (zeros(2), 3), {})
    assert square != functions.signature_of(power, (zeros(2), 2.0), {})
    assert square == functions.signature_of(power, (zeros(2),), {"exponent": 2})
    assert len(functions.trace_signature(power, square).inputs) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [(zeros(2), zeros(3)), (zeros(2), zeros(2, dtype=np.float64)), (zeros(2), [zeros(2)])],
    ids=["shape", "dtype", "nest"],
)
def test_signatures_differ_by(one, other):
    def identity(x):
        return x

    signatures = [functions.signature_of(identity, (x,), {}) for x in (one, other)]
    assert signatures[0] != signatures[1]
    assert signatures[0] == functions.signature_of(identity, (one.copy(),), {})


def test_varargs_and_keywords_are_spread_again():
    def total(first, *rest, scale, **named):
        return (first + sum(rest) + named["extra"]) * scale

    traced = functions.trace(total, (zeros(2), zeros(2), zeros(2)), {"scale": 2, "extra": zeros(2)})
    assert [t.name for t in traced.inputs] == ["first", "rest.0", "rest.1", "named.extra"]


def test_a_python_number_as_a_result_becomes_a_tensor():
    traced = functions.trace(lambda x: (ted.sum(x), 3), (zeros(2),))
    assert traced.outputs[1].dtype.name == "int64"


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (lambda x: "text", (zeros(2),), "results must be tensors, got str"),
        (lambda x: {"a": {1}}, (zeros(2),), "got set at a"),
        (lambda x: x, (), r"missing a required argument: 'x'; it takes \(x\), got \(\)"),
        (
            lambda x: x,
            (zeros(2), 3),
            r"too many .* takes \(x\), got \(float32\[2\], 3\)",
        ),
        (lambda x: x, ({1, 2},), "must be an array or a hashable value, got set"),
        (lambda x: x, (np.zeros(2, np.longdouble),), "dtype must be one of"),
        (lambda x: x, (ted.placeholder((2,)),), "is called with arrays"),
    ],
)
def test_refused_calls(function, arguments, message):
    with pytest.raises(FrontendError, match=message) as caught:
        functions.trace(function, arguments)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_arrays_come_in_the_order_of_the_placeholders():
    def f(tree, n, x):
        return x

    a, b, c = zeros(1), zeros(2), zeros(3)
    found = functions.arrays_of(f, ({"b": b, "a": a}, 5, c), {})
    assert all(one is other for one, other in zip(found, [b, a, c], strict=True))


def test_nests_come_back_from_their_leaves():
    nest = {"a": [1, (2, 3)], "b": {}, "c": Pair([], 4)}
    leaves, tree = flatten(nest)
    assert [path for path, _ in leaves] == ["a.0", "a.1.0", "a.1.1", "c.right"]
    assert tree.size == 4
    assert unflatten(tree, iter([1, 2, 3, 4])) == nest


def test_tensors_of_one_name_are_numbered_within_a_system():
    x = ted.placeholder((2,), name="x")
    y = ted.tanh(ted.tanh(ted.tanh(x)))
    system = system_of([x], [y])
    assert [t.name for t in topological(system.outputs)] == ["x", "tanh", "tanh_1", "tanh_2"]
    unique_names(system)
    assert [t.name for t in topological(system.outputs)] == ["x", "tanh", "tanh_1", "tanh_2"]


def test_an_input_may_be_unused_or_an_output():
    x, y = ted.placeholder((2,), name="x"), ted.placeholder((2,), name="y")
    system = system_of([x, y], [x])
    assert [t.name for t in system.inputs] == ["x", "y"]
