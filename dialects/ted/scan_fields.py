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
    def parts(self) -> Sequence[Any]:
        """The equations of a step and the scans inside of it, in the order in which they run."""
        operations = list(self.body_block.operations)
        return [op for op in operations if op.operation.name in ("ted.compute", "ted.scan")]

    def history_of(self) -> dict[ir.Value, int]:
        """The number of the history that a value of the body is some state of."""
        found: dict[ir.Value, int] = dict(
            zip(self.body_block.arguments, range(len(self.operands)), strict=True)
        )
        for inner in self.parts:
            for start, result in states_of(inner):
                if start in found:
                    found[result] = found[start]
        return found

    def writers(self) -> Iterator[tuple[Any, int]]:
        """Each equation, of scans inside of a step too, with the history that it writes."""
        histories = self.history_of()
        for inner in self.parts:
            if inner.operation.name == "ted.compute":
                yield inner, histories[inner.operation.results[-1]]
                continue
            for equation, own in inner.writers():
                yield equation, histories[inner.inits[own]]


def states_of(part: Any) -> Iterator[tuple[ir.Value, ir.Value]]:
    """The states of histories before and after an equation, or a scan, in the body of a scan."""
    inits, results = list(part.inits), list(part.operation.results)
    if part.operation.name == "ted.scan":
        yield from zip(inits, results, strict=True)
    else:  # of argmax and argmin: the index, which is the history
        yield inits[-1], results[-1]
