"""Programs stage by stage."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

import ted
from ted.api import lowerings
from ted.ir.pipelines import run_stages


def step(target: str) -> Any:
    x = ted.placeholder((5, 7), "float32", name="x")
    w = ted.placeholder((7, 6), "float32", name="w")
    loss = ted.sum(ted.tanh(x @ w) * ted.nn.softmax(x @ w))
    return ted.compile([x, w], [loss, *ted.differentiate(loss, [x, w])], target=target)


@pytest.mark.parametrize("target", ["cpu:avx2", "cuda"])
def test_a_later_stage_begins_where_an_earlier_one_ended(target: str) -> None:
    in_order, alone = step(target), step(target)
    lowered = in_order.stages[:-1]
    with mock.patch.object(lowerings, "run_stages", side_effect=run_stages) as runs:
        texts = {stage: in_order.ir(stage) for stage in lowered}
        assert in_order.ir(lowered[-1]) == texts[lowered[-1]]
        begun = [(call.kwargs["after"], call.args[2]) for call in runs.call_args_list]
    assert begun == list(zip((None, *lowered), lowered, strict=False))
    assert texts == {stage: alone.ir(stage) for stage in reversed(lowered)}
