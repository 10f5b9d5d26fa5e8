"""From tensors to a function on arrays: system -> ted ops -> linalg -> loops -> machine code.

Before: C = ted.compute(...)      After: f = ted.compile([A, B], [C]);  c = f(a, b)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Union

from ted import dialects
from ted.api.options import CompileOptions, compile_options
from ted.api.symbolic import SymbolicFunction
from ted.codegen.assembly import disassemble
from ted.codegen.jit import Compiled, compile_module
from ted.cpu.pipeline import CPU_STAGES, cpu_stages
from ted.errors import CompileError
from ted.forking import cached_property
from ted.frontend.systems import system_of, tensors_of
from ted.frontend.tensors import Tensor, wrap
from ted.ir.equations import (
    System,
    identity_dims,
    topological,
    whole,
)
from ted.ir.equations import Tensor as Node
from ted.ir.pipelines import run_stages, stage_text
from ted.ir.saved_values import with_saved_values
from ted.ir.scalar import load
from ted.ir.specialising import sizes_of
from ted.ir.to_ops import to_module
from ted.machine import Cpu
from ted.mlir import ir
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import bind
from ted.runtime.library import library_path

if TYPE_CHECKING:
    from ted.api.cuda_functions import CudaFunction

# What `compile` returns; "CudaFunction" is loaded when it is needed.
Compilation = Union["CompiledFunction", "CudaFunction"]
STAGES = (*(stage.name for stage in CPU_STAGES), "asm")


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
    if sizes_of(system):
        return SymbolicFunction(
            system, lambda known: compile_system(known, single, donated, options), options
        )
    return compile_system(system, single, donated, options)


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


class CompiledFunction:
    """A program compiled for one target: call it with arrays, look at its IR.

    `f(*arrays)` returns a tuple of arrays, or one array when it was compiled for a single tensor;
    `out=` gives arrays to fill, an entry that is None leaves the array to the function.
    """

    def __init__(
        self,
        system: System,
        single: bool,
        donated: Mapping[int, int],
        options: CompileOptions,
    ) -> None:
        assert isinstance(options.machine, Cpu), "a program for a CPU"
        self.system = system
        self.options = options
        self._single = single
        self._stages = cpu_stages(options.machine)
        symbol = _symbol(system.name)
        self._source = _module_text(replace(system, name=symbol))
        self._call = bind(
            self._code.address(symbol),
            [_spec(t) for t in system.inputs],
            [_spec(t) for t in system.outputs],
            name=system.name,
            accesses=dict(enumerate(self._code.indexed)),
            donated=donated,
            owner=self._code,
        )

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on one array per input.

        Raises: ExecutionError naming the argument, or the tensor and index that is out of range.
        """
        results = self._call(*arrays, out=out)
        return results[0] if self._single else results

    @cached_property
    def _code(self) -> Compiled:
        with dialects.session():
            lowered = run_stages(ir.Module.parse(self._source), self._stages)
            return compile_module(lowered, (library_path(),))

    @property
    def peak_bytes(self) -> int:
        """Bytes of results and temporary buffers that the latest call held at most at once.

        Small buffers in the frame of the call, at most 256 KiB in all, are not counted.
        """
        return self._call.peak_bytes

    def ir(self, stage: str = "ted") -> str:
        """The program at the end of a stage: one of ted.api.compiling.STAGES.

        Raises: CompileError for an unknown stage.
        """
        if stage not in STAGES:
            raise CompileError(f"ir: a stage in {STAGES}, got {stage!r}")
        if stage == "asm":
            return disassemble(self._code.object_code())
        with dialects.session():
            return stage_text(ir.Module.parse(self._source), self._stages, stage)


def _symbol(name: str) -> str:
    """A name that no library has: a function `sin` would be what its own `math.sin` calls."""
    return name if name == "main" else f"ted.{name}"


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


def _module_text(system: System) -> str:
    with dialects.session():
        return str(to_module(system).operation.get_asm(enable_debug_info=True))


def _spec(tensor: Node) -> ArgSpec:
    return ArgSpec(tensor.name, tensor.dtype.name, tensor.static_shape)
