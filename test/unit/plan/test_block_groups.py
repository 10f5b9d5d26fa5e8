"""What can share a loop over rows, and the reasons why other tensors cannot."""

from __future__ import annotations

from typing import Any

import pytest

import ted
from ted.frontend.systems import system_of
from ted.ir.equations import System, Tensor
from ted.plan.block_groups import Apart, Graph, Group, grown

ROWS, COLUMNS = 12, 8


def system(*outputs: Any) -> System:
    return system_of(list(INPUTS), list(outputs))


INPUTS = tuple(
    ted.placeholder(shape, name=name)
    for name, shape in (("x", (ROWS, 5)), ("y", (COLUMNS, 5)), ("g", (ROWS, 3)), ("n", (ROWS,)))
)
X, Y, G, N = INPUTS


def scores() -> Any:
    k = ted.reduce_axis(5)
    return ted.compute((ROWS, COLUMNS), lambda i, j: ted.sum(X[i, k] * Y[j, k], k), name="z")


def large(made: System) -> set[Tensor]:
    return {t for t in made.tensors() if not t.is_input and t.shape[1:] == (COLUMNS,)}


def group(along: int, *outputs: Any, taken: tuple[Group, ...] = ()) -> dict[str, int | None]:
    made = system(*outputs)
    graph = Graph(made, taken, large(made))
    (seed,) = (t for t in made.tensors() if t.name == "z")
    return {t.name: rows for t, rows in grown(graph, seed, along).rows.items()}


def exponentials(z: Any) -> Any:
    m = ted.compute((ROWS,), lambda i: ted.max(z[i, J], J), name="m")
    return ted.compute((ROWS, COLUMNS), lambda i, j: ted.exp(z[i, j] - m[i]), name="p")


J = ted.reduce_axis(COLUMNS)
I = ted.reduce_axis(ROWS)  # noqa: E741


def test_readers_have_rows_or_are_totals() -> None:
    z = scores()
    p = exponentials(z)
    s = ted.compute((ROWS,), lambda i: ted.sum(p[i, J], J), name="s")
    v = ted.compute((COLUMNS, 3), lambda j, c: ted.sum(p[I, j] * G[I, c], I), name="v")
    found = group(0, s, v)
    assert found == {"z": 0, "m": 0, "p": 0, "s": 0, "v": None}
    t = ted.compute((COLUMNS, ROWS), lambda j, i: p[i, j] * 2, name="t")
    assert group(0, t) == {"z": 0, "m": 0, "p": 0, "t": 1}


def test_what_reads_only_small_tensors_of_a_loop_stays_outside() -> None:
    z = scores()
    m = ted.compute((ROWS,), lambda i: ted.max(z[i, J], J), name="m")
    after = ted.compute((ROWS,), lambda i: m[i] * N[i], name="after")
    assert group(0, after) == {"z": 0, "m": 0}


def test_what_lies_between_two_tensors_of_a_loop_is_in_it() -> None:
    z = scores()
    m = ted.compute((ROWS,), lambda i: ted.max(z[i, J], J), name="m")
    shift = ted.compute((ROWS,), lambda i: ted.abs(m[i]) + N[i], name="shift")
    p = ted.compute((ROWS, COLUMNS), lambda i, j: z[i, j] - shift[i], name="p")
    s = ted.compute((ROWS,), lambda i: ted.sum(p[i, J], J), name="s")
    assert group(0, s) == {"z": 0, "m": 0, "p": 0, "shift": 0, "s": 0}


def test_diagonals_and_reads_at_data_are_of_their_row() -> None:
    at = ted.placeholder((ROWS,), "int64", name="at")
    z = scores()
    d = ted.compute((COLUMNS,), lambda i: z[i, i], name="d")
    with pytest.raises(Apart, match=r"d\S+ reads several rows at once, or not all of them"):
        group(0, d)
    picked = ted.compute((ROWS,), lambda i: z[i, at[i]], name="picked")
    made = system_of([*INPUTS, at], [picked])
    (seed,) = (t for t in made.tensors() if t.name == "z")
    assert [t.name for t in grown(Graph(made, (), large(made)), seed, 0).rows] == ["z", "picked"]


