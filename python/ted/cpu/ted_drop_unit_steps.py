"""Steps of views over one element -> 1: the pass `ted-drop-unit-steps`.

Before: `memref.subview %a[2, 1, %i] [1, 1, 1] [1, 1, 2] ... to memref<1xf32, strided<[2], ...>>`
After: `memref.subview %a[2, 1, %i] [1, 1, 1] [1, 1, 1] ... to memref<1xf32, strided<[1], ...>>`

The step is never made. But MLIR tells by strides which dims a view has dropped, takes the wrong one
where no stride of the memref is that of the view, and then refuses the view.
"""

from __future__ import annotations

from ted.mlir import ir
from ted.mlir.queries import operations
from ted.records import dataclass

_ELEMENTS = frozenset({"memref.load", "memref.store", "vector.load", "vector.store"})


@dataclass(frozen=True)
class TedDropUnitSteps:
    """Change views whose elements are read and written one by one, or in vectors."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for view in operations(module.operation, "memref.subview"):
            if all(use.owner.operation.name in _ELEMENTS for use in view.results[0].uses):
                _drop(view)


def _drop(view: ir.Operation) -> None:
    sizes = ir.DenseI64ArrayAttr(view.attributes["static_sizes"])
    steps = list(ir.DenseI64ArrayAttr(view.attributes["static_strides"]))
    unit = [k for k, size in enumerate(sizes) if size == 1 and steps[k] > 1]
    if not unit:
        return
    before, _ = ir.MemRefType(view.operands[0].type).get_strides_and_offset()
    kind = ir.MemRefType(view.results[0].type)
    strides, offset = kind.get_strides_and_offset()
    stepped = {before[k] * steps[k]: before[k] for k in unit}
    strides = [
        stepped.get(stride, stride) if size == 1 else stride
        for stride, size in zip(strides, kind.shape, strict=True)
    ]
    for k in unit:
        steps[k] = 1
    layout = ir.StridedLayoutAttr.get(offset, strides)
    view.attributes["static_strides"] = ir.DenseI64ArrayAttr.get(steps)
    view.results[0].set_type(
        ir.MemRefType.get(kind.shape, kind.element_type, layout, kind.memory_space)
    )
