"""Which pieces of a tensor are joined, and the equations that they become."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import ted
from support.same_values import check_same_values
from ted.domain import sets
from ted.frontend.systems import system_of
from ted.ir.affine import condition_set
from ted.ir.dtypes import FLOAT64, INDEX
from ted.ir.equations import Equation, System, Tensor
from ted.ir.expressions import postorder
from ted.ir.printing import format_tensor
from ted.ir.scalar import add, apply, cast, compare, const, dim, index, load, mod, mul
from ted.transforms.ted_fuse_pointwise import fuse_pointwise
from ted.transforms.ted_join_pieces import MAX_NODES, join_pieces
from unit.transforms.recurrences import cumsum


def gradient(x: ted.Tensor, y: ted.Tensor) -> System:
    """The program of dy -> dx."""
    dy = ted.placeholder(y.shape, "float64", name="dy")
    (dx,) = ted.differentiate(y, [x], head=dy)
    return system_of([x, dy], [dx])


def joined_output(system: System) -> Tensor:
    """The tensor after joining, which has the values of that before."""
    after, _ = join_pieces(system)
    check_same_values(system, after)
    (output,) = after.outputs
    return output


def joined(system: System) -> list[str]:
    """The equations after joining."""
    return [line.strip() for line in format_tensor(joined_output(system)).splitlines()[1:]]


def line(n: int, *shifts: int) -> System:
    """The gradient of a sum of slices."""
    x = ted.placeholder((n,), "float64", name="x")
    extent = n - max(shifts)
    y = ted.compute((extent,), lambda i: sum((x[i + s] * (s + 2.0) for s in shifts), 0.0), name="y")
    return gradient(x, y)


def test_shifted_pieces_become_one_equation_each_under_its_condition() -> None:
    assert joined(line(12, 0, 1)) == [
        "dx[i] = where(0 <= 10 - i, dy[i]*2, 0) + where(0 <= i - 1, dy[i - 1]*3, 0)"
    ]


def test_pieces_are_joined_if_half_of_the_box_around_them_has_all() -> None:
    assert len(joined(line(12, 0, 3))) == 1
    assert len(joined(line(12, 0, 4))) == 2
    assert len(joined(line(12, 0, 1, 5))) == 2
    assert len(joined(line(3, 0, 1))) == 2
    assert len(joined(line(2, 0, 1))) == 2


def test_pieces_of_a_lattice_are_joined_and_other_lattices_stay_apart() -> None:
    x = ted.placeholder((21,), "float64", name="x")
    y = ted.compute((9,), lambda i: x[2 * i] + x[2 * i + 4] * 2.0 - x[2 * i + 1] * 3.0)
    first, second = joined(gradient(x, y))
    assert first.startswith("dx[i*2] = where(")
    assert first.endswith("for i < 11")
    assert second == "dx[i*2 + 1] = -(dy[i]*3)  for i < 9" or "dx[i*2 + 1]" in second


def test_pieces_that_run_backwards_or_across_are_joined() -> None:
    x = ted.placeholder((9, 9), "float64", name="x")
    y = ted.compute((8, 9), lambda i, j: x[i, j] * 2.0 + x[8 - i, j] + x[j, i + 1], name="y")
    (equation,) = joined(gradient(x, y))
    assert "dy[8 - i, j]" in equation
    assert "dy[j - 1, i]" in equation


X = Tensor("x", (12,), FLOAT64)
Y = Tensor("y", (12,), FLOAT64)


def piece(shift: int, extent: int = 10, source: Tensor = X, **changes: Any) -> Equation:
    body = changes.pop("body", load(source, [dim(0)]))
    write = (add(dim(0), index(shift)),)
    box = sets.box((extent,))
    return replace(Equation((extent,), 1, box, write, "add", body), **changes)


def count(*equations: Equation, fill: float | None = 0) -> int:
    """How many equations are left of a tensor of twelve elements."""
    tensor = Tensor("T", (12,), FLOAT64, fill, equations)
    return len(joined_output(System((X, Y), (tensor,))).equations)


HOLES = sets.box((10,)).subtract(sets.bounding_box([(4, 4)]))
EVERY_THIRD = condition_set(compare("eq", mod(dim(0), index(3)), index(0)), sets.box((10,)))


def test_subscripts_that_are_numbers_are_dims_of_one_element() -> None:
    pieces = (replace(piece(k), write=(index(0), add(dim(0), index(k)))) for k in (0, 2))
    tensor = Tensor("T", (1, 12), FLOAT64, 0, tuple(pieces))
    (equation,) = joined_output(System((X,), (tensor,))).equations
    assert (equation.extents, equation.covers((1, 12))) == ((1, 12), True)


def test_what_is_no_sum_of_maps_stays() -> None:
    assert count(piece(0), piece(2)) == 1
    assert count(piece(0), piece(2), fill=3) == 2
    assert count(piece(0, combiner="max"), piece(2, combiner="max")) == 2
    assert count(piece(0), piece(2, combiner="mul")) == 2
    assert count(piece(0), piece(2, wishes=(("ted.form", '{name = "points"}'),))) == 2
    assert count(piece(0), piece(2, recomputed=True)) == 2
    assert count(piece(0), piece(2, domain=HOLES)) == 2
    assert count(piece(0), piece(2, domain=sets.box((10,)).intersect(EVERY_THIRD))) == 2
    at_data = load(Y, [apply("maximum", cast(load(X, [dim(0)]), INDEX), index(0))])
    assert count(piece(0), piece(2, body=at_data)) == 2


def test_a_store_is_a_summand_where_nothing_was_before() -> None:
    whole = piece(0, 12, combiner="set")
    assert count(whole, piece(1), fill=None) == 1
    assert count(piece(0, combiner="set"), piece(2)) == 1
    assert count(piece(0), piece(2, combiner="set")) == 2
    assert count(piece(0, 2, combiner="set"), piece(2, combiner="set"), piece(1)) == 2


def test_conditions_of_a_piece_stay_conditions() -> None:
    limit = sets.linear(1, [-1], 8).ge_set(sets.constant_aff(1, 0))
    tensor = Tensor(
        "T", (12,), FLOAT64, 0, (piece(0, domain=limit.intersect(sets.box((10,)))), piece(1))
    )
    (equation,) = joined(System((X,), (tensor,)))
    assert "where(0 <= 8 - i, x[i], 0)" in equation


def test_bodies_stay_of_a_size_that_can_be_compiled() -> None:
    x = load(X, [dim(0)])
    long = reduce(add, [apply("maximum", x, mul(x, const(float(k), FLOAT64))) for k in range(70)])
    assert 2 * len(postorder(long)) > MAX_NODES
    assert count(piece(0, body=long), piece(1), piece(2, body=long), piece(1, source=Y)) == 2


def test_a_recurrence_keeps_its_equations() -> None:
    recurrence = cumsum()
    system = System(recurrence.inputs, (recurrence.output,))
    assert join_pieces(system)[0].outputs == system.outputs


def test_joined_pieces_are_fused_into_who_reads_them() -> None:
    x = ted.placeholder((12,), "float64", name="x")
    y = ted.compute((11,), lambda i: x[i] + x[i + 1], name="y")
    (dx,) = ted.differentiate(ted.sum(y * y), [x])
    after, _ = fuse_pointwise(join_pieces(system_of([x], [x - dx * 0.5]))[0])
    assert [t.name for t in after.tensors() if not t.is_input][-1:] == [after.outputs[0].name]
    assert len(after.outputs[0].equations) == 1
    assert dx.node.name not in [t.name for t in after.tensors()]
