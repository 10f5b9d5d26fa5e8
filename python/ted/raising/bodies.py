"""Bodies of loops -> scalar expressions: arith and math, indices, reads, choices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ted.ir import scalar
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.raising import affine, complexes, scalars
from ted.raising.complexes import part_of
from ted.raising.reading import Reader
from ted.raising.values import element, extent_of, unraisable

Scope = dict[ir.Value, Any]  # expressions, and pairs of them


def body_values(
    reader: Reader, block: ir.Block, arguments: Sequence[Any], dims: Sequence[Expr]
) -> list[Any]:
    """What a block yields for its arguments; `dims` are what `linalg.index` gives.

    Raises: VerifyError for an op that equations have no word for.
    """
    found = _Body(reader, dims, dict(zip(block.arguments, arguments, strict=True))).run(block)
    return [part_of(value, reader.part) for value in found]


class _Body:
    def __init__(self, reader: Reader, dims: Sequence[Expr], known: Scope) -> None:
        self.reader = reader
        self.dims = dims
        self.known = known

    def run(self, block: ir.Block) -> list[Any]:
        *operations, last = [op.operation for op in block.operations]
        for op in operations:
            rule = _ROWS.get(op.name)
            found = self.scalar(op) if rule is None else rule(self, op)
            self.known.update(zip(op.results, found, strict=True))
        return [self.value(v) for v in last.operands]

    def value(self, value: ir.Value) -> Any:
        return self.known[value] if value in self.known else self.reader.value(value)

    def scalar(self, op: ir.Operation) -> list[Any]:
        dialect = op.name.split(".")[0]
        if dialect not in ("arith", "math", "complex") or len(op.results) != 1:
            known = f"arith, math and complex, {', '.join(_ROWS)}"
            raise unraisable(op, f"ops of bodies are those of {known}")
        of_dialect = complexes if dialect == "complex" else scalars
        return [of_dialect.operation(op, [self.value(v) for v in op.operands])]

    def select(self, op: ir.Operation) -> list[Any]:
        condition, *sides = (self.value(v) for v in op.operands)
        if not complexes.is_complex(op.results[0].type):
            return [scalars.operation(op, [condition, *sides])]
        return [complexes.each(functools.partial(scalar.select, condition), *sides)]

    def index(self, op: ir.Operation) -> list[Expr]:
        return [self.dims[ir.IntegerAttr(op.attributes["dim"]).value]]

    def extract(self, op: ir.Operation) -> list[Any]:
        source, *at = op.operands
        if source in self.known:
            return [self.known[source]]
        return [element(self.reader.value(source), [self.value(i) for i in at])]

    def of_one_element(self, op: ir.Operation) -> list[Any]:
        """A scalar as a tensor of rank 0, as reductions of StableHLO have them."""
        if ir.RankedTensorType(op.results[0].type).rank:
            raise unraisable(op, f"tensors in bodies must have rank 0, got {op.results[0].type}")
        return [self.value(op.operands[0])]

    def choice(self, op: ir.Operation) -> list[Any]:
        """Both branches are values; an access of the one not taken is not made."""
        condition = self.value(op.operands[0])
        yes, no = (self.run(*region.blocks) for region in op.regions)
        chosen = functools.partial(scalar.select, condition)
        return [complexes.each(chosen, a, b) for a, b in zip(yes, no, strict=True)]

    def assertion(self, op: ir.Operation) -> list[Expr]:
        """Says nothing about values."""
        del op
        return []

    def switch(self, op: ir.Operation) -> list[Any]:
        """All branches are values; the first region's are those of numbers that no case has."""
        number = self.value(op.operands[0])
        found, *rest = (self.run(*region.blocks) for region in op.regions)
        cases = list(ir.DenseI64ArrayAttr(op.attributes["cases"]))
        for case, values in zip(reversed(cases), reversed(rest), strict=True):
            is_it = scalar.compare("eq", number, scalar.index(case))
            chosen = functools.partial(scalar.select, is_it)
            found = [complexes.each(chosen, a, b) for a, b in zip(values, found, strict=True)]
        return found

    def affine_number(self, op: ir.Operation) -> list[Any]:
        return [affine.number(op, [self.value(v) for v in op.operands])]

    def dim(self, op: ir.Operation) -> list[Expr]:
        return [extent_of(op, self.value(op.operands[1]))]


_ROWS: dict[str, Callable[[_Body, ir.Operation], list[Any]]] = {
    "arith.select": _Body.select,
    "linalg.index": _Body.index,
    "tensor.extract": _Body.extract,
    "tensor.from_elements": _Body.of_one_element,
    "tensor.dim": _Body.dim,
    "scf.if": _Body.choice,
    "scf.index_switch": _Body.switch,
    **dict.fromkeys(affine.NUMBERS, _Body.affine_number),
    "cf.assert": _Body.assertion,
}
