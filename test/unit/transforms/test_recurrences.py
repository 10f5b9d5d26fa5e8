"""Recurrences through the interpreter and every transform: values, gradients, work, order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ted.ir.dtypes import FLOAT16, FLOAT64, INDEX, INT64
from ted.ir.equations import System, Tensor, components, is_recurrence, recurrent_tensors
from ted.ir.from_ops import from_module
from ted.ir.scalar import (
    add,
    apply,
    cast,
    compare,
    const,
    floordiv,
    index,
    load,
    mul,
    select,
)
from ted.ir.to_ops import to_module
from ted.testing.interpreter import Counts, interpret
from ted.testing.tracing import interpreted, module_of
from ted.transforms import gradient
from ted.transforms.ted_check_bounds import violations
from ted.transforms.ted_fuse_pointwise import fuse_pointwise
from ted.transforms.ted_inline_pointwise import inline_pointwise
from ted.transforms.ted_report_gradient import report_function
from ted.transforms.ted_scatter_to_gather import scatter_to_gather
from ted.transforms.ted_simplify import simplify
from ted.transforms.ted_split_dims import split_dims
from unit.transforms.recurrences import (
    PROGRAMS,
    Array,
    Recurrence,
    before,
    cumsum,
    equation,
    given,
    history,
    i,
    j,
    lstm,
    rnn,
    triangular_solve,
)

EPS = float(np.finfo(np.float64).eps)
STEP = EPS ** (1 / 3)  # of a central difference: truncation and rounding are both about STEP ** 2
every_program = pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
Program = Callable[[], Recurrence]


def head_of(program: Recurrence) -> Tensor:
    return Tensor("dy", program.output.shape, FLOAT64)


def first_order(program: Recurrence) -> tuple[Tensor, tuple[Tensor, ...]]:
    head = head_of(program)
    return head, gradients_of(program, head)


def gradients_of(program: Recurrence, head: Tensor) -> tuple[Tensor, ...]:
    return gradient.differentiate([program.output], program.inputs, [head]).gradients


def random_like(arrays: Sequence[Array], seed: int) -> list[Array]:
    random = np.random.default_rng(seed)
    return [random.standard_normal(a.shape) for a in arrays]


def inner(xs: Sequence[Array], ys: Sequence[Array]) -> float:
    return sum(float((x * y).sum()) for x, y in zip(xs, ys, strict=True))


def slope(f: Callable[..., Sequence[Array]], at: Sequence[Array], along: Sequence[Array]) -> Any:
    """The directional derivative by central differences."""
    up = f(*(x + STEP * v for x, v in zip(at, along, strict=True)))
    down = f(*(x - STEP * v for x, v in zip(at, along, strict=True)))
    return [(a - b) / (2 * STEP) for a, b in zip(up, down, strict=True)]


@every_program
def test_values_are_those_of_numpy(make: Program) -> None:
    program = make()
    arrays = program.arrays()
    (found,) = interpreted(program.inputs, [program.output])(*arrays)
    np.testing.assert_allclose(found, program.reference(*arrays), rtol=64 * EPS, atol=64 * EPS)


@every_program
def test_gradients_agree_with_differences(make: Program) -> None:
    program = make()
    arrays = program.arrays()
    head, gradients = first_order(program)
    (dy,) = random_like([program.reference(*arrays)], 1)
    found = interpreted((*program.inputs, head), gradients)(*arrays, dy)
    along = random_like(arrays, 2)
    moved = slope(lambda *xs: [program.reference(*xs)], arrays, along)
    assert inner(found, along) == pytest.approx(inner(moved, [dy]), rel=1e-7, abs=1e-7)


@pytest.mark.fast(1)
@every_program
def test_second_gradients_agree_with_differences_of_the_first(make: Program) -> None:
    program = make()
    head, gradients = first_order(program)
    inputs = (*program.inputs, head)
    heads = [Tensor(f"w{n}", t.shape, FLOAT64) for n, t in enumerate(gradients)]
    second = gradient.differentiate(list(gradients), list(inputs), heads).gradients
    arrays = [*program.arrays(), *random_like([np.zeros(head.shape)], 1)]
    weights, along = random_like(arrays[:-1], 2), random_like(arrays, 3)
    found = interpreted((*inputs, *heads), second)(*arrays, *weights)
    moved = slope(interpreted(inputs, gradients), arrays, along)
    assert inner(found, along) == pytest.approx(inner(moved, weights), rel=1e-7, abs=1e-7)


def test_gradients_of_a_cell_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    program = lstm(steps=3)
    arrays = program.arrays()
    head, gradients = first_order(program)
    found = interpreted((*program.inputs, head), gradients)(*arrays, np.ones(head.shape))
    x, wx, wh = (torch.tensor(a, requires_grad=True) for a in arrays)
    cell = hidden = torch.zeros(2, 2, dtype=torch.float64)
    total = torch.zeros((), dtype=torch.float64)
    for row in x:
        gi, gf, gc, go = torch.split(row @ wx + hidden @ wh, 2, dim=1)
        cell = torch.sigmoid(gf) * cell + torch.sigmoid(gi) * torch.tanh(gc)
        hidden = torch.sigmoid(go) * torch.tanh(cell)
        total = total + hidden.sum()
    total.backward()
    for ours, theirs in zip(found, (x, wx, wh), strict=True):
        np.testing.assert_allclose(ours, theirs.grad.numpy(), rtol=256 * EPS, atol=256 * EPS)


# ------------------------------------------------------------------ structure


def recurrences(roots: Sequence[Tensor]) -> list[set[str]]:
    return [{t.name for t in group} for group in components(roots) if is_recurrence(group)]


def test_the_weight_gradients_of_a_network_stand_outside_the_recurrence() -> None:
    _, (dx, dwx, dwh) = first_order(rnn())
    assert recurrences([dx, dwx, dwh]) == [{"a", "h"}, {"da", "dh"}]
    assert not recurrent_tensors([dx, dwx, dwh]) & {dx, dwx, dwh}
    (sums,) = dwh.equations
    assert sums.extents == (3, 3, 3, 2), "a contraction over time, but for its start, and batch"


def test_the_adjoint_of_a_recurrence_runs_the_other_way() -> None:
    _, gradients = first_order(triangular_solve())
    recurrent = recurrent_tensors(gradients)
    assert {t.reverse for t in recurrent if t.name in ("s", "y")} == {False}
    assert {t.reverse for t in recurrent if t.name in ("ds", "dy")} == {True}


@every_program
def test_gradients_gather_and_count_what_they_execute(make: Program) -> None:
    program = make()
    head, gradients = first_order(program)
    module = module_of((*program.inputs, head), (program.output, *gradients))
    report, counts = report_function(module, results=1), Counts()
    interpret(module, [*program.arrays(), np.ones(head.shape)], counts=counts)
    assert report.total == counts.total
    assert not report.scatters
    assert all(e.disjoint for e in report.equations)
    assert any(e.recurrent for e in report.equations)


@every_program
def test_no_step_of_a_gradient_reads_the_future(make: Program) -> None:
    program = make()
    head, gradients = first_order(program)
    module = module_of((*program.inputs, head), (program.output, *gradients))
    with module.context:
        assert list(violations(module)) == []


@pytest.mark.fast(3)
@every_program
def test_gradients_survive_the_way_to_ops_and_back(make: Program) -> None:
    program = make()
    head, gradients = first_order(program)
    module = module_of((*program.inputs, head), (program.output, *gradients))
    again = to_module(from_module(module))
    assert str(to_module(from_module(again))) == str(again)
    arrays = [*program.arrays(), np.ones(head.shape)]
    for one, other in zip(interpret(module, arrays), interpret(again, arrays), strict=True):
        np.testing.assert_array_equal(one, other)


TRANSFORMS = {
    f.__name__: f
    for f in (inline_pointwise, split_dims, fuse_pointwise, scatter_to_gather, simplify)
}


@pytest.mark.fast(4)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@every_program
def test_a_transform_keeps_the_values(make: Program, transform: Callable[[System], Any]) -> None:
    program = make()
    head, gradients = first_order(program)
    system = System((*program.inputs, head), (program.output, *gradients))
    after, _ = transform(system)
    module = module_of(after.inputs, after.outputs)
    with module.context:
        assert list(violations(module)) == []
    arrays = [*program.arrays(), np.ones(head.shape)]
    before = interpreted(system.inputs, system.outputs)(*arrays)
    for one, other in zip(interpret(module, arrays), before, strict=True):
        np.testing.assert_allclose(one, other, rtol=16 * EPS, atol=16 * EPS)


# ------------------------------------------------------------------ each transform's own care


def test_a_member_of_a_recurrence_is_not_inlined_but_takes_in_others() -> None:
    program = cumsum()
    (x,), c = program.inputs, program.output
    scaled = Tensor("s", x.shape, FLOAT64, 0)
    scaled.equations = (equation(x.shape, mul(load(x, [i]), const(3.0, FLOAT64))),)
    c.equations = (equation(c.shape, add(load(scaled, [i]), _past(c))),)
    twice = Tensor("t", c.shape, FLOAT64, 0)
    twice.equations = (equation(c.shape, mul(load(c, [i]), const(2.0, FLOAT64))),)
    after, _ = fuse_pointwise(System((x,), (twice,)))
    (inside,) = [t for t in after.tensors() if t.name == "c"]
    assert {t.name for t in after.tensors()} == {"x", "c", "t"}
    assert {o.name for o in after.consumers() if inside in after.consumers()[o]} == {"x", "c"}


def _past(c: Tensor) -> Any:
    return select(compare("lt", index(0), i), load(c, [before(i)]), const(0.0, FLOAT64))


def test_steps_are_not_split() -> None:
    x = given("x", 3, 2)
    c = history("c", 6, 2)
    row = load(x, [floordiv(i, index(2)), j])
    past = select(compare("lt", index(0), i), load(c, [before(i), j]), const(0.0, FLOAT64))
    c.equations = (equation((6, 2), add(past, row)),)
    after, _ = split_dims(System((x,), (c,)))
    assert after.outputs == (c,)
    c.equations = (equation((6, 2), row),)
    after, _ = split_dims(System((x,), (c,)))
    assert after.outputs[0].equations[0].extents == (3, 2, 2)


def test_equal_members_of_a_recurrence_become_one() -> None:
    x = given("x", 5)
    one, other, total = history("p", 5), history("q", 5), history("t", 5)
    for tensor in (one, other):
        body = apply("sin", add(load(x, [i]), _past(total)))
        tensor.equations = (equation((5,), body),)
    total.equations = (equation((5,), add(load(one, [i]), load(other, [i]))),)
    after, became = simplify(System((x,), (total,)))
    assert became[one] is became[other]
    assert recurrences(after.outputs) == [{"p", "t"}]
    array = np.random.default_rng(0).standard_normal(5)
    before = interpreted([x], [total])(array)
    np.testing.assert_array_equal(interpreted([x], after.outputs)(array), before)


def test_a_copy_inside_a_recurrence_is_read_through() -> None:
    x = given("x", 5)
    sums, copy = history("s", 5), history("c", 5)
    sums.equations = (equation((5,), add(load(x, [i]), _past(copy))),)
    copy.equations = (equation((5,), load(sums, [i])),)
    result = Tensor("r", (5,), FLOAT64, 0)
    result.equations = (equation((5,), apply("sin", load(copy, [i]))),)
    after, became = simplify(System((x,), (result,)))
    assert became[copy] is became[sums]
    assert recurrences(after.outputs) == [{"s"}]
    array = np.random.default_rng(0).standard_normal(5)
    np.testing.assert_array_equal(
        interpreted([x], after.outputs)(array), np.sin([np.cumsum(array)])
    )


# ------------------------------------------------------------------ other inputs and outputs


def test_past_states_at_computed_places_get_a_scatter_in_each_step() -> None:
    x, h = given("x", 4, 3), history("h", 4, 3)
    places = Tensor("at", (3,), INT64)
    past = load(h, [before(i), cast(load(places, [j]), INDEX)])
    past = select(compare("lt", index(0), i), past, const(0.0, FLOAT64))
    h.equations = (equation((4, 3), apply("sin", add(load(x, [i, j]), past))),)
    head = given("dh", 4, 3)
    (dx,) = gradient.differentiate([h], [x], [head]).gradients
    at = np.array([2, 2, 0])

    def reference(x: Array) -> Array:
        states = [np.sin(x[0])]
        for row in x[1:]:
            states.append(np.sin(row + states[-1][at]))
        return np.stack(states)

    array, dh, along = random_like([np.zeros((4, 3))] * 3, 1)
    found, gradients = interpreted((x, places, head), (h, dx))(array, at, dh)
    np.testing.assert_allclose(found, reference(array), rtol=EPS)
    moved = slope(lambda one: [reference(one)], [array], [along])
    assert inner([gradients], [along]) == pytest.approx(inner(moved, [dh]), rel=1e-7)


def test_half_precision_adjoints_are_rounded_once_a_step() -> None:
    x, c = Tensor("x", (5,), FLOAT16), Tensor("c", (5,), FLOAT16, 0, time=0)
    past = select(compare("lt", index(0), i), load(c, [before(i)]), const(0.0, FLOAT16))
    c.equations = (equation((5,), mul(add(past, const(1.0, FLOAT16)), load(x, [i]))),)
    head = Tensor("dc", (5,), FLOAT16)
    (dx,) = gradient.differentiate([c], [x], [head]).gradients
    assert {"dc", "dc_wide"} in recurrences([dx])
    array = np.linspace(0.5, 1.5, 5).astype(np.float16)
    (found,) = interpreted([x, head], [dx])(array, np.ones(5, np.float16))
    exact, adjoint, states = array.astype(np.float64), np.ones(5), [0.0]
    for value in exact:
        states.append((states[-1] + 1) * value)
    for t in (3, 2, 1, 0):
        adjoint[t] += adjoint[t + 1] * exact[t + 1]
    wanted = adjoint * (np.array(states[:-1]) + 1)
    np.testing.assert_allclose(found, wanted, rtol=8 * float(np.finfo(np.float16).eps))


def test_all_states_and_the_last_one_may_be_outputs_together() -> None:
    program = rnn()
    states = program.output
    last = Tensor("last", (2, 3), FLOAT64, 0)
    last.equations = (equation((2, 3), load(states, [index(3), i, j])),)
    heads = [given("g", *states.shape), given("gl", 2, 3)]
    gradients = gradient.differentiate([states, last], program.inputs, heads).gradients
    arrays = program.arrays()
    g, gl = random_like([np.zeros(states.shape), np.zeros((2, 3))], 1)
    found = interpreted((*program.inputs, *heads), gradients)(*arrays, g, gl)
    alone = interpreted((*program.inputs, heads[0]), gradients_of(program, heads[0]))
    g[3] += gl
    for one, other in zip(found, alone(*arrays, g), strict=True):
        np.testing.assert_allclose(one, other, rtol=64 * EPS, atol=64 * EPS)


@every_program
def test_tangents_run_along_and_agree_with_differences(make: Program) -> None:
    program = make()
    moves = [Tensor(f"{t.name}_dot", t.shape, FLOAT64) for t in program.inputs]
    (tangent,) = gradient.push_forward([program.output], program.inputs, moves).gradients
    arrays = program.arrays()
    along = random_like(arrays, 1)
    (found,) = interpreted((*program.inputs, *moves), [tangent])(*arrays, *along)
    (wanted,) = slope(lambda *xs: [program.reference(*xs)], arrays, along)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7)
    directions = {t.reverse for t in recurrent_tensors([program.output])}
    assert {t.reverse for t in recurrent_tensors([tangent])} <= directions
