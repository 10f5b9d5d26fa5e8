"""Which triangles are cut into strips, and that programs of strips are what they were."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ted
from support.same_values import check_same_values
from ted import nn
from ted.frontend.systems import system_of
from ted.ir.equations import System, topological
from ted.transforms.ted_cut_strips import STRIPS, cut_strips

N, WIDTH = 32, 2  # strips of 8 rows, as many as registers hold


def scores(n: int, m: int, reaches: Callable[..., object]) -> tuple[list[ted.Tensor], ted.Tensor]:
    """A product over a part of a box, of keys and queries."""
    q = ted.placeholder((n, WIDTH), "float64", name="q")
    k = ted.placeholder((m, WIDTH), "float64", name="k")
    r = ted.reduce_axis(WIDTH, "r")
    s = ted.compute(
        (n, m), lambda i, j: ted.sum(q[i, r] * k[j, r], axis=r, where=reaches(i, j)), name="s"
    )
    return [q, k], s


def mixed(s: ted.Tensor, v: ted.Tensor, reaches: Callable[..., object]) -> ted.Tensor:
    """What the rows of a triangle weight."""
    j = ted.reduce_axis(s.shape[1], "j")
    return ted.compute(
        (s.shape[0], v.shape[1]),
        lambda i, e: ted.sum(s[i, j] * v[j, e], axis=j, where=reaches(i, j)),
        name="o",
    )


def best(s: ted.Tensor) -> ted.Tensor:
    """Which element of a row is the greatest, up to the diagonal."""
    j = ted.reduce_axis(s.shape[1], "j")
    return ted.compute((N,), lambda i: ted.argmax(s[i, j], axis=j, where=j <= i), name="best")


def lower(i: object, j: object) -> object:
    """At and below the diagonal."""
    return j <= i  # type: ignore[operator]


def checked(system: System) -> list[tuple[int, ...]]:
    """The shapes of what is held after cutting; values are what they were."""
    after, _ = cut_strips(system, few=1)
    check_same_values(system, after, 1e-12)
    held = [t for t in topological(after.outputs) if t.equations and t not in after.outputs]
    return [t.static_shape for t in held if len(t.shape) == 2]


@pytest.mark.parametrize(
    ("reaches", "widths"),
    [
        (lower, [8, 16, 24, 32]),
        (lambda i, j: j < i, [7, 15, 23, 31]),
        (lambda i, j: j >= i, [32, 24, 16, 8]),
        (lambda i, j: (j <= i) & (j > i - 4), [8, 11, 11, 11]),
    ],
)
def test_a_strip_is_as_wide_as_what_is_read_of_its_rows(reaches, widths):
    inputs, s = scores(N, N, reaches)
    shapes = checked(system_of(inputs, [mixed(s, inputs[1], reaches)]))
    assert [shape[1] for shape in shapes] == widths


def test_strips_are_few_and_of_full_registers():
    inputs, s = scores(120, 120, lower)
    after, _ = cut_strips(system_of(inputs, [mixed(s, inputs[1], lower)]), few=1)
    shapes = [t.static_shape for t in topological(after.outputs) if t.name == "s"]
    assert shapes == [(32, 32), (32, 64), (32, 96), (24, 120)]
    assert len(shapes) == STRIPS


def test_rows_of_which_nothing_is_read_are_computed_all_the_same():
    inputs, s = scores(N, N, lower)
    o = ted.compute(
        (N,), lambda i: ted.where(i >= 5, s[i, ted.maximum(i - 5, 0)], 3.0), name="late"
    )
    assert checked(system_of(inputs, [o])) == [(3, 3), (8, 8), (8, 8), (8, 8)]


def test_what_is_between_products_is_cut_with_them():
    q = ted.placeholder((N, WIDTH), "float64", name="q")
    o = nn.attention(q, q, q, causal=True)
    shapes = checked(system_of([q], [o]))
    assert (N, N) not in shapes
    assert {(8, 8), (8, 16), (8, WIDTH)} <= {*shapes}


@pytest.mark.parametrize("m", [N, N + 5])
def test_gradients_are_cut_too(m: int):
    q, v = (ted.placeholder((n, WIDTH), "float64", name=x) for n, x in ((N, "q"), (m, "v")))
    o = nn.attention(q, v, v, causal=True)
    dq, dv = ted.differentiate(ted.sum(o * o), [q, v])
    (ddq,) = ted.differentiate(ted.sum(dq * dq) + ted.sum(dv * dv * dv), [q])
    assert (N, m) not in checked(system_of([q, v], [dq, dv, ddq]))


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(lambda s, k: [mixed(s, k, lower), ted.sum(s)], id="all of it is read"),
        pytest.param(lambda s, k: [mixed(s, k, lower), s * s.T], id="across"),
        pytest.param(lambda s, k: [mixed(s, k, lower), best(s)], id="numbers of points"),
    ],
)
def test_what_is_read_in_another_way_stays_whole(what):
    inputs, s = scores(N, N, lower)
    assert (N, N) in checked(system_of(inputs, what(s, inputs[1])))


def test_what_a_sum_reads_outside_of_its_triangle_has_to_be_in_the_strips():
    offset = N - 4
    inputs, s = scores(N, N + offset, lambda i, j: j <= i + offset)
    v = ted.placeholder((offset + 1, WIDTH), "float64", name="v")
    r = ted.reduce_axis(WIDTH, "r")
    t = ted.compute(
        (N, offset + 1),
        lambda i, j: ted.sum(s[i, i - j + offset] * v[j, r], axis=r, where=lower(i, j)),
        name="t",
    )
    shapes = checked(system_of([*inputs, v], [mixed(t, v, lower)]))
    assert shapes[:2] == [(8, 8), (8, 8)]  # of s and t; t at j > i would read s in front of it


def test_maxima_of_rows_are_those_of_the_triangle():
    inputs, s = scores(N, N, lower)
    j = ted.reduce_axis(N, "j")
    top = ted.compute((N,), lambda i: ted.max(s[i, j] - 100.0, axis=j, where=j <= i), name="top")
    o = ted.compute(
        (N, WIDTH),
        lambda i, e: ted.sum(s[i, j] * top[i] * inputs[1][j, e], axis=j, where=j <= i),
        name="o",
    )
    system = system_of(inputs, [o])
    assert (N, N) not in checked(system)
    after, _ = cut_strips(system, few=1)
    assert [t.shape for t in topological(after.outputs) if t.name == "top"] == [(8,)] * 4


def test_small_products_stay_whole():
    inputs, s = scores(N, N, lower)
    system = system_of(inputs, [mixed(s, inputs[1], lower)])
    assert cut_strips(system)[0] is system


def test_a_result_stays_whole():
    inputs, s = scores(N, N, lower)
    assert checked(system_of(inputs, [mixed(s, inputs[1], lower), s])) == []


def test_rows_that_see_nothing_give_what_they_gave():
    q, v = (ted.placeholder((n, WIDTH), "float64", name=x) for n, x in ((N, "q"), (N - 3, "v")))
    checked(system_of([q, v], [nn.attention(q, v, v, causal=True)]))


def test_what_steps_of_a_recurrence_read_stays_whole():
    inputs, s = scores(N, N, lower)
    total = ted.cumsum(ted.tril(s), axis=0)
    assert (N, N) in checked(system_of(inputs, [mixed(s, inputs[1], lower), total[N - 1]]))
