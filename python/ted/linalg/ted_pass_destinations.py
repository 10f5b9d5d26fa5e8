"""Function results -> memory that the caller provides: the pass `ted-pass-destinations`.

Before: `func @f(%a: tensor<4xf32>) -> tensor<4xf32>`
After: `func @f(%a: memref<4xf32>, %out: memref<4xf32>) -> tensor<4xf32>`, where the chain of
operations that makes the result starts from `%out`, and what is returned was put there:
`%r = bufferization.materialize_in_destination %chain in %out_as_tensor`. The analysis of
bufferization sees every access to `%out`, since all are of tensors that come from one;
`ted-bufferize` drops what is returned. Memrefs have no unit dims: the pointers are the same.

A chain belongs to one result. The chain of a result that continues another one's starts from a
copy of that. Results are destinations from the start because upstream's late elimination of empty
tensors can give two results one memory.  For the same reason each fill and empty tensor has one
user, which `convert-ted-to-linalg` sees to, and no CSE may run before this pass.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ted.errors import PassFailed
from ted.linalg.results_in_memory import check_results, set_type, taken_over
from ted.linalg.unit_dims import collapse, expand
from ted.mlir import bufferization, func, ir, tensor
from ted.mlir.generic import Generic
from ted.mlir.locations import source_location
from ted.mlir.queries import defining, functions, operations, terminator, use_known
from ted.records import dataclass

# The operand that the first result of an operation continues.
_FIRST_DESTINATION = {
    "tensor.insert": 1,
    "tensor.insert_slice": 1,
    "tensor.expand_shape": 0,
    "tensor.collapse_shape": 0,
    "scf.for": 3,
}
_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


@dataclass(frozen=True)
class TedPassDestinations:
    """Turn tensor arguments and results of every public function into memrefs."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: PassFailed for a call of a function of tensors, or a result that is no tensor of
        static size.
        """
        for function in functions(module):
            _convert(function)


def _convert(function: func.FuncOp) -> None:
    block = function.entry_block
    end = terminator(block)
    _check_calls(function)
    check_results(function, end, "ted-pass-destinations")
    with function.operation.location:
        taken = taken_over(function)
        _arguments_to_memrefs(block, taken)
        results = list(end.operands)
        outs = [block.add_argument(_memref(value.type), value.location) for value in results]
        starts = [_start(block, out, value.type) for out, value in zip(outs, results, strict=True)]
        _hold_at_start(block, taken, starts)
        equal = [_equal(result) for result in results]
        for k, start in enumerate(starts):
            if start is not None:
                others = [v for r, same in zip(results, equal, strict=True)
                          if r != results[k] for v in same]  # fmt: skip
                _start_chain(results[k], others, start, block)
        with ir.InsertionPoint(end):
            returned = [
                _put(collapse(value), start)
                for value, start in zip(end.operands, starts, strict=True)
                if start is not None
            ]
            func.ReturnOp(returned)
        end.erase()
    set_type(function, [value.type for value in returned])


def _check_calls(function: func.FuncOp) -> None:
    for call in operations(function, "func.call"):
        if any(isinstance(v.type, ir.RankedTensorType) for v in (*call.operands, *call.results)):
            callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
            raise PassFailed(
                "ted-pass-destinations: functions of tensors must be inlined, which those that "
                f"call themselves or have no body cannot be, got a call of @{callee}",
                source_location(call.location),
            )


def _hold_at_start(
    block: ir.Block, taken: Mapping[int, int], starts: Sequence[ir.Value | None]
) -> None:
    """What is read as an argument is read from the memory of a result; they are first in order."""
    for place, result in enumerate(taken[k] for k in sorted(taken)):
        old, start = block.arguments[place], starts[result]
        shaped = ir.RankedTensorType(old.type)
        if start is None:
            with ir.InsertionPoint.at_block_begin(block), old.location:
                held = tensor.EmptyOp(shaped.shape, shaped.element_type).result
        else:
            memory = defining(start)
            assert memory is not None, "a memref as a tensor is made by an operation"
            with ir.InsertionPoint.after(memory), old.location:
                held = _expanded(start, old.type)
        old.replace_all_uses_with(held)
    for _ in taken:
        block.erase_argument(0)


def _arguments_to_memrefs(block: ir.Block, taken: Collection[int]) -> None:
    """Memrefs in place of tensors; arguments that are taken over stay, before all others."""
    given = list(block.arguments)
    for place, old in enumerate(given):
        if place in taken:
            continue
        if not isinstance(old.type, ir.RankedTensorType):
            value = block.add_argument(old.type, old.location)
            old.replace_all_uses_with(value)
        else:
            value = block.add_argument(_memref(old.type), old.location)
            _replace_by_tensor(block, old, value)
    for place in reversed(range(len(given))):
        if place not in taken:
            block.erase_argument(place)


def _memref(kind: ir.Type) -> ir.MemRefType:
    shaped = ir.RankedTensorType(kind)
    # A pointer to nothing has no type with bare pointers, so it is passed as one to an element.
    shape = [] if 0 in shaped.shape else [e for e in shaped.shape if e != 1]
    return ir.MemRefType.get(shape, shaped.element_type)


def _to_tensor(memory: ir.Value, *, writable: bool = False) -> ir.Value:
    shaped = ir.MemRefType(memory.type)
    kind = ir.RankedTensorType.get(shaped.shape, shaped.element_type)
    return bufferization.ToTensorOp(kind, memory, restrict=True, writable=writable or None).result


def _is_void(kind: ir.Type) -> bool:
    return 0 in ir.RankedTensorType(kind).shape


def _replace_by_tensor(block: ir.Block, old: ir.Value, memory: ir.Value) -> None:
    with ir.InsertionPoint.at_block_begin(block), memory.location:
        if _is_void(old.type):
            shaped = ir.RankedTensorType(old.type)
            value = tensor.EmptyOp(shaped.shape, shaped.element_type).result
        else:
            value = _expanded(_to_tensor(memory), old.type)
    old.replace_all_uses_with(value)


def _start(block: ir.Block, out: ir.Value, kind: ir.Type) -> ir.Value | None:
    """The memory of a result as a tensor, its only name; None if it has no element."""
    if _is_void(kind):
        return None
    with ir.InsertionPoint.at_block_begin(block), out.location:
        return _to_tensor(out, writable=True)


def _put(value: ir.Value, start: ir.Value) -> ir.Value:
    """The value, in the memory of `start`."""
    put = bufferization.MaterializeInDestinationOp(start.type, value, start).result
    assert put is not None, "into a tensor, which the operation gives back"
    return put


def _start_chain(
    result: ir.Value, others: Sequence[ir.Value], start: ir.Value, block: ir.Block
) -> None:
    """Let the chain of a result start in its memory: empty, or with a copy of another result."""
    first = _first_operation(result, others, block)
    if first is None:
        return  # made from something else: putting it there copies
    op, position, old = first
    memory = defining(start)
    assert memory is not None, "a memref as a tensor is made by an operation"
    if _is_empty(old):  # a slice of it may be in use, too
        with ir.InsertionPoint.after(memory), op.location:
            old.replace_all_uses_with(_expanded(start, old.type))
        return
    with ir.InsertionPoint(op), op.location:
        copy = _expanded(_put(collapse(old), start), old.type)
    if position is None:
        use_known(op, {old: copy})
    else:
        op.operands[position] = copy


def _equal(value: ir.Value) -> list[ir.Value]:
    """The value, and those that canonicalization may put in its place, except for the shape."""
    found = [value]
    while (op := defining(found[-1], *_RESHAPES, "linalg.generic")) is not None:
        if op.name not in _RESHAPES and not _is_copy(Generic(op)):
            break
        found.append(op.operands[0])
    return found


def _is_last_copy(generic: Generic) -> bool:
    """Whether an operation copies what nothing else reads, so that canonicalization drops it."""
    (source, *_) = generic.inputs or [None]
    return isinstance(source, ir.OpResult) and _is_copy(generic) and len(list(source.uses)) == 1


def _is_copy(generic: Generic) -> bool:
    if len(generic.inputs) != 1 or generic.yielded != [generic.body.arguments[0]]:
        return False
    identity = ir.AffineMap.get_identity(generic.rank)
    return generic.is_map and all(m == identity for m in generic.maps)


def _expanded(value: ir.Value, kind: ir.Type) -> ir.Value:
    return value if value.type == kind else expand(value, kind)


def _first_operation(
    value: ir.Value, others: Sequence[ir.Value], block: ir.Block
) -> tuple[ir.Operation, int | None, ir.Value] | None:
    """Where the destination chain of `value` starts: at a `tensor.empty`, or at another result.

    Gives the operation, which operand of it that is (none of a branch's), and the start. What is
    the value but for its shape is no start: others are copies of it.
    """
    is_itself = True
    while isinstance(value, ir.OpResult):
        op = value.owner.operation
        is_itself = is_itself and op.name in _RESHAPES
        before = _destination(op, value.result_number)
        if before is None or op.block != block:
            return None
        position, value = before
        if _is_empty(value) or (value in others and not is_itself):
            return op, position, value
    return None


def _destination(op: ir.Operation, result: int) -> tuple[int | None, ir.Value] | None:
    """The value that a result continues, and which operand that is; branches must agree."""
    if op.name != "scf.if":
        position = _destination_operand(op, result)
        return None if position is None else (position, op.operands[position])
    blocks = [block for region in op.regions for block in region.blocks]
    first, *rest = (_from_outside(terminator(b).operands[result], b) for b in blocks)
    return None if first is None or any(value != first for value in rest) else (None, first)


def _from_outside(value: ir.Value, block: ir.Block) -> ir.Value | None:
    """The value from outside of a block that one in it continues."""
    while (op := defining(value)) is not None and op.block == block:
        before = _destination(op, ir.OpResult(value).result_number)
        if before is None:
            return None
        value = before[1]
    return value


def _is_empty(value: ir.Value) -> bool:
    return defining(value, "tensor.empty") is not None


def _destination_operand(op: ir.Operation, result: int) -> int | None:
    """The operand that a result continues: those of the results follow each other."""
    if op.name == "linalg.generic" and _is_last_copy(Generic(op)):
        return 0
    if op.name.startswith("linalg."):
        return len(op.operands) - len(op.results) + result
    first = _FIRST_DESTINATION.get(op.name)
    return None if first is None else first + result
