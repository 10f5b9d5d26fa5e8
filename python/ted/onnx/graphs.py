"""Graphs of ONNX -> tensors of ted: node by node, each by its row, its function, or at once.

Before: node { op_type: "Gemm", input: ["x", "w", "b"], ... }
After:  ted.matmul(x, w) + b

A node whose inputs are all known is computed while the graph is read, by ONNX's own reference: so
shapes are numbers.  An operator without a row is the function that ONNX or the model has for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from ted.errors import FrontendError, TedError
from ted.frontend.tensors import Tensor, constant
from ted.ir.dtypes import BY_NAME
from ted.onnx.nodes import Node, Origins, Value, domain_of, extents
from ted.onnx.rows import RULES
from ted.records import dataclass

_RANDOM = ("Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
           "Multinomial", "Dropout")  # fmt: skip
Attributes = Mapping[str, onnx.AttributeProto]
NOWHERE: Origins = frozenset()


@dataclass
class Scope:
    """Values of a graph by name, and what they depend on; `bound` are attributes of a function.

    `needed` are inputs of the model whose numbers a row asks for in vain, for all graphs in one.
    """

    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str], onnx.FunctionProto]
    values: dict[str, Value] = field(default_factory=dict)
    origins: dict[str, Origins] = field(default_factory=dict)
    bound: Attributes = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)

    def inner(self) -> Scope:
        """The scope of a graph inside, which sees the names of this one."""
        return Scope(
            self.opsets,
            self.functions,
            dict(self.values),
            dict(self.origins),
            self.bound,
            self.needed,
        )

    def of_function(self, function: onnx.FunctionProto, bound: Attributes) -> Scope:
        """The scope of a function, which sees nothing."""
        opsets = {domain_of(o.domain): o.version for o in function.opset_import} or self.opsets
        return Scope(opsets, self.functions, bound=bound, needed=self.needed)

    def add(self, names: Sequence[str], values: Sequence[Value], origins: Origins) -> None:
        """Name values; an empty name is for what nobody reads. What is known depends on nothing."""
        for name, value in zip(names, values, strict=False):
            if name:
                self.values[name] = value
                self.origins[name] = NOWHERE if isinstance(value, np.ndarray) else origins


def evaluate(graph: onnx.GraphProto, scope: Scope) -> list[Value]:
    """The results of a graph whose inputs are in the scope.

    Raises: FrontendError that names the node.
    """
    for tensor in graph.initializer:
        if tensor.name not in scope.values:
            scope.add([tensor.name], [numpy_helper.to_array(tensor)], NOWHERE)
    for node in graph.node:
        run(node, scope)
    return [scope.values[output.name] for output in graph.output]


def run(proto: onnx.NodeProto, scope: Scope) -> None:
    """Add the results of a node to the scope.

    Raises: FrontendError as `evaluate`.
    """
    with _at(proto):
        node = _node(proto, scope)
        found = _results(node, scope)
    scope.add(proto.output, found, NOWHERE.union(*node.origins, node.captured))


def _node(proto: onnx.NodeProto, scope: Scope) -> Node:
    missing = [name for name in proto.input if name and name not in scope.values]
    if missing:
        raise FrontendError(f"inputs must be made before, got {', '.join(missing)}")
    captured: set[str] = set()

    def inside(graph: onnx.GraphProto, values: Sequence[Value], origins: Origins) -> list[Value]:
        inner = scope.inner()
        inner.add([i.name for i in graph.input], values, origins)
        found = evaluate(graph, inner)
        captured.update(*(inner.origins[o.name] for o in graph.output))
        return found

    return Node(
        proto, scope.opsets.get(domain_of(proto.domain), 0), dict(_attributes(proto, scope.bound)),
        [scope.values.get(name) for name in proto.input],
        [scope.origins.get(name, NOWHERE) for name in proto.input], inside, captured, scope.needed,
    )  # fmt: skip


def _attributes(
    proto: onnx.NodeProto, bound: Attributes
) -> Iterator[tuple[str, onnx.AttributeProto]]:
    for attribute in proto.attribute:
        if not attribute.ref_attr_name:
            yield attribute.name, attribute
        elif attribute.ref_attr_name in bound:
            yield attribute.name, bound[attribute.ref_attr_name]


def _results(node: Node, scope: Scope) -> Sequence[Value]:
    if (node.proto.domain, node.proto.op_type) in scope.functions:
        function = scope.functions[node.proto.domain, node.proto.op_type]
        return _called(function, node, scope)
    at_once = _computed(node)
    if at_once is not None:
        return at_once
    rule = RULES.get(node.op)
    if rule is not None:
        found = rule(node, *map(as_tensor, node.inputs))
        return found if isinstance(found, tuple) else (found,)
    function = _function_of(node)
    if function is None:
        raise FrontendError("operators must have a row or a function of ONNX's, got neither")
    return _called(function, node, scope)


def as_tensor(value: Value) -> Value:
    """What is known as a tensor.

    Raises: FrontendError for elements that ted does not have.
    """
    if not isinstance(value, np.ndarray):
        return value
    check_elements(value)
    return constant(value)


def check_elements(value: np.ndarray) -> None:
    """Refuse elements that ted does not have.

    Raises: FrontendError.
    """
    if value.dtype.name not in BY_NAME:
        kind = "strings" if value.dtype.kind in "OSU" else value.dtype.name
        raise FrontendError(f"element types must be {', '.join(BY_NAME)}, got {kind}")


@contextmanager
def _at(proto: onnx.NodeProto) -> Iterator[None]:
    """Errors name the operator and the node, that of the outermost graph last."""
    place = f"{proto.op_type} '{proto.name or ', '.join(proto.output)}'"
    try:
        yield
    except TedError as error:
        raise FrontendError(f"{place}: {error.message}") from error


# ------------------------------------------------------------------ known while the graph is read


def _computed(node: Node) -> list[Value] | None:
    """The results of a node of which all is known; None for another, or one that needs a row."""
    given = {n: v for n, v in zip(node.proto.input, node.inputs, strict=True) if n}
    is_known = all(isinstance(value, np.ndarray) for value in given.values())
    if not given or not is_known or node.proto.op_type in _RANDOM or _has_graph(node):
        return None
    proto = _completed(node)
    inputs = [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in given]
    outputs = [onnx.helper.make_value_info(n, onnx.TypeProto()) for n in proto.output if n]
    graph = onnx.helper.make_graph([proto], "node", inputs, outputs)
    opsets = [onnx.helper.make_opsetid(node.proto.domain, node.version)]
    try:
        found = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=opsets)).run(
            None, given
        )
    except Exception:  # what the reference does not have, or does wrong, is left to rows
        return None
    results = iter([np.asarray(v) if not isinstance(v, list) else v for v in found])
    return [next(results) if name else None for name in proto.output]


def _named(attribute: onnx.AttributeProto, name: str) -> onnx.AttributeProto:
    found = onnx.AttributeProto()
    found.CopyFrom(attribute)
    found.name = name
    return found


def _has_graph(node: Node) -> bool:
    return any(a.type == onnx.AttributeProto.GRAPH for a in node.attributes.values())


# ------------------------------------------------------------------ functions


def _called(function: onnx.FunctionProto, node: Node, scope: Scope) -> list[Value]:
    bound = {a.name: a for a in function.attribute_proto}
    bound.update(_defaults(node))
    bound.update(node.attributes)
    inner = scope.of_function(function, bound)
    for name, value, origins in zip(function.input, node.inputs, node.origins, strict=False):
        inner.add([name], [value], origins)
    for name in function.input[len(node.inputs) :]:
        inner.add([name], [None], NOWHERE)
    for each in function.node:
        run(each, inner)
    return [inner.values.get(name) for name in function.output]


def _schema(node: Node) -> Any:
    try:
        return onnx.defs.get_schema(node.proto.op_type, node.version, node.proto.domain)
    except onnx.defs.SchemaError:
        return None


def _defaults(node: Node) -> Attributes:
    schema = _schema(node)
    if schema is None:
        return {}
    given = {name: a.default_value for name, a in schema.attributes.items()}
    return {name: value for name, value in given.items() if value.type}


def _function_of(node: Node) -> onnx.FunctionProto | None:
    """ONNX's own function for an operator, of the greatest version that the model may use."""
    schema = _schema(node)
    if schema is None:
        return None
    own, typed = schema.function_opset_versions, schema.context_dependent_function_opset_versions
    fitting = [v for v in (*own, *typed) if v <= node.version]
    if not fitting:
        return None
    version = max(fitting)
    if version in own:
        text = schema.get_function_with_opset_version(version)
    else:
        types = [_type_of(value).SerializeToString() for value in node.inputs]
        text = schema.get_context_dependent_function_with_opset_version(
            version, _completed(node).SerializeToString(), types
        )
    function = onnx.FunctionProto()
    function.ParseFromString(text)
    return function


def _completed(node: Node) -> onnx.NodeProto:
    """The node with the attributes that it has from the call of a function around it."""
    proto = onnx.NodeProto()
    proto.CopyFrom(node.proto)
    del proto.attribute[:]
    proto.attribute.extend(_named(a, name) for name, a in node.attributes.items())
    return proto


def _type_of(value: Value) -> onnx.TypeProto:
    if value is None:
        return onnx.TypeProto()
    if isinstance(value, list):
        inner = _type_of(value[0]) if value else onnx.TypeProto()
        return onnx.helper.make_sequence_type_proto(inner)
    dtype = value.dtype.dtype if isinstance(value, Tensor) else value.dtype
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return onnx.helper.make_tensor_type_proto(code, extents(value))
