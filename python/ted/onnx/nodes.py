"""A node of an ONNX graph as its row sees it: attributes, inputs, and values that must be known.

A value of a graph is a tensor of ted, an array that is known while the graph is read, a list (a
sequence), or None (an input that is left out, an empty optional).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx

from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BY_NAME, DType
from ted.records import dataclass

Value = Any
Origins = frozenset[str]  # the inputs of the model that a value depends on
REQUIRED = object()


def element_type(code: int) -> DType:
    """The type of ted for a number of `TensorProto.DataType`.

    Raises: FrontendError for types that ted does not have.
    """
    if code != onnx.TensorProto.UNDEFINED:
        name = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code)).name
        if name in BY_NAME:
            return BY_NAME[name]
    got = onnx.TensorProto.DataType.Name(code)
    raise FrontendError(f"element types must be {', '.join(BY_NAME)}, got {got}")


def extents(x: Tensor) -> tuple[int, ...]:
    """The shape of a tensor of a model, which is refused where it has symbolic sizes."""
    return cast("tuple[int, ...]", x.shape)


def domain_of(name: str) -> str:
    """The name of a domain of operators; ONNX's own has two."""
    return "" if name == "ai.onnx" else name


@dataclass(frozen=True)
class Node:
    """A node: `inputs` are values, `version` is that of its domain's operators.

    `evaluate` runs a graph of an attribute on values; `captured` are inputs of the model that the
    results of such graphs depend on, `needed` those that a row asks the numbers of in vain.
    """

    proto: onnx.NodeProto
    version: int
    attributes: Mapping[str, onnx.AttributeProto]
    inputs: Sequence[Value]
    origins: Sequence[Origins]
    evaluate: Callable[[onnx.GraphProto, Sequence[Value], Origins], list[Value]]
    captured: set[str]
    needed: set[str]

    @property
    def op(self) -> str:
        """The operator, with its domain unless that is ONNX's own."""
        domain = domain_of(self.proto.domain)
        return f"{domain}.{self.proto.op_type}" if domain else self.proto.op_type

    def attr(self, name: str, default: Any = REQUIRED) -> Any:
        """An attribute in Python's types; graphs and tensors are protos.

        Raises: FrontendError for one that is missing.
        """
        if name in self.attributes:
            found = onnx.helper.get_attribute_value(self.attributes[name])
            return found.decode() if isinstance(found, bytes) else found
        if default is REQUIRED:
            raise FrontendError(f"the attribute {name} must be there, got {list(self.attributes)}")
        return default

    def has(self, position: int) -> bool:
        """Whether an input is given."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def known(self, position: int, default: Any = REQUIRED) -> Any:
        """The numbers of an input, which are needed while the graph is read, as shapes are.

        Raises: FrontendError where they are data.
        """
        if not self.has(position):
            if default is REQUIRED:
                raise FrontendError(f"input {position} must be there")
            return default
        value = self.inputs[position]
        if isinstance(value, np.ndarray):
            return value
        name = self.proto.input[position]
        from_ = ", ".join(sorted(self.origins[position]))
        self.needed.update(self.origins[position])
        raise FrontendError(
            f"input {position} ({name}) must be known while the graph is read, got data"
            + (f"; give {from_} as arrays of NumPy that are no tensors" if from_ else "")
        )

    def numbers(self, position: int, name: str, default: Any = REQUIRED) -> Any:
        """A list of integers that was an attribute in older versions, and is an input in newer.

        Raises: FrontendError as `attr` and `known`.
        """
        if self.has(position):
            return [int(n) for n in np.asarray(self.known(position)).ravel()]
        return self.attr(name, default)

    def graph(self, name: str) -> Callable[..., list[Value]]:
        """The graph of an attribute as a function of values."""
        proto = self.attr(name)
        origins = frozenset[str]().union(*self.origins)
        return lambda *values: self.evaluate(proto, values, origins)

    @property
    def count(self) -> int:
        """The number of results."""
        return len(self.proto.output)

    def wants(self, position: int) -> bool:
        """Whether a result has a name."""
        return position < self.count and bool(self.proto.output[position])
