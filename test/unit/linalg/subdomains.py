"""Subdomains of equations from short spellings, and what they say of a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

from ted.dialects import session
from ted.linalg.subdomain import Constraint, Subdomain, from_compute
from ted.mlir import ir
from ted.mlir.queries import operations
from unit.linalg.equation_text import compute, fill, module_text, tensor_type

Access = tuple[Sequence[int], str]  # a shape, and subscripts in i j k l
BODY = '"ted.yield"(%a) : (f32) -> ()'
_kept: list[ir.Module] = []


@contextmanager
def kept_subdomains() -> Iterator[None]:
    """A context in which subdomains are made; they live until its end."""
    with session():
        yield
        _kept.clear()


def subdomain_of(
    write: Access, reads: Sequence[Access], extents: Sequence[int], iterators: str,
    body: str = BODY, kinds: tuple[str, str] = ("f32", "f32"), **rest: Any,
) -> Subdomain:  # fmt: skip
    """The subdomain of an equation; `kinds` are of write and reads, `rest` as for `compute`."""
    names = [f"A{k}" for k in range(len(reads))]
    types = [tensor_type(shape, kinds[1]) for shape, _ in reads]
    shape, place = write
    inputs = [(n, t, at) for n, t, (_, at) in zip(names, types, reads, strict=True)]
    out = tensor_type(shape, kinds[0])
    zero = "0.0" if "f" in kinds[0] else "0"
    text = fill("z", shape, zero, kinds[0]) + compute(
        "y", inputs, [("z", out)], extents, iterators, place, body, **rest
    )
    module = ir.Module.parse(module_text(list(zip(names, types, strict=True)), text, [("y", out)]))
    _kept.append(module)
    (op,) = operations(module.operation, "ted.compute")
    return from_compute(op)


def box(subdomain: Subdomain) -> Iterator[tuple[int, ...]]:
    """Every point of the box."""
    return product(*map(range, subdomain.extents))


def at(expr: ir.AffineExpr, point: Sequence[int]) -> int:
    """The value of an expression at a point."""
    numbers: list[ir.AffineExpr] = [ir.AffineExpr.get_constant(p) for p in point]
    value = expr.compose(ir.AffineMap.get(0, 0, numbers)).maybe_downcast()
    return ir.AffineConstantExpr(value).value


def holds(constraint: Constraint, point: Sequence[int]) -> bool:
    """Whether a point satisfies a constraint."""
    value = at(constraint.expr, point)
    return value == 0 if constraint.is_equality else value >= 0
