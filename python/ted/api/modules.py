"""Programs as modules of ted ops, for who works on IR.

Before: a traced function, or tensors      After: its `func.func` in a module
"""

from __future__ import annotations

from typing import Any

from ted import dialects
from ted.frontend.locations import fail
from ted.frontend.systems import system_of, tensors_of
from ted.frontend.tensors import wrap
from ted.ir.constant_inputs import arguments_of, with_constant_inputs
from ted.ir.equations import topological
from ted.ir.saved_values import with_saved_values
from ted.ir.to_ops import to_module
from ted.mlir import ir


def module(program: Any, *arguments: Any) -> ir.Module:
    """The MLIR module of ted ops of a function traced on arguments, or of outputs.

    `program` is a traced function (`ted.function`), a tensor or a sequence of tensors; for tensors
    the inputs are the placeholders they need, in order of first use. Large constants are the last
    inputs.
    Raises: FrontendError for tensors with arguments, which a function has.
    """
    if hasattr(program, "trace") and not hasattr(program, "shape"):
        system = program.trace(*arguments).system()
    else:
        if arguments:
            fail(
                f"module: arguments are those of a function, got {len(arguments)} with tensors, "
                f"whose inputs are the placeholders they need; call ted.module(outputs)"
            )
        outputs = tensors_of(program, "module")
        nodes = arguments_of(n for n in topological([t.node for t in outputs]) if n.is_input)
        system = system_of([wrap(n) for n in nodes], outputs)
    with dialects.session():
        return to_module(with_saved_values(with_constant_inputs(system)))
