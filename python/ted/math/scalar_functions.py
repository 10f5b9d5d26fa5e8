"""Functions of scalars, or of vectors of them, with rare cases: `fast unless rare else exact`.

Before: a formula that is right for ordinary arguments, and one for all
After: the first, then a branch that no lane takes as a rule, then the other for the lanes that need
it. What an element becomes depends on that element alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.math.arithmetic import Num, element
from ted.mlir import func, ir, scf, vector
from ted.mlir.scalars import index
from ted.records import dataclass

Formula = Callable[..., Num]


@dataclass(frozen=True)
class Cases:
    """A function by cases; without `exact` the operation itself is that, a call of the C library.

    Lanes take it one by one, unless it is `for_vectors` as well.
    """

    fast: Formula
    is_rare: Formula
    exact: Formula | None = None
    for_vectors: bool = False


def by_cases(cases: Cases, name: str, symbol: str, arguments: Sequence[ir.Value]) -> ir.Value:
    """The value at the insertion point; `symbol` is the function of scalars for an operation."""
    numbers = [Num(value) for value in arguments]
    fast, rare = cases.fast(*numbers).value, cases.is_rare(*numbers).value
    branch = scf.IfOp(_any(rare), [fast.type], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        if isinstance(fast.type, ir.VectorType) and not cases.for_vectors:
            value = _by_lane(symbol, arguments, fast, rare)
        elif cases.exact is None:
            value = operation(name, arguments)
        else:
            value = Num(rare).where(cases.exact(*numbers), Num(fast)).value
        scf.YieldOp([value])
    assert branch.else_block is not None, "asked for"
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([fast])
    return branch.results[0]


def _any(condition: ir.Value) -> ir.Value:
    if not isinstance(condition.type, ir.VectorType):
        return condition
    return vector.ReductionOp(element(condition.type), vector.CombiningKind.OR, condition).result


def operation(name: str, arguments: Sequence[ir.Value]) -> ir.Value:
    """An operation whose result is of the type of its operands."""
    kind = arguments[0].type
    return ir.Operation.create(name, results=[kind], operands=list(arguments)).results[0]


def _by_lane(
    symbol: str, arguments: Sequence[ir.Value], fast: ir.Value, rare: ir.Value
) -> ir.Value:
    """A vector of fast values, in which rare lanes are what the function of scalars gives."""
    lanes = ir.VectorType(fast.type).shape[0]
    loop = scf.ForOp(index(0), index(lanes), index(1), [fast])
    lane, so_far = loop.induction_variable, loop.inner_iter_args[0]
    with ir.InsertionPoint(loop.body):
        branch = scf.IfOp(_lane(rare, lane), [fast.type], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scalars = [_lane(value, lane) for value in arguments]
            exact = func.CallOp([element(fast.type)], symbol, scalars).results[0]
            kind = ir.DenseI64ArrayAttr.get([ir.ShapedType.get_dynamic_size()])
            scf.YieldOp([vector.InsertOp(exact, so_far, [lane], kind).result])
        assert branch.else_block is not None, "asked for"
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([so_far])
        scf.YieldOp([branch.results[0]])
    return loop.results[0]


def _lane(value: ir.Value, lane: ir.Value) -> ir.Value:
    kind = ir.DenseI64ArrayAttr.get([ir.ShapedType.get_dynamic_size()])
    return vector.ExtractOp(value, [lane], kind).result
