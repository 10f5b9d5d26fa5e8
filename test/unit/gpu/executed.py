"""Code that a kernel would have, executed on the CPU for every number of a range."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ted import dialects
from ted.mlir import arith, func, ir, memref, scf
from ted.mlir.building import constant
from unit.runtime.programs import compile_text

Build = Callable[[ir.Value], Sequence[ir.Value]]


def table(count: int, width: int, build: Build) -> np.ndarray[Any, Any]:
    """The `width` indices that the code of `build` makes of 0, 1, .. `count` - 1, a row each."""
    with dialects.session(), ir.Location.unknown():
        module = ir.Module.create()
        kind = ir.MemRefType.get([count, width], ir.IndexType.get())
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([kind], []))
            block = function.add_entry_block()
        with ir.InsertionPoint(block):
            loop = scf.ForOp(constant(0), constant(count), constant(1))
            with ir.InsertionPoint(loop.body):
                row = loop.induction_variable
                for k, value in enumerate(build(row)):
                    memref.StoreOp(value, block.arguments[0], [row, constant(k)])
                scf.YieldOp([])
            func.ReturnOp([])
        text = str(module)
    found = np.zeros((count, width), np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(compile_text(text).raw_lookup("main"))
    data = ctypes.c_void_p(found.ctypes.data)
    call(ctypes.byref((ctypes.c_void_p * 1)(ctypes.addressof(data))))
    return found


def bits_of(value: ir.Value) -> ir.Value:
    """The 64 bits of an f64 as an index."""
    whole = arith.BitcastOp(ir.IntegerType.get_signless(64), value).result
    return arith.IndexCastOp(ir.IndexType.get(), whole).result


def number_of(bits: int) -> float:
    """The f64 of 64 bits."""
    return float(np.int64(bits).view(np.float64))
