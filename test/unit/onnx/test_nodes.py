"""Of ONNX's cases of each operator one for every set of attributes and inputs, interpreted."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import numpy as np
import onnx
import pytest

from ted.onnx import backend
from ted.onnx.graphs import _schema as schema_of
from ted.onnx.nodes import REQUIRED, Node
from unit.onnx import node_cases
from unit.onnx.models import interpreting

LARGEST = 700  # elements of inputs and results together

# Operators or cases, and why they are refused; all others give what ONNX says.
REFUSED = {
    "Adagrad|Adam|ArrayFeatureExtractor|Bernoulli|Binarizer|BitCast|Momentum|TfIdfVectorizer"
    "|TreeEnsemble": "operators must have a row or a function of ONNX's",
    "NonMaxSuppression|NonZero|Unique": "shapes must be known",
    "Dropout of test_training_.*": "dropout in training must have the ratio 0",
    ".*": r"element types must be .*, got (strings|U?INT[24]|FLOAT[48])",
}


def _kind(case: Any) -> Hashable:
    """What tells cases of one operator apart."""
    (node, *_), inputs = case.model.graph.node, case.model.graph.input
    types = [i.type.tensor_type for i in inputs]
    kinds = tuple((t.elem_type in node_cases.FLOATS, len(t.shape.dim)) for t in types)
    named = tuple(sorted((a.name, _word(a)) for a in node.attribute))
    return node.op_type, named, tuple(map(bool, node.input)), len(node.output), kinds


def _word(attribute: onnx.AttributeProto) -> str:
    """A mode, a type or a number; nothing of lists and graphs."""
    if attribute.type not in (attribute.STRING, attribute.INT):
        return ""
    return str(onnx.helper.get_attribute_value(attribute))


def _size(case: Any) -> int:
    inputs, outputs = next(node_cases.sets(case))
    return sum(np.size(a) for a in [*inputs, *outputs] if not isinstance(a, list))


def _chosen(module: str) -> list[Any]:
    """The smallest case of each kind, of one node."""
    found: dict[Hashable, Any] = {}
    of_one = [case for case in node_cases.of_module(module) if len(case.model.graph.node) == 1]
    for case in sorted(of_one, key=_size):
        if _size(case) < LARGEST:
            found.setdefault(_kind(case), case)
    return list(found.values())


def _is_right(case: Any) -> tuple[bool, str]:
    outcome, why = node_cases.outcome(case, gradients=False)
    if outcome != "refused":
        return outcome == "pass", why
    name = f"{case.model.graph.node[0].op_type} of {case.name}"
    reasons = [reason for names, reason in REFUSED.items() if re.match(names, name)]
    return any(re.search(reason, why, re.IGNORECASE) for reason in reasons), why


def _with_default_of_onnx(node: Node, name: str, default: Any = REQUIRED) -> Any:
    """An attribute; what a row takes for one that is left out is what ONNX says."""
    value = _attribute(node, name, default)
    schema = schema_of(node)
    own = schema and schema.attributes.get(name)
    if own and own.default_value.type and default is not REQUIRED and default is not None:
        wanted = onnx.helper.get_attribute_value(own.default_value)
        said = default.encode() if isinstance(default, str) else default
        assert said == (pytest.approx(wanted) if isinstance(wanted, float) else wanted), name
    return value


_attribute = Node.attr


@pytest.mark.parametrize("module", node_cases.modules())
def test_an_operator_gives_what_onnx_says_or_is_refused(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setattr(backend, "function", interpreting)
    monkeypatch.setattr(Node, "attr", _with_default_of_onnx)
    found = {case.name: _is_right(case) for case in _chosen(module)}
    assert {name: why for name, (right, why) in found.items() if not right} == {}
