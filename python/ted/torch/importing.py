"""Programs of `torch.export` -> functions of ted: `from_exported`.

Before: program = torch.export.export(model, (x,))
After:  f = ted.torch.from_exported(program);  ted.grad(lambda p, x: loss(f(p, x)))(f.params, x)

The binding's own importer takes a program to linalg, and `ted.raising` to equations: operators have
no rules here, and derivatives are those of equations.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import getitem
from typing import Any

import torch
from torch.export.graph_signature import (
    InputKind,
    OutputKind,
    SymIntArgument,
    TensorArgument,
)
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree

from ted.errors import FrontendError, TedError
from ted.frontend.elementwise import cast
from ted.frontend.tensors import wrap
from ted.frontend.trees import flatten
from ted.ir.dtypes import BY_NAME
from ted.ir.equations import System, Tensor
from ted.mlir.torch_programs import decompositions, to_linalg, torch_module
from ted.raising.modules import Raised, systems
from ted.torch.arrays import to_array
from ted.torch.kept_operators import kept_in, put_back, taken_out
from ted.transforms.overrides import substituted

_STATE = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_RESULTS = (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION)
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


@dataclass(frozen=True)
class Imported:
    """A program of torch as a function of tensors: `f(params, *args)`, `f.stateful` with buffers.

    `params` and `buffers` are nests by the names of modules, arrays of numpy in torch's memory.
    Results have the nest of the model's.
    """

    params: dict[str, Any]
    buffers: dict[str, Any]
    _raised: Raised
    _inputs: tuple[tuple[InputKind, str], ...]
    _outputs: tuple[tuple[OutputKind, str], ...]
    _in_spec: Any
    _out_spec: Any

    def __call__(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """The model's results for parameters of the nest of `params`, and its arguments.

        Raises: FrontendError for other names, shapes or types.
        """
        return self.stateful(params, self.buffers, *args, **kwargs)[0]

    def stateful(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The results and the buffers after a step, as batch norm in training changes them.

        Raises: FrontendError for other names, shapes or types.
        """
        kept = dict(flatten(buffers)[0])
        state = {**dict(flatten(params)[0]), **kept}
        given = iter(self._arguments(args, kwargs))
        found = []
        for kind, name in self._inputs:
            if kind in _STATE and name not in state:
                raise FrontendError(f"{self._raised.__name__}: params must have {name}")
            found.append(state[name] if kind in _STATE else next(given))
        results = self._raised.results(found)
        own, changed = [], dict(kept)
        for (kind, name), node in zip(self._outputs, results, strict=True):
            if kind == OutputKind.USER_OUTPUT:
                own.append(wrap(node))
            else:
                changed[name] = wrap(node)
        return _pytree.tree_unflatten(own, self._out_spec), _nested(changed)

    def _arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        leaves, spec = _pytree.tree_flatten((args, dict(kwargs)))
        if spec != self._in_spec:
            raise FrontendError(
                f"{self._raised.__name__}: arguments must have the nest of the example, "
                f"{self._in_spec}, got {spec}"
            )
        return leaves


def from_exported(program: torch.export.ExportedProgram) -> Imported:
    """A program of `torch.export.export(model, args)` as a function of ted.

    Shapes: those of the example, as torch exported it.
    Raises: FrontendError for what is no such program, or has dynamic sizes; TedError for an
    operator without a lowering to linalg, by its name; VerifyError for what of linalg has no
    equations.
    """
    if not isinstance(program, torch.export.ExportedProgram):
        kind = type(program).__name__
        raise FrontendError(
            f"from_exported: takes what torch.export.export(model, args) gives, got {kind}"
        )
    lowered, system = _lowered(program)
    signature = lowered.graph_signature
    state = {**lowered.state_dict, **lowered.constants}
    inputs = tuple((s.kind, s.target or s.arg.name) for s in signature.input_specs)
    outputs = tuple((s.kind, s.target or s.arg.name) for s in signature.output_specs)
    written = [name for kind, name in outputs if kind not in _RESULTS]
    if written:
        raise FrontendError(
            f"from_exported: a model must not write into its arguments, got {', '.join(written)}; "
            "let it give what it writes"
        )
    arrays = {name: to_array(state[name]) for kind, name in inputs if kind in _STATE}
    params = {name for kind, name in inputs if kind == InputKind.PARAMETER}
    return Imported(
        _nested({n: a for n, a in arrays.items() if n in params}),
        _nested({n: a for n, a in arrays.items() if n not in params}),
        Raised(system), inputs, outputs, lowered.call_spec.in_spec, lowered.call_spec.out_spec,
    )  # fmt: skip


