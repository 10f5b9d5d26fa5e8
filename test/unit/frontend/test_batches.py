"""Which arguments have a batch, and what no argument can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ted.errors import FrontendError
from ted.frontend.batches import BATCH, positions_of_batch, with_batch
from ted.frontend.functions import signature_of


def _shapes(fn: Any, batch: tuple[int, ...], *args: Any) -> dict[str, str]:
    signature = with_batch(fn, signature_of(fn, args, {}), batch)
    shapes = [",".join(map(str, leaf.shape)) for leaf in signature.leaves]
    return dict(zip(signature.names, shapes, strict=True))


ROWS = np.ones((5, 2))


def test_every_array_of_a_chosen_argument_has_the_batch_first() -> None:
    def loss(params: Any, data: Any, *more: Any) -> None: ...

    given = ({"w": ROWS}, {"x": ROWS, "y": ROWS[:, 0]}, ROWS, ROWS)
    assert _shapes(loss, (1, 3), *given) == {
        "params.w": "5,2", "data.x": "batch,2", "data.y": "batch", "more.0": "5,2",
        "more.1": "batch,2",
    }  # fmt: skip


def test_calls_that_differ_in_the_batch_have_one_signature() -> None:
    def fn(x: Any) -> None: ...

    first, second = (with_batch(fn, signature_of(fn, (ROWS[:n],), {}), (0,)) for n in (2, 5))
    assert first == second
    assert first.leaves[0].shape[0].symbols == (BATCH,)
    assert with_batch(fn, signature_of(fn, (ROWS[:0],), {}), (0,)).leaves[0].shape == (0, 2)


def test_no_argument_and_no_dim_are_refused() -> None:
    def fn(x: Any, y: Any = 1) -> None: ...

    with pytest.raises(FrontendError, match=r"batch=2: the call has 1 arguments \(x\)"):
        _shapes(fn, (2,), ROWS)
    with pytest.raises(FrontendError, match="argument x: a batch is the first dim of an array"):
        _shapes(fn, (0,), np.float64(1))
    for wrong in ("x", -1, (True,), 1.0):
        with pytest.raises(FrontendError, match="batch is the position of an argument"):
            positions_of_batch(wrong)
    assert positions_of_batch(1) == (1,)
    assert positions_of_batch([0, 2]) == (0, 2)
