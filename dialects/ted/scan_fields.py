"""What the attributes of `ted.scan` may say, and typed access to them and to its body.

`ScanFields` is the base of `ScanOp`, as `ComputeFields` is of `ComputeOp`. The tensors of a scan
are numbered: operand k, block argument k, yielded value k and result k are one history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ted.dialects.ted.operand_types import ResultSlots
from ted.mlir import ir


class ScanFields(ResultSlots):
    """Typed views of the attributes, operands and body of a `ted.scan` that verifies."""

    @property
    def time_dims(self) -> tuple[int, ...]:
        """For each history the dim along which it grows."""
        return tuple(ir.DenseI64ArrayAttr(self.attributes["times"]))

    @property
    def step_count(self) -> int:
        """The number of steps, which is the extent of every time dim."""
        return ir.IntegerAttr(self.attributes["steps"]).value

    @property
    def symbolic_steps(self) -> ir.AffineMap | None:
        """From the sizes of the function to the number of steps; None where that is a number."""
        found = self.attributes["steps"]
        return found.value if isinstance(found, ir.AffineMapAttr) else None

    @property
    def is_reverse(self) -> bool:
        """Whether the last step comes first."""
        return bool(ir.BoolAttr(self.attributes["reverse"]).value)

    @property
    def step_order(self) -> range:
        """The steps in the order in which they run."""
        steps = range(self.step_count)
        return steps[::-1] if self.is_reverse else steps

    @property
    def inits(self) -> Sequence[ir.Value]:
        """The tensors that the histories start from."""
        return list(self.operands)

    @property
    def body_block(self) -> ir.Block:
        """The one block of the body."""
        return self.regions[0].blocks[0]

    @property
    def yielded(self) -> Sequence[ir.Value]:
        """The histories at the end of a step."""
        operations = list(self.body_block.operations)
        return list(operations[-1].operands)

    @property
    def computes(self) -> Sequence[Any]:
        """The equations of a step, in the order in which they run."""
        operations = list(self.body_block.operations)
        return [op for op in operations if op.operation.name == "ted.compute"]

    def history_of(self) -> dict[ir.Value, int]:
        """The number of the history that a value of the body is some state of."""
        found: dict[ir.Value, int] = dict(
            zip(self.body_block.arguments, range(len(self.operands)), strict=True)
        )
        for inner in self.computes:
            start = inner.inits[-1]  # of argmax and argmin: the index, which is the history
            if start in found:
                found[inner.operation.results[-1]] = found[start]
        return found

    def writers(self) -> Iterator[tuple[Any, int]]:
        """Each equation with the number of the history that it writes."""
        histories = self.history_of()
        for inner in self.computes:
            yield inner, histories[inner.operation.results[-1]]
