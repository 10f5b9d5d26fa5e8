"""Affine accesses that leave their tensors are refused where they are written, and only those."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ted
from ted.errors import FrontendError

A = ted.placeholder((4, 5), "float64", name="A")
V = ted.placeholder((6,), "float64", name="V")
N = ted.size("n", min=3)
S = ted.placeholder((N, 2), "float64", name="S")
K = ted.reduce_axis(7, name="k")


def _slid(lower: int) -> ted.Tensor:
    k = ted.reduce_axis((lower, 3), name="k")
    return ted.compute((4,), lambda i: ted.sum(V[i + k], axis=k))


REFUSED = {
    "dim": (lambda: ted.compute((5,), lambda i: A[i, 0]), r"index i in \[0, 4\], tensor A has"),
    "number": (lambda: ted.compute((2,), lambda i: A[i, 5]), r"subscript 1: must be in \[-5, 5\)"),
    "below": (lambda: ted.compute((4,), lambda i: A[i - 1, 0]), r"i - 1 in \[-1, 2\].* at i=0"),
    "guard": (
        lambda: ted.compute((9,), lambda i: ted.where(i < 7, V[i], 0)), r"in \[0, 6\].* at i=6",
    ),
    "other_branch": (lambda: ted.compute((9,), lambda i: ted.where(i < 5, 0, V[i])), "at i=6"),
    "guard_and_data": (
        lambda: ted.compute((6,), lambda i: ted.where((i < 5) & (V[i] > 0), V[i + 2], 0)), "i=4",
    ),
    "reduction": (lambda: ted.compute((), lambda: ted.sum(V[K], axis=K)), "sum: .* at k=6"),
    "condition": (
        lambda: ted.compute((2,), lambda i: ted.max(V[K], axis=K, where=i <= K)), "max: .*, k=6",
    ),
    "nested": (
        lambda: ted.compute((2,), lambda i: ted.exp(ted.sum(V[K + i], axis=K))), "i=0, k=6",
    ),
    "start": (lambda: ted.compute((9,), lambda i: ted.sum(V[K % 6], axis=K, init=V[i])), "i=6"),
    "lower_bound": (lambda: _slid(-1), r"in \[-1, 5\]"),
    "recurrence": (
        lambda: ted.recurrence((7,), lambda h, t: ted.where(t > 0, h[t - 1], 0.0) + V[t], "f8"),
        "first at t=6",
    ),
    "history": (
        lambda: ted.recurrence((5,), lambda h, t: h[t - 1] + V[t], "float64"), r"h uses .* t=0",
    ),
    "map": (lambda: V[ted.arange(4) * 2], r"index i\*2 in \[0, 6\]"),
    "scatter": (
        lambda: ted.scatter((6,), ted.arange(4) * 2, V[:4], combine="add"), r"write uses .* 6",
    ),
    "division": (lambda: ted.compute((9,), lambda i: V[4 * (i // 4) + i % 4]), "at i=6"),
    "size": (lambda: ted.compute((N,), lambda i: S[i + 1, 0]), "has extent n .* for n = 3; .*min="),
    "size_number": (lambda: ted.compute((2,), lambda i: S[i + 2, 0]), "for n = 3"),
    "larger_size": (lambda: ted.compute((N + 1,), lambda i: S[i, 0]), "first at i=3 for n = 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_access_outside_is_refused_where_it_is_written(name: str) -> None:
    written, message = REFUSED[name]
    with pytest.raises(FrontendError, match=message) as caught:
        written()
    assert "test_index_bounds.py:" in str(caught.value)


ACCEPTED = {
    "guarded": lambda: ted.compute((9,), lambda i: ted.where(i < 6, V[i], 0)),
    "padded": lambda: ted.compute((8,), lambda i: ted.where((i >= 1) & (i < 7), V[i - 1], 0)),
    "not": lambda: ted.compute((9,), lambda i: ted.where(~(i >= 6), V[i], 0)),
    "triangle": lambda: ted.compute((9, 9), lambda i, j: ted.where(i + j < 6, V[i + j], 0)),
    "clamped": lambda: ted.compute((9,), lambda i: V[ted.minimum(i, 5)]),
    "condition": lambda: ted.compute((2,), lambda i: ted.max(V[K], axis=K, where=K + i < 6)),
    "no_point": lambda: ted.compute((0,), lambda i: V[i + 9]),
    "no_element": lambda: ted.compute((3,), lambda i: ted.where(i > 5, V[i + 9], 0)),
    "data": lambda: ted.compute((6,), lambda i: A[ted.cast(V[i], "int64"), 0]),
    "size": lambda: ted.compute((N - 1,), lambda i: S[i + 1, 1]),
    "padded_size": lambda: ted.compute((N + 1,), lambda i: ted.where(i < N, S[i, 0], 0)),
    "promised": lambda: ted.compute((3,), lambda i: S[i, 0]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_access_inside_is_written(name: str) -> None:
    assert isinstance(ACCEPTED[name](), ted.Tensor)


AFFINE = st.tuples(*[st.integers(-2, 2)] * 2, st.integers(-3, 6), st.sampled_from([1, 2, 3]))


@settings(max_examples=150, deadline=None)
@given(AFFINE, AFFINE, st.integers(1, 4), st.integers(1, 4), st.integers(1, 7), st.booleans())
def test_what_is_refused_is_what_enumeration_finds(read, test, m, n, extent, guarded) -> None:
    source = ted.placeholder((extent,), "float64", name="x")

    def at(row, i, j):
        a, b, c, by = row
        return (a * i + b * j + c) // by

    def element(i, j):
        value = source[at(read, i, j)]
        return ted.where(at(test, i, j) >= 0, value, 0) if guarded else value

    points = itertools.product(range(m), range(n))
    used = [p for p in points if not guarded or at(test, *p) >= 0]
    outside = [p for p in used if not 0 <= at(read, *p) < extent]
    if not outside:
        ted.compute((m, n), element)
        return
    i, j = outside[0]
    with pytest.raises(FrontendError, match=f"first at i={i}, j={j} "):
        ted.compute((m, n), element)


@pytest.mark.parametrize("extent", [3, 4])
def test_a_program_with_all_reads_inside_is_as_before(extent: int) -> None:
    x = ted.placeholder((extent,), "float64", name="x")
    y = ted.compute((3,), lambda i: ted.where(i > 0, x[i - 1], 0) + x[i])
    values = np.arange(1.0, extent + 1)
    np.testing.assert_array_equal(ted.compile([x], y)(values), [1, 3, 5])
