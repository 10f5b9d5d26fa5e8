"""Element-wise work on the result of a contraction -> what its kernel does before it stores.

Before: a contraction into `%t`, then `linalg.generic ins(%t, %bias) outs(%y)`, the only reader of
`%t`.
After: one kernel, whose sums become elements of `%y` in registers; `%t` is never in memory.

Short bodies only: each is in the kernel once per sum of a thread.
"""

from __future__ import annotations

from ted.gpu.flat_views import FlatView, flat_view_of
from ted.gpu.templates.problem import Epilogue, Operand
from ted.linalg.contractions import LinalgContraction, address_in
from ted.linalg.strided_contractions import Dim
from ted.mlir import func, ir
from ted.mlir.aliasing import root
from ted.mlir.dependences import Dependences
from ted.mlir.generic import Generic
from ted.mlir.queries import defining, position
from ted.records import dataclass

MOST_OPERATIONS = 12


@dataclass(frozen=True)
class Finishing:
    """The consumer of a contraction's result, and the problem's part that it becomes.

    `views` are of C and of the inputs of the epilogue.
    """

    consumer: ir.Operation
    temporary: ir.Operation
    dims: tuple[Dim, ...]
    operands: tuple[Operand, ...]
    views: tuple[FlatView, ...]
    body: str
    steps: tuple[tuple[int, ...], ...]

    @property
    def epilogue(self) -> Epilogue:
        """What the kernel does with its sums."""
        return Epilogue(self.body, self.operands[1:], self.steps)


def finishing_of(
    op: ir.Operation, found: LinalgContraction, known: Dependences
) -> Finishing | None:
    """The element-wise operation that alone reads a contraction's result; None if there is none."""
    consumer = _only_reader(op, found.values[2], known)
    strided = found.strided()
    if consumer is None or strided is None or not found.writes_all:
        return None
    temporary = defining(found.values[2])
    places = _dims_of_consumer(consumer, found)
    body = None if places is None else _body(consumer, found.values[2])
    if places is None or body is None or temporary is None:
        return None
    inputs = [k for k in range(len(consumer.operands) - 1) if _is_read(consumer, k)]
    inputs = [k for k in inputs if consumer.operands[k] != found.values[2]]
    sides = [_side(consumer, k, places, len(found.extents)) for k in (-1, *inputs)]
    placed = [side for side in sides if side is not None]
    if len(placed) != len(sides):
        return None
    c, *steps = (step for step, _, _ in placed)
    dims = tuple(
        Dim(d.extent, d.a, d.b, step, d.reduction) for d, step in zip(strided[0], c, strict=True)
    )
    operands, views = tuple(side[1] for side in placed), tuple(side[2] for side in placed)
    return Finishing(consumer, temporary, dims, operands, views, body, tuple(steps))


def _only_reader(op: ir.Operation, result: ir.Value, known: Dependences) -> ir.Operation | None:
    """The one operation behind a contraction that uses its result, if it may take its place."""
    owner = defining(result, "memref.alloc")
    if owner is None:
        return None
    users = {use.owner.operation for use in result.uses}
    others = [o for o in users if o != op and o.name != "linalg.fill"]
    if len(others) != 1 or others[0].block != op.block or others[0].name != "linalg.generic":
        return None
    if len(users) != 3:  # the fill that the sums start from, and no other
        return None
    consumer = others[0]
    ours, theirs = known.effects[op], known.effects[consumer]
    if theirs.writes & (ours.reads | theirs.reads) or not known.may_sink(op, consumer):
        return None
    once = sum(value == result for value in consumer.operands) == 1
    return consumer if once and _is_element_wise(consumer) else None


def _is_element_wise(op: ir.Operation) -> bool:
    """One result, no sums, and no reading of what lies where the result goes."""
    target = root(op.operands[-1])
    block = op.regions[0].blocks[0]
    return (
        len(block.operations[-1].operands) == 1
        and Generic(op).is_map
        and not list(block.arguments[-1].uses)
        and all(root(value) != target for value in list(op.operands)[:-1])
    )


def _dims_of_consumer(consumer: ir.Operation, found: LinalgContraction) -> list[int] | None:
    """For each dim of the consumer the dim of the contraction that it is."""
    number = list(consumer.operands).index(found.values[2])
    map_ = Generic(consumer).maps[number]
    if not map_.is_permutation:
        return None
    places = [0] * map_.n_dims
    for expr, form in zip(map_.results, found.maps[2], strict=True):
        ((places[position(expr)], _),) = form.terms
    return places


def _side(
    consumer: ir.Operation, number: int, places: list[int], dims: int
) -> tuple[tuple[int, ...], Operand, FlatView] | None:
    """Strides per dim of the contraction, and the operand, of one operand of the consumer."""
    value, map_ = list(consumer.operands)[number], Generic(consumer).maps[number]
    address = address_in(value.type, map_) if isinstance(value.type, ir.MemRefType) else None
    flat = None if address is None else flat_view_of(value)
    if address is None or flat is None:
        return None
    steps = [0] * dims
    for own, place in enumerate(places):
        steps[place] = address[own]
    offset = flat.start.constant + address.constant
    operand = Operand(str(flat.element), flat.size, offset, flat.alignment)
    return tuple(steps), operand, flat


def _is_read(op: ir.Operation, number: int) -> bool:
    return bool(list(op.regions[0].blocks[0].arguments[number].uses))


def _body(consumer: ir.Operation, result: ir.Value) -> str | None:
    """The body as a function of a sum and of the inputs that it reads; None if it is too long."""
    block = consumer.regions[0].blocks[0]
    *steps, end = [op.operation for op in block.operations]
    if len(steps) > MOST_OPERATIONS or not all(op.name.startswith("arith.") for op in steps):
        return None
    number = list(consumer.operands).index(result)
    others = [k for k in range(len(consumer.operands) - 1) if k != number and _is_read(consumer, k)]
    arguments = [block.arguments[k] for k in (number, *others)]
    if not all(_is_known(v, block) for op in (*steps, end) for v in op.operands):
        return None
    module = ir.Module.create(ir.Location.unknown(consumer.context))
    with ir.InsertionPoint(module.body), ir.Location.unknown(consumer.context):
        types = [value.type for value in arguments]
        function = func.FuncOp("epilogue", (types, [end.operands[0].type]))
        entry = function.add_entry_block()
        known: dict[ir.Value, ir.Value] = dict(zip(arguments, entry.arguments, strict=True))
        with ir.InsertionPoint(entry):
            for op in steps:
                operands = [_copied(value, known) for value in op.operands]
                copy = op.clone()
                for k, operand in enumerate(operands):
                    copy.operation.operands[k] = operand
                known.update(zip(op.results, copy.operation.results, strict=True))
            func.ReturnOp([_copied(end.operands[0], known)])
    return str(module)


def _is_known(value: ir.Value, block: ir.Block) -> bool:
    """Whether a value is of the body, or a constant."""
    owner = defining(value)
    if owner is None:
        return value.owner == block
    return owner.block == block or owner.name == "arith.constant"


def _copied(value: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
    """The copy of a value; constants from outside are copied when they are met."""
    if value not in known:
        owner = defining(value)
        assert owner is not None, "what is not of the body is a constant"
        known[value] = owner.clone().operation.results[0]
    return known[value]
