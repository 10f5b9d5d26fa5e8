"""ted as a backend of ONNX: `prepare(model).run(inputs)`, for `onnx.backend.test` and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend import base

from ted.api.functions import function
from ted.errors import FrontendError
from ted.onnx.graphs import as_tensor, check_elements
from ted.onnx.importing import Imported, from_model


class Prepared(base.BackendRep):
    """A model that runs: compiled for the shapes of its inputs when they come first.

    An input whose numbers decide shapes is part of the program, which is compiled for each value.
    """

    def __init__(self, imported: Imported) -> None:
        self.imported = imported
        self.known: set[str] = set()
        self._needed: set[str] = set()
        self._functions: dict[Any, Callable[..., Any]] = {}

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The results for inputs in order, or by name.

        Raises: FrontendError for inputs that do not fit, or what the model has that is not covered.
        """
        del kwargs
        names = self.imported.inputs
        if isinstance(inputs, dict):
            given = [inputs.get(name) for name in names]
        else:
            given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
            given += [None] * (len(names) - len(given))
        return self._run([_array(value) for value in given])

    def _run(self, given: list[Any]) -> tuple[Any, ...]:
        """Compile and run, once more where a row finds that an input must be known."""
        self._needed.clear()
        try:
            return tuple(self._compiled(given)(self.imported.params, *self._data(given)))
        except FrontendError:
            if self._needed <= self.known:
                raise
            self.known |= self._needed
        return self._run(given)

    def _is_known(self, name: str, value: Any) -> bool:
        is_empty = isinstance(value, list) and not value
        return name in self.known or value is None or is_empty

    def _data(self, given: Sequence[Any]) -> list[Any]:
        pairs = zip(self.imported.inputs, given, strict=True)
        return [value for name, value in pairs if not self._is_known(name, value)]

    def _compiled(self, given: Sequence[Any]) -> Callable[..., Any]:
        pairs = list(zip(self.imported.inputs, given, strict=True))
        known = [value if self._is_known(name, value) else _DATA for name, value in pairs]
        key = tuple(map(_key, known))
        if key not in self._functions:

            def model(params: Any, *data: Any) -> Any:
                left = iter(data)
                values = [next(left) if value is _DATA else value for value in known]
                return [as_tensor(v) for v in self.imported.results(params, values, self._needed)]

            self._functions[key] = function(model)
        return self._functions[key]


_DATA = object()


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return tuple(map(_key, value)) if isinstance(value, list) else value


def _array(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, (list, tuple)) and not all(isinstance(v, (int, float)) for v in value):
        return [_array(each) for each in value]
    array = np.asarray(value)
    check_elements(array)
    return array


class Backend(base.Backend):
    """The functions that backends of ONNX have."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """A model that runs.

        Raises: FrontendError for what is no valid model, or another device.
        """
        del kwargs
        if not cls.supports_device(device):
            raise FrontendError(f"prepare: the device must be CPU, got {device}")
        return Prepared(from_model(model))

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """The results of a model.

        Raises: FrontendError as `prepare` and `Prepared.run`.
        """
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """The results of one node, of the newest version of its operator or `opset_version`.

        Raises: FrontendError as `prepare` and `Prepared.run`.
        """
        del outputs_info
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        given = inputs if isinstance(inputs, dict) else dict(zip(names, inputs, strict=True))
        graph = onnx.helper.make_graph(
            [node], "node",
            [_declared(name, np.asarray(given[name])) for name in names],
            [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name],
        )  # fmt: skip
        opsets = [onnx.helper.make_opsetid(node.domain, version)]
        model = onnx.shape_inference.infer_shapes(
            onnx.helper.make_model(graph, opset_imports=opsets)
        )
        return cls.run_model(model, given, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """CPU is there, with any number."""
        return device.split(":")[0] == "CPU"


def _declared(name: str, value: np.ndarray) -> onnx.ValueInfoProto:
    code = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    return onnx.helper.make_tensor_value_info(name, code, value.shape)
