"""Typed ways into IR: functions with a body, operations by name, what makes a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ted.errors import PassFailed
from ted.mlir import func, ir
from ted.mlir.locations import source_location


def functions(module: ir.Module) -> Iterator[func.FuncOp]:
    """The functions of a module that have a body.

    Raises: PassFailed for one with branches, as passes see no control flow but loops.
    """
    for op in module.body.operations:
        if isinstance(op, func.FuncOp) and not op.is_external:
            blocks = len(list(op.body.blocks))
            if blocks > 1:
                raise PassFailed(
                    f"function: must have one block, with loops and no branches, got {blocks} "
                    f"blocks in @{op.name.value}",
                    source_location(op.location),
                )
            yield op


def operations(root: ir.Operation | ir.OpView, *names: str) -> list[ir.Operation]:
    """The operations of these names inside `root`, in the order of the text."""
    found: list[ir.Operation] = []
    wanted, further = frozenset(names), ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in wanted:
            found.append(op)
        return further

    root.operation.walk(visit)
    return found


def symbol_name(op: ir.Operation | ir.OpView) -> str:
    """The name of an operation that is a symbol."""
    return ir.StringAttr(op.attributes["sym_name"]).value


def defining(value: ir.Value, *names: str) -> ir.Operation | None:
    """The operation that makes a value; None for an argument, or if it has none of the names."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation  # an OpView may have an attribute that is called `name`
    return op if not names or op.name in names else None


def terminator(block: ir.Block) -> ir.Operation:
    """The last operation of a block."""
    return block.operations[len(block.operations) - 1].operation


def constant_of(value: ir.Value) -> int | None:
    """The number of an integer constant, or None."""
    op = defining(value, "arith.constant", "llvm.mlir.constant")
    if op is None:
        return None
    attribute = op.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def trip_count(op: ir.Operation) -> int | None:
    """Constant trip count of an `scf.for`, or None."""
    lower, upper, step = (constant_of(v) for v in list(op.operands)[:3])
    if lower is None or upper is None or step is None or step <= 0:
        return None  # a step of 0 has no meaning, and no iteration is ever performed
    return max(0, -(-(upper - lower) // step))


def is_zero(value: ir.Value) -> bool:
    """Whether a scalar is the constant zero."""
    op = defining(value, "arith.constant")
    if op is None:
        return False
    attribute = op.attributes["value"]
    number = attribute.value if isinstance(attribute, ir.FloatAttr) else constant_of(value)
    return number == 0


def use_known(op: ir.Operation, known: Mapping[ir.Value, ir.Value]) -> None:
    """Let an operation, and all inside it, use known values in place of its operands."""
    for k, operand in enumerate(op.operands):
        if operand in known:
            op.operands[k] = known[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                use_known(inner.operation, known)


def copied_with(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> ir.Operation:
    """A copy here, which uses known values; its results become known for those of the operation."""
    copy = op.clone().operation
    use_known(copy, known)
    known.update(zip(op.results, copy.results, strict=True))
    return copy


def operands_inside(
    op: ir.Operation, skipped: Callable[[ir.Operation], int] = lambda op: 0
) -> list[ir.Value]:
    """What an operation and all inside it use, without so many of the first operands of each."""
    found: list[ir.Value] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.extend(list(inner.operands)[skipped(inner) :])
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def computed_from(values: Iterable[ir.Value], block: ir.Block | None = None) -> set[ir.Value]:
    """Values and what they are computed from, by operations of a block if one is given.

    Each is met once: a value that is used twice, by one that is, would be met four times.
    """
    found: set[ir.Value] = set()
    left = list(values)
    while left:
        value = left.pop()
        if value not in found:
            found.add(value)
            op = defining(value)
            if op is not None and (block is None or op.block == block):
                left.extend(op.operands)
    return found


def factors_of(value: ir.Value, products: Sequence[str], most: int = 64) -> list[ir.Value]:
    """What a value is the product of, through operations of these names; itself for too many.

    A square of a square ... has twice as many with each.
    """
    found: list[ir.Value] = []
    left = [value]
    while left and len(found) <= most:
        last = left.pop()
        op = defining(last, *products)
        if op is None:
            found.append(last)
        else:
            left.extend(reversed(list(op.operands)))
    return [value] if left else found


def users_in(op: ir.Operation, block: ir.Block) -> set[ir.Operation]:
    """The operations of a block that use the results of one, or have inside what uses them."""
    return {in_block(use.owner.operation, block) for result in op.results for use in result.uses}


def in_block(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The operation of a block that an operation is, or is inside of."""
    while op.block != block:
        parent = op.parent
        assert parent is not None, "an operation is inside of the block"
        op = parent.operation
    return op


def replace_op(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Put values in the place of an operation's results, and erase it."""
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


def count_inputs(op: ir.Operation) -> int:
    """The number of operands that an operation of linalg only reads, the first ones."""
    return ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0]


def position(expr: ir.AffineExpr) -> int:
    """The dim that an affine dim expression is."""
    return ir.AffineDimExpr(expr).position


def is_inside(op: ir.Operation, outer: ir.Operation) -> bool:
    """Whether an operation stands in a region of another, at any depth."""
    parent = op.parent
    while parent is not None:
        if parent.operation == outer:
            return True
        parent = parent.operation.parent
    return False
