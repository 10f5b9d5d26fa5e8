"""Small models of ONNX, from nodes in text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from ted import tree
from ted.onnx.graphs import as_tensor
from unit.frontend.complex_runs import interpreted


def model(text: str, version: int = 21, **parameters: np.ndarray) -> onnx.ModelProto:
    """A model of ONNX's text `name (inputs) => (outputs) { nodes }`, with initialisers."""
    found = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {version}]> {text}')
    for name, value in parameters.items():
        found.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    return found


def values(source: onnx.ModelProto, *inputs: Any) -> list[Any]:
    """The results by ONNX's reference."""
    names = [i.name for i in source.graph.input]
    given = dict(zip(names, inputs, strict=True))
    return onnx.reference.ReferenceEvaluator(source).run(None, given)


def interpreting(function: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for `ted.function` in a backend that is not to compile."""

    def of_tensors(*tensors: Any) -> Any:
        return tree.map(as_tensor, function(*tensors))  # sequences may have known numbers

    return lambda *arrays: interpreted(of_tensors, *arrays)
