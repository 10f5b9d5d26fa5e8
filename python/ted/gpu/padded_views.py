"""Memory as a padded or reversed view of it: what a template reads without a copy.

`%p = memref.reinterpret_cast %x to offset: [0], sizes: [10, 18], strides: [16, 1]
{ted.padded = [array<i64: 1, 1>, array<i64: 8, 16>]}` of `%x : memref<8x16xf32>`: element (i, j) is
`%x[i - 1, j - 1]`, and zero where these indices are not in the 8 x 16. The offset is that of
element (1, 1), since MLIR refuses a negative one. Only contractions whose kernel checks the bounds
may read such a view.
"""

from __future__ import annotations

from ted.domain.intervals import of_dim, of_form
from ted.gpu.templates.problem import Bound
from ted.linalg.contractions import LinalgContraction, element_strides
from ted.mlir import ir
from ted.mlir.queries import defining
from ted.records import dataclass

PADDED = "ted.padded"
CAST = "memref.reinterpret_cast"


@dataclass(frozen=True)
class View:
    """Element i of the view lies at `offset` + sum of (i - low) * strides in the source's memory.

    It is there where each i - low is in [0, inner), and zero elsewhere.
    """

    source: ir.Value
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]
    inner: tuple[int, ...]

    def build(self) -> ir.Value:
        """The view as a value."""
        arrays = {
            "static_offsets": [self.offset],
            "static_sizes": self.sizes,
            "static_strides": self.strides,
        }
        attributes: dict[str, ir.Attribute] = {
            name: ir.DenseI64ArrayAttr.get(list(values)) for name, values in arrays.items()
        }
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 0, 0, 0])
        if self.is_padded:
            both = [ir.DenseI64ArrayAttr.get(list(side)) for side in (self.low, self.inner)]
            attributes[PADDED] = ir.ArrayAttr.get(both)
        element = ir.MemRefType(self.source.type).element_type
        layout = ir.StridedLayoutAttr.get(self.offset, list(self.strides))
        kind = ir.MemRefType.get(list(self.sizes), element, layout=layout)
        made = ir.Operation.create(
            CAST, results=[kind], operands=[self.source], attributes=attributes
        )
        return made.results[0]

    @property
    def is_padded(self) -> bool:
        """Whether some of it is not in memory."""
        return self.sizes != self.inner or any(self.low)


def is_padded(value: ir.Value) -> bool:
    """Whether a value is a view of which some elements are not in memory."""
    op = defining(value)
    return op is not None and op.name == CAST and PADDED in op.attributes


def shift_of(value: ir.Value) -> int:
    """How far behind the offset that its type names element (0, .., 0) of a view lies."""
    if not is_padded(value):
        return 0
    low, _ = _sides(value)
    layout = plain_layout(value)
    assert layout is not None, "padded views have static layouts"
    return -sum(n * s for n, s in zip(low, layout[1], strict=True))


def bounds_of(contraction: LinalgContraction) -> tuple[Bound, ...]:
    """What has to be checked where the contraction reads its factors."""
    return tuple(
        bound
        for k, side in enumerate("ab")
        if is_padded(contraction.values[k])
        for bound in _bounds(contraction, k, side)
    )


def _sides(value: ir.Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Per dim what is before the elements that are there, and their number."""
    op = defining(value)
    assert op is not None, "a view is made by an operation"
    low, inner = (tuple(ir.DenseI64ArrayAttr(a)) for a in ir.ArrayAttr(op.attributes[PADDED]))
    return low, inner


def _bounds(contraction: LinalgContraction, number: int, side: str) -> list[Bound]:
    """One bound for each dim of the view that the factor's indices may leave."""
    low, inner = _sides(contraction.values[number])
    box = [of_dim(extent) for extent in contraction.extents]
    found = []
    for form, before, extent in zip(contraction.maps[number], low, inner, strict=True):
        least, most = of_form(form - before, box)
        if least < 0 or most >= extent:
            steps = tuple(form[dim] for dim in range(len(box)))
            found.append(Bound(side, form.constant - before, extent, steps))
    return found


def plain_layout(value: ir.Value) -> tuple[int, list[int]] | None:
    """Offset and strides of a memref; None where the host computes one."""
    kind = ir.MemRefType(value.type)
    strides = element_strides(kind)
    offset = kind.get_strides_and_offset()[1]
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    return None if strides is None or offset == dynamic else (offset, strides)
