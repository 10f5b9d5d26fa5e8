"""The dialect `ted` in IRDL: `python -m ted.dialects.irdl` prints what `ted/ted.irdl.mlir` holds.

Any MLIR tool reads our ops with that file, `mlir-opt --irdl-file=... --allow-unregistered-dialect`,
in the form that `ted-opt --ted-irdl-form` writes: IRDL wants the sizes of the operand lists of
`ted.compute` in an attribute, and has no word for terminators, so that `ted.yield` must be an op
that the tool does not know. `ted-opt` reads both forms.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ted.dialects import make_context
from ted.dialects.ted.operand_types import add_segments, remove_segments
from ted.dialects.ted.ops import Ted

if TYPE_CHECKING:
    from ted.mlir import ir

_HEADER = """\
// The operations of the dialect `ted`, generated from dialects/ted/ops.py; do not edit.
// To write it again: python -m ted.dialects.irdl > dialects/ted/ted.irdl.mlir
"""


_TERMINATOR, _UNKNOWN = '"ted.yield"', '"body.yield"'


def irdl_text() -> str:
    """The text of the IRDL file."""
    with make_context():
        return f"{_HEADER}{str(Ted._emit_module()).rstrip()}\n"


def irdl_form(module: ir.Module) -> str:
    """A module's text for `mlir-opt --irdl-file=... --allow-unregistered-dialect`."""
    from ted.mlir import ir, text_of

    found: list[ir.OpView] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in ("ted.compute", "ted.scan", "ted.yield"):
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in found:
        add_segments(op)
    text = text_of(module, assume_verified=True)
    for op in found:
        remove_segments(op)
    return text.replace(_TERMINATOR, _UNKNOWN)


def ted_form(text: str) -> str:
    """The text of a tool that has read the other form, as ted writes it; segment sizes may stay."""
    return text.replace(_UNKNOWN, _TERMINATOR)


if __name__ == "__main__":
    sys.stdout.write(irdl_text())
