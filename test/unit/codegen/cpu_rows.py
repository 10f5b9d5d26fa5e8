"""Compile as if for another CPU: the row that schedules ask for, and what LLVM may use.

Machine code of a row runs on every machine that has its features, so a test runs the rows that the
machine can execute. `avx512-bf16` is AVX-512 with instructions for bf16.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from ted.codegen import jit
from ted.mlir import ExecutionEngine, ir
from ted.schedules import vector_target

_V2 = "sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf fxsr mmx x87 cmov cx8"
_V3 = f"{_V2} avx avx2 fma f16c bmi bmi2 lzcnt movbe xsave"
_V4 = f"{_V3} avx512f avx512bw avx512cd avx512dq avx512vl evex512"
# Row -> (row of `vector_target`, LLVM's CPU, its features, what /proc/cpuinfo must list).
ROWS = {
    "sse2": ("sse2", "x86-64", "sse sse2 fxsr mmx x87 cmov cx8", "sse2"),
    "avx2": ("avx2", "x86-64-v3", _V3, "avx2 fma f16c bmi2"),
    "avx512": ("avx512", "x86-64-v4", _V4, "avx512f avx512bw avx512dq avx512vl"),
    "avx512-bf16": ("avx512", "x86-64-v4", f"{_V4} avx512bf16", "avx512f avx512bw avx512_bf16"),
}  # fmt: skip


def _flags() -> set[str]:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return set(next((line for line in lines if line.startswith("flags")), "").split())


RUNNABLE = [row for row, (*_, needed) in ROWS.items() if set(needed.split()) <= _flags()]
"""The rows whose machine code this machine runs."""


def use_row(module: ir.Module, row: str) -> ir.Module:
    """Let LLVM compile the functions of a module of the LLVM dialect for a row, in place."""
    _, cpu, features, _ = ROWS[row]
    listed = ", ".join(f'"+{name}"' for name in features.split())
    for op in module.body.operations:
        if op.operation.name == "llvm.func" and len(op.operation.regions[0].blocks):
            op.operation.attributes["target_cpu"] = ir.StringAttr.get(cpu, module.context)
            op.operation.attributes["target_features"] = ir.Attribute.parse(
                f"#llvm.target_features<[{listed}]>", module.context
            )
    return module


@contextmanager
def compiling_for(row: str) -> Iterator[None]:
    """What is compiled meanwhile is scheduled and compiled for a row."""

    def engine(module: ir.Module, *arguments: Any, **options: Any) -> ExecutionEngine:
        return ExecutionEngine(use_row(module, row), *arguments, **options)

    def target() -> vector_target.VectorTarget:
        return vector_target.TARGETS[ROWS[row][0]]

    with (
        mock.patch.object(jit, "ExecutionEngine", engine),
        mock.patch.object(jit, "_compiled", weakref.WeakValueDictionary()),
        mock.patch.object(vector_target, "host_target", target),
    ):
        yield
