"""Where a load or a store goes, as a number: a constant and multiples of counters of loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ted.gpu.flat_views import line_of
from ted.mlir import ir
from ted.mlir.affine_forms import linear
from ted.mlir.aliasing import root
from ted.mlir.queries import constant_of, defining

Form = tuple[int, dict[ir.Value, int]]


@dataclass(frozen=True)
class Address:
    """Element `constant` + sum of counter * factor of a memory."""

    memory: ir.Value
    constant: int
    factors: frozenset[tuple[ir.Value, int]]

    def step(self, counter: ir.Value) -> int:
        """By how many elements it moves when a counter advances."""
        return dict(self.factors).get(counter, 0)


def address_of(access: ir.Operation) -> Address | None:
    """Where a `memref.load` or `memref.store` goes; None if that is no such number."""
    view, *place = list(access.operands)[access.name == "memref.store" :]
    line = line_of(view)
    if line is None:
        return None
    strides = ir.MemRefType(view.type).get_strides_and_offset()[0]
    terms = [*line.terms, *zip(place, strides, strict=True)]
    found = _sum([(linear_of(value), factor) for value, factor in terms])
    if found is None:
        return None
    factors = frozenset((v, f) for v, f in found[1].items() if f)
    return Address(root(view), line.offset + found[0], factors)


def linear_of(value: ir.Value) -> Form | None:
    """An index as a constant and multiples of counters."""
    known = constant_of(value)
    if known is not None:
        return known, {}
    op = defining(value)
    if op is None:
        return 0, {value: 1}
    if op.name in ("arith.addi", "arith.subi"):
        sign = 1 if op.name == "arith.addi" else -1
        return _sum([(linear_of(op.operands[0]), 1), (linear_of(op.operands[1]), sign)])
    if op.name == "arith.muli":
        by = constant_of(op.operands[1])
        return None if by is None else _sum([(linear_of(op.operands[0]), by)])
    if op.name == "affine.apply":
        amap = ir.AffineMapAttr(op.attributes["map"]).value
        form = None if amap.n_symbols else linear(amap.results[0], amap.n_dims)
        if form is None:
            return None
        found = _sum([(linear_of(o), c) for o, c in zip(op.operands, form[0], strict=True)])
        return None if found is None else (found[0] + form[1], found[1])
    return None


def _sum(terms: Sequence[tuple[Form | None, int]]) -> Form | None:
    constant, factors = 0, {}
    for form, factor in terms:
        if form is None:
            return None
        constant += factor * form[0]
        for value, times in form[1].items():
            factors[value] = factors.get(value, 0) + factor * times
    return constant, factors
