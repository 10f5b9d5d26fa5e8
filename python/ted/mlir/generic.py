"""A `linalg.generic` as operands, maps, loops and a body: the one place that reads and builds it.

Before: the attributes `indexing_maps`, `iterator_types` and `operandSegmentSizes` of an operation
After: `Generic(op).inputs`, `.maps`, `.reductions`, `.extents`, `.body`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from ted.forking import cached_property
from ted.mlir import ir, linalg, linalg_functions
from ted.mlir.queries import count_inputs, position
from ted.records import dataclass


@dataclass(frozen=True)
class Generic:
    """A view of an operation that stays as it is; `generic_of` makes it of any operation."""

    op: ir.Operation

    @cached_property
    def maps(self) -> list[ir.AffineMap]:
        """From loops to the elements of each operand."""
        return [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(self.op.attributes[_MAPS])]

    @cached_property
    def reductions(self) -> tuple[bool, ...]:
        """For each loop, whether it is summed over."""
        return _reductions(self.op.attributes[_KINDS])

    @property
    def rank(self) -> int:
        """Number of loops."""
        return len(self.reductions)

    @property
    def is_map(self) -> bool:
        """Whether no loop is summed over."""
        return not any(self.reductions)

    @cached_property
    def operands(self) -> list[ir.Value]:
        """What is read, then what is written."""
        return list(self.op.operands)

    @property
    def inputs(self) -> list[ir.Value]:
        """What is only read."""
        return self.operands[: self.count_inputs]

    @property
    def outputs(self) -> list[ir.Value]:
        """What is written, and read where the body asks for it."""
        return self.operands[self.count_inputs :]

    @cached_property
    def count_inputs(self) -> int:
        """Number of the operands that are only read, the first ones."""
        return count_inputs(self.op)

    @property
    def body(self) -> ir.Block:
        """The code of a point: an argument for each operand."""
        return self.op.regions[0].blocks[0]

    @property
    def code(self) -> list[ir.Operation]:
        """The operations of the body, the last of which yields the new elements."""
        return [o.operation for o in self.body.operations]

    @property
    def yielded(self) -> list[ir.Value]:
        """The new elements of the outputs."""
        return list(self.code[-1].operands)

    @property
    def asks_where(self) -> bool:
        """Whether the body depends on the numbers of the loops."""
        return any(o.name == "linalg.index" for o in self.code)

    @cached_property
    def dims(self) -> list[list[int]] | None:
        """For each operand the loops that are its subscripts; None if a subscript is no loop."""
        results = [list(m.results) for m in self.maps]
        if not all(isinstance(e, ir.AffineDimExpr) for exprs in results for e in exprs):
            return None
        return [[position(e) for e in exprs] for exprs in results]

    @cached_property
    def extents(self) -> tuple[int, ...] | None:
        """Of the loops, from operands with a loop alone in a subscript; None if one is unknown."""
        found = [-1] * self.rank
        for value, amap in zip(self.operands, self.maps, strict=True):
            if not isinstance(value.type, _SHAPED):
                continue
            for expr, size in zip(amap.results, ir.ShapedType(value.type).shape, strict=True):
                if isinstance(expr, ir.AffineDimExpr):
                    found[expr.position] = size
        return tuple(found) if all(size >= 0 for size in found) else None


@lru_cache(maxsize=256)  # there are few lists of kinds, and many who ask
def _reductions(kinds: ir.Attribute) -> tuple[bool, ...]:
    return tuple("reduction" in str(kind) for kind in ir.ArrayAttr(kinds))


_MAPS, _KINDS = "indexing_maps", "iterator_types"
_SHAPED = (ir.RankedTensorType, ir.MemRefType)


def generic_of(op: ir.Operation | None) -> Generic | None:
    """The view of an operation; None if it has another form."""
    return Generic(op) if op is not None and op.name == "linalg.generic" else None


def set_maps(op: ir.Operation, maps: Iterable[ir.AffineMap]) -> None:
    """Give each operand another map."""
    op.attributes[_MAPS] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])


def set_reductions(op: ir.Operation, reductions: Iterable[bool]) -> None:
    """Say anew which loops there are, and which are summed over."""
    op.attributes[_KINDS] = _kinds(reductions)


def empty_generic(
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    maps: Iterable[ir.AffineMap],
    reductions: Iterable[bool],
) -> ir.Operation:
    """A generic at the insertion point, whose body has arguments and no code yet.

    Its results are those of tensors; memory is written in place.
    """
    op = linalg.GenericOp(
        [v.type for v in outputs if isinstance(v.type, ir.RankedTensorType)],
        list(inputs),
        list(outputs),
        ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
        _kinds(reductions),
    ).operation
    types = [v.type for v in (*inputs, *outputs)]
    elements = [ir.ShapedType(t).element_type if isinstance(t, _SHAPED) else t for t in types]
    op.regions[0].blocks.append(*elements, arg_locs=[op.location] * len(elements))
    return op


def named_operation(
    kind: Callable[..., ir.OpView],
    inputs: Sequence[ir.Value],
    into: ir.Value,
    **given: ir.Attribute,
) -> ir.Operation:
    """An operation of linalg whose class says what it does."""
    kinds = [into.type] if isinstance(into.type, ir.RankedTensorType) else []
    op = kind(kinds, list(inputs), [into], **given).operation
    linalg_functions.fill_builtin_region(op)
    return op


def written_by(op: ir.Operation) -> list[ir.Value]:
    """What an operation of linalg makes: its results, or the memory that it writes."""
    return list(op.results) or list(op.operands)[count_inputs(op) :]


def _kinds(reductions: Iterable[bool]) -> ir.ArrayAttr:
    names = {True: "reduction", False: "parallel"}
    return ir.ArrayAttr.get(
        [ir.Attribute.parse(f"#linalg.iterator_type<{names[r]}>") for r in reductions]
    )