def _check_sizes(specs: Sequence[Any]) -> None:
    for spec in specs:
        if not isinstance(spec.arg, TensorArgument):
            kind = "a symbolic size" if isinstance(spec.arg, SymIntArgument) else "no tensor"
            raise FrontendError(
                f"from_exported: inputs must be tensors of static sizes, got {kind} in {spec.arg}; "
                "export without dynamic_shapes"
            )


def _lowered(program: torch.export.ExportedProgram) -> tuple[torch.export.ExportedProgram, System]:
    """The system of a program, and the program that it is of.

    Before it is imported, a program is taken apart by torch where it writes in place, or has an
    operator that has no lowering of its own: that takes torch longer than all the rest.
    """
    _check_sizes(program.graph_signature.input_specs)
    _check_results(program.graph)
    if not _writes(program.graph):
        with suppress(TedError):
            return program, _system(program)
    table = decompositions()
    kept = kept_in(program.graph)
    apart = program.run_decompositions({k: rule for k, rule in table.items() if k not in kept})
    return apart, _system(apart)


def _check_results(graph: torch.fx.Graph) -> None:
    """Some results end the process in the binding's lowering, or let it take all memory.

    Those are scalars in 8 bits, which are moved in 32 and not computed with, and a tensor that is
    read where a mask holds.
    """
    for node in graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and free_unbacked_symbols(value.shape):
            raise FrontendError(
                f"from_exported: sizes must not depend on data, got {tuple(value.shape)} from "
                f"{node.target}; keep all elements, as by torch.where"
            )
        kinds = [getattr(v, "dtype", None) for v in _pytree.tree_leaves(value)]
        dtype = next((kind for kind in kinds if kind in _BYTES), None)
        if node.op == "call_function" and dtype and not _moves(node):
            raise FrontendError(
                f"from_exported: integers of 8 bits must be inputs or parts of them, got {dtype} "
                f"from {node.target}; convert them before, as by .to(torch.int32)"
            )


def _moves(node: torch.fx.Node) -> bool:
    name = getattr(node.target, "_opname", None)
    return name in _MOVES or node.target is getitem


def _writes(graph: torch.fx.Graph) -> bool:
    """Whether an operator changes what it is given; batch norm in training does, and says not."""
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            continue
        training = zip(schema.arguments, node.args, strict=False)
        if schema.is_mutable or any(a.name == "training" and v is True for a, v in training):
            return True
    return False


def _system(program: torch.export.ExportedProgram) -> System:
    graph, kept = taken_out(_without_bytes(program.graph))
    module = torch_module(graph)
    to_linalg(module)
    (system,) = systems(module).values()
    system = _with_bytes(put_back(system, kept), program.graph)
    for tensor, spec in zip(system.inputs, program.graph_signature.input_specs, strict=True):
        tensor.name = spec.target or spec.arg.name
    return system


def _without_bytes(graph: torch.fx.Graph) -> torch.fx.Graph:
    """A copy of a graph with wider integers for bytes, which the binding reads with a sign."""
    graph = copy.deepcopy(graph)
    target = torch.ops.aten._assert_tensor_metadata.default
    for node in graph.find_nodes(op="call_function", target=target):
        graph.erase_node(node)
    for node in graph.nodes:
        node.meta["val"] = _pytree.tree_map(_wide, node.meta.get("val"))
        node.meta.pop("tensor_meta", None)  # which says the types once more
    return graph


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
    outputs = zip(substituted(system.outputs, known), graph.output_node().args[0], strict=True)
    results = [cast(wrap(t), _byte_kind(node) or t.dtype).node for t, node in outputs]
    return System(tuple(inputs), tuple(results), system.name)


def _byte_kind(node: Any) -> str | None:
    dtype = getattr(node.meta.get("val"), "dtype", None)
    return str(dtype).removeprefix("torch.") if dtype in _BYTES else None


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """{"a.b": x} -> {"a": {"b": x}}."""
    found: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        place = found
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return found
