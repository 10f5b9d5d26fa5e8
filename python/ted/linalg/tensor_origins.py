"""Tensors -> the operations that wrote their elements, before there is any memory.

Operations are numbers, their sets are bits of an integer. Of a value, `must` are operations whose
elements it holds for certain, `may` are all from which it may hold any: along destinations, slices,
branches and loops.

Before: `%1 = linalg.exp outs(%0)` (1), `%2 = tensor.insert %x into %1[%i]` (2)
After: %1 must and may hold 1; %2 must and may hold 1 and 2.

`ted.linalg.memory_origins` asks the same of memory, and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import NamedTuple

from ted.errors import PassFailed
from ted.mlir import func, ir
from ted.mlir.locations import source_location
from ted.mlir.queries import count_inputs, defining, terminator
from ted.records import dataclass


class Origins(NamedTuple):
    """The operations that wrote a value: `must` surely, `may` possibly."""

    must: int = 0
    may: int = 0

    def joined(self, other: Origins) -> Origins:
        """Of a value that holds elements of both."""
        return Origins(self.must | other.must, self.may | other.may)

    def either(self, other: Origins) -> Origins:
        """Of a value that is one of two."""
        return Origins(self.must & other.must, self.may | other.may)


ANYTHING = Origins(0, -1)


@dataclass
class TensorOrigins:
    """The numbered operations of a function, and the origins of every tensor in it."""

    numbers: dict[ir.Operation, int] = field(default_factory=dict)
    values: dict[ir.Value, Origins] = field(default_factory=dict)

    def of(self, value: ir.Value) -> Origins:
        """The origins of a tensor; none, of what the function is given."""
        return self.values.get(value, Origins())

    def expected(self, value: ir.Value) -> Origins:
        """What a read of a tensor may find: anything, where nothing has been written yet.

        Such a read is behind a condition on data that never holds, as in the first step of a
        recurrence that looks back at data.
        """
        return ANYTHING if _is_undefined(value) else self.of(value)

    def _set(self, value: ir.Value, origins: Origins) -> bool:
        changed = self.values.get(value) != origins
        self.values[value] = origins
        return changed


def tensor_origins(function: func.FuncOp) -> TensorOrigins:
    """The origins of the tensors of a function.

    Raises: PassFailed for an operation on tensors that is not known here.
    """
    found = TensorOrigins()
    for op in _operations(function.entry_block):
        if any(_is_tensor(v) for v in (*op.operands, *op.results)):
            found.numbers[op] = len(found.numbers)
    while _visit(function.entry_block, found):
        pass
    return found


def _visit(block: ir.Block, found: TensorOrigins) -> bool:
    """Bring a block up to date; whether anything changed."""
    changed = False
    for view in block.operations:
        op = view.operation
        if op not in found.numbers:
            changed |= any(_visit(inner, found) for r in op.regions for inner in r.blocks)
        else:
            changed |= _rule(op)(op, found)
    return changed


def _rule(op: ir.Operation) -> Callable[[ir.Operation, TensorOrigins], bool]:
    rule = _linalg if op.name.startswith("linalg.") else _RULES.get(op.name)
    if rule is None:
        place = source_location(op.location)
        raise PassFailed(f"ted-bufferize: {op.name} must be an operation known here", place)
    return rule


# ---- rules: an operation -> the origins of its results -------------------------------------------


def _nothing(op: ir.Operation, found: TensorOrigins) -> bool:
    return False


def _same(op: ir.Operation, found: TensorOrigins) -> bool:
    return any(found._set(result, found.of(op.operands[0])) for result in op.results)


def _copied(op: ir.Operation, found: TensorOrigins) -> bool:
    source = found.of(op.operands[0]) if len(op.operands) else Origins()
    return found._set(op.results[0], source)


def _linalg(op: ir.Operation, found: TensorOrigins) -> bool:
    one = 1 << found.numbers[op]
    changed = any(_visit(block, found) for region in op.regions for block in region.blocks)
    inputs = count_inputs(op)
    for k, result in enumerate(op.results, start=inputs):
        before = found.of(op.operands[k])
        must = before.must if uses_operand(op, k) else 0
        changed |= found._set(result, Origins(must | one, before.may | one))
    return changed


def uses_operand(op: ir.Operation, k: int) -> bool:
    """Whether the body of an operation of linalg uses elements of operand k."""
    return any(True for _ in op.regions[0].blocks[0].arguments[k].uses)


def _insert(op: ir.Operation, found: TensorOrigins) -> bool:
    one = 1 << found.numbers[op]
    return found._set(op.results[0], found.of(op.operands[1]).joined(Origins(one, one)))


def _insert_slice(op: ir.Operation, found: TensorOrigins) -> bool:
    source, target = found.of(op.operands[0]), found.of(op.operands[1])
    sizes = [ir.ShapedType(v.type).shape for v in (op.operands[0], op.operands[1])]
    if [e for e in sizes[0] if e != 1] == [e for e in sizes[1] if e != 1]:
        target = Origins(0, target.may)
    return found._set(op.results[0], source.joined(target))


def _if(op: ir.Operation, found: TensorOrigins) -> bool:
    changed = False
    ends = []
    for region in op.regions:
        for block in region.blocks:
            changed |= _visit(block, found)
            ends.append(terminator(block).operands)
    for k, result in enumerate(op.results):
        if _is_tensor(result):
            changed |= found._set(result, found.of(ends[0][k]).either(found.of(ends[1][k])))
    return changed


def _for(op: ir.Operation, found: TensorOrigins) -> bool:
    body = op.regions[0].blocks[0]
    changed = _visit(body, found)
    ends = terminator(body).operands
    for k, result in enumerate(op.results):
        if _is_tensor(result):
            after = found.of(ends[k])
            carried = found.of(op.operands[3 + k]).either(after)
            changed |= found._set(body.arguments[1 + k], carried)
            changed |= found._set(result, Origins(after.must, carried.may))
    return changed


def _forall(op: ir.Operation, found: TensorOrigins) -> bool:
    body = op.regions[0].blocks[0]
    outputs = list(op.operands)[len(op.operands) - len(op.results) :]
    shared = list(body.arguments)[len(body.arguments) - len(op.results) :]
    changed = _visit(body, found)
    ends = {argument: found.of(output) for argument, output in zip(shared, outputs, strict=True)}
    for insertion in terminator(body).regions[0].blocks[0].operations:
        source, target = insertion.operation.operands[:2]
        ends[target] = ends[target].joined(found.of(source))
    for argument, output, result in zip(shared, outputs, op.results, strict=True):
        end = ends[argument]
        changed |= found._set(argument, Origins(found.of(output).must, end.may))
        changed |= found._set(result, end)
    return changed


_RULES: dict[str, Callable[[ir.Operation, TensorOrigins], bool]] = {
    "bufferization.alloc_tensor": _copied,
    "bufferization.materialize_in_destination": _same,
    "bufferization.to_tensor": _nothing,
    "arith.constant": _nothing,
    "func.return": _nothing,
    "scf.for": _for,
    "scf.forall": _forall,
    "scf.if": _if,
    "scf.yield": _nothing,
    "tensor.cast": _same,
    "tensor.collapse_shape": _same,
    "tensor.dim": _nothing,
    "tensor.empty": _nothing,
    "tensor.expand_shape": _same,
    "tensor.extract": _nothing,
    "tensor.extract_slice": _same,
    "tensor.insert": _insert,
    "tensor.insert_slice": _insert_slice,
    "tensor.parallel_insert_slice": _nothing,
}


# ---- reading IR ----------------------------------------------------------------------------------


def _operations(block: ir.Block) -> Iterator[ir.Operation]:
    for view in block.operations:
        yield view.operation
        for region in view.operation.regions:
            for inner in region.blocks:
                yield from _operations(inner)


def _is_undefined(value: ir.Value) -> bool:
    """Whether a tensor is a part of one that has no elements yet."""
    while (op := defining(value)) is not None and _RULES.get(op.name) is _same:
        value = op.operands[0]
    return op is not None and op.name == "tensor.empty"


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)
