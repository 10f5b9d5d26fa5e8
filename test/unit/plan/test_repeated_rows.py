"""Which tensors are made again for loops that come after totals, and in which of them."""

from __future__ import annotations

from typing import Any

import ted
from ted.frontend.systems import system_of
from ted.ir.equations import System
from ted.ir.remarks import collected
from ted.plan.block_choices import Bounds, choices
from ted.plan.repeated_rows import with_repeated_rows

SMALL = Bounds(100, always=True)  # bytes: one number of each row is not large


def inputs() -> list[Any]:
    shapes = {"x": (12, 3), "y": (3, 9)}
    return [ted.placeholder(shape, "float64", name=name) for name, shape in shapes.items()]


def repeated(given: list[Any], *outputs: Any) -> tuple[System, list[str]]:
    with collected() as remarks:
        system = with_repeated_rows(system_of(given, list(outputs)), SMALL)
    return system, [r.message.removeprefix("ted-loop-over-blocks: ") for r in remarks]


def loops(system: System) -> list[list[str]]:
    """The names of what each loop makes; all that is asked for is in one."""
    found = list(choices(system, SMALL))
    assert all(choice.loop is not None for choice in found), [str(c) for c in found]
    return [[t.name for t in c.loop.group.rows] for c in found if c.loop is not None]


def test_one_loop_needs_no_copy() -> None:
    x, y = inputs()
    z = ted.nn.softmax(x @ y, axis=0)
    system, said = repeated([x, y], ted.sum(z * z, axis=0))
    assert said == []
    assert len(loops(system)) == 1


def test_what_is_read_behind_a_total_is_made_again() -> None:
    x, y = inputs()
    z = x @ y
    scaled = ted.tanh(z / ted.max(z))
    system, said = repeated([x, y], ted.sum(scaled, axis=1))
    assert said == ["matmul[12, 9] is made again, 2 loops read it"]
    first, second = loops(system)
    assert first == ["matmul", "max"]
    assert sorted(second) == ["div", "matmul", "sum", "tanh"]
    (again,) = (t for t in system.tensors() if t.name == "matmul" and t.equations[0].recomputed)
    assert [r.name for r in system.consumers()[again]] == ["div"]


def test_rows_that_are_small_are_read_where_the_first_loop_left_them() -> None:
    x, y = inputs()
    z = x @ y
    rows = ted.max(z, axis=1, keepdims=True)
    columns = ted.max(ted.exp(z - rows), axis=0)
    system, said = repeated([x, y], ted.sum(z * rows * columns, axis=1))
    assert said == ["matmul[12, 9] is made again, 2 loops read it"]
    first, second = loops(system)
    assert "max" in first
    assert "max" not in second


def test_a_copy_reads_copies_of_its_loop_and_each_loop_has_one() -> None:
    x, y = inputs()
    z = ted.tanh(x @ y)
    part = ted.sin(z)
    mean = ted.mean(part)
    spread = ted.mean((part - mean) ** 2)
    system, said = repeated([x, y], ted.sum((part - mean) / spread * z, axis=0))
    assert sorted(said) == [
        f"{name}[12, 9] is made again, 3 loops read it" for name in ("matmul", "sin", "tanh")
    ]
    found = loops(system)
    assert [names.count("sin") for names in found] == [1, 1, 1]
    assert [names.count("tanh") for names in found] == [1, 1, 1]


def test_what_is_a_result_is_whole_and_read_as_it_is() -> None:
    x, y = inputs()
    z = x @ y
    system, said = repeated([x, y], z, ted.sum(ted.tanh(z - ted.max(z)), axis=1))
    assert said == []
    assert not any(e.recomputed for t in system.tensors() for e in t.equations)
