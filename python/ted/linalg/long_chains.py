"""Blocks in which one tensor is written very often -> calls of functions of their parts, and back.

Before: `%1 = tensor.insert %a into %0[%i]`, ..., `%500 = tensor.insert %z into %499[%j]`
After:  `%32 = call @ted.part0(%0, %a, ..., %i, ...)`, ..., each a function of 32 of them

To know whether a write may be in place, MLIR's bufferization compares all reads of a memory with
all writes of it, for each operand: n^3 comparisons for a tensor that n operations go on from. It
analyses a function by itself and before those that call it, where a call is one read and one write.
What crosses from part to part is whole tensors, whose memory a call takes as it is; a slice of one
that other parts use is taken there again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cmp_to_key

from ted.mlir import func, ir
from ted.mlir.queries import (
    count_inputs,
    defining,
    functions,
    in_block,
    operands_inside,
    operations,
    terminator,
    use_known,
)
from ted.records import dataclass

# A tensor that more operations go on from is cut, into parts of at least so many. With s of n in a
# part there are n s^2 comparisons in parts and (n / s)^3 between them: as many for s = n^0.4.
LONGEST, PART, GROWTH = 64, 32, 0.4
_NAME = "ted.part"
_BLOCKS = ("func.func", "scf.for", "scf.if")
# What may make memory that is not to be written: as a result of a call it would look as any other.
_KEPT = ("arith.constant", "bufferization.to_tensor")


def outline_parts(module: ir.Module) -> None:
    """Make functions of the parts of long blocks."""
    number = 0
    for op in operations(module.operation, *_BLOCKS):  # inner ones first
        for block in [block for region in op.regions for block in region.blocks]:
            for part in _parts(block):
                _outline(part, f"{_NAME}{number}", module)
                number += 1


def inline_parts(module: ir.Module) -> None:
    """Put the operations of such functions where they are called."""
    parts = {f.name.value: f for f in functions(module) if f.name.value.startswith(_NAME)}
    for call in operations(module.operation, "func.call"):
        part = parts.get(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
        if part is not None:
            _inline(call, part)
    for part in parts.values():
        part.operation.erase()


# ---- where a block is cut ------------------------------------------------------------------------


def _destination(op: ir.Operation, number: int) -> ir.Value | None:
    """What a result of an operation goes on from."""
    if op.name.startswith("linalg."):
        return op.operands[count_inputs(op) + number]
    rule = _DESTINATIONS.get(op.name)
    return None if rule is None else rule(op, number)


_DESTINATIONS: dict[str, Callable[[ir.Operation, int], ir.Value]] = {
    "bufferization.materialize_in_destination": lambda op, _: op.operands[1],
    "scf.for": lambda op, k: op.operands[3 + k],
    "scf.forall": lambda op, k: op.operands[len(op.operands) - len(op.results) + k],
    "scf.if": lambda op, k: terminator(op.regions[0].blocks[0]).operands[k],
    "tensor.cast": lambda op, _: op.operands[0],
    "tensor.collapse_shape": lambda op, _: op.operands[0],
    "tensor.expand_shape": lambda op, _: op.operands[0],
    "tensor.extract_slice": lambda op, _: op.operands[0],
    "tensor.insert": lambda op, _: op.operands[1],
    "tensor.insert_slice": lambda op, _: op.operands[1],
}


@dataclass
class _Origins:
    """Of each tensor, the one that it goes on from in the end, and whether it is all of it."""

    known: dict[ir.Value, tuple[ir.Value, bool]] = field(default_factory=dict)

    def of(self, value: ir.Value) -> tuple[ir.Value, bool]:
        passed = []
        while value not in self.known:
            before = _before(value)
            if before is None:
                self.known[value] = value, _is_plain(value)
            else:
                passed.append(value)
                value = before
        for after in reversed(passed):
            root, whole = self.known[value]
            self.known[after] = root, whole and defining(after, "tensor.extract_slice") is None
            value = after
        return self.known[value]


def _before(value: ir.Value) -> ir.Value | None:
    op = defining(value)
    if op is not None:
        return _destination(op, ir.OpResult(value).result_number)
    argument = ir.BlockArgument(value)
    block, number = argument.owner, argument.arg_number
    loop = block.owner.operation
    arguments = len(block.arguments) - number
    return loop.operands[len(loop.operands) - arguments] if loop.name == "scf.for" else None


def _is_plain(value: ir.Value) -> bool:
    """Whether the memory of a tensor that goes on from none lies as its type says."""
    if isinstance(value.owner, ir.Block) and value.owner.owner.operation.name != "func.func":
        return False  # of another loop: as what it starts from lies
    op = defining(value, "bufferization.to_tensor")
    return op is None or ir.MemRefType(op.operands[0].type).layout == ir.AffineMapAttr.get(
        ir.AffineMap.get_identity(ir.RankedTensorType(value.type).rank)
    )


def _parts(block: ir.Block) -> list[list[ir.Operation]]:
    """Operations of a block that follow each other, with so many of long chains."""
    ops = [view.operation for view in block.operations][:-1]
    origins = _Origins()
    written = [{origins.of(v)[0] for v in op.results if _is_tensor(v)} for op in ops]
    count = Counter(root for roots in written for root in roots)
    long = {root for root, times in count.items() if times > LONGEST}
    least = max([PART, *(round(count[root] ** GROWTH) for root in long)])
    parts: list[list[ir.Operation]] = []
    part: list[ir.Operation] = []
    links = 0
    for op, roots, may_end in zip(ops, written, _ends(ops, origins), strict=True) if long else ():
        if op.name in _KEPT and any(map(_is_tensor, op.results)):
            part, links = [], 0
            continue
        part.append(op)
        links += not long.isdisjoint(roots)
        if may_end and links >= least:
            parts.append(part)
            part, links = [], 0
    _slice_again(parts, origins)
    return [one for one in parts if all(origins.of(v)[1] for v in _taken(one) if _is_tensor(v))]


def _is_slice(op: ir.Operation | None, origins: _Origins) -> bool:
    """Whether an operation takes a slice of a whole tensor: any part may take it."""
    return op is not None and op.name == "tensor.extract_slice" and origins.of(op.operands[0])[1]


def _slice_again(parts: Sequence[list[ir.Operation]], origins: _Origins) -> None:
    """Let what is not in the part of a slice use one of its own."""
    number = {op: k for k, part in enumerate(parts) for op in part}
    for op in [op for op in number if _is_slice(op, origins)]:
        copies: dict[int, ir.Operation] = {}
        for use in _in_order(op):
            user = in_block(use.owner.operation, op.block)
            mine = number.get(user, -1)
            if mine == number[op]:
                continue
            if mine not in copies:
                copies[mine] = op.clone(ir.InsertionPoint(user)).operation
                if mine >= 0:
                    parts[mine].insert(parts[mine].index(user), copies[mine])
            use.owner.operation.operands[use.operand_number] = copies[mine].results[0]


def _in_order(op: ir.Operation) -> list[ir.OpOperand]:
    """The uses of the result of an operation, in the order of the operations of its block."""
    uses = [(use, in_block(use.owner.operation, op.block)) for use in op.results[0].uses]
    return [use for use, _ in sorted(uses, key=cmp_to_key(_by_place))]


def _by_place(one: tuple[object, ir.Operation], other: tuple[object, ir.Operation]) -> int:
    return 0 if one[1] == other[1] else -1 if one[1].is_before_in_block(other[1]) else 1


def _ends(ops: Sequence[ir.Operation], origins: _Origins) -> Iterator[bool]:
    """Whether no part of a tensor is used both until an operation and after it."""
    last = {v: k for k, op in enumerate(ops) for v in operands_inside(op)}
    sliced: set[ir.Value] = set()
    for k, op in enumerate(ops):
        if not _is_slice(op, origins):
            sliced.update(v for v in op.results if _is_tensor(v) and not origins.of(v)[1])
        sliced = {v for v in sliced if last.get(v, len(ops)) > k}
        yield not sliced


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _taken(part: Sequence[ir.Operation]) -> list[ir.Value]:
    """What a part uses of before it, in order."""
    made: set[ir.Value] = set()
    for op in part:
        made.update(_made_inside(op))
    used = dict.fromkeys(v for op in part for v in operands_inside(op))
    return [v for v in used if v not in made]


def _made_inside(op: ir.Operation) -> Iterator[ir.Value]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments
            for inner in block.operations:
                yield from _made_inside(inner.operation)


def _left(part: Sequence[ir.Operation]) -> list[ir.Value]:
    """What a part makes that is used after it."""
    inside = set(part)
    block = part[0].block
    return [
        v for op in part for v in op.results
        if any(in_block(use.owner.operation, block) not in inside for use in v.uses)
    ]  # fmt: skip


# ---- rewriting -----------------------------------------------------------------------------------


def _outline(part: Sequence[ir.Operation], name: str, module: ir.Module) -> None:
    taken, left, inside = _taken(part), _left(part), set(part)
    place = part[0].location
    kind = ir.FunctionType.get([v.type for v in taken], [v.type for v in left])
    with place, ir.InsertionPoint.at_block_begin(module.body):
        made = func.FuncOp(name, kind, visibility="private")
        block = made.add_entry_block()
    with place, ir.InsertionPoint(part[0]):
        call = func.CallOp([v.type for v in left], name, taken).operation
    with place, ir.InsertionPoint(block):
        end = func.ReturnOp(left).operation
    for value, result in zip(left, call.results, strict=True):
        for use in list(value.uses):
            user = use.owner.operation
            if user != end and in_block(user, call.block) not in inside:
                user.operands[use.operand_number] = result
    known = dict(zip(taken, block.arguments, strict=True))
    for op in part:
        op.move_before(end)
        use_known(op, known)


def _inline(call: ir.Operation, part: func.FuncOp) -> None:
    end = terminator(part.entry_block)
    known = dict(zip(part.arguments, call.operands, strict=True))
    for view in list(part.entry_block.operations)[:-1]:
        view.operation.move_before(call)
        use_known(view.operation, known)
    for result, value in zip(call.results, end.operands, strict=True):
        result.replace_all_uses_with(known.get(value, value))
    call.erase()
