"""Loops, branches and calls -> recurrences, choices, and the callee's equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.api.control_flow import cond
from ted.api.scanning import scan
from ted.frontend.creation import arange
from ted.frontend.tensors import Tensor as Wrapped
from ted.frontend.tensors import wrap
from ted.ir import scalar
from ted.ir.dtypes import INDEX
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.mlir.attributes import symbol
from ted.raising.loops import States, looped
from ted.raising.reading import Reader
from ted.raising.values import Value, as_tensor, place_of, unraisable


def call(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """The equations of the function that is called."""
    return reader.call(symbol(op, "callee"), [reader.value(v) for v in op.operands])


def _wrapped(op: ir.Operation, values: Sequence[Value]) -> States:
    """Values as tensors of the frontend; an index is an integer of 64 bits."""
    return [wrap(as_tensor(v, place_of(op))) for v in values]


def _unwrapped(tensors: Sequence[Wrapped], like: Sequence[ir.Value]) -> list[Value]:
    """Tensors of the frontend as values of the types of others: scalars are elements again."""
    found: list[Value] = []
    for tensor, value in zip(tensors, like, strict=True):
        if isinstance(value.type, ir.RankedTensorType):
            found.append(tensor.node)
            continue
        number = scalar.load(tensor.node, ())
        is_index = isinstance(value.type, ir.IndexType)
        found.append(scalar.cast(number, INDEX) if is_index else number)
    return found


def _steps(first: Expr, end: Expr, step: Expr) -> int | None:
    """How often a loop runs, if that is known."""
    if not all(scalar.is_const(v) for v in (first, end, step)) or step.attr <= 0:
        return None
    return max(0, -(-(end.attr - first.attr) // step.attr))


def for_loop(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """A scan over the iterations.

    Raises: VerifyError for bounds that are not static.
    """
    first, end, step = (reader.scalar(v) for v in list(op.operands)[:3])
    count = _steps(first, end, step)
    if count is None:
        raise unraisable(
            op, f"bounds and a positive step must be static, got {first}, {end}, {step}"
        )
    (block,) = op.regions[0].blocks
    return _scanned(reader, op, block, count, lambda k: scalar.add(first, scalar.mul(step, k)))


def _scanned(
    reader: Reader, op: ir.Operation, block: ir.Block, count: int, at: Callable[[Expr], Expr]
) -> list[Value]:
    """A block as the step of a scan over the states that are the operands from the fourth on."""
    states = block.arguments[1:]
    kind = reader.scalar(op.operands[0]).dtype

    def step(carry: States, time: Wrapped) -> tuple[States, None]:
        now = at(scalar.cast(scalar.load(time.node, ()), kind))
        after = reader.block(block, [now, *_unwrapped(carry, states)])
        return _wrapped(op, after), None

    starts = _wrapped(op, [reader.value(v) for v in list(op.operands)[3:]])
    last, _ = scan(step, starts, arange(count))
    return _unwrapped(last, op.results)


def branch(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """The values of the branch that a condition chooses.

    Raises: VerifyError for a branch that gives none.
    """
    if not op.results:
        raise unraisable(op, "a branch must give values, got none")
    condition = _wrapped(op, [reader.value(op.operands[0])])[0]

    def side(region: Any) -> Callable[[], States]:
        return lambda: _wrapped(op, reader.block(region.blocks[0], []))

    yes, no = (side(region) for region in op.regions)
    return _unwrapped(cond(condition, yes, no), op.results)


def while_(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """A loop; its condition gives what the body takes, and in the end what the op gives."""
    before, after = (region.blocks[0] for region in op.regions)

    def tested(states: States) -> list[Value]:
        return reader.block(before, _unwrapped(states, before.arguments))

    def going(states: States) -> Wrapped:
        return _wrapped(op, tested(states)[:1])[0]

    def body(states: States) -> States:
        return _wrapped(op, reader.block(after, tested(states)[1:]))

    last = looped(_wrapped(op, [reader.value(v) for v in op.operands]), going, body)
    return _unwrapped(_wrapped(op, tested(last)[1:]), op.results)
