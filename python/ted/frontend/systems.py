"""Frontend tensors -> a System: closed under its inputs, every tensor with a name of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.frontend import checks
from ted.frontend.complex_pairs import Complex, parts_instead
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.ir.equations import System, topological


def system_of(inputs: Sequence[Any], outputs: Sequence[Any], name: str = "main") -> System:
    """The program from placeholders to results.

    Raises: FrontendError when an input is no placeholder or given twice, an output no tensor, or an
    output depends on a placeholder that is not among the inputs.
    """
    if not isinstance(name, str) or not name.isprintable() or not name:
        fail(f"compile: name must be a non-empty printable string, got {name!r}")
    inputs, outputs = _listed(inputs, name, "inputs"), _listed(outputs, name, "outputs")
    for k, x in enumerate(inputs):
        if not isinstance(x, Tensor):
            fail(
                f"{name}: input {k} must be a placeholder, got {type(x).__name__}{parts_instead(x)}"
            )
        if not x.node.is_input or x.node.constant is not None:
            kind = "computed" if x.node.constant is None else "a constant"
            fail(f"{name}: input {k} must be a placeholder, got {x!r}, which is {kind}")
    for k, x in enumerate(outputs):
        if not isinstance(x, Tensor):
            fail(f"{name}: output {k} must be a tensor, got {type(x).__name__}{parts_instead(x)}")
    nodes = tuple(x.node for x in inputs)
    for k, node in enumerate(nodes):
        if node in nodes[:k]:
            fail(f"{name}: an input may be given once, got {node.name} as input {k} again")
    system = System(nodes, tuple(x.node for x in outputs), name)
    for tensor in system.tensors():
        if tensor.is_input and tensor.constant is None and tensor not in nodes:
            at = f" of {tensor.location}" if tensor.location else ""
            fail(
                f"{name}: the inputs must hold every placeholder that the outputs need, "
                f"got none for {tensor.name}{at}; a function of tensors that reads one from "
                "outside of it takes arrays as ted.constant(array)"
            )
    unique_names(system)
    return system


def _listed(tensors: Any, name: str, what: str) -> list[Any]:
    if isinstance(tensors, Tensor):
        return [tensors]
    if not checks.is_several(tensors) or isinstance(tensors, Complex):
        kind = type(tensors).__name__ + parts_instead(tensors)
        fail(f"{name}: {what} must be a list of tensors, got {kind}")
    return list(tensors)


def tensors_of(values: Any, what: str) -> list[Tensor]:
    """One tensor or several as a list.

    Raises: FrontendError for anything else.
    """
    found = _listed(values, what, "what it takes")
    for k, value in enumerate(found):
        if not isinstance(value, Tensor):
            kind = type(value).__name__
            fail(f"{what}: takes tensors, got {kind} {value!r} at {k}{parts_instead(value)}")
    return found


def unique_names(system: System) -> None:
    """Number the later of several tensors with one name: x, x_1, x_2."""
    taken: set[str] = set()
    last: dict[str, int] = {}  # numbers up to which are taken
    for tensor in dict.fromkeys((*system.inputs, *topological(system.outputs))):
        name = tensor.name
        while tensor.name in taken:
            last[name] = last.get(name, 0) + 1
            tensor.given_name = tensor.given_name or name
            tensor.name = f"{name}_{last[name]}"
        taken.add(tensor.name)
