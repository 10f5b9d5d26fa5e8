"""LLVM dialect -> LLVM text -> PTX for NVIDIA GPUs, on machines that have none."""

from __future__ import annotations

from ted.codegen.nvptx.ptx import compile_to_ptx, start_compiler

__all__ = ["compile_to_ptx", "start_compiler"]
