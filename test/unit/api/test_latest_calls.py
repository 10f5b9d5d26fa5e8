"""Calls nested as the latest one was: the same numbers as by the long way, and which take it."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

import ted
from ted.api.latest_calls import short_way
from ted.runtime.calls import declined

A, B, C = (np.arange(3.0) + k for k in range(3))


def weighted(nest: Any) -> Any:
    """A value that tells places, keys and kinds of nests apart."""
    if isinstance(nest, dict):
        return sum((1 + ord(k) * weighted(v) for k, v in nest.items()), 0.0)
    if isinstance(nest, (tuple, list)):
        scale = 2 if isinstance(nest, list) else 3
        return scale * sum((k + 1) * weighted(v) for k, v in enumerate(nest))
    return nest * 1.0


NESTS: list[Any] = [
    {"a": A, "b": B},
    {"b": A, "a": B},
    {"a": A},
    {"a": A, "c": B},
    {"a": (A, B), "b": C},
    {"a": [A, B], "b": C},
    {"a": [A, B, C], "b": C},
    {"a": {"a": A, "b": B}, "b": C},
    [A, B],
    (A, B),
    [(A, B), {"a": C}],
    {"a": A, "b": 2},
    {"a": A, "b": 3},
    {"a": A, "b": 3.5},
    {"a": A[::-1], "b": B},
    {"a": A.astype(np.float32), "b": B},
    {"a": A[:2], "b": B[:2]},
    A,
]


@pytest.mark.fast(2)
def test_each_call_has_its_own_numbers_whatever_the_latest_was() -> None:
    f = ted.function(weighted)
    order = np.random.default_rng(0).integers(len(NESTS), size=400)
    for k in order:
        nest = NESTS[k]
        for _ in range(2):
            found = f(nest)
            np.testing.assert_allclose(found, weighted(nest), rtol=1e-6)


class Number(enum.IntEnum):
    """A key that is equal to a number."""

    ONE = 1


class Text(str):
    """A key that is equal to a text."""


@pytest.mark.parametrize(
    "keys",
    [
        (1, True, 1.0, Number.ONE, np.int64(1)),
        (0.0, -0.0),
        ("a", Text("a")),
        ((1, "a"), (True, "a")),
    ],
)
def test_keys_that_are_equal_and_of_another_type_are_others(keys: tuple[Any, ...]) -> None:
    f = ted.function(lambda nest: {k: [v * 2.0] for k, v in nest.items()})
    for key in (*keys, *keys[::-1]):
        for _ in range(3):
            ((found, values),) = f({key: A}).items()
            assert (type(found), repr(found)) == (type(key), repr(key))
            np.testing.assert_array_equal(values[0], A * 2)


def test_results_come_in_nests_of_their_own() -> None:
    f = ted.function(lambda d: {"sum": d["a"] + d["b"], "parts": (d["a"] * 2, [d["b"] * 3])})
    flat = ted.function(lambda d: {k: v * 2 for k, v in d.items()})
    for _ in range(3):
        found = f({"a": A, "b": B})
        np.testing.assert_array_equal(found["sum"], A + B)
        np.testing.assert_array_equal(found["parts"][0], A * 2)
        np.testing.assert_array_equal(found["parts"][1][0], B * 3)
        assert [*flat({"b": A, "a": B})] == ["b", "a"]


def direct(*arrays: Any) -> tuple[Any, ...]:
    return arrays


@pytest.mark.parametrize(
    ("args", "arrays", "others"),
    [
        (({"a": A, "b": B}, C), [A, B, C], [({"a": A}, C), ({"b": A, "a": B}, C), ([A, B], C)]),
        (([A, (B, C)],), [A, B, C], [((A, (B, C)),), ([A, [B, C]],), ([A, (B,)],), ([A, B, C],)]),
        (([], {"a": A}), [A], [([B], {"a": A}), ({"a": A},), ([], {"a": A}, A)]),
    ],
)
def test_arguments_of_one_form_are_spread_and_others_declined(args, arrays, others) -> None:
    short = short_way(direct, args, arrays)
    assert [id(a) for a in short(*args)] == [id(a) for a in arrays]
    for other in others:
        assert short(*other) is None


def test_arrays_alone_are_handed_on_as_they_are() -> None:
    assert short_way(direct, (A, B), [A, B]) is direct


@pytest.mark.parametrize(
    ("args", "arrays"),
    [
        (({"a": A, "b": 2},), [A]),  # a number of the program, which another call may change
        (({"a": A, "b": None},), [A]),
        (({"a": A, "b": 2.0},), [A, 2.0]),
        (({"a": A, "b": B},), [B, A]),
        ((A,), [A.copy()]),  # what is given is another array, such as a part of it
    ],
)
def test_what_is_no_nest_of_the_arrays_of_the_program_has_no_short_way(args, arrays) -> None:
    assert short_way(direct, args, arrays) is declined
