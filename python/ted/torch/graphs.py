"""Graphs of torch.fx -> systems of equations, bytes and graphs inside of graphs included.

Before: graph(): %c = cond(%gt, %true_graph_0, %false_graph_0, (%x,)); return (%c[0],)
After:  the choice of ted.cond between the systems of the two graphs
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from operator import getitem
from types import MappingProxyType
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree

from ted.errors import FrontendError
from ted.frontend.elementwise import cast
from ted.frontend.tensors import constant, wrap
from ted.ir.dtypes import BY_NAME
from ted.ir.equations import System, Tensor
from ted.raising.modules import Raised, systems
from ted.torch.arrays import to_array
from ted.torch.complex_graphs import with_parts
from ted.torch.kept_indices import is_indexed
from ted.torch.kept_operators import is_kept, put_back, taken_out
from ted.torch.lowering import lowered
from ted.transforms.overrides import substituted

_BYTES = (torch.uint8, torch.int8)
# What moves or chooses bytes and computes no others; overloads count alike.
_MOVES = {
    "alias", "amax", "amin", "cat", "chunk", "clone", "constant_pad_nd", "contiguous", "cummax",
    "cummin", "detach", "diagonal", "expand", "expand_as", "flatten", "flip", "gather", "index",
    "index_select", "kthvalue", "mT", "masked_fill", "matrix_H", "max", "maximum", "median",
    "min", "minimum", "mode", "movedim", "nanmedian", "narrow", "numpy_T", "pad", "permute",
    "repeat", "repeat_interleave", "reshape", "roll", "select", "slice", "sort", "split",
    "split_with_sizes", "squeeze", "stack", "swapaxes", "swapdims", "t", "tile", "topk",
    "transpose", "unbind", "unflatten", "unsqueeze", "view", "where",
}  # fmt: skip


def check_results(graph: torch.fx.Graph) -> None:
    """Some results end the process in the binding's lowering, or let it take all memory.

    Those are scalars in 8 bits, which are moved in 32 and not computed with, and a tensor that is
    read where a mask holds.
    Raises: FrontendError, by the operator.
    """
    for node in graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and free_unbacked_symbols(value.shape):
            raise FrontendError(
                f"from_exported: sizes must not depend on data, got {tuple(value.shape)} from "
                f"{node.target}; keep all elements, as by torch.where"
            )
        strided = torch.ops.aten.as_strided.default
        if viewed(node.target) is strided and not (is_kept(node) or is_indexed(strided, node.args)):
            raise FrontendError(
                "from_exported: as_strided must be of a tensor whose rows lie one after the other "
                f"from the start of its memory, got strides {node.args[0].meta['val'].stride()} in "
                f"'{node.args[0]}'; give it x.contiguous(), or write it with slices"
            )
        leaves = _pytree.tree_leaves(value)
        if isinstance(node.target, torch._ops.HigherOrderOperator) and not all(
            isinstance(leaf, torch.Tensor) for leaf in leaves
        ):
            raise FrontendError(
                f"from_exported: {node.target} must carry tensors, got a number; make it one, as "
                "by torch.tensor(0)"
            )
        kinds = [getattr(leaf, "dtype", None) for leaf in leaves]
        if torch.complex32 in kinds:
            raise FrontendError(
                "from_exported: complex numbers must be of complex64 or complex128, got complex32 "
                f"from {node.target}; convert them before, as by .to(torch.complex64)"
            )
        dtype = next((kind for kind in kinds if kind in _BYTES), None)
        if node.op == "call_function" and dtype and not _moves(node):
            raise FrontendError(
                f"from_exported: integers of 8 bits must be inputs or parts of them, got {dtype} "
                f"from {node.target}; convert them before, as by .to(torch.int32)"
            )


def _moves(node: torch.fx.Node) -> bool:
    name = getattr(viewed(node.target), "_opname", None)
    is_outer = isinstance(node.target, torch._ops.HigherOrderOperator)  # whose graphs are checked
    return name in _MOVES or node.target is getitem or is_outer


def viewed(target: Any) -> Any:
    """The operator whose view an operator copies, `view` for `view_copy`, or itself."""
    name, overload = getattr(target, "_opname", ""), getattr(target, "_overloadname", "")
    if not name.endswith("_copy"):
        return target
    packet = getattr(torch.ops.aten, name.removesuffix("_copy"), None)
    own = getattr(packet, overload, None)
    return own if own and any(r.alias_info for r in own._schema.returns) else target


def writes(graph: torch.fx.Graph) -> bool:
    """Whether an operator changes what it is given; batch norm in training does, and says not."""
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            continue
        training = zip(schema.arguments, node.args, strict=False)
        if schema.is_mutable or any(a.name == "training" and v is True for a, v in training):
            return True
    return False


def graphs(module: torch.fx.GraphModule) -> Iterator[torch.fx.Graph]:
    """The graph of a module, and those that stand in it as arguments of operators."""
    return (part.graph for part in module.modules() if isinstance(part, torch.fx.GraphModule))


def system_of(
    module: torch.fx.GraphModule, constants: Mapping[str, torch.Tensor] = MappingProxyType({})
) -> System:
    """The system of the graph of a module; `constants` are the values of arguments by name.

    These are arguments that nothing reads: a loop that starts at a constant may count.
    Raises: TedError for an operator without a lowering to linalg; VerifyError for what of linalg
    has no equations.
    """
    inner = {name: _function(part) for name, part in module.named_children()}
    whole = with_parts(_cleared(module.graph))
    graph, kept = taken_out(_without_bytes(whole), inner)
    (system,) = systems(lowered(graph)).values()
    places = zip(system.inputs, graph.find_nodes(op="placeholder"), strict=True)
    known = {
        t: constant(to_array(constants[place.name])).astype(t.dtype.name).node
        for t, place in places
        if place.name in constants
    }
    system = System(system.inputs, substituted(system.outputs, known), system.name)
    return _with_bytes(put_back(system, kept), whole)


def _function(module: Any) -> Callable[..., tuple[Any, ...]]:
    """A graph inside of another one as a function of tensors."""

    def function(*tensors: Any) -> tuple[Any, ...]:
        system = system_of(module)
        given = [cast(t, i.dtype) for t, i in zip(tensors, system.inputs, strict=True)]  # bytes
        return tuple(map(wrap, Raised(system).results(given)))

    return function


def _cleared(graph: torch.fx.Graph) -> torch.fx.Graph:
    """A copy of a graph without what says nothing about values, and with dims of scatters from 0
    on: the binding ends its process at others."""
    graph = copy.deepcopy(graph)
    target = torch.ops.aten._assert_tensor_metadata.default
    for node in graph.find_nodes(op="call_function", target=target):
        graph.erase_node(node)
    for node in graph.nodes:
        if getattr(node.target, "_opname", "").startswith("scatter") and node.args[1] < 0:
            rank = node.args[0].meta["val"].ndim
            node.args = (node.args[0], node.args[1] + max(rank, 1), *node.args[2:])
    return graph


def _without_bytes(graph: torch.fx.Graph) -> torch.fx.Graph:
    """A copy of a graph with wider integers for bytes, which the binding reads with a sign."""
    graph = copy.deepcopy(graph)
    output = graph.output_node()
    output.args = (_outputs(graph),)
    for node in graph.nodes:
        node.meta["val"] = _pytree.tree_map(_wide, node.meta.get("val"))
        node.meta.pop("tensor_meta", None)  # which says the types once more
    return graph


def _outputs(graph: torch.fx.Graph) -> tuple[Any, ...]:
    (found,) = graph.output_node().args
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _wide(value: Any) -> Any:
    is_byte = isinstance(value, torch.Tensor) and value.dtype in _BYTES
    return value.to(torch.int32) if is_byte else value


def _with_bytes(system: System, graph: torch.fx.Graph) -> System:
    """The system of a graph without bytes with them, as the graph has them."""
    places = graph.find_nodes(op="placeholder")
    inputs = [
        Tensor(t.name, t.shape, BY_NAME[kind]) if (kind := _byte_kind(place)) else t
        for t, place in zip(system.inputs, places, strict=True)
    ]
    rows = zip(system.inputs, inputs, strict=True)
    known = {t: cast(wrap(own), t.dtype).node for t, own in rows if own is not t}
    outputs = zip(substituted(system.outputs, known), _outputs(graph), strict=True)
    results = [cast(wrap(t), _byte_kind(node) or t.dtype).node for t, node in outputs]
    return System(tuple(inputs), tuple(results), system.name)


def _byte_kind(node: Any) -> str | None:
    dtype = getattr(node.meta.get("val"), "dtype", None)
    return str(dtype).removeprefix("torch.") if dtype in _BYTES else None
