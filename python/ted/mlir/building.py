"""Index arithmetic and loops with known bounds, folded while they are built.

An `Index` is a Python int or an SSA value of type index. Folding here, not in `canonicalize`, keeps
the number of operations that Python makes (the largest part of a schedule's compile time) small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ted.mlir import arith, ir, scf

Index = int | ir.Value


def constant(value: Index) -> ir.Value:
    """The index as an SSA value."""
    if not isinstance(value, int):
        return value
    return arith.ConstantOp(ir.IndexType.get(), value).result


@contextmanager
def scratch() -> Iterator[None]:
    """Build what is only looked at: it stands in no program, and is gone afterwards."""
    aside = ir.Module.create(ir.Location.unknown())
    try:
        with ir.InsertionPoint(aside.body):
            yield
    finally:
        for op in reversed([o.operation for o in aside.body.operations]):
            op.erase()


def add(left: Index, right: Index) -> Index:
    """left + right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0 or right == 0:
        return right if isinstance(left, int) else left
    return arith.AddIOp(constant(left), constant(right)).result


def scale(index: Index, factor: int) -> Index:
    """index * factor."""
    if isinstance(index, int):
        return index * factor
    if factor in (0, 1):
        return index if factor else 0
    return arith.MulIOp(index, constant(factor)).result


def bounds_of_part(number: Index, size: int, total: int) -> tuple[Index, Index]:
    """Where part `number` of so many points begins and ends; the last one may have fewer."""
    first = scale(number, size)
    last = add(first, size)
    if total % size:
        last = arith.MinSIOp(constant(last), constant(total)).result
    return first, last


def loop(
    lower: int, upper: Index, step: int, body: Callable[[Index], None], *, keep: bool = False
) -> None:
    """Run `body(i)` for i in range; no loop is built when it would run once, unless `keep`."""
    if isinstance(upper, int) and not keep:
        if lower >= upper:
            return
        if lower + step >= upper:
            body(lower)
            return
    carried_loop(lower, upper, step, (), lambda index, _: body(index) or ())


def carried_loop(
    lower: Index,
    upper: Index,
    step: int,
    initial: Sequence[ir.Value],
    body: Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """A loop whose body maps carried values to new ones; returns the last ones."""
    built = scf.ForOp(constant(lower), constant(upper), constant(step), list(initial))
    with ir.InsertionPoint(built.body):
        results = body(built.induction_variable, list(built.inner_iter_args))
        scf.YieldOp(list(results))
    return list(built.results)
