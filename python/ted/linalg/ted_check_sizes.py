"""Programs whose tensors fit into memory -> the same; any other is refused: `ted-check-sizes`.

Before: `%x : tensor<4294967296x4294967296xf32>`.  After: CompileError with the tensor's name.

A size that overflows would become a small allocation and a crash; one beyond what a process can
address would fail late and without a place.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ted.errors import CompileError
from ted.ir.recurrences import UNBOUNDED
from ted.linalg.data_reads import tensor_name
from ted.mlir import ir
from ted.mlir.queries import functions
from ted.mlir.scalars import byte_width
from ted.records import dataclass

ADDRESS_BITS = 47


@dataclass(frozen=True)
class TedCheckSizes:
    """Refuse every tensor of 2**`bits` bytes or more."""

    bits: int = ADDRESS_BITS

    def run(self, module: ir.Module) -> None:
        """Change nothing.

        Raises: CompileError for the first tensor that is too large, or has a symbolic size.
        """
        for function in functions(module):
            for value in _tensors(function.operation):
                check_is_static(value)
                size = _bytes(value.type)
                if size >> self.bits:
                    shape = "x".join(map(str, ir.ShapedType(value.type).shape))
                    raise CompileError(
                        f"compile: a tensor has fewer than 2**{self.bits} bytes, "
                        f"got {tensor_name(value)} of shape {shape}, {size} bytes"
                    )


def check_is_static(value: ir.Value) -> None:
    """Refuse a tensor with a symbolic size.

    Raises: CompileError naming the tensor and the pass that gives sizes their values.
    """
    if not ir.RankedTensorType(value.type).has_static_shape:
        raise CompileError(
            f"compile: extents are numbers by now, got {tensor_name(value)} of {value.type}; "
            "ted-specialise-sizes gives symbolic sizes their values"
        )


def _tensors(function: ir.Operation) -> Iterator[ir.Value]:
    block = function.regions[0].blocks[0]
    yield from (a for a in block.arguments if isinstance(a.type, ir.RankedTensorType))
    for op in (op for op in block.operations if not _has_no_memory(op.operation)):
        yield from (r for r in op.operation.results if isinstance(r.type, ir.RankedTensorType))


def _has_no_memory(op: ir.Operation) -> bool:
    """Whether an operation makes histories of a loop without a bound, of which few slices are kept.

    That is proved where the loop is built.
    """
    if op.name != "ted.scan":
        users = [use.owner.operation for result in op.results for use in result.uses]
        return bool(users) and all(u.name == "ted.scan" and _has_no_memory(u) for u in users)
    return ir.IntegerAttr(op.attributes["steps"]).value == UNBOUNDED


def _bytes(kind: ir.Type) -> int:
    shaped = ir.RankedTensorType(kind)
    return prod(shaped.shape) * byte_width(shaped.element_type)
