"""Functions with derivatives of their own, parts for training loops, and sizes from shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import CompileError, DerivativeError, ExecutionError

X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def marked(bwd: Any) -> Any:
    @ted.custom_vjp
    def both(pair: Any, scale: Any) -> Any:
        return pair["a"] * scale + pair["b"]

    both.defvjp(bwd)
    return both


def one(heads: Any) -> Any:
    """The head of the only result, alone or in a tuple."""
    return heads[0] if isinstance(heads, tuple) else heads


def test_gradients_have_the_nests_of_the_arguments() -> None:
    seen: list[Any] = []

    def bwd(inputs: Any, outputs: Any, heads: Any) -> Any:
        seen.append((inputs, outputs))
        return {"a": one(heads) * 2.0, "b": None}, one(heads) * 7.0

    both = marked(bwd)
    found = ted.grad(lambda a, b, s: ted.sum(both({"a": a, "b": b}, s)), (0, 1, 2))(X, Y, X)
    assert [g.tolist() for g in found] == [[2, 2], [0, 0], [7, 7]]
    assert set(seen[0][0][0]) == {"a", "b"}
    assert both.__name__ == "both"
    assert both({"a": X, "b": Y}, X).tolist() == [4, 9]


@pytest.mark.parametrize(
    ("bwd", "message"),
    [
        (lambda i, o, h: (None,), "custom_vjp: both: one gradient per argument, got 1 for 2"),
        (lambda i, o, h: ({"a": None}, None), "a gradient has the nest of its argument"),
        (lambda i, o, h: (None, 3.0), "an adjoint has the shape and type of its dependency"),
    ],
)
def test_gradients_that_do_not_fit_are_refused(bwd: Any, message: str) -> None:
    both = marked(bwd)
    with pytest.raises(DerivativeError, match=message):
        ted.grad(lambda a, b, s: ted.sum(both({"a": a, "b": b}, s)), (0, 1, 2))(X, Y, X)


def test_a_derivative_must_be_given() -> None:
    both = ted.custom_vjp(lambda x: x)
    x = ted.placeholder((2,), "float64", name="x")
    with pytest.raises(DerivativeError, match="needs a derivative, give one by defvjp"):
        both(x)


def test_forward_gives_results_and_what_backward_needs() -> None:
    x, w = (ted.placeholder((2,), "float64", name=n) for n in "xw")
    n = ted.placeholder((2,), "int64", name="n")
    y = ted.exp(x) * w
    pair = ted.forward_backward([y, n * 2], [x, w, n])
    results, saved = pair.forward(X, Y, np.array([1, 2]))
    assert [r.tolist() for r in results] == [pytest.approx((np.exp(X) * Y).tolist()), [2, 4]]
    dx, dw = pair.backward(saved, np.array([1.0, 10.0]))
    scale = np.exp(X) * [1, 10]
    assert dx.tolist() == pytest.approx((scale * Y).tolist())
    assert dw.tolist() == pytest.approx(scale.tolist())
    (alone,), saved = ted.forward_backward(y, [x, w]).forward(X, Y)
    assert alone.tolist() == results[0].tolist()


@pytest.mark.parametrize("kinds", [("int64", "int64"), ("float64", "int64")])
def test_parts_need_a_float_on_both_sides(kinds: tuple[str, str]) -> None:
    x, n = (ted.placeholder((2,), kind, name=name) for name, kind in zip("xn", kinds, strict=True))
    with pytest.raises(DerivativeError, match="a float output and a float input, got none"):
        ted.forward_backward([n * 2], [x, n])


def sized() -> Any:
    n, m = ted.size("n"), ted.size("m", min=2)
    x = ted.placeholder((n, n + m), "float64", name="x")
    y = ted.placeholder((2 * m,), "float64", name="y")
    return ted.compile([x, y], [ted.sum(x) + ted.sum(y)])


def test_sizes_follow_from_the_shapes_of_arrays() -> None:
    f = sized()
    assert f.peak_bytes == 0
    assert f(np.ones((2, 5)), np.ones(6))[0] == 16
    assert f(np.ones((1, 3)), np.ones(4))[0] == 7
    assert f.peak_bytes > 0
    assert f.specialise(n=2, m=3) is f.specialise(m=3, n=2)
    assert f.specialise(n=2, m=3) is not f.specialise(n=2, m=2)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.ones((2, 5)),), "takes 2 arrays, got 1"),
        ((np.ones((2, 5)), np.ones(5)), r"argument y: dim 0 must have"),
        ((np.ones((2, 5)), np.ones(8)), r"argument [xy]: dim \d must have extent .* got"),
        ((np.ones((2, 3)), np.ones(2)), "size m: must be at least 2"),
        ((np.ones(2), np.ones(6)), r"argument x: must be an array of x.*, got shape \(2,\)"),
        (("no", np.ones(6)), "argument x: must be an array of x.*, got str"),
        ((1.0, np.ones(6)), r"argument x: must be an array of x.*, got shape \(\)"),
    ],
)
def test_arrays_that_no_size_fits_are_refused(arrays: Any, message: str) -> None:
    with pytest.raises(ExecutionError, match=message):
        sized()(*arrays)


def test_a_program_of_all_sizes_has_one_stage() -> None:
    f = sized()
    assert "ted.sizes" in f.ir()
    with pytest.raises(CompileError, match=r"take that of .specialise\(n=..., m=...\)"):
        f.ir("asm")
    with pytest.raises(AttributeError, match="a function of symbolic sizes has no 'fast'"):
        _ = f.fast
    with pytest.raises(ExecutionError, match="one value for each of the sizes"):
        f.specialise(n=2)
