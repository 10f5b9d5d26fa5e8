"""What a tensor holds is read by the others: which parts, at which points, in which order."""

from __future__ import annotations

from dataclasses import replace

from ted.domain import sets
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, whole
from ted.ir.expressions import Expr
from ted.ir.saved_values import with_saved_values
from ted.ir.scalar import add, apply, dim, load, mul

A, B = Tensor("a", (6, 4), FLOAT64), Tensor("b", (6,), FLOAT64)
ROW, COLUMN = dim(0), dim(1)
SIN = apply("sin", load(B, [ROW]))
PRODUCT = mul(SIN, load(A, [ROW, COLUMN]))


def tensor(name: str, shape: tuple[int, ...], body: Expr) -> Tensor:
    return Tensor(name, shape, FLOAT64, 0, (whole(shape, body, None),))


def bodies(*outputs: Tensor) -> list[Expr]:
    system = with_saved_values(System((A, B), outputs))
    return [t.equations[0].body for t in system.outputs]


def test_a_part_that_a_tensor_holds_is_read() -> None:
    s, y = tensor("s", (6,), SIN), tensor("y", (6, 4), PRODUCT)
    assert bodies(y, s) == [mul(load(s, [ROW]), load(A, [ROW, COLUMN])), SIN]


def test_a_tensor_made_of_parts_is_found_by_its_own_parts() -> None:
    s = tensor("s", (6,), SIN)
    part = tensor("part", (6, 4), mul(load(s, [ROW]), load(A, [ROW, COLUMN])))
    whole_part = tensor("whole_part", (6, 4), PRODUCT)
    y = tensor("y", (6, 4), add(PRODUCT, load(A, [ROW, COLUMN])))
    system = with_saved_values(System((A, B), (y, part)))
    new, held = system.outputs
    assert new.equations[0].body == add(load(held, [ROW, COLUMN]), load(A, [ROW, COLUMN]))
    system = with_saved_values(System((A, B), (y, whole_part, s)))
    new, held, sine = system.outputs
    assert new.equations[0].body == add(load(held, [ROW, COLUMN]), load(A, [ROW, COLUMN]))
    assert held.equations[0].body == mul(load(sine, [ROW]), load(A, [ROW, COLUMN]))


def test_other_points_shapes_and_recomputed_values_are_not_taken() -> None:
    y = tensor("y", (6, 4), PRODUCT)
    first = sets.box((6,)).intersect(sets.box((5,)))
    part = Tensor("part", (6,), FLOAT64, 0, (replace(whole((6,), SIN, None), domain=first),))
    longer = tensor("longer", (4,), SIN)
    again = Tensor("again", (6,), FLOAT64, 0, (replace(whole((6,), SIN, None), recomputed=True),))
    system = System((A, B), (y, part, longer, again))
    assert with_saved_values(system) is system


def test_a_program_in_which_nothing_is_held_twice_is_left_alone() -> None:
    system = System((A, B), (tensor("y", (6, 4), PRODUCT), tensor("z", (6,), load(B, [ROW]))))
    assert with_saved_values(system) is system
