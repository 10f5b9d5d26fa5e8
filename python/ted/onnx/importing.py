"""Models of ONNX -> functions of tensors of ted: `from_model`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from ted.errors import FrontendError
from ted.frontend.functions import as_tensor
from ted.ir.dtypes import BY_NAME
from ted.onnx.graphs import NOWHERE, Scope, evaluate
from ted.onnx.nodes import domain_of
from ted.records import dataclass


@dataclass(frozen=True)
class Imported:
    """A model as a function of tensors: `f(params, *inputs)`, one result or a tuple of them.

    `params` has the model's initialisers of float types, by name.  Dims without numbers have the
    extents of what is given.  An array of integers or bools among the inputs, which is no tensor,
    is known while the model is read: what decides shapes must be.
    """

    params: dict[str, np.ndarray]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    _model: onnx.ModelProto

    @property
    def __name__(self) -> str:
        return self._model.graph.name or "model"

    def __call__(self, params: Mapping[str, Any], *inputs: Any) -> Any:
        """The model's results for parameters, and its inputs in order; those behind may be absent.

        Raises: FrontendError for names or shapes that the model does not have, for operators that
        are not covered, by their names, and for inputs that must be known.
        """
        found = self.results(params, [_known_or_tensor(value, self.__name__) for value in inputs])
        return found[0] if len(found) == 1 else found

    def results(
        self, params: Mapping[str, Any], inputs: Sequence[Any], needed: set[str] | None = None
    ) -> tuple[Any, ...]:
        """The results for inputs of which the arrays of NumPy are known while the model is read.

        `needed` takes the names of inputs that would have to be known where that is the error.
        Raises: FrontendError as a call.
        """
        name = self.__name__
        if len(inputs) != len(self.inputs):
            raise FrontendError(f"{name}: takes {list(self.inputs)}, got {len(inputs)} inputs")
        if params.keys() != self.params.keys():
            raise FrontendError(f"{name}: params must be {list(self.params)}, got {list(params)}")
        graph = self._model.graph
        scope = Scope(
            {domain_of(o.domain): o.version for o in self._model.opset_import},
            {(f.domain, f.name): f for f in self._model.functions},
            needed=set() if needed is None else needed,
        )
        declared = {i.name: i for i in graph.input}
        for key, value in zip(self.inputs, inputs, strict=True):
            _check_input(declared[key], value, name)
            scope.add([key], [value], frozenset([key]))
        for key, value in params.items():
            given = as_tensor(value, key, name)
            if given.shape != self.params[key].shape:
                shape = self.params[key].shape
                raise FrontendError(f"{name}: {key} must have shape {shape}, got {given.shape}")
            scope.add([key], [given], NOWHERE)
        return tuple(evaluate(graph, scope))


def _known_or_tensor(value: Any, name: str) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "iub":
        return value
    if isinstance(value, list):
        return [_known_or_tensor(each, name) for each in value]
    return value if value is None else as_tensor(value, "inputs", name)


def _check_input(declared: onnx.ValueInfoProto, value: Any, name: str) -> None:
    """Ranks and extents that the model says, of what is a tensor; numbers for all."""
    kind = declared.type
    if hasattr(value, "shape") and not all(isinstance(n, int) for n in value.shape):
        shape = list(value.shape)
        raise FrontendError(
            f"{name}: {declared.name} must have sizes that are numbers, got {shape}"
        )
    if not kind.HasField("tensor_type") or value is None or isinstance(value, list):
        return
    if not kind.tensor_type.HasField("shape"):
        return
    dims = kind.tensor_type.shape.dim
    wanted = [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in dims]
    got = list(value.shape)
    fits = len(wanted) == len(got) and all(
        w == g for w, g in zip(wanted, got, strict=True) if isinstance(w, int)
    )
    if not fits:
        raise FrontendError(f"{name}: {declared.name} must have shape {wanted}, got {got}")


def from_model(model: Any) -> Imported:
    """A model of ONNX (a `ModelProto`, its bytes, or the path of a file) as a function of ted.

    Raises: FrontendError for what is no valid model.
    """
    found = _loaded(model)
    graph = found.graph
    names = {tensor.name for tensor in graph.initializer}
    arrays = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    return Imported(
        {name: array for name, array in arrays.items() if _is_float(array)},
        tuple(i.name for i in graph.input if i.name not in names),
        tuple(o.name for o in graph.output),
        found,
    )


def _is_float(array: np.ndarray) -> bool:
    return array.dtype.name in BY_NAME and BY_NAME[array.dtype.name].is_float


def _loaded(model: Any) -> onnx.ModelProto:
    try:
        if isinstance(model, (str, os.PathLike)):
            model = onnx.load(os.fspath(model))
        elif isinstance(model, bytes):
            model = onnx.load_from_string(model)
        if not isinstance(model, onnx.ModelProto):
            raise FrontendError(
                f"from_model: takes a model of ONNX, bytes or a path, got {type(model).__name__}"
            )
        onnx.checker.check_model(model)
    except FrontendError:
        raise
    except Exception as error:  # protobuf's and the checker's have no common class
        raise FrontendError(f"from_model: the model must be valid, {error}") from error
    return model