def refusals() -> dict[str, tuple[int, Any, str]]:
    z = scores()
    p = exponentials(z)
    m = ted.compute((ROWS,), lambda i: ted.max(z[i, J], J), name="m")
    columns = ted.compute((COLUMNS,), lambda j: ted.max(z[I, j], I), name="columns")
    return {
        "a_total_that_is_read_again": (
            0,
            ted.compute((ROWS, COLUMNS), lambda i, j: z[i, j] - columns[j], name="q"),
            r"q\S* \d+\] reads columns\S+ which is there when the loop is over",
        ),
        "the_other_dim": (1, p, r"p\S+ 8\] reads m\S+ which is there when the loop is over"),
        "other_rows": (
            0,
            ted.compute((ROWS, COLUMNS), lambda i, j: z[i, j] - m[ROWS - 1 - i], name="q"),
            r"q\S+ 8\] reads several rows at once, or not all of them",
        ),
        "a_neighbour": (
            0,
            ted.compute((ROWS - 1,), lambda i: z[i + 1, 0] - z[i, 0], name="steps"),
            r"steps\S+ reads several rows at once, or not all of them",
        ),
        "some_rows": (
            0,
            ted.compute((ROWS - 2,), lambda i: z[i, 0], name="some"),
            r"some\S+ reads several rows at once, or not all of them",
        ),
        "a_position": (
            0,
            ted.argmax(z, axis=0),
            r"joins rows by argmax",
        ),
        "a_recurrence": (
            0,
            ted.cumsum(z, axis=0),
            r"cumsum\[12, 8\] is made step by step along dim 0",
        ),
    }


@pytest.mark.parametrize("name", refusals())
def test_the_reason_is_said(name: str) -> None:
    along, output, reason = refusals()[name]
    with pytest.raises(Apart, match=reason):
        group(along, output)


def test_a_tensor_that_may_be_in_a_loop_is_left_out_where_it_cannot() -> None:
    z = scores()
    other = ted.compute((ROWS, COLUMNS), lambda i, j: Y[j, 0] + X[i, 0], name="other")
    turned = ted.compute((ROWS,), lambda i: other[ROWS - 1 - i, 0], name="turned")
    both = ted.compute(
        (ROWS,), lambda i: ted.sum(z[i, J] * other[i, J] * turned[i], J), name="both"
    )
    # `other` could have rows in the loop, but `turned`, which then lies between, reads others.
    assert group(0, both) == {"z": 0, "both": 0}


def test_groups_are_one_node_each() -> None:
    z = scores()
    a = ted.compute((ROWS,), lambda i: ted.max(z[i, J], J), name="a")
    w = ted.compute((ROWS, COLUMNS), lambda i, j: a[i] + Y[j, 0], name="w")
    c = ted.compute((ROWS,), lambda i: ted.sum(w[i, J] * a[i], J), name="c")
    made = system(c)
    named = {t.name: t for t in made.tensors()}
    graph = Graph(made, (), large(made))
    first = grown(graph, named["z"], 0)
    assert [t.name for t in first.rows] == ["z", "a"]
    second = grown(Graph(made, (first,), large(made)), named["w"], 0)
    assert [t.name for t in second.rows] == ["w", "c"]
    with pytest.raises(Apart, match=r"z.* of another loop"):
        grown(Graph(made, (first,), large(made)), named["z"], 0)


def test_what_asks_for_a_form_is_lowered_as_it_asks() -> None:
    made = system(ted.compute((ROWS,), lambda i: ted.max(scores()[i, J], J), name="m"))
    (seed,) = (t for t in made.tensors() if t.name == "z")
    (equation,) = seed.equations
    object.__setattr__(equation, "wishes", (("ted.form", '{name = "points"}'),))
    with pytest.raises(Apart, match=r"z.* asks to be lowered in a way of its own"):
        grown(Graph(made, (), large(made)), seed, 0)
