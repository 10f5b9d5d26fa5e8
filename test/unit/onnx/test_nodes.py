"""Of ONNX's cases of each operator one for every set of attributes and inputs, interpreted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest

from ted.onnx import backend
from unit.frontend.complex_runs import interpreted
from unit.onnx import node_cases

SMALL = 200  # elements of inputs and results together


def kind(case: Any) -> Hashable:
    """What tells cases of one operator apart."""
    (node, *_), inputs = case.model.graph.node, case.model.graph.input
    kinds = tuple(i.type.tensor_type.elem_type in node_cases.FLOATS for i in inputs)
    named = tuple(sorted(a.name for a in node.attribute))
    return node.op_type, named, tuple(map(bool, node.input)), len(node.output), kinds


def is_small(case: Any) -> bool:
    """One node, and arrays that the interpreter is quick with."""
    inputs, outputs = next(node_cases.sets(case))
    arrays = [a for a in [*inputs, *outputs] if not isinstance(a, list)]
    return len(case.model.graph.node) == 1 and sum(map(np.size, arrays)) < SMALL


@functools.cache
def chosen() -> list[Any]:
    """The first small case of each kind."""
    found: dict[Hashable, Any] = {}
    for case in filter(is_small, node_cases.cases()):
        found.setdefault(kind(case), case)
    return list(found.values())


def test_each_operator_gives_what_onnx_says_or_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def interpreting(model: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arrays: interpreted(model, *arrays)

    monkeypatch.setattr(backend, "function", interpreting)
    found = {case.name: node_cases.outcome(case, gradients=False) for case in chosen()}
    assert {name: why for name, why in found.items() if why[0] in ("wrong", "error")} == {}
    assert sum(kind == "pass" for kind, _ in found.values()) > 280
