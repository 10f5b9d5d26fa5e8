"""Element-wise work on an accumulator that is summed in more dims -> the same work over these dims.

Before: a contraction into `memref.expand_shape %t [[0], [1, 2]]`, the groups of a convolution, and
`linalg.generic` over two dims that reads `%t`
After: the generic over three dims, which reads what the contraction writes, so that its kernel does
the work
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.linalg.contractions import MARK
from ted.mlir import ir, memref
from ted.mlir.generic import Generic, set_maps, set_reductions
from ted.mlir.queries import functions, operations, position
from ted.records import dataclass

Groups = list[list[int]]


@dataclass(frozen=True)
class TedExpandEpilogues:
    """Expand what alone reads an expanded accumulator of a contraction."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        with module.context, ir.Location.unknown(module.context):
            for function in functions(module):
                for op in operations(function, "memref.expand_shape"):
                    consumer = _consumer(op)
                    if consumer is not None:
                        _expand(op, consumer)


def _consumer(op: ir.Operation) -> ir.Operation | None:
    """The element-wise operation that alone reads the accumulator."""
    owner = op.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation.name != "memref.alloc":
        return None
    inner = {use.owner.operation for use in op.results[0].uses}
    users = {use.owner.operation for use in op.operands[0].uses} - {op, *_fills(op.operands[0])}
    sums = {o for o in inner if MARK in o.attributes}
    if len(users) != 1 or len(sums) != 1 or {o.name for o in inner - sums} - {"linalg.fill"}:
        return None
    consumer = users.pop()
    is_generic = consumer.name == "linalg.generic" and consumer.block == op.block
    return consumer if is_generic and _can_expand(consumer, op.operands[0]) else None


def _fills(memory: ir.Value) -> list[ir.Operation]:
    """The fills of all of some memory."""
    users = (use.owner.operation for use in memory.uses)
    return [op for op in users if op.name == "linalg.fill"]


def _can_expand(op: ir.Operation, accumulator: ir.Value) -> bool:
    """Whether each operand is indexed by dims, and laid out plainly."""
    generic = Generic(op)
    if (
        generic.operands.count(accumulator) != 1
        or generic.operands[-1] == accumulator
        or not generic.is_map
    ):
        return False
    kinds = [v.type for v in generic.operands]
    return (
        generic.maps[generic.operands.index(accumulator)].is_permutation
        and generic.dims is not None
        and all(isinstance(k, ir.MemRefType) and k.layout == _plain(k) for k in kinds)
        and all(step.name.startswith("arith.") for step in generic.code[:-1])
    )


def _plain(kind: ir.MemRefType) -> ir.Attribute:
    return ir.MemRefType.get(kind.shape, kind.element_type).layout


def _expand(op: ir.Operation, consumer: ir.Operation) -> None:
    accumulator, expanded = op.operands[0], op.results[0]
    shape = list(ir.MemRefType(expanded.type).shape)
    groups = [
        [ir.IntegerAttr(n).value for n in ir.ArrayAttr(group)]
        for group in ir.ArrayAttr(op.attributes["reassociation"])
    ]
    maps = Generic(consumer).maps
    own = maps[list(consumer.operands).index(accumulator)]
    sizes: list[list[int]] = [[]] * own.n_dims
    for expr, group in zip(own.results, groups, strict=True):
        sizes[position(expr)] = [shape[n] for n in group]
    numbers = _numbered(sizes)
    with ir.InsertionPoint(consumer), consumer.location:
        operands = [
            expanded if value == accumulator else _expanded(value, map_, sizes)
            for value, map_ in zip(consumer.operands, maps, strict=True)
        ]
    rank = sum(map(len, sizes))
    results = [
        [ir.AffineExpr.get_dim(k) for e in map_.results for k in numbers[position(e)]]
        for map_ in maps
    ]
    set_maps(consumer, [ir.AffineMap.get(rank, 0, own) for own in results])
    set_reductions(consumer, [False] * rank)
    for k, operand in enumerate(operands):
        consumer.operands[k] = operand
    owner = accumulator.owner
    assert not isinstance(owner, ir.Block), "the accumulator is a buffer"
    with ir.InsertionPoint(owner.operation), op.location:
        new = memref.AllocOp(ir.MemRefType(expanded.type), [], []).result
    expanded.replace_all_uses_with(new)
    for fill in _fills(accumulator):
        fill.operands[1] = new
    op.erase()
    owner.operation.erase()


def _numbered(sizes: Sequence[Sequence[int]]) -> Groups:
    """The numbers of the dims of groups that stand one behind the other."""
    found, count = list[list[int]](), 0
    for group in sizes:
        found.append(list(range(count, count + len(group))))
        count += len(group)
    return found


def _expanded(value: ir.Value, map_: ir.AffineMap, sizes: Sequence[list[int]]) -> ir.Value:
    """An operand with the dims of the consumer's dims."""
    own = [sizes[position(expr)] for expr in map_.results]
    if all(len(group) == 1 for group in own):
        return value
    shape = [n for group in own for n in group]
    kind = ir.MemRefType.get(shape, ir.MemRefType(value.type).element_type)
    return memref.ExpandShapeOp(kind, value, _numbered(own), [], shape).result
