"""The frame of a kernel: its function, the memory that it sees, runs of elements in and out.

Operands are bare pointers: one-dimensional memrefs, indexed by positions that the kernel computes.
Shared memory is one dynamic piece cut into views; who lowers the module to LLVM gives its symbol
external linkage and 1024-byte alignment, which neither LLVM nor MLIR does by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ted.gpu.templates.integers import Condition, Number, choose, constant, index
from ted.gpu.templates.problem import Operand
from ted.machine import ACCESS_BYTES, GPU_REGISTERS
from ted.mlir import arith, gpu, ir, memref, scf, semiring, vector
from ted.records import dataclass

SHARED = "#gpu.address_space<workgroup>"
# On the way to LLVM it reaches the branch back to the loop's header by this very name.
STAYS_LOOP = "#llvm.loop_annotation<unroll = <disable = true>>"
# Says which arguments are tensor maps, passed by value, to who translates the kernel to LLVM.
TENSOR_MAPS = "ted.tensor_maps"
MAP_ALIGNMENT = 64


@dataclass(frozen=True)
class Launch:
    """One kernel launch: what the host has to know.

    `arguments` name the kernel's parameters in order: 'a', 'b', 'c' are the operands of the
    problem as it was given, 'input 0' and so on those of its epilogue, 'workspace' is device memory
    of `Plan.workspace_bytes`, a `TensorMap` is passed by value.
    """

    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared_bytes: int
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Memory:
    """A memref with how to index it: `strides` are in elements, of each of its indices."""

    value: ir.Value
    element: ir.Type
    bytes: int

    def load(self, position: Number, width: int = 1) -> ir.Value:
        """Read `width` neighbouring elements as a vector."""
        alignment = min(width * self.bytes, ACCESS_BYTES)
        kind = ir.VectorType.get([width], self.element)
        return vector.LoadOp(kind, self.value, [index(position)], alignment=alignment).result

    def store(self, run: ir.Value, position: Number) -> None:
        """Write a vector to neighbouring elements."""
        width = ir.VectorType(run.type).shape[0]
        alignment = min(width * self.bytes, ACCESS_BYTES)
        vector.StoreOp(run, self.value, [index(position)], alignment=alignment)


def carried_loop(
    lower: Number,
    upper: Number,
    carried: Sequence[ir.Value],
    body: Callable[[ir.Value, list[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """A loop in steps of one over i32 numbers; it stays a loop.

    LLVM would unroll a short one completely, and keep the positions of all its tiles in registers.
    """
    loop = scf.ForOp(constant(lower), constant(upper), constant(1), list(carried))
    loop.operation.attributes["loop_annotation"] = ir.Attribute.parse(STAYS_LOOP)
    with ir.InsertionPoint(loop.body):
        scf.YieldOp(list(body(loop.induction_variable, list(loop.inner_iter_args))))
    return list(loop.results)


def element_type(name: str) -> ir.Type:
    """The MLIR type of an element by its name."""
    return ir.Type.parse(name)


def operand_type(operand: Operand) -> ir.MemRefType:
    """How a kernel sees an operand."""
    return ir.MemRefType.get([operand.size], element_type(operand.element))


def shared(element: str, elements: int, first_byte: int) -> Memory:
    """A view of the block's dynamic shared memory."""
    space = ir.Attribute.parse(SHARED)
    raw = ir.MemRefType.get(
        [ir.ShapedType.get_dynamic_size()], ir.IntegerType.get_signless(8), memory_space=space
    )
    kind = element_type(element)
    whole = gpu.DynamicSharedMemoryOp(raw).result
    typed = ir.MemRefType.get([elements], kind, memory_space=space)
    return Memory(memref.ViewOp(typed, whole, index(first_byte), []).result, kind, width_of(kind))


def width_of(element: ir.Type) -> int:
    """Bytes of one element."""
    return cast(Any, element).width // 8


def kernel(
    module: ir.Operation,
    symbol: str,
    types: Sequence[ir.Type],
    threads: int,
    registers: int,
    body: Callable[[Sequence[Any]], None],
) -> None:
    """Append a kernel to a `gpu.module`; the body gets its parameters.

    `registers` per thread are not exceeded, so that as many blocks share a multiprocessor.
    """
    with ir.InsertionPoint(module.regions[0].blocks[0]), ir.Location.unknown():
        function = gpu.GPUFuncOp(
            ir.FunctionType.get(list(types), []),
            symbol,
            arg_attrs=cast(Any, ir.ArrayAttr.get([_argument_attributes(kind) for kind in types])),
            kernel=True,
            known_block_size=[threads, 1, 1],
        )
        attributes = function.operation.attributes
        blocks = max(1, GPU_REGISTERS // (threads * registers))
        i32 = ir.IntegerType.get_signless(32)
        attributes["nvvm.minctasm"] = ir.IntegerAttr.get(i32, blocks)
        maps = [place for place, kind in enumerate(types) if not isinstance(kind, ir.MemRefType)]
        if maps:
            attributes[TENSOR_MAPS] = ir.DenseI64ArrayAttr.get(maps)
        entry = function.add_entry_block()
        with ir.InsertionPoint(entry):
            body([_argument(value) for value in entry.arguments])
            gpu.ReturnOp([])


def _argument_attributes(kind: ir.Type) -> ir.DictAttr:
    if not isinstance(kind, ir.MemRefType):
        return ir.DictAttr.get({"llvm.align": _i64(MAP_ALIGNMENT)})
    return ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get(), "llvm.align": _i64(ACCESS_BYTES)})


def _argument(value: ir.Value) -> Any:
    """Memory for a memref; the address of a tensor map as it is."""
    if not isinstance(value.type, ir.MemRefType):
        return value
    element = value.type.element_type
    return Memory(value, element, width_of(element))


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def when(condition: Condition, body: Callable[[], None]) -> None:
    """Run the body only if the condition holds."""
    if isinstance(condition, bool):
        if condition:
            body()
        return
    built = scf.IfOp(condition)
    with ir.InsertionPoint(built.then_block):
        body()
        scf.YieldOp([])


def masked(condition: Condition, run: ir.Value) -> ir.Value:
    """The run, or zeros where the condition does not hold."""
    if condition is True:
        return run
    return choose(condition, run, semiring.zero(ir.VectorType(run.type)))


def lane(run: ir.Value, place: int) -> ir.Value:
    """One element of a vector."""
    return vector.ExtractOp(run, [], [place]).result


def slice_of(run: ir.Value, first: int, count: int) -> ir.Value:
    """Neighbouring elements of a vector."""
    kind = ir.VectorType(run.type)
    if kind.shape[0] == count:
        return run
    part = ir.VectorType.get([count], kind.element_type)
    return vector.ExtractStridedSliceOp(part, run, [first], [count], [1]).result


def spread(scalar: ir.Value, count: int) -> ir.Value:
    """A vector of equal elements."""
    return vector.BroadcastOp(ir.VectorType.get([count], scalar.type), scalar).result


def convert(run: ir.Value, element: ir.Type) -> ir.Value:
    """The run in another float type."""
    kind = ir.VectorType(run.type)
    if kind.element_type == element:
        return run
    target = ir.VectorType.get(list(kind.shape), element)
    narrower = width_of(element) < width_of(kind.element_type)
    return (arith.TruncFOp if narrower else arith.ExtFOp)(target, run).result
