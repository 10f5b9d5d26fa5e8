"""Loops, branches and calls -> recurrences, choices, and the callee's equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.api.control_flow import cond
from ted.frontend.tensors import Tensor as Wrapped
from ted.frontend.tensors import wrap
from ted.ir import scalar
from ted.ir.dtypes import INT64
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.mlir.attributes import symbol
from ted.raising import affine
from ted.raising.complexes import closed_as, opened
from ted.raising.loops import States, looped
from ted.raising.reading import Reader
from ted.raising.values import Value, as_tensor, as_typed, place_of, type_of, unraisable


def call(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """The equations of the function that is called."""
    return reader.call(symbol(op, "callee"), [reader.value(v) for v in op.operands])


def _wrapped(op: ir.Operation, values: Sequence[Value]) -> States:
    """Values as tensors of the frontend; an index is an integer of 64 bits."""
    return [wrap(as_tensor(v, place_of(op))) for v in opened(values)]


def _unwrapped(tensors: Sequence[Wrapped], like: Sequence[ir.Value]) -> list[Value]:
    """Tensors of the frontend as values of the types of others: scalars are elements again."""
    rows = zip(closed_as((t.node for t in tensors), like), like, strict=True)
    return [as_typed(found, value.type) for found, value in rows]


def _nodes(states: States, like: Sequence[ir.Value]) -> list[Value]:
    return closed_as([s.node for s in states], like)


def for_loop(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """A loop whose first state counts.

    Raises: VerifyError for bounds that are not static or too large, or a step below 1.
    """
    first, end, step = (_bound(op, reader.scalar(v)) for v in list(op.operands)[:3])
    if step <= 0:
        raise unraisable(op, f"a step must be positive, got {step}")
    (block,) = op.regions[0].blocks

    def counter(states: States) -> Expr:
        return scalar.load(states[0].node, ())

    def going(states: States) -> Wrapped:
        below = scalar.compare("lt", counter(states), scalar.const(end, INT64))
        return _wrapped(op, [below])[0]

    def body(states: States) -> States:
        number = as_tensor(scalar.cast(counter(states), kind), place_of(op))
        after = reader.block(block, [number, *_nodes(states[1:], block.arguments[1:])])
        return _wrapped(op, [scalar.add(counter(states), scalar.const(step, INT64)), *after])

    _, kind = type_of(block.arguments[0].type, op.location, op.name)
    starts = [scalar.const(first, INT64), *(reader.value(v) for v in list(op.operands)[3:])]
    return _unwrapped(looped(_wrapped(op, starts), going, body)[1:], op.results)


def _bound(op: ir.Operation, value: Expr) -> int:
    """A bound or the step as a number, read with a sign or without.

    The loop counts in 64 bits, so that no narrower type ends it.
    """
    is_plain = "unsignedCmp" in op.attributes
    if not scalar.is_const(value):
        raise unraisable(op, f"bounds and a positive step must be static, got {value}")
    bits = (INT64 if value.dtype.is_index else value.dtype).bits
    number = value.attr % 2**bits if is_plain else value.attr
    if number >= 2**63:
        raise unraisable(op, f"bounds must be below 2 ** 63, got {number}")
    return number


def branch(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """The values of the branch that a condition chooses.

    Raises: VerifyError for a branch that gives none.
    """
    if not op.results:
        raise unraisable(op, "a branch must give values, got none")
    condition = _wrapped(op, [reader.value(op.operands[0])])[0]
    yes, no = (_side(reader, op, region) for region in op.regions)
    return _unwrapped(cond(condition, yes, no), op.results)


def while_(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """A loop; its condition gives what the body takes, and in the end what the op gives."""
    before, after = (region.blocks[0] for region in op.regions)

    def tested(states: States) -> list[Value]:
        return reader.block(before, _nodes(states, before.arguments))

    def going(states: States) -> Wrapped:
        return _wrapped(op, tested(states)[:1])[0]

    def body(states: States) -> States:
        return _wrapped(op, reader.block(after, tested(states)[1:]))

    last = looped(_wrapped(op, [reader.value(v) for v in op.operands]), going, body)
    return _unwrapped(_wrapped(op, tested(last)[1:]), op.results)


def switch(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """The values of the branch of a number; of the first region where no branch has it.

    Raises: VerifyError for branches that give none.
    """
    if not op.results:
        raise unraisable(op, "a branch must give values, got none")
    number = _wrapped(op, [reader.value(op.operands[0])])[0]
    default, *regions = op.regions
    rows = zip(ir.DenseI64ArrayAttr(op.attributes["cases"]), regions, strict=True)
    chosen = _side(reader, op, default)
    for case, region in reversed(list(rows)):
        chosen = _choice(number == case, _side(reader, op, region), chosen)
    return _unwrapped(chosen(), op.results)


def _side(reader: Reader, op: ir.Operation, region: Any) -> Callable[[], States]:
    return lambda: _wrapped(op, reader.block(region.blocks[0], []))


def _choice(
    condition: Any, yes: Callable[[], States], no: Callable[[], States]
) -> Callable[[], States]:
    return lambda: cond(condition, yes, no)


def region(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """What the only block of a region gives.

    Raises: VerifyError for several blocks.
    """
    blocks = list(op.regions[0].blocks)
    if len(blocks) != 1:
        raise unraisable(op, f"a region must have one block, got {len(blocks)}")
    return reader.block(blocks[0], [])


def affine_number(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """An affine value of indices, or an extremum of several."""
    return [affine.number(op, [reader.scalar(v) for v in op.operands])]


RULES = {
    "scf.index_switch": switch,
    "scf.execute_region": region,
    **dict.fromkeys(affine.NUMBERS, affine_number),
}
