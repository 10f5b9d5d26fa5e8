"""NumPy's functions on tensors: each that ted has, by the table of names, and none in silence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ted
from ted import frontend
from ted.errors import FrontendError
from ted.frontend import numpy_names as names
from unit.frontend.tracing import run

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -4.0]])
C = np.array([1.0, 2.0, 4.0])
K = np.array([[3, -2, 5], [0, 7, -1]])
AT = np.array([2, 0])
T = ted.placeholder((2, 3), "float64", name="t")


def numpy_functions() -> Iterator[tuple[str, Any]]:
    """What numpy hands over to its arguments, by the names that the tables use."""
    for prefix, module in (("", np), ("linalg.", np.linalg)):
        for name in dir(module):
            function = getattr(module, name)
            if isinstance(function, np.ufunc) or hasattr(function, "_implementation"):
                yield prefix + function.__name__, function


FUNCTIONS = dict(numpy_functions())
TABLES = (*names.OPERATORS, *names.RENAMED, *names.SHARED, *names.PROPERTIES, *names.INSTEAD)


def test_what_numpy_and_ted_both_have_is_in_the_table() -> None:
    known = {*names.SHARED, *names.PROPERTIES, *names.INSTEAD, *names.OPERATORS, *names.RENAMED}
    shared = {name for name in FUNCTIONS if name in frontend.__all__}
    assert shared <= known, "a name of both is translated, or refused with what to write"
    assert "histogram" in shared, "the test sees functions"
    assert "sin" in shared, "the test sees ufuncs"


def test_the_tables_name_what_there_is() -> None:
    assert set(names.SHARED) <= set(frontend.__all__)
    assert set(names.RENAMED.values()) <= set(frontend.__all__)
    whole = {name.partition(".")[0] if "linalg" not in name else name for name in TABLES}
    assert whole <= {*FUNCTIONS, *dir(np)}
    assert len(set(TABLES)) == len(TABLES), "each name stands in one table"
    for way in names.INSTEAD.values():
        for word in re.findall(r"ted\.(\w+)", way):
            assert hasattr(ted, word), way


def asked(function: Any) -> Any:
    """What a function of numpy asks of its arguments."""
    if isinstance(function, np.ufunc):
        return names.ufunc(function, "__call__", *[T] * function.nin)
    return names.array_function(function, (T,), {})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_that_of_ted_or_is_refused(name: str) -> None:
    function = FUNCTIONS[name]
    if names.word_of(name) or name in names.OPERATORS or name in names.PROPERTIES:
        return
    way = names.INSTEAD.get(name, "ted has no such function")
    with pytest.raises(FrontendError) as caught:
        asked(function)
    assert f"got np.{name}; " in str(caught.value)
    assert way in str(caught.value)


def applied(name: str, use: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A use of a function of numpy."""
    return lambda x: use(getattr(np, name), x)


VALUES: dict[str, Callable[[Any], Any]] = {
    **{
        name: applied(name, lambda f, x: f(x * 0.2 + 1))
        for name in names.SHARED
        if isinstance(getattr(np, name, None), np.ufunc)
        and getattr(np, name).nin == 1
        and not name.startswith("logical")
    },
    **{
        name: applied(name, lambda f, x: (f(x, C), f(C, x)))
        for name in ("add", "subtract", "multiply", "divide", "less", "less_equal", "greater")
    },
    **{
        name: applied(name, lambda f, x: (f(x, C), f(C, x), f(x, 2.0), f(np.float64(2), x)))
        for name in ("equal", "not_equal", "maximum", "minimum", "hypot", "remainder", "fmod")
    },
    "arctan2": lambda x: np.arctan2(x, C),
    "inverse functions": lambda x: (np.arcsin(x / 9), np.acos(x / 9), np.arctan(x), np.asinh(x)),
    "negative": lambda x: (np.negative(x), np.positive(x), abs(x), np.fabs(x)),
    "power": lambda x: (np.power(abs(x), C), C**x, np.floor_divide(x, C), *divmod(x, C)),
    "rounding": lambda x: (np.rint(x), np.round(x), np.fix(x)),
    "matmul": lambda x: (np.matmul(x, C), x @ C, C @ x.T, np.linalg.matmul(x, x.T)),
    "conditions": lambda x: (np.logical_and(x > 0, C > 1), (x > 1) | (C > 2)),
    "where": lambda x: (np.where(x > 0, C, x), np.where(C > 1, x, 0)),
    "where of lists": lambda x: np.where(x > 0, [1, 2, 3], 0),
    "sums": lambda x: (np.sum(x), np.sum(x, axis=0), np.mean(x, 1, keepdims=True), np.prod(x, -1)),
    "sums of some": lambda x: (np.sum(x, where=C > 1), np.sum(x, axis=0, initial=2.0)),
    "extrema": lambda x: (np.max(x, axis=1), np.min(x), np.argmax(x, axis=0), np.argmin(x)),
    "any": lambda x: (np.any(x > 1, axis=0), np.all(x > 1)),
    "cumulative": lambda x: (np.cumsum(x, axis=1), np.cumprod(x, axis=0)),
    "layout": lambda x: (np.transpose(x), np.reshape(x, (3, 2)), np.ravel(x), np.flip(x, 0)),
    "dims": lambda x: (np.expand_dims(x, 0), np.squeeze(x[None]), np.swapaxes(x, 0, 1)),
    "copies": lambda x: (np.tile(x, (2, 1)), np.repeat(x, 2, axis=0), np.roll(x, 1, axis=1)),
    "split": lambda x: (*np.split(x, 3, axis=1), np.broadcast_to(x, (4, 2, 3))),
    "joined": lambda x: (np.concatenate([x, [C]]), np.stack([x[0], C]), np.concat((x, x), axis=1)),
    "pad": lambda x: (np.pad(x, 1), np.pad(x, ((0, 1), (1, 0)), constant_values=2.0)),
    "pad by edges": lambda x: np.pad(x, 1, mode="edge"),
    "clip": lambda x: (np.clip(x, -1, 1), np.clip(x, a_min=0.0, a_max=C)),
    "triangles": lambda x: (np.tril(x), np.triu(x, k=1)),
    "like": lambda x: (np.zeros_like(x), np.ones_like(x)),
    "take": lambda x: (np.take(x, AT, axis=1), np.take_along_axis(x, AT[:, None], axis=1)),
    "einsum": lambda x: np.einsum("ij,j->i", x, C),
    "sorted": lambda x: (np.sort(x), np.argsort(x, axis=0), np.median(x, axis=1)),
    "quantile": lambda x: (np.quantile(x, 0.3, axis=0), np.isin(x, C), np.searchsorted(C, x)),
    "moments": lambda x: (np.var(x, axis=0), np.std(x, ddof=1), np.diff(x), np.count_nonzero(x)),
    "products": lambda x: (np.dot(x, C), np.inner(x, x), np.outer(C, x), np.tensordot(x, C, 1)),
    "numbers": lambda x: (np.copysign(x, -1.0), np.signbit(x), np.logaddexp(x, C), np.conj(x)),
    "cholesky": lambda x: np.linalg.cholesky(x @ x.T + np.eye(2)),
    "bools of numpy": lambda x: (np.True_ & (x > 0), np.logical_not(x > 0)),
}


