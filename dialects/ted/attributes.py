"""What the attributes of `ted.compute` may say, and typed access to them.

`ComputeFields` is the base of `ComputeOp`: `op.box` is a tuple of ints where `op.extents` is the
attribute. It is also what passes use to read the op, so that attribute spelling stays in this file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ted.dialects.ted.operand_types import OperandSlots
from ted.mlir import integer_set, ir

if TYPE_CHECKING:
    from collections.abc import Sequence

# Combiner -> number of results. The two results of argmax and argmin are value and i64 index.
COMBINERS = {"set": 1, "add": 1, "mul": 1, "max": 1, "min": 1, "argmax": 2, "argmin": 2}
# Combiners that may meet a write whose indices are data: any order of points gives one result.
SCATTER_COMBINERS = ("add", "max", "min")
ITERATORS = ("parallel", "reduction")
LOAD_MODES = ("check", "clip", "drop", "unchecked")
ELEMENT_TYPES = (
    "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "ui64", "ui32", "ui16", "ui8", "i1",
)  # fmt: skip


def scalar_type(element: ir.Type) -> ir.Type:
    """What a body has for an element: `arith` knows integers without sign, `i8` for `ui8`."""
    if isinstance(element, ir.IntegerType) and element.is_unsigned:
        return ir.IntegerType.get_signless(element.width, element.context)
    return element


_WRONG_DIVISION = re.compile(r"\b(?:floordiv|ceildiv|mod) (?![1-9])")


@lru_cache(maxsize=1024)  # most are those of other operations
def divides_by_numbers(attribute: ir.Attribute) -> bool:
    """Whether all divisions and remainders of maps and sets are by positive constants."""
    return _WRONG_DIVISION.search(str(attribute)) is None


@lru_cache(maxsize=1024)
def _numbers(attribute: ir.Attribute) -> tuple[int, ...]:
    return tuple(ir.DenseI64ArrayAttr(attribute))


def everywhere(dims: int, symbols: int = 0) -> ir.IntegerSet:
    """The set without constraints, written `(0 == 0)`."""
    zero = ir.AffineExpr.get_constant(0)
    return ir.IntegerSet.get(dims, symbols, [zero], [True])


def extents_attribute(extents: Sequence[int] | ir.AffineMap) -> ir.Attribute:
    """Extents as numbers, or as a map from the sizes of the function."""
    if isinstance(extents, ir.AffineMap):
        return ir.AffineMapAttr.get(extents)
    return ir.DenseI64ArrayAttr.get(list(extents))


def steps_attribute(steps: int | ir.AffineMap) -> ir.Attribute:
    """A number of steps, or a map from the sizes to it."""
    if isinstance(steps, ir.AffineMap):
        return ir.AffineMapAttr.get(steps)
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), steps)


class ComputeFields(OperandSlots):
    """Typed views of the attributes, operands and body of a `ted.compute` that verifies."""

    @property
    def box(self) -> tuple[int, ...]:
        """Extent of each iteration dim, where none is symbolic."""
        return _numbers(self.attributes["extents"])

    @property
    def symbolic_box(self) -> ir.AffineMap | None:
        """From the sizes of the function to the extents; None where none is symbolic."""
        found = self.attributes["extents"]
        return found.value if isinstance(found, ir.AffineMapAttr) else None

    @property
    def rank(self) -> int:
        """Number of iteration dims."""
        found = self.symbolic_box
        return len(self.box) if found is None else len(found.results)

    @property
    def size_count(self) -> int:
        """Number of symbolic sizes: the first symbols of every map and set."""
        found = self.symbolic_box
        return 0 if found is None else found.n_symbols

    @property
    def data_count(self) -> int:
        """Number of indices of the write that are data: its symbols after the sizes."""
        return self.write_map.n_symbols - self.size_count

    @property
    def iterator_kinds(self) -> tuple[str, ...]:
        """`parallel` or `reduction` for each iteration dim."""
        return tuple(ir.StringAttr(a).value for a in ir.ArrayAttr(self.attributes["iterators"]))

    @property
    def read_maps(self) -> tuple[ir.AffineMap, ...]:
        """One map per input, from iteration dims to the dims of the input."""
        return tuple(ir.AffineMapAttr(a).value for a in ir.ArrayAttr(self.attributes["reads"]))

    @property
    def guard_sets(self) -> tuple[ir.IntegerSet, ...]:
        """One set per input: where the read is made."""
        guards = list(ir.ArrayAttr(self.attributes["guards"]))
        found = {guard: integer_set(guard) for guard in dict.fromkeys(guards)}  # most are equal
        return tuple(found[guard] for guard in guards)

    @property
    def domain_set(self) -> ir.IntegerSet:
        """The points of the box that take part."""
        return integer_set(self.attributes["domain"])

    @property
    def write_map(self) -> ir.AffineMap:
        """From iteration dims, and yielded indices as symbols, to the dims of the results."""
        return ir.AffineMapAttr(self.attributes["write"]).value

    @property
    def write_mode(self) -> str:
        """What becomes of an index that is data and outside: one of `LOAD_MODES`."""
        given = "mode" in self.attributes
        return ir.StringAttr(self.attributes["mode"]).value if given else "check"

    @property
    def combiner_name(self) -> str:
        """A key of `COMBINERS`."""
        return ir.StringAttr(self.attributes["combiner"]).value

    @property
    def read_count(self) -> int:
        """Number of inputs."""
        return len(ir.ArrayAttr(self.attributes["reads"]))

    @property
    def inputs(self) -> Sequence[ir.Value]:
        """The tensors that are read, one per map."""
        return list(self.operands)[: self.read_count]

    @property
    def inits(self) -> Sequence[ir.Value]:
        """The tensors that the results start from."""
        return list(self.operands)[self.read_count :]

    @property
    def body_block(self) -> ir.Block:
        """The one block of the body."""
        return self.regions[0].blocks[0]

    @property
    def yielded(self) -> Sequence[ir.Value]:
        """What the terminator yields: values, then the indices of a data-dependent write."""
        operations = list(self.body_block.operations)
        return list(operations[-1].operands)
