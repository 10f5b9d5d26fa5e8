"""Tensors -> memory, with a proof that values stay apart: the pass `ted-bufferize`.

Before: a function of tensors, whose results are put into memory that it is given
(`ted-pass-destinations`).
After: operations on memory; nothing is returned, each result is in its own memory.

The work is MLIR's one-shot bufferization. It decides by analysing SSA values which operations may
write in place, so it is right as long as every access to memory is a value that it sees.
`ted.linalg.memory_origins` checks what comes out, and knows nothing of that analysis.
"""

from __future__ import annotations

from ted.errors import PassFailed
from ted.linalg.long_chains import inline_parts, outline_parts
from ted.linalg.loop_chains import shorten_chains
from ted.linalg.memory_origins import (
    check_memory,
    forget_numbers,
    number_operations,
    read_only,
)
from ted.linalg.tensor_origins import tensor_origins
from ted.mlir import func, ir
from ted.mlir.pass_managers import pass_manager
from ted.mlir.queries import functions
from ted.records import dataclass

_ONE_SHOT = (
    "one-shot-bufferize{bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map}"
)
_CLEAN = "canonicalize,drop-equivalent-buffer-results{modify-public-functions=1}"


@dataclass(frozen=True)
class TedBufferize:
    """Give tensors memory, and prove that no value is overwritten before its last read."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: PassFailed naming the read that would be wrong, or a result without memory given.
        """
        expected = {_name(f): number_operations(tensor_origins(f)) for f in functions(module)}
        kept = {_name(f): read_only(f) for f in functions(module)}
        shorten_chains(module.operation)
        outline_parts(module)
        _upstream(_ONE_SHOT, module)
        inline_parts(module)
        for function in functions(module):
            check_memory(function, expected[_name(function)], kept[_name(function)])
        forget_numbers(module.operation)
        _upstream(_CLEAN, module)
        for function in functions(module):
            _check_results(function)


def _upstream(passes: str, module: ir.Module) -> None:
    try:
        pass_manager(f"builtin.module({passes})", module.context).run(module.operation)
    except ir.MLIRError as error:
        found = error.error_diagnostics
        because = f", got {found[0].message} ({found[0].location})" if found else ""
        raise PassFailed(f"ted-bufferize: tensors must have memory{because}") from None


def _name(function: func.FuncOp) -> str:
    return function.name.value


def _check_results(function: func.FuncOp) -> None:
    returned = list(function.type.results)
    if returned:
        kinds = ", ".join(map(str, returned))
        raise PassFailed(
            f"ted-bufferize: results must be in the memory given for them, got {kinds} returned"
        )
