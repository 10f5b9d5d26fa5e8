"""Named contractions and convolutions of linalg -> `linalg.generic`."""

from __future__ import annotations

from ted.mlir import interpreter, ir

NAMED = (
    "linalg.matmul",
    "linalg.batch_matmul",
    "linalg.batch_reduce_matmul",
    "linalg.matvec",
    "linalg.vecmat",
    "linalg.batch_matvec",
    "linalg.batch_vecmat",
    "linalg.contract",
    "linalg.conv_1d_nwc_wcf",
    "linalg.conv_1d_ncw_fcw",
    "linalg.conv_2d_nhwc_hwcf",
    "linalg.conv_2d_nhwc_fhwc",
    "linalg.conv_2d_nchw_fchw",
    "linalg.conv_3d_ndhwc_dhwcf",
    "linalg.conv_3d_ncdhw_fcdhw",
)

_GENERALIZE = """
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @generalize(%root: !transform.any_op) {{
    %named = transform.structured.match ops{{[{names}]}} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.yield
  }}
}}
"""


def generalize(module: ir.Module) -> None:
    """Turn named contractions into generics."""
    names = ", ".join(f'"{name}"' for name in NAMED)
    script = ir.Module.parse(_GENERALIZE.format(names=names))
    sequence = script.body.operations[0].operation
    interpreter.apply_named_sequence(module.operation, sequence, script.operation)


def generics(root: ir.Operation) -> list[ir.Operation]:
    """The generics inside an operation."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.generic":
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found
