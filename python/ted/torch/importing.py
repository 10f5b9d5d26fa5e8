"""Programs of `torch.export` -> functions of ted: `from_exported`.

Before: program = torch.export.export(model, (x,))
After:  f = ted.torch.from_exported(program);  ted.grad(lambda p, x: loss(f(p, x)))(f.params, x)

The binding's own importer takes a program to linalg, and `ted.raising` to equations: operators have
no rules here, and derivatives are those of equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import (
    InputKind,
    OutputKind,
    SymIntArgument,
    TensorArgument,
)
from torch.utils import _pytree

from ted.errors import FrontendError, TedError
from ted.frontend.complex_pairs import Complex
from ted.frontend.tensors import wrap
from ted.frontend.trees import flatten
from ted.ir.equations import System
from ted.mlir.torch_programs import decompositions
from ted.raising.complexes import closed, each
from ted.raising.modules import Raised
from ted.records import dataclass
from ted.torch.arrays import to_array
from ted.torch.complex_graphs import is_complex
from ted.torch.graphs import check_results, graphs, system_of, viewed, writes
from ted.torch.kept_operators import kept_in

_STATE = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_RESULTS = (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION)


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
            if kind in _STATE and f"{name}.real" in state:
                found.append(Complex(state[f"{name}.real"], state[f"{name}.imag"]))
                continue
            if kind in _STATE and name not in state:
                raise FrontendError(f"{self._raised.__name__}: params must have {name}")
            found.append(state[name] if kind in _STATE else next(given))
        flat = self._raised.results(self._raised.opened(found))
        results = closed(flat, self._raised.gives)
        own, changed = [], dict(kept)
        for (kind, name), node in zip(self._outputs, results, strict=True):
            if kind == OutputKind.USER_OUTPUT:
                own.append(each(wrap, node))
            else:
                changed[name] = each(wrap, node)
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
        _raised(system, lowered.graph), inputs, outputs, lowered.call_spec.in_spec,
        lowered.call_spec.out_spec,
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
    parts = list(graphs(program.graph_module))
    for graph in parts:
        check_results(graph)
    failed = None
    if not any(map(writes, parts)):
        try:
            return program, _system(program)
        except TedError as error:
            failed = error
    targets = [node.target for graph in parts for node in graph.nodes]
    copies = {own: _copied(view) for own in targets if (view := viewed(own)) is not own}
    table = {**decompositions(), **copies}
    kept = kept_in(parts)
    try:
        apart = program.run_decompositions({k: rule for k, rule in table.items() if k not in kept})
    except RuntimeError as error:  # an operator that torch itself takes apart for other types only
        text = str(failed or f"from_exported: torch must take it apart, {error}")
        raise FrontendError(text) from error
    return apart, _system(apart)


def _copied(view: Any) -> Any:
    """What a copy of a view is taken apart into; that reads a tensor whose elements are apart."""

    def rule(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        found = view(x.contiguous(), *args, **kwargs)
        return _pytree.tree_map(lambda t: t.clone(memory_format=torch.contiguous_format), found)

    return rule


def _system(program: torch.export.ExportedProgram) -> System:
    constants = {
        spec.arg.name: value
        for spec in program.graph_signature.input_specs
        if spec.kind == InputKind.CONSTANT_TENSOR
        and isinstance(value := program.constants[str(spec.target)], torch.Tensor)
    }
    system = system_of(program.graph_module, constants)
    places = program.graph.find_nodes(op="placeholder")
    names = (spec.target or spec.arg.name for spec in program.graph_signature.input_specs)
    parts = [
        f"{name}{part}"
        for name, place in zip(names, places, strict=True)
        for part in ((".real", ".imag") if is_complex(place) else ("",))
    ]
    for tensor, name in zip(system.inputs, parts, strict=True):
        tensor.name = name
    return system


def _raised(system: System, graph: torch.fx.Graph) -> Raised:
    """The function of a program, which knows where it takes and gives complex tensors."""
    places = graph.find_nodes(op="placeholder")
    results = _pytree.tree_leaves(graph.output_node().args)
    return Raised(system, tuple(map(is_complex, places)), tuple(map(is_complex, results)))


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
