"""Scatters as gathers, and what is said of those with too many pieces."""

from __future__ import annotations

import pytest

from ted.ir.dtypes import INDEX, INT64
from ted.ir.equations import System, Tensor
from ted.ir.expressions import Expr
from ted.ir.remarks import collected
from ted.ir.scalar import add, cast, dim, floordiv, index, load, mod, mul, sub
from ted.transforms import ted_scatter_to_gather as passes
from ted.transforms.gradient import preparation
from ted.transforms.guarded_producers import inline_guarded_producers
from ted.transforms.single_points import map_single_points
from ted.transforms.ted_scatter_to_gather import gather_forms, scatter_to_gather
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import equation, given

i, j = dim(0), dim(1)
G = given("g", 3, 4)


def scattered(write: Expr, extent: int) -> Tensor:
    return defined(
        "y", (extent,), equation((3, 4), load(G, [i, j]), "add", 0, write=(write,))
    )  # fmt: skip


@pytest.mark.parametrize(
    ("write", "extent"),
    [
        (add(i, j), 6), (add(mul(i, index(2)), j), 8), (sub(add(i, index(3)), j), 6),
        (add(mul(i, index(4)), j), 12), (floordiv(add(mul(i, index(4)), j), index(3)), 4),
        (mod(add(i, j), index(3)), 3), (index(1), 2), (j, 4),
    ],
)  # fmt: skip
def test_gathers_add_the_same_numbers(write: Expr, extent: int) -> None:
    before = scattered(write, extent)
    (after,) = scatter_to_gather(System((G,), (before,)))[0].outputs
    assert not any(e.is_scatter for e in after.equations)
    old, new = values([G], [before, after], [[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]])
    assert old.tolist() == new.tolist()


def test_a_write_at_data_stays_and_says_so() -> None:
    n = Tensor("n", (3,), INT64)
    one = equation((3, 4), load(G, [i, j]), "add", 0, write=(cast(load(n, [i]), INDEX),))
    with collected() as said:
        (same,) = gather_forms(one)
    assert same.is_scatter
    assert same.scatter_reason == ""
    assert [str(r).partition(",")[0] for r in said] == ["ted-scatter-to-gather: a scatter stays"]


def test_gathers_and_stores_stay_themselves() -> None:
    one = equation((3, 4), load(G, [i, j]))
    assert gather_forms(one) == (one,)


@pytest.mark.parametrize(("wanted", "said"), [(0, 0), (passes.MAX_PIECES, 0), (99, 1)])
def test_more_pieces_than_the_limit_are_reported(
    wanted: int, said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "wanted_pieces", lambda domain, write: wanted)
    with collected() as remarks:
        gather_forms(scattered(add(i, j), 6).equations[0])
    assert len(remarks) == said


def test_guarded_producers_go_under_their_guard_first() -> None:
    assert preparation(())[:2] == (map_single_points, inline_guarded_producers)
