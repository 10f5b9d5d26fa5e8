"""Loops and branches of other kinds as those of scf, whose equations are known.

Before: scf.forall (%i) in (4) shared_outs(%o = %x) { ...; parallel_insert_slice %s into %o[%i] }
After:  scf.for %i = 0 to 4 step 1 iter_args(%t = %x) { ...; insert_slice %s into %t[%i]; yield }

What runs in parallel reads its shared tensors as they were before, so that any order is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.mlir import integer_set, ir
from ted.mlir.queries import terminator
from ted.raising.preparing import operations

_DYNAMIC = -(2**63)
Bound = tuple[ir.Value, ir.Value, ir.Value]  # the first number, the end, the step


def spell_loops(module: ir.Module) -> None:
    """Put ops of scf in the places of others that give values; inner ones first."""
    for op in operations(module.operation):
        if op.name in _SPELLINGS and op.results:
            with op.context, op.location, ir.InsertionPoint(op):
                found = _SPELLINGS[op.name](op)
            for result, value in zip(op.results, found, strict=True):
                result.replace_all_uses_with(value)
            op.erase()


def _segments(op: ir.Operation) -> list[list[ir.Value]]:
    left = iter(op.operands)
    sizes = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return [[next(left) for _ in range(n)] for n in sizes]


def _number(value: int) -> ir.Value:
    index = ir.IndexType.get()
    attributes: dict[str, ir.Attribute] = {"value": ir.IntegerAttr.get(index, value)}
    return ir.Operation.create("arith.constant", [index], [], attributes).results[0]


def _loop(bound: Bound, starts: Sequence[ir.Value]) -> tuple[ir.Operation, ir.Block]:
    """A loop without a body, and its block."""
    kinds = [v.type for v in starts]
    loop = ir.Operation.create("scf.for", kinds, [*bound, *starts], regions=1)
    return loop, loop.regions[0].blocks.append(bound[0].type, *kinds)


def _nest(
    bounds: Sequence[Bound],
    starts: Sequence[ir.Value],
    body: Callable[[list[ir.Value], list[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """Loops in each other; `body` writes the innermost for its numbers and states."""

    def level(numbers: list[ir.Value], states: list[ir.Value]) -> Sequence[ir.Value]:
        if len(numbers) == len(bounds):
            return body(numbers, states)
        loop, block = _loop(bounds[len(numbers)], states)
        number, *inner = block.arguments
        with ir.InsertionPoint(block):
            ir.Operation.create("scf.yield", [], list(level([*numbers, number], list(inner))))
        return list(loop.results)

    return list(level([], list(starts)))


def _moved(block: ir.Block, arguments: Sequence[ir.Value]) -> ir.Operation:
    """Move the operations of a block to where is written, for values of its arguments."""
    for argument, value in zip(block.arguments, arguments, strict=True):
        argument.replace_all_uses_with(value)
    *inner, last = [op.operation for op in block.operations]
    mark = ir.Operation.create("ub.poison", [ir.IndexType.get()])
    for op in inner:
        op.move_before(mark)
    mark.erase()
    return last


# ------------------------------------------------------------------ each kind


def _affine(op: ir.Operation) -> Sequence[ir.Value]:
    """A loop whose bounds are the greatest and the least of affine values."""
    low, high, starts = _segments(op)
    step = ir.IntegerAttr(op.attributes["step"]).value
    bound = (
        _extreme(op, "lowerBoundMap", "affine.max", low),
        _extreme(op, "upperBoundMap", "affine.min", high),
        _number(step),
    )
    (block,) = op.regions[0].blocks
    return _nest(
        [bound], starts, lambda numbers, states: _moved(block, [*numbers, *states]).operands
    )


def _extreme(op: ir.Operation, name: str, kind: str, operands: Sequence[ir.Value]) -> ir.Value:
    held = op.attributes[name]
    access = ir.AffineMapAttr(held).value
    kind = "affine.apply" if len(access.results) == 1 else kind
    made = ir.Operation.create(kind, [ir.IndexType.get()], list(operands), {"map": held})
    return made.results[0]


def _branch(op: ir.Operation) -> Sequence[ir.Value]:
    """A branch on a set of indices: on the signs of affine values."""
    given, index = integer_set(op.attributes["condition"]), ir.IndexType.get()
    zero, bool_ = _number(0), ir.IntegerType.get_signless(1)
    yes = ir.IntegerAttr.get(bool_, 1)
    holds = ir.Operation.create("arith.constant", [bool_], [], {"value": yes}).results[0]
    for row in given.constraints:
        access = ir.AffineMap.get(given.n_dims, given.n_symbols, [row.expr])
        held: dict[str, ir.Attribute] = {"map": ir.AffineMapAttr.get(access)}
        value = ir.Operation.create("affine.apply", [index], list(op.operands), held).results[0]
        way = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0 if row.is_eq else 5)
        test = ir.Operation.create("arith.cmpi", [bool_], [value, zero], {"predicate": way})
        both = [holds, test.results[0]]
        holds = ir.Operation.create("arith.andi", [bool_], both).results[0]
    kinds = [v.type for v in op.results]
    made = ir.Operation.create("scf.if", kinds, [holds], regions=2)
    for old, new in zip(op.regions, made.regions, strict=True):
        with ir.InsertionPoint(new.blocks.append()):
            last = _moved(old.blocks[0], [])
            ir.Operation.create("scf.yield", [], list(last.operands))
    return list(made.results)


def _forall(op: ir.Operation) -> Sequence[ir.Value]:
    """A loop in parallel, whose slices are put into what it gives."""
    *given, starts = _segments(op)
    names = ("staticLowerBound", "staticUpperBound", "staticStep")
    rows = [_mixed(op, name, values) for name, values in zip(names, given, strict=True)]
    (block,) = op.regions[0].blocks
    shared = list(block.arguments)[-len(starts) :]
    inserts = [o.operation for o in terminator(block).regions[0].blocks[0].operations]
    places = [[v == o.operands[1] for v in shared].index(True) for o in inserts]

    def body(numbers: list[ir.Value], states: list[ir.Value]) -> Sequence[ir.Value]:
        _moved(block, [*numbers, *starts])
        for insert, place in zip(inserts, places, strict=True):
            source, _, *rest = insert.operands
            names = [insert.attributes[k].name for k in range(len(insert.attributes))]
            made = ir.Operation.create(
                "tensor.insert_slice",
                [states[place].type],
                [source, states[place], *rest],
                {name: insert.attributes[name] for name in names},
            )
            states[place] = made.results[0]
        return states

    return _nest(list(zip(*rows, strict=True)), starts, body)


def _mixed(op: ir.Operation, name: str, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Numbers of an attribute, and values where it has none."""
    left = iter(values)
    static = ir.DenseI64ArrayAttr(op.attributes[name])
    return [next(left) if n == _DYNAMIC else _number(n) for n in static]


def _parallel(op: ir.Operation) -> Sequence[ir.Value]:
    """A loop in parallel that reduces values."""
    low, high, step, starts = _segments(op)
    (block,) = op.regions[0].blocks

    def body(numbers: list[ir.Value], states: list[ir.Value]) -> Sequence[ir.Value]:
        last = _moved(block, numbers)
        rows = zip(last.regions, states, last.operands, strict=True)
        return [_moved(region.blocks[0], pair).operands[0] for region, *pair in rows]

    return _nest(list(zip(low, high, step, strict=True)), starts, body)


_SPELLINGS: dict[str, Callable[[ir.Operation], Sequence[ir.Value]]] = {
    "affine.for": _affine,
    "affine.if": _branch,
    "scf.forall": _forall,
    "scf.parallel": _parallel,
}
