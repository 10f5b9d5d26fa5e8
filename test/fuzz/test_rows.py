"""Every row of the table says the same in ted and in torch, on fixed programs."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.cases import Case
from fuzz.comparison import compare
from fuzz.drawing import drawn_step, extended
from fuzz.pool import Pool, Unsuitable
from fuzz.programs import Input, Program
from fuzz.rows.row import Row
from fuzz.rows.table import MODULES, ROWS, TABLE
from fuzz.torch_meaning import tensor_of

SHAPES = ((3, 4), (4,), (2, 3, 4), (1, 4), (4, 4), (3, 4, 2), (), (12,))
ATTEMPTS = 300
BY_MODULE = {m.__name__.rpartition(".")[2]: m.ROWS for m in MODULES}


def one_of_each(rows: tuple[Row, ...], seed: int, exact: bool) -> Case:
    """A step of every row, each on the inputs alone, and all their results at once."""
    inputs = [Input(shape, "float64", exact, 7 * seed + k) for k, shape in enumerate(SHAPES)]
    for kind in ("int64", "int32", "bool"):
        more = [Input(shape, kind, True, seed + k) for k, shape in enumerate(SHAPES[:3])]
        inputs += [*more, Input((3,), kind, True, seed)]
    arrays = [tensor_of(i.array()) for i in inputs]
    random, steps = np.random.default_rng(seed), []
    for row in rows:
        for _ in range(ATTEMPTS):
            pool = Pool(random, exact, extended)
            pool.values = list(arrays)
            try:
                steps.append(drawn_step(pool, row))
                break
            except Unsuitable:
                continue
        else:
            raise AssertionError(f"row {row.name} can never be drawn")
    results = tuple(range(len(inputs), len(inputs) + len(steps)))
    wanted = tuple(("value", k) for k in range(len(results)))
    return Case(Program(tuple(inputs), tuple(steps), results), wanted, exact, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("module", BY_MODULE)
def test_every_row_means_the_same_in_both_libraries(module: str, exact: bool) -> None:
    rows = tuple(r for r in BY_MODULE[module] if r.exact or not exact)
    outcome = compare(one_of_each(rows, 5, exact))
    assert outcome.kind == "ok", outcome


def test_names_of_rows_are_unique() -> None:
    assert len(TABLE) == len(ROWS)