@pytest.mark.fast(26)
@pytest.mark.parametrize("name", VALUES)
def test_results_are_those_of_numpy(name: str) -> None:
    function = VALUES[name]
    expected = function(X)
    several = isinstance(expected, tuple)
    for mine, other in zip(
        run(function, X) if several else [run(function, X)],
        expected if several else [expected],
        strict=True,
    ):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(mine, other, rtol=1e-14, atol=1e-15)


def test_integers_are_those_of_numpy() -> None:
    ones = np.array([1, 2, 3])

    def function(k: Any) -> Any:
        shifts = np.left_shift(k, ones), np.right_shift(k, ones), np.invert(k), ones | k
        return (*shifts, np.bitwise_and(ones, k), ones ^ k, ones // (k * k + 1), np.mod(k, ones))

    for mine, other in zip(run(function, K), function(K), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_properties_are_values_of_python() -> None:
    assert (np.shape(T), np.ndim(T), np.size(T)) == ((2, 3), 2, 6)


def test_elements_of_a_lambda_take_them_too() -> None:
    def function(x: Any) -> Any:
        return ted.compute(
            (2,), lambda i: np.exp(np.float64(0.5) * x[i, 0]) + np.maximum(x[i, 1], 0)
        )

    np.testing.assert_allclose(run(function, X), np.exp(X[:, 0] / 2) + np.maximum(X[:, 1], 0))


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "out": (lambda: np.sin(T, out=np.zeros((2, 3))), "np.sin: an array cannot hold an expression"),
    "in place": (
        lambda: np.zeros((2, 3)).__iadd__(T),
        "np.add: an array cannot hold an expression",
    ),
    "out of a sum": (lambda: np.sum(T, out=np.zeros(())), "np.sum: an array cannot hold"),
    "method": (lambda: np.maximum.reduce(T), "got np.maximum.reduce; write ted.max"),
    "unknown method": (lambda: np.add.at(T, 0, 1), "got np.add.at; write x.at[i].add"),
    "dtype": (
        lambda: np.add(T, 1, dtype="f4"),
        "np.add: takes operands alone on tensors, got dtype=; use",
    ),
    "keyword": (lambda: np.sin(T, where=C > 0), "np.sin: on a tensor it is ted.sin(x"),
    "one branch": (lambda: np.where(T > 0), "where: takes (condition, a, b), or (cond"),
    "other word": (lambda: np.cross(T, C), "got np.cross; write ted.linalg.cross"),
    "no word": (lambda: np.packbits(T), "np.packbits; ted has no such function; compute it by"),
    "no word of linalg": (lambda: np.linalg.eig(T), "np.linalg.eig; ted has no such function"),
}


@pytest.mark.parametrize("name", BAD)
def test_the_rest_is_refused_with_what_to_write(name: str) -> None:
    function, message = BAD[name]
    with pytest.raises(FrontendError, match=re.escape(message)) as caught:
        function()
    assert "test_numpy_names.py" in str(caught.value)
