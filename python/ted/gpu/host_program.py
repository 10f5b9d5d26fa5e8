"""The host function of a lowered program -> the steps, memory and kernels of a manifest.

Before: `memref.alloc`, `scf.for` with known bounds, `gpu.launch_func @kernels::@k args(%a, %i)`
After: buffers at offsets of one arena, `Loop`, `Launch` with pointers and loop counters

Buffers that are not alive together share memory. Anything else in the host function is an error:
no host code is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import prod

import numpy as np

from ted.codegen.manifest import (
    ALIGNMENT,
    ERRORS,
    Argument,
    Buffer,
    Constant,
    Copy,
    Kernel,
    Launch,
    Linear,
    Loop,
    Memory,
    Pointer,
    Scalar,
    Step,
    TensorMap,
)
from ted.domain.linear import Form, term
from ted.errors import CompileError
from ted.gpu.flat_views import view_start
from ted.gpu.tensor_map_values import CAST, tensor_map_of
from ted.mlir import func, ir
from ted.mlir.aliasing import VIEWS
from ted.mlir.dense_elements import numbers_of
from ted.mlir.index_values import form_of
from ted.mlir.queries import constant_of, defining
from ted.mlir.scalars import byte_width
from ted.records import dataclass

ERRORS_ARGUMENT = "ted.errors"  # attribute of the argument that is the error flag
_IGNORED = (
    "memref.dealloc", "func.return", "scf.yield", "arith.constant", "memref.get_global", CAST,
)  # fmt: skip
_DTYPES = {"f16": "float16", "bf16": "bfloat16"}


@dataclass
class HostProgram:
    """What a host function says; positions of inputs and outputs are those of its arguments."""

    kernels: dict[str, Kernel] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)


def read_host_function(function: func.FuncOp, inputs: int) -> HostProgram:
    """Read the host function, whose first `inputs` arguments are inputs, the others results.

    Raises: CompileError for an operation that is neither memory nor a loop nor a launch.
    """
    return _Reader(function, inputs).read()


class _Reader:
    def __init__(self, function: func.FuncOp, inputs: int) -> None:
        self.function = function
        self.program = HostProgram()
        self.memory: dict[ir.Value, Memory] = {}
        self.loops: dict[ir.Value, str] = {}
        self.sizes: list[int] = []  # of the buffers
        self.lives: list[tuple[int, int]] = []  # of the buffers, in steps of the top level
        self.globals: dict[str, Memory] = {}
        marks = function.operation.attributes
        errors = ir.IntegerAttr(marks[ERRORS_ARGUMENT]).value if ERRORS_ARGUMENT in marks else -1
        for k, argument in enumerate(function.entry_block.arguments):
            place: Memory = ("input", k) if k < inputs else ("output", k - inputs)
            self.memory[argument] = ERRORS if k == errors else place

    def read(self) -> HostProgram:
        self.program.steps = []
        for op in self.function.entry_block.operations:
            self._op(op.operation, self.program.steps)
        self._place_buffers()
        return self.program

    # ---- operations ------------------------------------------------------------------------------

    def _op(self, op: ir.Operation, steps: list[Step]) -> None:
        if op.name in _IGNORED or op.name in VIEWS or op.name.startswith(("arith.", "affine.")):
            return
        if op.name == "memref.alloc":
            self._alloc(op)
        elif op.name == "gpu.launch_func":
            steps.append(self._launch(op))
        elif op.name == "memref.copy":
            steps.append(self._copy(op))
        elif op.name == "scf.for":
            steps.append(self._loop(op))
        else:
            raise CompileError(
                f"cuda: the host only launches kernels, got {op.name} at {op.location}"
            )

    def _alloc(self, op: ir.Operation) -> None:
        self.memory[op.results[0]] = ("buffer", len(self.sizes))
        self.sizes.append(_bytes(op.results[0].type))
        self.lives.append(self._life(op))

    def _loop(self, op: ir.Operation) -> Loop:
        start, stop, step = (constant_of(v) for v in list(op.operands)[:3])
        if start is None or stop is None or step is None or len(op.results):
            raise CompileError(f"cuda: a loop of the host has constant bounds, got {op}")
        variable = f"t{len(self.loops)}"
        block = op.regions[0].blocks[0]
        self.loops[block.arguments[0]] = variable
        steps: list[Step] = []
        for inner in block.operations:
            self._op(inner.operation, steps)
        return Loop(variable, start, stop, step, tuple(steps))

    def _launch(self, op: ir.Operation) -> Launch:
        name = ir.SymbolRefAttr(op.attributes["kernel"]).value[-1]
        segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        starts = np.cumsum([0, *segments]).tolist()
        operands = list(op.operands)
        sizes = [_known(v) for v in operands[starts[1] : starts[7]]]
        shared = [_known(v) for v in operands[starts[10] : starts[11]]]
        given = operands[starts[11] : starts[12]]
        arguments = tuple(self._argument(v) for v in given)
        grid, block = (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5])
        params = tuple("pointer" if isinstance(a, Pointer) else _kind(a) for a in arguments)
        kernel = Kernel(name, grid, block, params, shared[0] if shared else 0)
        if self.program.kernels.setdefault(name, kernel) != kernel:
            raise CompileError(f"cuda: a kernel has one launch shape, got two for {name!r}")
        return Launch(name, arguments)

    def _copy(self, op: ir.Operation) -> Copy:
        source, target = op.operands
        return Copy(self._pointer(target), self._pointer(source), _bytes(source.type))

    # ---- arguments -------------------------------------------------------------------------------

    def _argument(self, value: ir.Value) -> Argument:
        if isinstance(value.type, ir.MemRefType):
            return self._pointer(value)
        if isinstance(value.type, ir.IndexType):
            return Scalar("i64", _number(self._linear(value)))
        op = defining(value)
        found = tensor_map_of(op)
        if op is not None and found is not None:
            start = self._pointer(op.operands[0], found.offset)
            ones, name = (1,) * len(found.dims), _DTYPES[found.element]
            return TensorMap(start, name, found.dims, found.strides, found.box, ones, found.swizzle)
        raise CompileError(f"cuda: a kernel takes pointers and indices, got {value.type}")

    def _pointer(self, value: ir.Value, further: int = 0) -> Pointer:
        memory, offset = self._place(value)
        return Pointer(memory, _number(offset + further))

    def _place(self, value: ir.Value) -> tuple[Memory, Form[str]]:
        """A piece of memory, and where in it a view starts, in bytes."""
        if value in self.memory:
            return self.memory[value], Form()
        op = defining(value)
        if op is not None and op.name == "memref.get_global":
            return self._global(op), Form()
        if op is not None and op.name == "memref.subview":
            start = view_start(op)
            memory, offset = self._place(op.operands[0])
            if start is not None:
                width = byte_width(ir.MemRefType(op.results[0].type).element_type)
                here = start.compose({value: self._linear(value) for value, _ in start.terms})
                return memory, offset + here * width
        elif op is not None and op.name in VIEWS and op.name != "memref.reinterpret_cast":
            return self._place(op.operands[0])
        raise CompileError(f"cuda: a pointer is to memory of the program, got {value}")

    def _linear(self, value: ir.Value) -> Form[str]:
        """A number as a linear expression of the counters of loops."""
        found = form_of(value, lambda v: term(self.loops[v]) if v in self.loops else None)
        if found is None:
            raise CompileError(f"cuda: a number of the host is linear in counters, got {value}")
        return found

    # ---- memory ----------------------------------------------------------------------------------

    def _global(self, op: ir.Operation) -> Memory:
        name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
        if name not in self.globals:
            module = self.function.operation.parent
            assert module is not None, "a function is inside a module"
            data = _data(ir.SymbolTable(module.operation)[name].operation)
            self.globals[name] = ("constant", len(self.program.constants))
            self.program.constants.append(Constant(name, data))
        return self.globals[name]

    def _life(self, op: ir.Operation) -> tuple[int, int]:
        """First and last operation of the function's block that a buffer is needed for."""
        order = {o.operation: k for k, o in enumerate(self.function.entry_block.operations)}
        places = [order[self._top(u, order)] for u in _users(op.results[0])]
        here = order[self._top(op, order)]
        return min([here, *places]) if not places else min(places), max([here, *places])

    def _top(self, op: ir.Operation, order: dict[ir.Operation, int]) -> ir.Operation:
        while op not in order:
            parent = op.parent
            assert parent is not None, "a use is inside the function"
            op = parent.operation
        return op

    def _place_buffers(self) -> None:
        """Offsets by first fit, the largest first: those alive together do not overlap."""
        offsets = [0] * len(self.sizes)
        placed: list[int] = []
        for k in sorted(range(len(self.sizes)), key=lambda k: (-self.sizes[k], k)):
            taken = sorted(
                (offsets[p], offsets[p] + _padded(self.sizes[p]))
                for p in placed
                if self.lives[p][0] <= self.lives[k][1] and self.lives[k][0] <= self.lives[p][1]
            )
            offsets[k] = _gap(taken, _padded(self.sizes[k]))
            placed.append(k)
        self.program.buffers = [
            Buffer(f"buffer{k}", size, offset)
            for k, (size, offset) in enumerate(zip(self.sizes, offsets, strict=True))
        ]


def _number(form: Form[str]) -> Linear:
    return Linear(form.constant, form.terms)


def _gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    at = 0
    for start, end in taken:
        if at + size <= start:
            return at
        at = max(at, end)
    return at


def _padded(size: int) -> int:
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def _users(value: ir.Value) -> list[ir.Operation]:
    """What uses a piece of memory, through views too."""
    found = []
    for use in value.uses:
        op = use.owner.operation
        if op.name in VIEWS or tensor_map_of(op) is not None:
            found += _users(op.results[0])
        found.append(op)
    return found


def _known(value: ir.Value) -> int:
    number = constant_of(value)
    if number is None:
        raise CompileError(f"cuda: sizes of a launch are constants, got {value}")
    return number


def _kind(argument: Argument) -> str:
    return argument.type if isinstance(argument, Scalar) else "tensormap"


def _bytes(kind: ir.Type) -> int:
    shaped = ir.MemRefType(kind)
    return prod(shaped.shape) * byte_width(shaped.element_type)


def _data(op: ir.Operation) -> bytes:
    """The bytes of a constant of the module."""
    values = ir.DenseElementsAttr(op.attributes["initial_value"])
    return numbers_of(values).tobytes()
