"""Dataclasses of `ted.records` are those of the standard library, written when they are used."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from dataclasses import field, replace
from typing import Any

import pytest

from ted import records

KINDS = {"standard": dataclasses.dataclass, "late": records.dataclass}


def classes(dataclass: Any) -> dict[str, tuple[Any, list[Any]]]:
    """Classes of each form, with values, by name."""

    @dataclass(frozen=True)
    class Point:
        x: Any
        y: int = 3
        tags: list[int] = field(default_factory=list, compare=False)
        hidden: str = field(default="h", repr=False)

    @dataclass(frozen=True)
    class Named(Point):
        name: str = "n"

        def __repr__(self) -> str:
            return f"<{self.name}>"

    @dataclass(frozen=True, eq=False)
    class Identity:
        x: int

    @dataclass
    class Changing:
        x: int
        seen: list[int] = field(init=False, repr=False, default_factory=list)
        twice: int = field(init=False)

        def __post_init__(self) -> None:
            self.twice = 2 * self.x

    @dataclass(frozen=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.x % 2 == other.x % 2

    @dataclass
    class Empty:
        pass

    made = {
        Point: [Point(1), Point(1, 4), Point(1, tags=[2]), Point(x=(1, 2), hidden="")],
        Named: [Named(1), Named(1, name="m")], Identity: [Identity(1), Identity(1)],
        Changing: [Changing(2), Changing(2), Changing(3)], Own: [Own(1), Own(3), Own(2)],
        Empty: [Empty(), Empty()],
    }  # fmt: skip
    return {kind.__name__: (kind, values) for kind, values in made.items()}


def hashed(value: Any) -> Any:
    try:
        hash(value)
    except TypeError as error:
        return str(error)
    return type(value).__hash__ is object.__hash__


def seen(kind: Any, values: list[Any]) -> list[Any]:
    """What a user of a class sees."""
    changed = [replace(one, x=9) if hasattr(one, "x") else one for one in values]
    rows = [*values, *changed, *map(copy.deepcopy, values)]
    equal = [[a == b for b in rows] for a in rows]
    marks = [(hashed(one), repr(one), vars(one)) for one in rows]
    fields = [(f.name, f.init, f.compare) for f in dataclasses.fields(kind)]
    return [equal, marks, fields, kind.__match_args__, kind.__init__.__qualname__]


@pytest.mark.parametrize("name", classes(records.dataclass))
def test_a_class_is_what_the_standard_library_makes(name: str) -> None:
    standard, late = (seen(*classes(dataclass)[name]) for dataclass in KINDS.values())
    assert late == standard


@pytest.mark.parametrize("dataclass", KINDS.values(), ids=KINDS)
def test_values_that_do_not_change_refuse_to(dataclass: Any) -> None:
    point = classes(dataclass)["Point"][1][0]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises(TypeError, match="unhashable type: 'Changing'"):
        hash(classes(dataclass)["Changing"][1][0])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        type(point)()


def test_values_that_hold_themselves_are_shown() -> None:
    @records.dataclass
    class Cell:
        inside: list[Any]

    cell = Cell([])
    cell.inside.append(cell)
    assert repr(cell).endswith("Cell(inside=[...])")


@records.dataclass(frozen=True)
class Kept:
    """A class that a pickle finds."""

    x: int
    y: int = 2


def test_methods_are_written_when_they_are_asked_for() -> None:
    @records.dataclass(frozen=True)
    class Late:
        """What has no text of this kind gets its signature for one."""

        x: int

    assert isinstance(vars(Late)["__init__"], records._Late)
    one = Late(1)
    assert not isinstance(vars(Late)["__init__"], records._Late)
    assert isinstance(vars(Late)["__eq__"], records._Late)
    assert {one, Late(1)} == {Late(1)}
    assert pickle.loads(pickle.dumps(Kept(1))) == Kept(1, 2)


def test_threads_that_make_the_first_value_at_once_each_get_one() -> None:
    for _ in range(20):

        @records.dataclass(frozen=True)
        class Late:
            x: int

        made: list[Any] = []
        begin = threading.Barrier(4)

        def make(k: int) -> None:
            begin.wait()  # noqa: B023
            made.append(Late(k).x)  # noqa: B023

        threads = [threading.Thread(target=make, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(made) == [0, 1, 2, 3]
