"""Misuses of the public functions: each is refused with its rule, at the user's line."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import CompileError, DerivativeError, ExecutionError, FrontendError, TedError
from ted.testing import check_grads, check_vjp, interpret

# Arguments are wrong on purpose here.
checked: Any = check_grads
checked_pair: Any = check_vjp
interpreted: Any = interpret

X = ted.placeholder((3,), "float64", name="x")
A, AI = np.arange(3.0), np.arange(3)
WORDS = np.array(["a", None], object)
SQUARE = X * X
DOUBLE = ted.compile([X], X * 2)


def element(fn: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: ted.compute((3,), fn)


def traced(fn: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: ted.function(fn)(*(args or (A,)))


def assigned(x: Any, at: Any) -> Any:
    x[at] = 2.0
    return x[at]


def custom(bwd: Any, fn: Any = lambda x: x * x) -> Callable[[], Any]:
    def run() -> Any:
        f = ted.custom_vjp(fn)
        f.defvjp(bwd)
        return ted.grad(lambda x: ted.sum(f(x)))(A)

    return run


def scanned(step: Any, **options: Any) -> Callable[[], Any]:
    return traced(lambda start, xs: ted.scan(step, start, xs, **options), np.float64(0), A)


def overridden(entry: Any) -> Callable[[], Any]:
    return lambda: ted.differentiate(ted.sum(SQUARE), [X], override={SQUARE: entry})


Row = tuple[Callable[[], Any], type[TedError], str]
ROWS: dict[str, Row] = {
    # gradients
    "grad of a number": (
        lambda: ted.grad(lambda x: x * x)(3), DerivativeError,
        "grad: what has a gradient is an array of floats, got the constant 3 as argument 0; "
        "pass 3.0",
    ),
    "grad of a number in a nest": (
        lambda: ted.grad(lambda p: p["a"])({"a": 2}), DerivativeError, "argument 0 at a"
    ),
    "grad of integers": (
        lambda: ted.grad(lambda x: ted.sum(x))(AI), DerivativeError, "got int64 as argument 0"
    ),
    "grad of a vector": (
        lambda: ted.grad(lambda x: x * x)(A), DerivativeError,
        "grad: the function must return a scalar, got Tensor(mul: float64[3]); sum it, or use "
        "ted.vjp for a cotangent of this shape, ted.jacobian",
    ),
    "grad of several": (
        lambda: ted.grad(lambda x: (x, x))(A), DerivativeError, "must return one tensor, got tuple"
    ),
    "grad of nothing": (
        lambda: ted.grad(lambda x: ted.sum(x), 1)(A), DerivativeError, "1 positional arguments"
    ),
    "vjp of a number": (lambda: ted.vjp(ted.sin, 3)[1](A), DerivativeError, "vjp: what has"),
    "cotangent of another shape": (
        lambda: ted.vjp(ted.sin, A)[1](np.ones(2)), DerivativeError,
        "vjp: a cotangent is an array of the shape and type of its result, float64[3], got",
    ),
    "cotangent that is a number": (
        lambda: ted.vjp(ted.sin, A)[1](3.0), DerivativeError, "result, float64[3], got 3.0"
    ),
    "hvp of no tuple": (lambda: ted.hvp(ted.sum, 3, 3), DerivativeError, "a tuple of primals"),
    "jacobian of a number": (
        lambda: ted.jacobian(ted.sin)(3), DerivativeError, "jacobian: what has a gradient"
    ),
    "jacobian of an array": (lambda: ted.jacobian(A), FrontendError, "jacobian: takes a function"),
    "jacobian by a fraction": (
        lambda: ted.jacobian(ted.sin, 1.5), DerivativeError, "argnums must be"
    ),
    "jacobian in a number": (lambda: ted.jacobian(SQUARE, 3), DerivativeError, "ted tensors, got"),
    "vmap of a number": (lambda: ted.vmap(3), FrontendError, "vmap: takes a function of tensors"),
    "vmap along a fraction": (
        lambda: ted.vmap(ted.sin, 1.5)(A), FrontendError, "in_axes is a dim, or has one entry"
    ),
    "vmap by other names": (
        lambda: ted.vmap(lambda x: x["a"], ({"b": 0},))({"a": A}), FrontendError, "has the nest of"
    ),
    "override that is no table": (
        lambda: ted.differentiate(ted.sum(SQUARE), [X], override=[X]), DerivativeError,
        "override has the form {tensor: ([dependencies], function)}, got [Tensor(x",
    ),
    "override of a number": (overridden((3, lambda *_: X)), DerivativeError, "float tensors that"),
    "override that gives a number": (
        overridden(([X], lambda *_: 3)), DerivativeError, "shape and type of its dependency, got 3"
    ),
    "override of two parameters": (
        overridden(([X], lambda a, b: X)), FrontendError, "called as fn(tensor, dependencies, head)"
    ),
    "fdiff of one parameter": (
        lambda: ted.differentiate(ted.sum(SQUARE), [X], fdiff=lambda o: o), FrontendError,
        "called as fdiff(out, inp, head)",
    ),
    "product of a number": (
        lambda: ted.adjoint_product(3, X, X), DerivativeError, "takes float tensors, got 3"
    ),
    "product of another shape": (
        lambda: ted.adjoint_product(SQUARE, X, ted.sum(X)), DerivativeError, "a head has the shape"
    ),
    "bwd that is a number": (custom(3), FrontendError, "defvjp: takes a function of tensors"),
    "bwd of two parameters": (
        custom(lambda i, o: o), FrontendError, "called as bwd(inputs, outputs, heads), got one"
    ),
    "bwd on bare heads": (custom(lambda i, o, h: ted.cos(h)), FrontendError, "got tuple"),
    "bwd that gives two": (custom(lambda i, o, h: (*h, *h)), DerivativeError, "one gradient per"),
    "custom of a number": (lambda: ted.custom_vjp(3), FrontendError, "custom_vjp: takes a"),
    "checkpoint of a number": (lambda: ted.checkpoint(3), FrontendError, "checkpoint: takes a"),
    # what Python asks of an expression
    "math of an element": (
        element(lambda i: math.sin(X[i])), FrontendError,
        "float: an expression has no value while it is being written, got Scalar(x[i]: float64); "
        "write ted.sin for math.sin",
    ),
    "floor of an element": (element(lambda i: math.floor(X[i])), FrontendError, "write ted.floor"),
    "round of an element": (element(lambda i: round(X[i])), FrontendError, "write ted.round(x)"),
    "int of a tensor": (lambda: int(X), FrontendError, 'int: an expression has no value'),
    "format of a tensor": (lambda: f"{X:.3f}", FrontendError, "format: an expression has no value"),
    "assignment in a lambda": (
        element(lambda i: assigned(X, i)), FrontendError,
        "x: a tensor is a value, no element of it can be set; write y = x.at[i].set(values), or "
        "choose by ted.where(",
    ),
    "assignment outside": (lambda: assigned(X, 0), FrontendError, "no element of it can be set"),
    "array in a lambda": (
        element(lambda i: A[i]), FrontendError,
        "got index i in [0, 3); an array beside a tensor is a tensor, and ted.constant(array)[i] "
        "reads one at an index",
    ),
    "array beside an element": (
        element(lambda i: X[i] * A), FrontendError, "multiply: operands must be tensors, scalars"
    ),
    "array equal to an element": (element(lambda i: X[i] == A), FrontendError, "==: operands must"),
    "nothing equal to an element": (element(lambda i: X[i] == None), FrontendError, "NoneType"),  # noqa: E711
    "array of a closure": (
        traced(lambda x: x * WORDS), FrontendError,
        "mul: an array must hold numbers of one type, got objects (str, NoneType) in shape (2",
    ),
    "array of a closure on the left": (
        traced(lambda x: WORDS * x), FrontendError, "multiply: an array must hold numbers"
    ),
    "array as a result": (
        traced(lambda x: WORDS), FrontendError, "main: results: an array must hold numbers"
    ),
    "list in a lambda": (element(lambda i: [1.0, 2.0][i]), FrontendError, "reads is a tensor"),
    "slice in a lambda": (element(lambda i: X[i : i + 1]), FrontendError, "every subscript is one"),
    "function of numpy": (traced(np.ptp), FrontendError, "np.ptp; ted has no such function"),
    "sum of numpy": (traced(np.add.reduce), FrontendError, "got np.add.reduce; write ted.sum"),
    "deepcopy": (
        lambda: copy.deepcopy({"x": X}), FrontendError,
        "copy: Tensor(x: float64[3]) is part of a program, and a copy would be no part of it; use",
    ),
    "copy": (lambda: copy.copy(X), FrontendError, "a copy would be no part of it"),
    "pickle": (lambda: pickle.dumps(X), FrontendError, "a copy would be no part of it"),
    "vectorize of text": (
        lambda: ted.vectorize(lambda a: "s")(X), FrontendError, "must give a value made of its"
    ),
    # scans and reducers
    "scan of a number": (scanned(3), FrontendError, "scan: step: takes a function"),
    "step of one parameter": (scanned(lambda c: c), FrontendError, "called as step(carry, x)"),
    "scan reversed by text": (
        scanned(lambda c, x: (c, c), reverse="no"), FrontendError, "reverse: must be True or False"
    ),
    "array as a carry": (
        traced(lambda x: ted.scan(lambda c, y: (c, c), WORDS, x)), FrontendError,
        "scan: init: an array must hold numbers of one type, got objects",
    ),
    "combiner of one parameter": (
        lambda: ted.reducer(lambda a: a, 0.0)(X, axis=0), FrontendError, "called as combine(a, b)"
    ),
    "dims kept by text": (lambda: ted.sum(X, 0, keepdims="no"), FrontendError, "True or False"),
    "sum from the end by text": (lambda: ted.cumsum(X, 0, "no"), FrontendError, "True or False"),
    "causal by text": (
        lambda: ted.nn.attention(*[ted.placeholder((2, 2))] * 3, causal="no"), FrontendError,
        "attention: causal: must be True or False, got 'no'",
    ),
    # compilation and calls
    "deterministic by text": (
        lambda: ted.compile([X], SQUARE, deterministic="no"), CompileError,
        "compile: deterministic is True or False, got 'no'",
    ),
    "function deterministic by text": (
        lambda: ted.function(ted.sin, deterministic="no"), CompileError, "got 'no'"
    ),
    "no target": (lambda: ted.compile([X], SQUARE, "gpu"), CompileError, "a target is 'cpu'"),
    "an expression as an array": (
        lambda: DOUBLE(X), ExecutionError, "argument 'x': expected an array, got Tensor(x: float64"
    ),
    "an array of objects": (
        lambda: DOUBLE(np.array([1, None, 2])), ExecutionError, "float64, got an array of objects"
    ),
    "a result of another shape": (
        lambda: DOUBLE(A, out=np.ones(4)), ExecutionError, "out='mul': expected shape (3,), got"
    ),
    "forward of a number": (lambda: ted.forward_backward(3, [X]), FrontendError, "list of tensors"),
    "module of a number": (lambda: ted.module(3), FrontendError, "module: what it takes must be"),
    "module of tensors with arguments": (lambda: ted.module([X], SQUARE), FrontendError,
                                         "module: arguments are those of a function, got 1 with"),
    # checks
    "check at a number": (
        lambda: checked(ted.sin, 3), DerivativeError,
        "args is a list with one array per argument, got int; write check_grads(f, [x])",
    ),
    "check at an array": (lambda: checked(ted.sin, A), DerivativeError, "got ndarray; write"),
    "check at integers": (
        lambda: checked(ted.sin, [3]), DerivativeError, "got x0: int64[] and results sin: float"
    ),
    "check of a number": (lambda: checked(3, [A]), DerivativeError, "or a pair (outputs, inp"),
    "check of text": (lambda: checked(lambda x: "s", [A]), FrontendError, "got str 's'"),
    "check of two parameters": (
        lambda: checked(lambda x, y: x, [A]), FrontendError, "missing a required argument: 'y'"
    ),
    "check by text": (
        lambda: checked(ted.sin, [A], modes="rev"), DerivativeError, "modes are some of"
    ),
    "check within text": (
        lambda: checked(ted.sin, [A], tolerance="a"), DerivativeError, "tolerance is a number"
    ),
    "check of a derivative of two parameters": (
        lambda: checked_pair(ted.sin, lambda i, o: o, [A]), FrontendError, "called as bwd("
    ),
    "interpret of a number": (lambda: interpreted(3, [A]), ExecutionError, "a module or its text"),
    "interpret of text": (lambda: interpreted("no", [A]), ExecutionError, "a module or its text"),
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_a_misuse_is_refused_with_its_rule_at_the_users_line(case: str) -> None:
    program, kind, message = ROWS[case]
    with pytest.raises(kind, match=re.escape(message)) as caught:
        program()
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


@pytest.mark.parametrize(
    ("name", "message"),
    [("trace", "write ted.trace(x)"), ("item", "its value exists when a program runs")],
)
def test_a_method_that_is_missing_names_the_function(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(message)):
        getattr(X, name)


def test_arrays_and_numbers_of_numpy_leave_operators_to_expressions() -> None:
    for number in (np.float64(2), np.float32(2), np.int64(2), np.array(2.0)):
        f = ted.compile(
            [X], [number * X, number - X, number / (X + 1), ted.where(number < X, X, 0)]
        )
        wanted = (2 * A, 2 - A, 2 / (A + 1), np.where(A > 2, A, 0))
        for found, value in zip(f(A), wanted, strict=True):
            np.testing.assert_allclose(found, value)


def test_quotient_and_remainder_come_together() -> None:
    y = ted.compute((5,), lambda i: 10 * divmod(i, 2)[0] + divmod(i, 2)[1], dtype="int64")
    assert ted.compile([], y)().tolist() == [0, 1, 10, 11, 20]
