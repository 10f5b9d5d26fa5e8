"""Maps over the same points as one equation, whose body has those of all of them.

Before: `%m = "ted.compute"(%g)` and `%p = "ted.compute"(%m, %v)`, over one box
After: `%m, %p = "ted.compute"(%g, %v)`: the second body takes the value that the first one yields
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.linalg.equation_groups import init_of
from ted.linalg.kernels import Kernel
from ted.math.narrow_floats import is_narrow, wider
from ted.mlir import arith, ir
from ted.mlir.locations import mlir_location, source_location, user_name
from ted.mlir.queries import copied_with


def joined(kernel: Kernel) -> tuple[ir.Operation, list[ir.Value]]:
    """The equation, at the insertion point, and which results of members it has.

    It is for emission alone: in modules only `argmax` and `argmin` have several results.
    """
    members = kernel.members
    results: list[ir.Value] = [r for op in members for r in op.results if r not in kernel.inside]
    made = {op.results[0] for op in members}
    reads: dict[tuple[ir.Value, ir.Attribute], tuple[ir.Attribute, ir.Value]] = {}
    for op in members:
        for read, guard, argument in _reads(op):
            if read[0] not in made:
                reads.setdefault(read, (guard, argument))
    attributes = {name: members[0].attributes[name] for name in members[0].attributes}
    attributes["reads"] = ir.ArrayAttr.get([at for _, at in reads])
    attributes["guards"] = ir.ArrayAttr.get([guard for guard, _ in reads.values()])
    location = _location(results)
    op = ir.Operation.create(
        members[0].name,
        results=[r.type for r in results],
        operands=[*(tensor for tensor, _ in reads), *map(init_of, results)],
        attributes=attributes,
        regions=1,
        loc=location,
    )
    kinds = [argument.type for _, argument in reads.values()]
    block = op.regions[0].blocks.append(*kinds, arg_locs=[location] * len(kinds))
    with ir.InsertionPoint(block):
        _fill(members, results, dict(zip(reads, block.arguments, strict=True)))
    return op, results


def _fill(
    members: Sequence[ir.Operation], results: Sequence[ir.Value],
    read: dict[tuple[ir.Value, ir.Attribute], ir.Value],
) -> None:  # fmt: skip
    """The bodies of members, one behind the other."""
    made: dict[ir.Value, ir.Value] = {}
    values: list[ir.Value] = []
    for op in members:
        *operations, end = [o.operation for o in op.regions[0].blocks[0].operations]
        known: dict[ir.Value, ir.Value] = {}
        known.update((a, made[r[0]] if r[0] in made else read[r]) for r, _, a in _reads(op))
        for one in operations:
            copied_with(one, known)
        value = known.get(end.operands[0]) or end.operands[0]
        if op.results[0] in results:
            values.append(value)
        made[op.results[0]] = _as_stored(value)
    ir.Operation.create("ted.yield", operands=values)


def _reads(
    op: ir.Operation,
) -> list[tuple[tuple[ir.Value, ir.Attribute], ir.Attribute, ir.Value]]:
    """The reads of an equation: tensor and map, guard, and the argument that has it."""
    maps, guards = (ir.ArrayAttr(op.attributes[name]) for name in ("reads", "guards"))
    arguments = op.regions[0].blocks[0].arguments
    pairs = zip(op.operands, maps, strict=False)
    return [(r, g, a) for r, g, a in zip(pairs, guards, arguments, strict=True)]


def _as_stored(value: ir.Value) -> ir.Value:
    """What is read where a value is stored: of 16 bits it is rounded."""
    if not is_narrow(value.type):
        return value
    return arith.TruncFOp(value.type, arith.ExtFOp(wider(value.type), value).result).result


def _location(results: Sequence[ir.Value]) -> ir.Location:
    """The place of the first result, and the names of all."""
    places = [r.owner.location for r in results if isinstance(r, ir.OpResult)]
    names = [name for at in places if (name := user_name(at)) is not None]
    location = places[0]
    return mlir_location(source_location(location), ", ".join(names) or None, location.context)
