"""Programs that cannot be made: an error of ted that names what is wrong, never another one."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import ted
from ted.errors import DerivativeError, FrontendError, TedError

X = ted.placeholder((5,), "float32", name="x")
Y = ted.placeholder((5,), "float32", name="y")
N = ted.placeholder((5,), "int64", name="n")

CASES = {
    "gradient_of_an_integer": (
        lambda: ted.differentiate(ted.sum(N)), DerivativeError, "only float tensors have gradients"
    ),
    "gradient_by_an_integer": (
        lambda: ted.differentiate(ted.sum(X), [N]), DerivativeError, "only float tensors"
    ),
    "grad_of_an_integer_array": (
        lambda: ted.grad(lambda a: ted.sum(a * 2.0))(np.arange(3)), DerivativeError, "of floats"
    ),
    "grad_of_nothing": (lambda: ted.grad(None), FrontendError, "takes a function of tensors"),
    "function_of_a_number": (lambda: ted.function(3), FrontendError, "takes a function"),
    "grad_of_a_number": (
        lambda: ted.grad(lambda a: 1.0)(np.ones(3)), DerivativeError, "return one tensor, got float"
    ),
    "argnums_text": (
        lambda: ted.grad(ted.sum, argnums="k")(np.ones(3)), DerivativeError, "'k' is none of"
    ),
    "argnums_fraction": (
        lambda: ted.grad(ted.sum, argnums=0.5), DerivativeError, "argnums must be a position"
    ),
    "argnums_outside": (
        lambda: ted.grad(ted.sum, argnums=3)(np.ones(3)), DerivativeError, "1 positional"
    ),
    "differentiate_nothing": (
        lambda: ted.differentiate(None, [X]), DerivativeError, "output must be ted tensors, got No"
    ),
    "differentiate_by_a_number": (
        lambda: ted.differentiate(ted.sum(X), 3), DerivativeError, "inputs must be ted tensors"
    ),
    "head_missing": (lambda: ted.differentiate(X * 2, [X]), DerivativeError, "give head="),
    "head_of_another_shape": (
        lambda: ted.differentiate(X * 2, [X], head=ted.placeholder((4,))), DerivativeError, "head"
    ),
    "head_array": (
        lambda: ted.differentiate(X * 2, [X], head=np.ones(5)), DerivativeError, "head must be"
    ),
    "inputs_missing": (lambda: ted.compile(None, X), FrontendError, "inputs must be a list"),
    "outputs_number": (lambda: ted.compile([X], 3), FrontendError, "outputs must be a list"),
    "outputs_array": (lambda: ted.compile([X], np.ones(2)), FrontendError, "output 0 must be"),
    "input_forgotten": (lambda: ted.compile([X], X + Y), FrontendError, "got none for y"),
    "name_empty": (lambda: ted.compile([X], X, name=""), FrontendError, "name must be"),
    "name_missing": (lambda: ted.compile([X], X, name=None), FrontendError, "name must be"),
    "read_outside": (
        lambda: ted.compile([X], ted.compute((5,), lambda i: X[i + 3])), TedError, "extent 5"
    ),
    "read_before": (
        lambda: ted.compile([X], ted.compute((5,), lambda i: X[i - 1])), TedError, "extent 5"
    ),
    "huge_placeholder": (
        lambda: ted.placeholder((2**31, 2**31), "float32"), FrontendError, "at most 2**47 bytes"
    ),
    "huge_result": (
        lambda: ted.compute((2**40, 2**40), lambda i, j: 0.0), FrontendError, "at most 2**47"
    ),
    "extent_negative": (lambda: ted.placeholder((-1,)), FrontendError, "must be at least 0"),
    "surrogate_name": (lambda: ted.placeholder((1,), name="\ud800"), FrontendError, "name must"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_refused_with_an_error_of_ted(case: str) -> None:
    make, kind, message = CASES[case]
    with pytest.raises(kind) as error:
        make()
    assert isinstance(error.value, TedError)
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["a b", "'\"", "\n", "é☃", "%0", "#map", "\\", "{0}", "%s", "1"])
def test_any_name_of_a_tensor_will_do(name: str) -> None:
    p = ted.placeholder((3,), "float32", name=name)
    c = ted.compute((3,), lambda i: p[i] * 2, name=name)
    f = ted.compile([p], [c, *ted.differentiate(ted.sum(c * c), [p])])
    assert f(np.ones(3, np.float32))[1].tolist() == [8, 8, 8]


def test_a_huge_extent_is_only_a_number() -> None:
    """The domain is solved symbolically, and no memory is asked for before a call."""
    long = ted.placeholder((2**34,), "float32", name="long")
    found = ted.differentiate(ted.sum(long * long), [long])
    assert found[0].shape == (2**34,)


def test_deep_expressions_have_no_recursion_limit() -> None:
    def body(i):
        value = X[i]
        for _ in range(200):
            value = value + ted.maximum(value, 0.0) * 0.0
        return value

    total = ted.sum(ted.compute((5,), body, name="deep"))
    assert len(ted.differentiate(total, [X])) == 1


@pytest.mark.slow
def test_programs_compile_in_several_threads() -> None:
    wrong: list[object] = []

    def work(factor: int) -> None:
        try:
            a = ted.placeholder((7,), "float32", name=f"a{factor}")
            (gradient,) = ted.differentiate(ted.sum(ted.tanh(a) * factor), [a])
            found = ted.compile([a], gradient)(np.zeros(7, np.float32))
            if found.tolist() != [factor] * 7:
                wrong.append((factor, found))
        except TedError as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
