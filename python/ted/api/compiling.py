"""From tensors to a function on arrays: system -> ted ops -> linalg -> loops -> machine code.

Before: C = ted.compute(...)      After: f = ted.compile([A, B], [C]);  c = f(a, b)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Union

from ted import dialects
from ted.api.cpu_functions import CompiledFunction
from ted.api.options import compile_options
from ted.api.row_functions import EACH, rows_of
from ted.api.symbolic import SymbolicFunction
from ted.errors import CompileError
from ted.frontend.systems import system_of, tensors_of
from ted.frontend.tensors import Tensor, wrap
from ted.ir.equations import (
    System,
    identity_dims,
    topological,
    whole,
)
from ted.ir.equations import Tensor as Node
from ted.ir.saved_values import with_saved_values
from ted.ir.scalar import load
from ted.ir.specialising import sizes_of
from ted.ir.to_ops import to_module
from ted.machine import Cpu
from ted.mlir import ir
from ted.options import CompileOptions
from ted.runtime.calls import BoundFunction

if TYPE_CHECKING:
    from ted.api.cuda_functions import CudaFunction

# What `compile` returns; "CudaFunction" is loaded when it is needed.
Compilation = Union[CompiledFunction, "CudaFunction"]


def compile(
    inputs: Sequence[Tensor],
    outputs: Tensor | Sequence[Tensor],
    target: str = "cpu",
    name: str = "main",
    donate: Sequence[Tensor] = (),
    *,
    deterministic: bool = True,
) -> Compilation | SymbolicFunction[Compilation]:
    """Compile the program that computes `outputs` from `inputs`.

    Shapes: the function takes one array per input and returns one per output, of their shapes.
    Where those hold symbolic sizes, it is compiled for the sizes of the arrays when it is called.
    The arrays passed for `donate` are taken over: each becomes the first result of its shape and
    type that no other has become, so that state can be updated call by call in the same memory.
    `target` is "cpu", "cuda" for the GPU of this machine, or "cuda:sm_90a" for one by its name;
    ",fast_math" and ",tf32" behind it trade precision for speed.
    `deterministic=False` lets sums at indices that are data add in any order on a GPU, by atomic
    operations; they then round differently from call to call. On the CPU it changes nothing.
    Raises: FrontendError for an input that is missing, repeated or no placeholder; CompileError
    for an unknown target, or a donated tensor that is no input or fits no output.
    """
    options = compile_options(target, deterministic=deterministic)
    single = isinstance(outputs, Tensor)
    system = system_of(inputs, [outputs] if single else outputs, name)
    donated = _taken_over(system, donate)
    return compile_sizes(system, single, donated, options)


def compile_sizes(
    system: System,
    single: bool = False,
    donated: Mapping[int, int] | None = None,
    options: CompileOptions | None = None,
) -> Compilation | SymbolicFunction[Compilation]:
    """Compile a program, when it is called if it has symbolic sizes."""
    options = options or compile_options()
    if not sizes_of(system):
        return compile_system(system, single, donated, options)

    def build(known: System) -> Compilation:
        return compile_system(known, single, donated, options)

    def rows(known: System, in_place: Mapping[int, int]) -> BoundFunction:
        return compile_on_cpu(known, options, in_place).bound

    if not isinstance(options.machine, Cpu):
        found = f"{EACH}, as every program for a GPU"
    else:
        own = replace(system, outputs=_distinct(system.outputs))
        found = rows_of(own, rows, single, donated or {})
    return SymbolicFunction(system, build, options, found)


def compile_system(
    system: System,
    single: bool = False,
    donated: Mapping[int, int] | None = None,
    options: CompileOptions | None = None,
) -> Compilation:
    """Compile a program; every output gets memory of its own, or that of a donated input."""
    distinct = with_saved_values(replace(system, outputs=_distinct(system.outputs)))
    options = options or compile_options()
    if isinstance(options.machine, Cpu):
        return CompiledFunction(distinct, single, donated or {}, options)
    from ted.api.cuda_functions import CudaFunction  # loaded by those who use GPUs

    return CudaFunction(distinct, single, donated or {}, options)


def compile_on_cpu(
    system: System, options: CompileOptions, in_place: Mapping[int, int]
) -> CompiledFunction:
    """Compile a program whose arrays of results hold inputs when a call starts."""
    return CompiledFunction(with_saved_values(system), False, {}, options, in_place)


def _taken_over(system: System, donate: Sequence[Tensor]) -> dict[int, int]:
    """For each output that goes into a donated input: the positions of both."""
    found: dict[int, int] = {}
    for tensor in [donate] if isinstance(donate, Tensor) else donate:
        node = tensor.node if isinstance(tensor, Tensor) else tensor
        if node not in system.inputs:
            raise CompileError(f"compile: donate takes inputs of the function, got {tensor!r}")
        fits = [
            k
            for k, output in enumerate(system.outputs)
            if k not in found and (output.shape, output.dtype) == (node.shape, node.dtype)
        ]
        if not fits:
            raise CompileError(
                f"compile: a donated input needs an output of its shape and type, got {node} of "
                f"{node.dtype} and outputs {list(system.outputs)}",
                node.location,
            )
        found[fits[0]] = system.inputs.index(node)
    return found


def _distinct(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Every output owns its memory: an input or a repeated output is copied."""
    taken: set[Node] = set()
    result: list[Node] = []
    for node in nodes:
        result.append(_copy(node) if node.is_input or node in taken else node)
        taken.add(node)
    return tuple(result)


def _copy(node: Node) -> Node:
    copy = whole(node.shape, load(node, identity_dims(len(node.shape))), node.location)
    return Node(node.name, node.shape, node.dtype, None, (copy,), node.location)


def module(program: Any, *arguments: Any) -> ir.Module:
    """The MLIR module of ted ops of a function traced on arguments, or of outputs.

    `program` is a traced function (`ted.function`), a tensor or a sequence of tensors; for tensors
    the inputs are the placeholders they need, in order of first use.
    """
    if hasattr(program, "trace"):
        system = program.trace(*arguments).system()
    else:
        outputs = tensors_of(program, "module")
        nodes = topological([t.node for t in outputs])
        system = system_of([wrap(n) for n in nodes if n.is_input], outputs)
    with dialects.session():
        return to_module(with_saved_values(system))
