"""Maps over the same points: which are one kernel, the same values as apart, what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted.api import CompiledFunction
from ted.errors import ScheduleError
from ted.linalg import common_points
from unit.linalg.asked_groups import ALONE, asking

RNG = np.random.default_rng(3)
CPU = "cpu,threads=1"


def array(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.uniform(0.5, 1.5, size=shape).astype(dtype)


def kernels(compiled: CompiledFunction) -> int:
    """How many loop nests there are."""
    return compiled.ir("linalg").count("linalg.generic")


def adam(p: Any, m: Any, v: Any, g: Any) -> Any:
    m1 = 0.9 * m + 0.1 * g
    v1 = 0.999 * v + 0.001 * g * g
    return p - 0.01 * m1 / (ted.sqrt(v1) + 1e-8), m1, v1


def numbers(x: Any) -> Any:
    """Maps and sums of four numbers, in turn."""
    for _ in range(3):
        h = ted.tanh(x * x[::-1])
        x = ted.grad(lambda h: ted.sum(h * ted.sin(ted.sum(h))))(h) + h
    return x


def halves(x: Any) -> Any:
    y = ted.exp(x)
    return y, y * y, ted.sum(y)


def mixed(x: Any, k: Any) -> Any:
    mask = x > 1
    return mask, ted.where(mask, x, 0), k + 1, ted.cast(k, "float32") * x


def shifted(x: Any) -> Any:
    y = ted.exp(x)
    return y, y[1:] * x[1:], y[:-1] + x[:-1], x + 1


# A program, its arrays, and how many loop nests it is.
PROGRAMS: dict[str, tuple[Callable[..., Any], list[np.ndarray], int]] = {
    "adam": (adam, [array(1000) for _ in range(4)], 1),
    "adam of rows": (adam, [array(30, 40) for _ in range(4)], 1),
    "four numbers": (numbers, [array(4, dtype="float64")], 10),
    "halves": (halves, [array(3000, dtype="float16")], 3),
    "types": (mixed, [array(300), np.arange(300, dtype="int64")], 1),
    "other points": (shifted, [array(300)], 3),
    "many of few numbers": (
        lambda x: tuple(ted.sin(x * float(i)) for i in range(40)),
        [array(4)],
        1,
    ),
    "other shapes": (
        lambda x: (ted.pad(ted.exp(x[:-1]), (0, 1)), ted.sin(x[:-1]), ted.cos(x[:-1])),
        [array(300)],
        2,
    ),
    "a scalar": (lambda x: (ted.exp(x), ted.sin(x), ted.exp(x) * 2), [array()], 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_maps_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fn, arrays, count = PROGRAMS[name]
    compile_here(monkeypatch)
    joined = ted.function(fn, target=CPU)
    found = joined(*arrays)
    assert kernels(joined.compiled(*arrays)) == count
    monkeypatch.setattr(common_points, "MOST_OPERATIONS", 0)
    apart = ted.function(fn, target=CPU)
    expected = apart(*arrays)
    assert kernels(apart.compiled(*arrays)) > count
    for one, other in zip(ted.tree.leaves(found), ted.tree.leaves(expected), strict=True):
        bits = np.finfo(one.dtype).eps if one.dtype.kind == "f" else 0
        np.testing.assert_allclose(one, other, rtol=4 * bits)  # products and sums are fused


def test_adam_is_right() -> None:
    p, m, v, g = (array(257, dtype="float64") for _ in range(4))
    found = ted.function(adam, target=CPU)(p, m, v, g)
    m1, v1 = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    expected = p - 0.01 * m1 / (np.sqrt(v1) + 1e-8), m1, v1
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_donated_arrays_are_written_where_they_are_read() -> None:
    arrays = [array(5000) for _ in range(4)]
    plain, f = (ted.function(adam, target=CPU, donate=d) for d in ((), (0, 1, 2)))
    expected = plain(*arrays)
    given = [a.copy() for a in arrays]
    found = f(*given)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [8, 3000])
@pytest.mark.parametrize("is_later", [False, True])
def test_a_donated_array_is_not_overwritten_where_it_is_read_elsewhere(
    n: int, is_later: bool
) -> None:
    def fn(t: Any, a: Any) -> Any:
        both = ted.exp(t[::-1]), a * 2
        return both[::-1] if is_later else both

    t, a = array(n), array(n)
    f = ted.function(fn, target=CPU, donate=(0,))
    found = f(t.copy(), a)
    expected = ted.function(fn, target=CPU)(t, a)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def held(fn: Callable[..., Any], *arrays: np.ndarray) -> int:
    """The bytes that a program holds."""
    return ted.function(fn, target=CPU).compiled(*arrays).peak_bytes


def test_no_temporary_lives_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """`a` would wait for what stands behind the products, or `c` be there before them."""
    compile_here(monkeypatch)

    def fn(x: Any, w: Any) -> Any:
        a = ted.exp(x) @ w
        b = ted.tanh(a)
        y = (b @ w) @ w
        c = ted.sin(a) if y.shape == a.shape else a
        return (c @ w) + y

    def early(x: Any, w: Any) -> Any:
        y = ((ted.tanh(x) @ w) @ w) @ w
        return y + ted.sin(x) @ w

    x, w = array(300, 300), array(300, 300)
    for program in (fn, early):
        together = held(program, x, w)
        with mock.patch.object(common_points, "MOST_OPERATIONS", 0):
            assert together <= held(program, x, w)


def pipe(x: Any, y: Any) -> Any:
    """`a` is read backwards, so that the map that reads it cannot be in its place."""
    for _ in range(3):
        a = ted.tanh(x)
        x = a[::-1] * x + ted.sum(a) * y
    return x


def other_types(x: Any, y: Any) -> Any:
    """`t` is of 64 bits, and what reads it at its points of 32."""
    t = ted.cumsum(x)
    r = ted.cast(ted.exp(t / 1e4), "float32")
    s = ted.sin(r)
    return ted.sum(ted.cumsum(ted.cos(s))) * s[::-1] * r[::-1] + ted.sum(y)


@pytest.mark.parametrize("fn", [pipe, other_types])
def test_what_ends_with_one_map_makes_room_for_the_next(
    fn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_here(monkeypatch)
    x, y = (array(20_000, dtype="float64") for _ in "xy")
    together = held(fn, x, y)
    with mock.patch.object(common_points, "MOST_OPERATIONS", 0):
        assert together <= held(fn, x, y)


def test_what_is_small_need_not_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_here(monkeypatch)
    small, large = ((array(n), array(n)) for n in (500, 20_000))
    counts = [kernels(ted.function(pipe, target=CPU).compiled(*a)) for a in (small, large)]
    assert counts[0] < counts[1]


def test_a_number_that_both_read_is_not_much_in_common() -> None:
    f = ted.function(lambda x, y, s: (ted.exp(x) * s, ted.sin(y) * s), target=CPU)
    assert kernels(f.compiled(array(300), array(300), array())) == 2


def points(number: int, rest: str = "") -> str:
    return f'{{name = "common_points", group = {number}{rest}}}'


def asked(wanted: Mapping[str, str], patch: pytest.MonkeyPatch) -> CompiledFunction:
    """Two maps without anything in common, a sum of one, and what reads that."""
    asking(wanted, patch)
    x, y = (ted.placeholder((300,), "float32", name=n) for n in "xy")
    a = ted.compute((300,), lambda i: ted.exp(x[i]), name="a")
    b = ted.compute((300,), lambda i: ted.exp(y[i]), name="b")
    s = ted.sum(a)
    c = ted.compute((300,), lambda i: a[i] / s, name="c")
    d = ted.compute((300,), lambda i: ted.sin(a[299 - i]), name="d")
    found = ted.compile([x, y], [a, b, s, c, d])
    assert isinstance(found, CompiledFunction)
    return found


OBEYED: dict[str, tuple[dict[str, str], int]] = {
    "nothing": ({}, 5),
    "two": ({"a": points(1), "b": points(1)}, 4),
    "three": ({"c": points(4), "b": points(4), "d": ALONE}, 4),
    "all alone": (dict.fromkeys("abcd", ALONE), 5),
}


@pytest.mark.parametrize("case", OBEYED)
def test_what_is_asked_for_is_obeyed(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, count = OBEYED[case]
    f = asked(wanted, monkeypatch)
    assert kernels(f) == count
    x, y = array(300), array(300)
    e = np.exp(x.astype("float64"))
    expected = e, np.exp(y), e.sum(), e / e.sum(), np.sin(e[::-1])
    for one, other in zip(f(x, y), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)


REFUSED = {
    "one": ({"a": points(1)}, "a group has two maps, got one"),
    "no number": (
        {"a": '{name = "common_points"}', "b": points(1)},
        "group = NUMBER is 1 or more, got 0",
    ),
    "a sum": ({"a": points(1), "sum": points(1)}, "it is no map"),
    "needed between": ({"a": points(2), "c": points(2)}, "what is computed between needs"),
    "elsewhere": ({"a": points(2), "d": points(2)}, "another element than that of its point"),
    "what is no number": ({"a": points(1, ", rest = 2"), "b": points(1)}, "got rest = 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, rule = REFUSED[case]
    with pytest.raises(ScheduleError, match=re.escape(rule)) as error:
        asked(wanted, monkeypatch)
    assert "take the attribute ted.group away" in str(error.value)


def test_why_maps_are_apart_is_said() -> None:
    def fn(x: Any, k: Any, w: Any) -> Any:
        y = ted.exp(x)
        return y, x[k] + 1, ted.sum(y), y / ted.sum(y), w * 2

    arrays = array(300), np.arange(300), array(200)
    text = ted.function(fn, target=CPU).compiled(*arrays).explain()
    for why in (
        "an index is data",
        "what is computed between needs one, or a tensor would be kept for longer",
        "nothing over its points has anything in common with it",
        "it is no map",
    ):
        assert f"not common_points: {why}" in text
