"""Programs as text: what counts, what does not, and how long the text is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ted.domain import sets
from ted.domain.size_factors import Symbol
from ted.domain.sizes import symbolic
from ted.errors import SourceLocation
from ted.ir.derivations import Derivation, trace_back
from ted.ir.dtypes import FLOAT32, FLOAT64
from ted.ir.equations import Equation, Tensor, whole
from ted.ir.program_text import NotSaid, program_text
from ted.ir.scalar import add, cast, const, dim, index, load, mul

ROW = dim(0)
PLACE = SourceLocation("model.py", 41)


def unmarked(tensor: Tensor) -> None:
    del tensor


def text(*roots: Tensor) -> str:
    return program_text(roots, unmarked).text


def vector(name: str = "x") -> Tensor:
    return Tensor(name, (6,), FLOAT64)


def scaled(x: Tensor, factor: float = 2.0, name: str = "y") -> Tensor:
    body = mul(load(x, [ROW]), const(factor, FLOAT64))
    return Tensor(name, (6,), FLOAT64, 0, (whole((6,), body, PLACE),), PLACE)


def plus(a: Tensor, b: Tensor) -> Tensor:
    body = add(load(a, [ROW]), load(b, [ROW]))
    return Tensor("sum", (6,), FLOAT64, 0, (whole((6,), body, None),))


def test_programs_that_differ_in_names_and_places_have_one_text() -> None:
    moved = scaled(vector("other"), name="another")
    moved.location = SourceLocation("model.py", 7)
    assert text(scaled(vector())) == text(moved)
    places = [program_text([t], unmarked).places for t in (scaled(vector()), moved)]
    assert places[0] != places[1]
    assert "model.py" in places[0]


EQUATIONS: dict[str, Callable[[Equation], Equation]] = {
    "constant": lambda e: replace(e, body=mul(e.body, const(3.0, FLOAT64))),
    "combiner": lambda e: replace(e, combiner="add"),
    "ties": lambda e: replace(e, ties="even"),
    "recomputed": lambda e: replace(e, recomputed=True),
    "domain": lambda e: replace(e, domain=sets.box((5,))),
    "write": lambda e: replace(e, write=(index(0),)),
    "wishes": lambda e: replace(e, wishes=(("ted.form", "{}"),)),
    "parallel": lambda e: replace(e, parallel=0),
}


@pytest.mark.parametrize("changed", EQUATIONS.values(), ids=EQUATIONS)
def test_every_part_of_an_equation_counts(changed: Callable[[Equation], Equation]) -> None:
    before, after = scaled(vector()), scaled(vector())
    after.equations = (changed(after.equations[0]),)
    assert text(before) != text(after)


@pytest.mark.parametrize(
    "change",
    [{"shape": (7,)}, {"dtype": FLOAT32}, {"fill": 0.0}, {"time": 0}],
    ids=str,
)
def test_every_part_of_a_tensor_counts(change: dict[str, object]) -> None:
    before = scaled(vector())
    assert text(before) != text(replace(before, **change))


def test_the_way_of_time_counts() -> None:
    before = scaled(vector())
    ways = [text(replace(before, time=0, reverse=reverse)) for reverse in (False, True)]
    assert ways[0] != ways[1]


def test_types_and_signs_of_constants_count() -> None:
    bodies = const(0.0, FLOAT32), const(0.0, FLOAT64), const(-0.0, FLOAT64)
    found = [Tensor("y", (6,), FLOAT64, 0, (whole((6,), b, None),)) for b in bodies]
    assert len(set(map(text, found))) == 3


def test_what_is_read_twice_is_not_what_is_computed_twice() -> None:
    x = vector()
    y = scaled(x)
    assert text(plus(y, y)) != text(plus(y, scaled(x)))
    a, b = vector("a"), vector("b")
    assert text(a, b, plus(a, scaled(b))) != text(b, a, plus(a, scaled(b)))


def test_a_derived_tensor_is_said_by_what_it_is_derived_from() -> None:
    def derived(given: Tensor, what: str = "vjp", position: int = 0) -> Tensor:
        result = vector("dx")
        trace_back(result, Derivation(what, ((given,),)), position)
        return result

    texts = {
        text(derived(scaled(vector()))),
        text(derived(scaled(vector(), 3.0))),
        text(derived(scaled(vector()), "jvp")),
        text(derived(scaled(vector()), position=1)),
    }
    assert len(texts) == 4
    assert text(derived(scaled(vector()))) in texts


def test_a_recurrence_has_a_text() -> None:
    def running(start: float) -> Tensor:
        state = Tensor("s", (6,), FLOAT64, start, time=0)
        body = add(load(state, [add(ROW, index(-1))]), const(1.0, FLOAT64))
        state.equations = (replace(whole((6,), body, None), domain=sets.box((6,))),)
        return state

    assert text(running(0.0)) == text(running(0.0)) != text(running(1.0))


def test_a_mark_counts_and_what_it_names() -> None:
    x = vector()
    y = scaled(x)
    marks = [("recompute 0", (x,)), ("recompute 1", (x,)), ("recompute 0", (vector(),))]
    texts = {program_text([y], lambda t, m=m: m if t is y else None).text for m in marks}
    assert len({*texts, text(y)}) == 4


def test_accesses_at_data_are_noticed() -> None:
    x, k = vector(), Tensor("k", (6,), FLOAT64)
    at = cast(load(k, [ROW]), index(0).dtype)
    y = Tensor("y", (6,), FLOAT64, 0, (whole((6,), load(x, [at]), None),))
    assert program_text([y], unmarked).reads_data
    written = Tensor("y", (6,), FLOAT64, 0, (replace(scaled(x).equations[0], write=(at,)),))
    assert program_text([written], unmarked).reads_data
    assert not program_text([scaled(x)], unmarked).reads_data


def test_symbolic_sizes_are_not_said() -> None:
    n = symbolic(Symbol("n"))
    with pytest.raises(NotSaid):
        text(Tensor("x", (n,), FLOAT64))


def test_the_text_grows_as_the_graph_with_all_that_is_shared() -> None:
    def doubled(times: int) -> Tensor:
        y = vector()
        for _ in range(times):
            y = plus(y, y)
        return y

    assert len(text(doubled(400))) < 2.2 * len(text(doubled(200)))
