"""One reverse sweep over tiny systems: numbers by hand, and what the adjoints look like."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ted.autodiff.override import Override
from ted.autodiff.sweep_order import sweep_order
from ted.autodiff.vjp import active_tensors, vjp
from ted.errors import DerivativeError
from ted.ir.dtypes import BFLOAT16, FLOAT32, FLOAT64, INDEX, INT64
from ted.ir.equations import System, Tensor, operands, topological
from ted.ir.expressions import Expr
from ted.ir.scalar import add, apply, cast, compare, const, dim, index, load, loads, mul, select
from unit.autodiff.systems import defined, gradients
from unit.transforms.recurrences import cumprod, equation, given

i, r = dim(0), dim(1)
ZERO = const(0.0, FLOAT64)
X, Y = given("x", 3), given("y", 3)
x, y = load(X, [i]), load(Y, [i])


def pointwise(name: str, body: Expr) -> Tensor:
    return defined(name, (3,), equation((3,), body))


def test_every_read_adds_to_the_adjoint_where_it_reads() -> None:
    a = given("a", 4)
    z = pointwise("z", mul(load(a, [i]), load(a, [add(i, index(1))])))
    assert gradients([a], z, [[2, 3, 5, 7]]) == [[3, 2 + 2 * 5, 2 * 3 + 3 * 7, 3 * 5]]


def test_adjoints_go_through_chains_and_meet_again() -> None:
    s = pointwise("s", mul(x, y))
    z = pointwise("z", mul(load(s, [i]), x))
    dx, dy = gradients([X, Y], z, [[1, 2, 3], [4, 5, 6]], [1, 1, 2])
    assert dx == [2 * 1 * 4, 2 * 2 * 5, 2 * 2 * 3 * 6]
    assert dy == [1, 4, 2 * 9]


def test_several_outputs_add_up_and_heads_are_adjoints_themselves() -> None:
    u, v = pointwise("u", apply("exp", x)), pointwise("v", mul(x, x))
    heads = [Tensor(name, (3,), FLOAT64) for name in ("du", "dv")]
    found = vjp(System((X,), (u, v)), heads)
    assert found.adjoints[u] is heads[0]
    assert found.adjoints[v] is heads[1]
    assert set(found.summands[X]) == {u, v}
    assert set(found.adjoints[X].equations) == {e for es in found.summands[X].values() for e in es}
    twice = vjp(System((X,), (u, u)), heads).adjoints[u]
    assert twice not in heads
    assert set(operands(twice)) == set(heads)


def test_only_floats_that_depend_on_an_input_have_adjoints() -> None:
    n = Tensor("n", (3,), INT64)
    still = pointwise("still", apply("exp", y))
    number = replace(pointwise("number", cast(x, INT64)), dtype=INT64)
    z = pointwise("z", mul(add(x, cast(load(n, [i]), FLOAT64)), load(still, [i])))
    system = System((X, n), (z, number))
    groups = sweep_order(system, {})
    assert active_tensors(system, groups, {}) == {X, z}
    assert [t for group in groups for t in group][-1] in (z, number)


def test_the_stored_result_is_read_in_place_of_its_body() -> None:
    z = pointwise("z", apply("exp", x))
    read = summands(z)[0].body
    assert {t.attr for t in loads(read)} == {z, HEAD}
    guarded = pointwise("z", select(compare("lt", ZERO, x), apply("exp", x), y))
    assert guarded in {t.attr for t in loads(summands(guarded)[0].body)}
    twice = defined("z", (3,), equation((3,), apply("exp", x)), equation((3,), x, "add"))
    assert twice not in {t.attr for e in summands(twice) for t in loads(e.body)}
    total = defined("z", (1,), equation((1, 3), apply("exp", load(X, [r])), "add", 1))
    (one,) = vjp(System((X,), (total,)), [Tensor("head", (1,), FLOAT64)]).summands[X][total]
    assert total not in {t.attr for t in loads(one.body)}


HEAD = Tensor("head", (3,), FLOAT64)


def summands(z: Tensor) -> list:
    found = vjp(System((X,), (z,)), [HEAD]).summands[X]
    assert set(found) <= {z}
    return found.get(z, [])


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_a_condition_on_what_an_extremum_bounds_reads_the_result(name: str) -> None:
    inf, nan = math.inf, math.nan
    numbers = [-inf, -1.0, -0.0, 0.0, 1.0, inf, nan]
    given_numbers, one = Tensor("x", (7,), FLOAT64), const(0.0, FLOAT64)
    bounded = defined("u", (7,), equation((7,), apply(name, one, load(given_numbers, [i]))))
    head = Tensor("head", (7,), FLOAT64)
    (adjoint,) = vjp(System((given_numbers,), (bounded,)), [head]).adjoints[given_numbers].equations
    assert {read.attr for read in loads(adjoint.body)} == {bounded, head}
    taken = [not n <= 0 if name == "maximum" else not n >= 0 for n in numbers]
    (found,) = gradients([given_numbers], bounded, [numbers], [3.0] * 7)
    assert found == [3.0 if t else 0.0 for t in taken]


def test_a_condition_on_an_extremum_that_may_be_its_argument_still_reads_the_argument() -> None:
    bounded = pointwise("u", apply("maximum", x, ZERO))  # on a tie the first one is taken
    (found,) = gradients([X], bounded, [[-1, 0, 2]], [1, 1, 1])
    assert found == [0, 1, 1]


def test_an_adjoint_visits_only_where_it_can_be_non_zero() -> None:
    z = pointwise("z", select(compare("lt", i, index(1)), x, ZERO))
    (summand,) = summands(z)
    assert summand.domain.count_val().to_python() == 1
    assert (summand.combiner, summand.parallel) == ("add", 0)
    assert gradients([X], z, [[1, 2, 3]]) == [[1, 0, 0]]
    never = pointwise("z", select(compare("lt", i, index(0)), x, add(y, ZERO)))
    assert summands(never) == []


def test_guarded_gradients_are_numbers_where_the_other_side_is_infinite() -> None:
    z = pointwise("z", select(compare("lt", ZERO, x), apply("sqrt", x), mul(x, y)))
    dx, dy = gradients([X, Y], z, [[4, 0, -1], [5, 6, 7]])
    assert (dx, dy) == ([0.25, 12, 21], [0, 0, -3])


def test_sums_of_short_types_are_accumulated_in_the_wider_type() -> None:
    h, one = Tensor("h", (1,), BFLOAT16), const(1.0, BFLOAT16)
    z = Tensor("z", (300,), BFLOAT16, 0, (equation((300,), mul(load(h, [index(0)]), one)),))
    head = Tensor("head", (300,), BFLOAT16)
    adjoint = vjp(System((h,), (z,)), [head]).adjoints[h]
    (wide,) = operands(adjoint)
    assert (adjoint.dtype, wide.dtype) == (BFLOAT16, FLOAT32)
    assert gradients([h], z, [[1]], [1] * 300) == [[300]]  # ones add up to 256 in bfloat16


def test_a_factor_in_the_wider_type_is_not_rounded_before_it_is_summed() -> None:
    h = Tensor("h", (2,), BFLOAT16)
    wide = cast(load(h, [i]), FLOAT32)
    z = Tensor("z", (2,), FLOAT32, 0, (equation((2,), mul(wide, wide)),))
    adjoint = vjp(System((h,), (z,)), [Tensor("head", (2,), FLOAT32)]).adjoints[h]
    (total,) = operands(adjoint)
    assert all(e.body.op != "cast" for e in total.equations)


def test_reads_at_data_write_at_data() -> None:
    n = Tensor("n", (3,), INT64)
    z = pointwise("z", mul(load(X, [cast(load(n, [i]), INDEX)]), y))
    dx, dy = gradients([X, n, Y], z, [[2, 3, 5], [2, 0, 2], [7, 11, 13]])
    assert (dx, dy) == ([22, 0, 7 + 39], [5, 4, 15])


@pytest.mark.parametrize("combiner", ["mul", "argmax", "argmin"])
def test_a_combiner_without_a_derivative_is_refused(combiner: str) -> None:
    z = defined("z", (), equation((3,), x, combiner, 0), fill=1)
    with pytest.raises(DerivativeError, match=rf"z: a combiner in .*, got {combiner}"):
        vjp(System((X,), (z,)), [Tensor("head", (), FLOAT64)])


def doubled(tensor: Tensor, adjoint: Tensor) -> list[Tensor]:
    return [pointwise("two", mul(const(2.0, FLOAT64), load(adjoint, [i])))]


def test_an_override_gives_the_adjoints_of_what_it_names() -> None:
    s = pointwise("s", apply("exp", x))
    z = pointwise("z", mul(load(s, [i]), y))
    overrides = {s: Override((X,), doubled)}
    dx, dy = gradients([X, Y], z, [[0, 0, 0], [4, 5, 6]], overrides=overrides)
    assert (dx, dy) == ([8, 20, 36], [1, 2, 3])
    direct = {z: Override((Y,), lambda _, head: [head])}
    (dy,) = gradients([Y], z, [[4, 5, 6]], overrides=direct)
    assert dy == [1, 2, 3]


def test_an_override_of_the_wrong_shape_or_type_is_refused() -> None:
    z = pointwise("z", mul(x, x))
    for wrong in (Tensor("w", (2,), FLOAT64), Tensor("w", (3,), FLOAT32)):
        override = Override((X,), lambda *_, wrong=wrong: [wrong])
        with pytest.raises(DerivativeError, match="one adjoint of the type of each dependency"):
            vjp(System((X,), (z,)), [HEAD], {z: override})


def test_empty_tensors_add_nothing() -> None:
    nothing = given("nothing", 0)
    z = defined("z", (3,), equation((3,), x), equation((3, 0), load(nothing, [r]), "add", 1))
    found = vjp(System((X, nothing), (z,)), [HEAD])
    assert not any(found.summands[nothing].values())
    assert [len(es) for es in found.summands[X].values()] == [1]


def test_the_adjoint_of_a_recurrence_runs_the_other_way() -> None:
    program = cumprod(3)
    (source,) = program.inputs
    adjoints = vjp(System(program.inputs, (program.output,)), [HEAD]).adjoints
    inner = adjoints[program.output]
    assert inner is not HEAD
    assert (inner.time, inner.reverse) == (0, True)
    assert inner in topological([adjoints[source]])
    assert gradients(program.inputs, program.output, [[2, 3, 5]], [1, 1, 1]) == [
        [1 + 3 + 15, 2 + 10, 6]
    ]


def test_an_input_that_is_an_output_has_the_head() -> None:
    assert gradients([X], X, [[1, 2, 3]], [4, 5, 6]) == [[4, 5, 6]]
    assert math.isclose(
        gradients([X], pointwise("z", apply("sin", x)), [[0, 1, 2]], [1, 0, 0])[0][0], 1
    )
