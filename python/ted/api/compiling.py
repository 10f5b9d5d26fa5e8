"""From tensors to a function on arrays: system -> ted ops -> linalg -> loops -> machine code.

Before: C = ted.compute(...)      After: f = ted.compile([A, B], [C]);  c = f(a, b)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Union

from ted.api.cpu_functions import CompiledFunction
from ted.api.options import compile_options
from ted.api.programs import (
    Key,
    Made,
    Program,
    distinct,
    key_of_program,
    known_program,
)
from ted.api.row_functions import EACH, rows_of
from ted.api.symbolic import SymbolicFunction
from ted.errors import CompileError
from ted.frontend.checks import is_several
from ted.frontend.systems import system_of
from ted.frontend.tensors import Tensor
from ted.ir.equations import System
from ted.ir.specialising import sizes_of
from ted.machine import Cpu
from ted.options import CompileOptions
from ted.runtime.calls import BoundFunction
from ted.runtime.subnormals import SubnormalNotice

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
    memory_limit: int | None = None,
    subnormals: str | None = None,
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
    `memory_limit` is that of a target, ",memory_limit=65536", in bytes, and so is `subnormals`: a
    call on a CPU keeps numbers below the normal range, or takes them for zeros, with "flush".
    Raises: FrontendError for an input that is missing, repeated or no placeholder; CompileError
    for an unknown target or word of `subnormals`, or a donated tensor that is no input or fits no
    output.
    """
    options = compile_options(
        target, deterministic=deterministic, memory_limit=memory_limit, subnormals=subnormals
    )
    single = isinstance(outputs, Tensor)
    inputs, results, donate = (_listed(given) for given in (inputs, outputs, donate))

    def make() -> Made:
        system = system_of(inputs, results, name)
        return system, taken_over(system, donate)

    key = _key(inputs, results, name, donate, options)
    if key is None:
        return compile_sizes(*make(), single, options)
    return compile_program(Program(name, make, key), single, options)


def compile_sizes(
    system: System,
    donated: Mapping[int, int] | None = None,
    single: bool = False,
    options: CompileOptions | None = None,
    has_notes: bool = False,
) -> Compilation | SymbolicFunction[Compilation]:
    """Compile a program, when it is called if it has symbolic sizes."""
    options = options or compile_options()
    if not sizes_of(system):
        return compile_system(system, single, donated, options, has_notes)

    def build(known: System) -> Compilation:
        return compile_system(known, single, donated, options, has_notes)

    # One, for programs of a few rows each.
    notice = SubnormalNotice(system.name, options.subnormals)

    def rows(known: System, in_place: Mapping[int, int]) -> BoundFunction:
        program = known_program(known, options=options, in_place=in_place)
        return CompiledFunction(program, False, options, notice).bound

    if not isinstance(options.machine, Cpu):
        found = f"{EACH}, as every program for a GPU"
    else:
        own = replace(system, outputs=distinct(system.outputs))
        found = rows_of(own, rows, single, donated or {})
    return SymbolicFunction(system, build, options, found)


def compile_system(
    system: System,
    single: bool = False,
    donated: Mapping[int, int] | None = None,
    options: CompileOptions | None = None,
    has_notes: bool = False,
) -> Compilation:
    """Compile a program; every output gets memory of its own, or that of a donated input."""
    options = options or compile_options()
    program = replace(known_program(system, donated, options), has_notes=has_notes)
    return compile_program(program, single, options)


def compile_program(program: Program, single: bool, options: CompileOptions) -> Compilation:
    """Compile a program, which is derived and written if the disk does not have it."""
    if isinstance(options.machine, Cpu):
        return CompiledFunction(program, single, options)
    from ted.api.cuda_functions import CudaFunction  # loaded by those who use GPUs

    return CudaFunction(program, single, options)


def _listed(given: Any) -> Any:
    """One tensor or several as a list; anything else as it is."""
    if isinstance(given, Tensor):
        return [given]
    return list(given) if is_several(given) else given


def _key(inputs: Any, outputs: Any, name: Any, donate: Any, options: CompileOptions) -> Key | None:
    """The key of a program; None where something is not what it should be."""
    lists = (inputs, outputs, donate)
    if not all(isinstance(v, list) and all(isinstance(x, Tensor) for x in v) for v in lists):
        return None
    takes, gives, donated = ([x.node for x in given] for given in lists)
    if not isinstance(name, str) or not set(donated) <= set(takes):
        return None
    return key_of_program(takes, gives, name, [takes.index(node) for node in donated], options)


def taken_over(system: System, donate: Sequence[Tensor]) -> dict[int, int]:
    """For each output that goes into a donated input: the positions of both.

    Raises: CompileError for a donated tensor that is no input or fits no output.
    """
    if not is_several(donate):
        raise CompileError(f"compile: donate takes a list of inputs, got {donate!r}")
    found: dict[int, int] = {}
    for tensor in donate:
        node = tensor.node if isinstance(tensor, Tensor) else None
        if node is None or node not in system.inputs:
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
