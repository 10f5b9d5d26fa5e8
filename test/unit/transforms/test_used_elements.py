"""Which elements of a tensor have a slope: masks over the dims that matter, also of recurrences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import ted
from ted.domain import parameters
from ted.ir.dtypes import INDEX, INT64
from ted.ir.equations import System, Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import add, cast, compare, dim, index, land, load, mul, select
from ted.transforms.guarded_producers import narrow_recurrences
from ted.transforms.used_elements import usage, usage_masks
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import (
    ZERO,
    after_start,
    before,
    cumsum_from_the_end,
    equation,
    given,
    history,
    i,
    j,
    rnn,
)

N = 4
a, b, d = given("a", N), given("b", N), given("d", N)
x = given("x", N, N)


def where(data: Tensor, value: Expr, *at: Expr) -> Expr:
    """The value where the data is positive."""
    return select(compare("lt", ZERO, load(data, at)), value, ZERO)


def usage_of(
    tensors: Sequence[Tensor], *outputs: Tensor, inputs: Sequence[Tensor] = (b,), data: Any = ()
) -> list[Any]:
    """The dims of the masks of some tensors and their values; None where there is no mask."""
    found = usage(tensors, System((), outputs).consumers())
    masks = {t: m for t, m in found.items() if m is not None}
    for mask in masks.values():
        mask.tensor.equations = mask.equations
        assert all(e.domain.is_subset(parameters.box(e.extents)) for e in mask.equations)
    results = values(inputs, [m.tensor for m in masks.values()], data)
    seen = {t: (m.dims, v.tolist()) for (t, m), v in zip(masks.items(), results, strict=True)}
    return [seen.get(t) for t in tensors]


def test_a_mask_has_the_dims_that_conditions_are_about() -> None:
    s = defined("s", (N, N), equation((N, N), load(x, [i, j])))
    rows = defined("y", (N, N), equation((N, N), where(b, load(s, [i, j]), i)))
    columns = defined("y", (N, N), equation((N, N), where(b, load(s, [i, j]), j)))
    given_b = [1, 0, 0, 1]
    is_used = [True, False, False, True]
    assert usage_of([s], rows, data=[given_b]) == [((0,), is_used)]
    assert usage_of([s], columns, data=[given_b]) == [((1,), is_used)]
    both = [[m or n for n in is_used] for m in is_used]
    assert usage_of([s], rows, columns, data=[given_b]) == [((0, 1), both)]


def test_a_mask_says_whether_any_point_reads_an_element() -> None:
    s = defined("s", (N,), equation((N,), load(a, [i])))
    y = defined("y", (N, N), equation((N, N), where(x, load(s, [i]), i, j)))
    data = [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    assert usage_of([s], y, inputs=[x], data=[data]) == [((0,), [False, True, False, True])]


def test_a_product_of_matrices_has_a_mask_of_its_rows() -> None:
    s = defined("s", (N, N), equation((N, N), load(x, [i, j])))
    product = mul(load(s, [i, dim(2)]), load(x, [dim(2), j]))
    c = defined("c", (N, N), equation((N, N, N), product, "add", 2))
    y = defined("y", (N, N), equation((N, N), where(b, load(c, [i, j]), i)))
    rows = ((0,), [False, True, True, False])
    assert usage_of([s, c], y, data=[[0, 1, 1, 0]]) == [rows, rows]


flag = given("flag", 1)


@pytest.mark.parametrize(
    ("at", "dims", "is_used"),
    [
        ([i, j], (1,), [True, True, True, False]),
        ([i, add(j, index(1))], (1,), [False, True, True, True]),
        ([i, index(2)], (1,), [False, False, True, False]),
        ([index(2), j], (0, 1), [[k == 2 and n < 3 for n in range(N)] for k in range(N)]),
    ],
)
def test_what_is_read_in_part_has_a_mask_along_that_dim(
    at: list[Expr], dims: tuple[int, ...], is_used: list[Any]
) -> None:
    s = defined("s", (N, N), equation((N, N), load(x, [i, j])))
    part = equation((N, N - 1), where(flag, load(s, at), index(0)))
    y = defined("y", (N, N), part)
    assert usage_of([s], y, inputs=[flag], data=[[1]]) == [(dims, is_used)]


def test_what_is_read_whole_under_one_condition_has_a_mask_without_dims() -> None:
    s = defined("s", (N, N), equation((N, N), load(x, [i, j])))
    y = defined("y", (N, N), equation((N, N), where(flag, load(s, [j, i]), index(0))))
    assert usage_of([s], y, inputs=[flag], data=[[1]]) == [((), True)]
    assert usage_of([s], y, inputs=[flag], data=[[0]]) == [((), False)]


def test_a_diagonal_has_a_mask_along_both_dims() -> None:
    s = defined("s", (N, N), equation((N, N), load(x, [i, j])))
    y = defined("y", (N,), equation((N,), where(flag, load(s, [i, i]), index(0))))
    diagonal = [[k == n for n in range(N)] for k in range(N)]
    assert usage_of([s], y, inputs=[flag], data=[[1]]) == [((0, 1), diagonal)]


def test_a_triangle_is_not_read_alike_along_its_dims() -> None:
    s = defined("s", (N,), equation((N,), load(a, [i])))
    body = where(b, load(s, [j]), i)
    triangle = equation((N, N), body, "add", 1, compare("le", j, i))
    square = equation((N, N), body, "add", 1)
    before_last = [True, True, True, False]
    data = [[0, 0, 1, 0]]
    assert usage_of([s], defined("y", (N,), triangle), data=data) == [((0,), before_last)]
    assert usage_of([s], defined("y", (N,), square), data=data) == [((), True)]


# ------------------------------------------------------------------ recurrences


def running(of: Tensor, name: str = "c") -> Tensor:
    c = history(name, N)
    past = select(after_start(i), load(c, [before(i)]), ZERO)
    c.equations = (equation((N,), add(past, load(of, [i]))),)
    return c


def test_a_step_is_used_where_it_or_a_later_one_is() -> None:
    s = defined("s", (N,), equation((N,), load(a, [i])))
    c = running(s)
    y = defined("y", (N,), equation((N,), where(b, load(c, [i]), i)))
    until = ((0,), [True, True, True, False])
    assert usage_of([s, c], y, data=[[1, 0, 1, 0]]) == [until, until]
    never = ((0,), [False] * N)
    assert usage_of([s, c], y, data=[[0, 0, 0, 0]]) == [never, never]


def test_in_reverse_a_step_is_used_where_it_or_an_earlier_one_is() -> None:
    c = cumsum_from_the_end(N).output
    y = defined("y", (N,), equation((N,), where(b, load(c, [i]), i)))
    assert usage_of([c], y, data=[[0, 1, 0, 1]]) == [((0,), [False, True, True, True])]


@pytest.mark.parametrize("at", [i, index(N - 1)])
def test_a_recurrence_read_at_its_end_has_no_mask(at: Expr) -> None:
    s = defined("s", (N,), equation((N,), load(a, [i])))
    c = running(s)
    last = defined("last", (N,), equation((N,), load(c, [at])))
    y = defined("y", (N,), equation((N,), where(b, load(c, [i]), i)))
    found = usage([s, c], System((), (last, y)).consumers())
    assert found == {s: None, c: None}


def test_a_triangle_of_which_nobody_reads_the_rest_has_no_mask() -> None:
    lower = ted.cholesky(ted.placeholder((N, N), "float64"))
    system = System((), ((lower * lower).node,))
    assert len(masks_of_recurrences(system)) == 2
    assert not masks_of_recurrences(narrow_recurrences(system)[0])


def test_rows_that_data_choose_of_a_triangle_leave_its_rest_unread() -> None:
    on = ted.linalg.slogdet(ted.placeholder((N, N), "float64"))[1]
    system = System((), (on.node,))
    assert masks_of_recurrences(system)
    assert not masks_of_recurrences(narrow_recurrences(system)[0])


def masks_of_recurrences(system: System) -> list[Tensor]:
    consumers = system.consumers()
    asked = [t for t in consumers if t.time is not None and t.dtype.is_float]
    return list(usage_masks(asked, consumers))


def test_steps_after_the_last_one_that_is_read_are_not_used() -> None:
    s = defined("s", (N,), equation((N,), load(a, [i])))
    c = running(s)
    y = defined("y", (2,), equation((2,), load(c, [i])))
    first_two = ((0,), [True, True, False, False])
    assert usage_of([s, c], y, inputs=[]) == [first_two, first_two]


def test_tensors_of_one_step_use_each_other() -> None:
    c, h = history("c", N), history("h", N)
    past = select(after_start(i), load(h, [before(i)]), ZERO)
    c.equations = (equation((N,), add(past, load(a, [i]))),)
    h.equations = (equation((N,), mul(load(c, [i]), load(a, [i]))),)
    body = add(where(b, load(h, [i]), i), where(d, load(c, [i]), i))
    y = defined("y", (N,), equation((N,), body))
    for data, of_c, of_h in [
        ([[0, 1, 0, 0], [0, 0, 0, 0]], [True, True, False, False], [True, True, False, False]),
        ([[0, 0, 0, 0], [0, 0, 1, 0]], [True, True, True, False], [True, True, False, False]),
        ([[1, 0, 0, 0], [0, 1, 0, 0]], [True, True, False, False], [True, False, False, False]),
    ]:
        assert usage_of([c, h], y, inputs=[b, d], data=data) == [((0,), of_c), ((0,), of_h)]


def test_steps_read_at_times_that_are_data() -> None:
    n = Tensor("n", (N,), INT64)
    c = running(a)
    read = load(c, [cast(load(n, [i]), INDEX)])
    y = defined("y", (N,), equation((N,), where(b, read, i)))
    for times, is_used in [
        ([0, 3, 1, 3], [True, True, False, False]),
        ([0, 1, 3, 1], [True, True, True, True]),
    ]:
        found = usage_of([c], y, inputs=[b, n], data=[[1, 0, 1, 0], times])
        assert found == [((0,), is_used)]


@pytest.mark.parametrize(("reverse", "times"), [(False, [9, 9, 0, 9]), (True, [9, 3, 9, 9])])
def test_steps_that_other_steps_read_at_times_that_are_data(
    reverse: bool, times: list[int]
) -> None:
    """The one step that is wanted looks back two steps, past one that nobody uses."""
    n, c = Tensor("n", (N,), INT64), history("c", N, reverse=reverse)
    when = cast(load(n, [i]), INDEX)
    earlier = compare("lt", i, when) if reverse else compare("lt", when, i)
    inside = land(compare("le", index(0), when), compare("lt", when, index(N)))
    past = select(land(inside, earlier), load(c, [when]), ZERO)
    c.equations = (equation((N,), add(load(a, [i]), past)),)
    y = defined("y", (N,), equation((N,), where(b, load(c, [i]), i)))
    wanted = 1 if reverse else 2
    data = [[int(k == wanted) for k in range(N)], times]
    is_used = [k in (wanted, times[wanted]) for k in range(N)]
    assert usage_of([c], y, inputs=[b, n], data=data) == [((0,), is_used)]


def test_a_network_has_a_mask_of_steps_and_rows() -> None:
    network = rnn(steps=3, batch=2, width=5)
    h = network.output
    (a,) = [t for e in h.equations for t in e.sources]
    m = given("m", 3, 2)
    y = defined(
        "y", h.static_shape, equation(h.static_shape, where(m, load(h, [i, j, dim(2)]), i, j))
    )
    data = [[[1, 0], [1, 0], [0, 0]]]
    steps = ((0, 1), [[True, False], [True, False], [False, False]])
    assert usage_of([a, h], y, inputs=[m], data=data) == [steps, steps]


def test_what_is_written_at_data_is_somewhere_in_the_rows_that_are_named() -> None:
    n = Tensor("n", (N,), INT64)
    at = (i, cast(load(n, [j]), INDEX))
    s = defined("s", (N, N), equation((N - 1, N), load(x, [i, j]), "add", write=at))
    y = defined("y", (N, N), equation((N, N), where(b, load(s, [i, j]), i)))
    assert usage_of([s], y, data=[[1, 0, 0, 1]]) == [((0,), [True, False, False, True])]
    z = defined("z", (N - 1, N), equation((N - 1, N), load(s, [i, j])))
    assert usage([s], System((), (y, z)).consumers()) == {s: None}


def test_the_one_element_that_data_name_is_used_where_data_ask_for_it() -> None:
    """The mask is written at data, and so it is a maximum from the first write on."""
    n = Tensor("n", (1,), INT64)
    s = defined("s", (N,), equation((N,), load(a, [i])))
    read = load(s, [cast(load(n, [index(0)]), INDEX)])
    y = defined("y", (), equation((), where(b, read, index(1))))
    for wanted in (True, False):
        found = usage_of([s], y, inputs=[b, n], data=[[0, int(wanted), 0, 0], [2]])
        assert found == [((0,), [False, False, wanted, False])]
