"""Graphs of torch.fx -> modules of linalg, by the binding, in a process of its own.

Before: graph(): %y = aten.adaptive_avg_pool1d(%x, [5])     After: linalg on tensors, or an error

The binding dies of some operators; what it makes is kept on the disk as code is.
"""

from __future__ import annotations

from typing import Any

from ted.codegen.children import ChildFailed
from ted.codegen.requests import Request, key_of, known, made_of, store
from ted.codegen.watching import ignored
from ted.errors import TedError
from ted.mlir import ir
from ted.mlir.torch_programs import linalg_module, operators, torch_module


def lowered(graph: Any) -> ir.Module:
    """A graph whose placeholders are tensors as a module of linalg, with function `main`.

    Raises: TedError for an operator without a lowering, by its name.
    """
    module = torch_module(graph)
    text = str(module.operation.get_asm(enable_debug_info=True))
    name = key_of(Request("torch", text, text, ""))
    made = known(name)
    if made is None:
        try:
            made = made_of("torch", text, "", {}, ignored)
        except ChildFailed as error:
            found = ", ".join(operators(module))
            raise TedError(
                "torch: each operator must have a lowering to linalg, of which the binding does "
                f"not end its process, got {error} in a graph of {found}"
            ) from None
        store(name, made)
    return linalg_module(made)
