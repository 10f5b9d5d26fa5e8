"""Loop nests of a program -> functions of their own, equal ones one: `ted-outline-kernels`.

Before: `linalg.generic ins(%a) outs(%b)` and the same on `%b` and `%c`, as in a deep network
After: `func.call @kernel_1f…(%a, %b)`, `func.call @kernel_1f…(%b, %c)`

All that comes later is done once for each kernel that differs, whatever the tensors are called:
what a kernel is named after is a hash of its text. It takes the memory that it touches, each
allocation or argument once, and makes constants and views of it again; memory that only it uses is
its own. Numbers of index errors are arguments, and so are others by which alone kernels differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from ted.cpu.shared_kernels import name_by_text, share_kernels
from ted.linalg.data_reads import ERROR_FUNCTION
from ted.mlir import func, ir, memref
from ted.mlir.aliasing import ANYWHERE, VIEWS, Memory, memories
from ted.mlir.effects import effects_of
from ted.mlir.queries import (
    constant_of,
    copied_with,
    defining,
    functions,
    is_inside,
    operands_inside,
    operations,
)
from ted.mlir.scalars import constant
from ted.records import dataclass

_NESTS = ("scf.for", "scf.if", "scf.parallel", "memref.copy")
_REMADE = (*VIEWS, "arith.constant", "memref.get_global")
_MAKERS, _FREE = ("memref.alloc", "memref.alloca"), "memref.dealloc"
_NOALIAS, _PREFIX = "llvm.noalias", "kernel"


@dataclass(frozen=True)
class TedOutlineKernels:
    """The pass."""

    def run(self, module: ir.Module) -> None:
        """Outline what loops, in every function."""
        known: dict[str, str] = {}
        with module.context:
            for function in list(functions(module)):
                for group in list(_groups(function.entry_block)):
                    kernel = Kernel(group)
                    if kernel.is_callable:
                        kernel.outline(module, function, known)
            share_kernels(module, _PREFIX, known)


def _groups(block: ir.Block) -> Iterator[list[ir.Operation]]:
    """What loops, with the fills of memory that nothing else touches in between."""
    fills: list[ir.Operation] = []
    for op in (one.operation for one in block.operations):
        if op.name == "linalg.fill":
            fills.append(op)
            continue
        touched = effects_of(op).touched
        mine = [f for f in fills if ANYWHERE in touched or touched & {*_output(f), ANYWHERE}]
        fills = [f for f in fills if f not in mine]
        if op.name.startswith("linalg.") or op.name in _NESTS:
            yield [*mine, op]
        else:
            yield from ([fill] for fill in mine)
    yield from ([fill] for fill in fills)


def _output(fill: ir.Operation) -> set[Memory]:
    return memories(fill.operands[1])


@dataclass
class Kernel:
    """Operations of one block, what they take from outside, and what is made again inside.

    `marks` are attributes of the function that is made of them.
    """

    ops: Sequence[ir.Operation]
    marks: Mapping[str, ir.Attribute] = field(default_factory=dict)
    arguments: list[ir.Value] = field(default_factory=list)
    remade: list[ir.Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._inside = set(self.ops)
        for op in self.ops:
            # Each value once; the numbers of reports are arguments.
            for value in dict.fromkeys(operands_inside(op, _is_report)):
                self._take(value)

    @property
    def is_callable(self) -> bool:
        """Whether all can be passed as pointers and scalars, and nothing but scalars returned."""
        given, made = self.arguments, self.ops[-1].results
        return all(_is_passed(v.type) for v in given) and not any(
            isinstance(v.type, ir.MemRefType) or not _is_passed(v.type) for v in made
        )

    def outline(
        self,
        module: ir.Module,
        function: func.FuncOp,
        known: dict[str, str],
        prefix: str = _PREFIX,
    ) -> None:
        """Replace the operations by a call; `known` has kernels by their text."""
        last = self.ops[-1]
        with last.location:
            made, numbers = self._function(module, function)
            is_new = name_by_text(made, prefix, known)
            name = made.name.value
            if not is_new:
                made.operation.erase()
            types = [result.type for result in last.results]
            with ir.InsertionPoint(last):
                numbers = [constant(ir.IntegerType.get_signless(64), n) for n in numbers]
                call = func.CallOp(types, name, [*self.arguments, *numbers]).operation
        for old, new in zip(last.results, call.results, strict=True):
            old.replace_all_uses_with(new)
        for op in reversed(self.ops):
            op.erase()
        for op in reversed(self.remade):
            for free in _frees(op):
                free.erase()
            if not list(op.results[0].uses):
                op.erase()

    def _take(self, value: ir.Value) -> None:
        """Find out how a value comes in."""
        if value in self.arguments or self._is_inside(value):
            return
        op = defining(value, *_REMADE, *_MAKERS)
        if op is None or (op.name in _MAKERS and not self._is_only_used_here(op)):
            self.arguments.append(value)
        elif op not in self.remade:
            for operand in op.operands:
                self._take(operand)
            self.remade.append(op)

    def _is_inside(self, value: ir.Value) -> bool:
        op = value.owner.owner if isinstance(value.owner, ir.Block) else value.owner
        return self._has(op.operation)

    def _has(self, op: ir.Operation) -> bool:
        """Whether an operation is one of these, or inside of one."""
        while op not in self._inside:
            if op.parent is None:
                return False
            op = op.parent.operation
        return True

    def _is_only_used_here(self, op: ir.Operation) -> bool:
        """Whether memory is used by these operations only, directly or through views."""
        users = (use.owner.operation for use in op.results[0].uses)  # maybe very many
        return all(
            self._has(user)
            or (user.name in VIEWS and self._is_only_used_here(user))
            or user.name == _FREE
            for user in users
        )

    def _function(self, module: ir.Module, function: func.FuncOp) -> tuple[func.FuncOp, list[int]]:
        """The kernel, still without a name, and the numbers of index errors to call it with."""
        numbers = [*dict.fromkeys(_number(c) for op in self.ops for c in _reports(op))]
        results = [result.type for result in self.ops[-1].results]
        number_type = ir.IntegerType.get_signless(64)
        types = [*(v.type for v in self.arguments), *[number_type] * len(numbers)]
        with ir.InsertionPoint.at_block_begin(module.body):
            made = func.FuncOp("kernel", (types, results), visibility="private")
        block = made.add_entry_block()
        known = dict(zip(self.arguments, block.arguments, strict=False))
        named = dict(zip(numbers, [*block.arguments][len(self.arguments) :], strict=True))
        with ir.InsertionPoint(block):
            for op in (*self.remade, *self.ops):
                copied_with(op, known)
            for op in self.remade:
                if _frees(op):
                    memref.DeallocOp(known[op.results[0]])
            func.ReturnOp([known[result] for result in self.ops[-1].results])
        for call in _reports(made.operation):
            number = call.operands[0]
            call.operands[0] = named[_number(call)]
            constant = defining(number)
            if (
                constant is not None
                and not list(number.uses)
                and is_inside(constant, made.operation)
            ):
                constant.erase()
        for name, value in self.marks.items():
            made.attributes[name] = value
        made.arg_attrs = ir.ArrayAttr.get(
            [*self._attributes(function), *[ir.DictAttr.get({})] * len(numbers)]
        )
        return made, numbers

    def _attributes(self, function: func.FuncOp) -> list[ir.DictAttr]:
        """Memory that is known to be no other is so for the kernel too."""
        apart = ir.DictAttr.get({_NOALIAS: ir.UnitAttr.get()})
        nothing = ir.DictAttr.get({})
        memory = [v for v in self.arguments if isinstance(v.type, ir.MemRefType)]
        known = all(memories(value) == {value} for value in memory)
        return [
            apart if known and value in memory and _is_apart(value, function) else nothing
            for value in self.arguments
        ]


def _is_apart(memory: ir.Value, function: func.FuncOp) -> bool:
    """Whether an allocation, or an argument that says so."""
    if not isinstance(memory, ir.BlockArgument):
        return True
    given = function.operation.attributes.get("arg_attrs")
    return given is not None and _NOALIAS in ir.DictAttr(ir.ArrayAttr(given)[memory.arg_number])


def _frees(op: ir.Operation) -> list[ir.Operation]:
    """What gives the memory of an allocation back."""
    if op.name != "memref.alloc":
        return []
    return [u for use in op.results[0].uses if (u := use.owner.operation).name == _FREE]


def _is_report(op: ir.Operation) -> bool:
    """Whether a call reports an index; in a kernel the number is an argument like any other."""
    return (
        op.name == "func.call"
        and ir.FlatSymbolRefAttr(op.attributes["callee"]).value == ERROR_FUNCTION
        and constant_of(op.operands[0]) is not None
    )


def _reports(op: ir.Operation) -> list[ir.Operation]:
    return [call for call in operations(op, "func.call") if _is_report(call)]


def _number(report: ir.Operation) -> int:
    number = constant_of(report.operands[0])
    assert number is not None, "the number of an access is a constant"
    return number


def _is_passed(kind: ir.Type) -> bool:
    """Whether a value of a type goes into a kernel: a pointer, or a number."""
    if not isinstance(kind, ir.MemRefType):
        return isinstance(kind, (ir.IndexType, ir.IntegerType, ir.F32Type, ir.F64Type))
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, offset = kind.get_strides_and_offset()
    return kind.has_static_shape and unknown not in (*strides, offset)
