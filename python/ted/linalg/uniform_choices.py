"""Choices whose condition is data but the same at every point: one test around the loop.

Before: `C[i, j] += select(p[], A[i, r] * B[r, j], 0)`
After: `scf.if %p { the product } else { nothing }`, each side a subdomain of its own

Values are recognised by a key: what is read where, and by which operations. So two equations have
one condition if their keys are equal. In a step of a recurrence a place may be some time ago.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ted.linalg.folded_predicates import chosen
from ted.linalg.subdomain import Subdomain
from ted.math.narrow_floats import computed, copied
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, down, linear
from ted.mlir.queries import defining
from ted.mlir.scalars import affine_value, constant
from ted.mlir.storage import element

Key = tuple[Any, ...]
_AT_POINTS = ("ted.index", "ted.load", "ted.yield", "ted.stop_gradient")
_CONNECTIVES = ("arith.andi", "arith.ori", "arith.xori")


def uniform_values(subdomain: Subdomain, now: ir.AffineExpr | None = None) -> dict[ir.Value, Key]:
    """The values of the body that no dim changes, but for the time `now` that is written."""
    found: dict[ir.Value, Key] = {}
    for argument, read in zip(subdomain.body.arguments, subdomain.reads, strict=False):
        places = [] if read is None else [_place(e, now) for e in read.subscripts]
        if read is not None and not read.guard and None not in places:
            found[argument] = ("read", read.tensor, *places)
    for view in subdomain.body.operations:
        op = view.operation
        if op.name not in _AT_POINTS and all(v in found for v in op.operands):
            said = ((str(name), str(op.attributes[name])) for name in op.attributes)
            found[op.results[0]] = (op.name, *said, *(found[v] for v in op.operands))
    return found


def _place(subscript: ir.AffineExpr, now: ir.AffineExpr | None) -> tuple[str, int] | None:
    if not dims_used(subscript):
        form = linear(subscript)
        return None if form is None else ("at", form.constant)
    form = None if now is None else linear(down(subscript - now))
    return None if form is None or form.terms else ("later", form.constant)


def answers(
    body: ir.Block, keys: Mapping[ir.Value, Key], known: Mapping[Key, bool]
) -> dict[ir.Value, bool]:
    """The conditions of a body that follow from known ones."""
    found = {value: known[key] for value, key in keys.items() if key in known}
    for view in body.operations:
        op = view.operation
        answer = connected(op, found)
        if answer is not None and op.results[0] not in found:
            found[op.results[0]] = answer
    return found


def connected(op: ir.Operation, found: Mapping[ir.Value, bool]) -> bool | None:
    """What follows for an operation on conditions from known ones; None for nothing."""
    if op.name == "arith.select":
        which = truth(op.operands[0], found)
        return None if which is None else truth(op.operands[1 if which else 2], found)
    if op.name not in _CONNECTIVES or not isinstance(op.results[0].type, ir.IntegerType):
        return None
    a, b = (truth(v, found) for v in op.operands)
    if op.name == "arith.xori":
        return None if a is None or b is None else a != b
    decisive = op.name == "arith.ori"
    if decisive in (a, b):
        return decisive
    return None if a is None or b is None else not decisive


def truth(value: ir.Value, found: Mapping[ir.Value, bool]) -> bool | None:
    """A condition that is a constant, or known."""
    op = defining(value, "arith.constant")
    if op is None or value.type != ir.IntegerType.get_signless(1):
        return found.get(value)
    return ir.IntegerAttr(op.attributes["value"]).value != 0


def root_choice(
    body: ir.Block, keys: Mapping[ir.Value, Key], known: Mapping[ir.Value, bool]
) -> ir.Value | None:
    """The uniform condition that decides first what the body gives; None for none."""
    value = body.operations[len(body.operations) - 1].operands[0]
    while (op := defining(value, "arith.select")) is not None:
        condition = op.operands[0]
        if condition not in known:
            return condition if condition in keys else None
        value = op.operands[1 if known[condition] else 2]
    return None


def decide(subdomain: Subdomain, known: Mapping[ir.Value, bool]) -> Subdomain:
    """The subdomain, whose body is its own, where conditions are known; reads without use go."""
    body = subdomain.body
    for view in list(body.operations):
        op = view.operation
        value = chosen(op, dict(known))
        if value is not None:
            op.results[0].replace_all_uses_with(value)
    with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
        for value, answer in known.items():
            if list(value.uses):
                value.replace_all_uses_with(constant(value.type, answer))
    for view in reversed(list(body.operations)[:-1]):
        if not list(view.operation.results[0].uses) and not _may_fail(view.operation):
            view.operation.erase()
    kept = [k for k, argument in enumerate(body.arguments) if list(argument.uses)]
    for k in reversed(range(len(body.arguments))):
        if k not in kept:
            body.erase_argument(k)
    return replace(subdomain, reads=tuple(subdomain.reads[k] for k in kept))


def is_constant(body: ir.Block) -> bool:
    """Whether a body gives one number at every point."""
    value = body.operations[len(body.operations) - 1].operands[0]
    return defining(value, "arith.constant") is not None


def adds_nothing(subdomain: Subdomain) -> bool:
    """Whether a subdomain sums zeros."""
    op = defining(subdomain.body.operations[len(subdomain.body.operations) - 1].operands[0])
    if subdomain.combiner != "add" or op is None or op.name != "arith.constant":
        return False
    value = op.attributes["value"]
    return (value if isinstance(value, ir.FloatAttr) else ir.IntegerAttr(value)).value == 0


def _may_fail(op: ir.Operation) -> bool:
    """Whether an operation whose value nobody wants may be an error: a read at data."""
    if op.name != "ted.load":
        return False
    return truth(op.operands[1], {}) is not False


def condition_value(
    subdomain: Subdomain, condition: ir.Value, dims: Sequence[ir.Value] = ()
) -> ir.Value:
    """A uniform condition here; `dims` has the value of the one that is the time."""
    known: dict[ir.Value, ir.Value] = {}

    def value_of(value: ir.Value) -> ir.Value:
        if value not in known:
            op = defining(value)
            if op is None:
                pairs = zip(subdomain.body.arguments, subdomain.reads, strict=True)
                read = next(r for argument, r in pairs if argument == value)
                assert read is not None, "a uniform value has a place"
                where = [affine_value(e, dims) for e in read.subscripts]
                known[value] = computed(element(read.tensor, where))
            else:
                known[value] = copied(op, [value_of(v) for v in op.operands])
        return known[value]

    return value_of(condition)
