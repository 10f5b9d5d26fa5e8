"""What a loop carries beside its condition is a part of the loop, and so is its derivative."""

from __future__ import annotations

import ted
from ted.ir.equations import System, is_recurrence
from ted.ir.joined_loops import join_loops
from ted.ir.tensor_order import tensor_order


def loops(*outputs):
    system = System((), tuple(t.node for t in outputs))
    groups = tensor_order(system)
    joined = join_loops(groups)
    assert {t for g in groups for t in g} == {t for g in joined for t in g}
    count = [sum(map(is_recurrence, found)) for found in (groups, joined)]
    return count, joined


def program(x):
    def body(val):
        count, h, total = val
        return count + 1, ted.tanh(h) * 2.0, total + ted.cast(count, "float64") * h

    return ted.while_loop(lambda val: ted.sum(val[1]) < 3.0, body, (0, x, x), 9)


def test_what_is_carried_under_a_condition_is_a_part_of_its_loop() -> None:
    x = ted.placeholder((3,), "float64", name="x")
    (before, after), groups = loops(*program(x))
    assert (before, after) == (3, 1)
    assert is_recurrence(max(groups, key=len))


def test_other_recurrences_stay_by_themselves() -> None:
    x = ted.placeholder((3,), "float64", name="x")
    count, h, _ = program(x)
    (before, after), _ = loops(ted.cumsum(h, 0), ted.cumsum(x, 0), count)
    assert (before, after) == (4, 3)


def test_steps_that_read_a_complete_loop_follow_it() -> None:
    x = ted.placeholder((3,), "float64", name="x")

    def step(carry, _):
        going = carry[0] & (ted.sum(carry[1]) < 3.0)
        return (going, ted.where(going, carry[1] * 2.0, carry[1])), going

    _, flags = ted.scan(step, (True, x), length=4)
    later = ted.scan(lambda h, p: (ted.where(p, h + x, h), None), x, ted.flip(flags, 0))[0]
    (before, after), _ = loops(later)
    assert before == after == 2
