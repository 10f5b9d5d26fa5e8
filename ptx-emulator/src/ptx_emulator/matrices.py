"""`ldmatrix stmatrix movmatrix mma`: matrices held by the lanes of a warp.

Lane t = 4 g + q of a warp holds, of a 16 x k operand A with e elements a register, in register r
the elements of row g + 8 (r mod 2) from column e q + 4 e (r div 2) on; of a k x 8 operand B those
of column g from row e q + 4 e r on; of the accumulator row g + 8 (r div 2), column 2 q + r mod 2.
Source: PTX ISA, "Matrix Fragments for mma".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ptx_emulator.building import Builder
from ptx_emulator.convergence import WARP, whole_warp
from ptx_emulator.forms import NUMPY, Array, Form, Read, Step, Write, instruction
from ptx_emulator.rounding import decoded

_LANE = np.arange(WARP)
GROUP, QUAD = _LANE // 4, _LANE % 4
_TF32_MASK = np.uint32(0xFFFFE000)


def _matrix_count(form: Form) -> tuple[int, bool]:
    form.needed("sync")
    form.needed("aligned")
    form.needed("m8n8")
    form.one("shared", "shared::cta")
    form.kind("b16")
    return int(form.needed("x1", "x2", "x4")[1]), form.flag("trans")


@instruction("ldmatrix", leaves=True)
def load_matrices(form: Form, k: Builder) -> Step:
    """One, two or four 8 x 8 matrices of 16-bit items; lane 8 j + i gives row i of matrix j."""
    count, transposed = _matrix_count(form)
    k.access("shared", 16)
    address = k.address(form.operands[1])
    writes = [k.write(item, "b32") for item in form.vector(0, count)]

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix).reshape(-1, WARP)
        where = m.spread(address(m, ix), ix).reshape(-1, WARP)[:, : 8 * count]
        who = lanes[:, : 8 * count]
        rows = m.memory.load("shared", where.reshape(-1), who.reshape(-1), 16)
        matrices = np.ascontiguousarray(rows).view(np.uint16).reshape(len(lanes), count, 8, 8)
        if transposed:
            matrices = np.ascontiguousarray(matrices.transpose(0, 1, 3, 2))
        words = matrices.reshape(len(lanes), count, 64).view(np.uint32)
        for position, write in enumerate(writes):
            write(m, ix, np.ascontiguousarray(words[:, position]).reshape(-1))

    return whole_warp(step)


@instruction("stmatrix", leaves=True)
def store_matrices(form: Form, k: Builder) -> Step:
    """The reverse of `ldmatrix`."""
    count, transposed = _matrix_count(form)
    k.access("shared", 16)
    address = k.address(form.operands[0])
    reads = [k.read(item, "b32") for item in form.vector(1, count)]

    def step(m: Any, ix: Any) -> None:
        lanes = m.numbers(ix).reshape(-1, WARP)
        where = m.spread(address(m, ix), ix).reshape(-1, WARP)[:, : 8 * count]
        words = np.stack([m.spread(read(m, ix), ix).reshape(-1, WARP) for read in reads], 1)
        matrices = np.ascontiguousarray(words).view(np.uint16).reshape(-1, 8, 8)
        if transposed:
            matrices = np.ascontiguousarray(matrices.transpose(0, 2, 1))
        rows = matrices.reshape(-1, 8).view(np.uint8)
        m.memory.store("shared", where.reshape(-1), lanes[:, : 8 * count].reshape(-1), rows)

    return whole_warp(step)


@instruction("movmatrix", leaves=True)
def transpose_matrix(form: Form, k: Builder) -> Step:
    """`movmatrix.sync.aligned.m8n8.trans.b16`: an 8 x 8 matrix of 16-bit items, transposed."""
    for modifier in ("sync", "aligned", "m8n8", "trans"):
        form.needed(modifier)
    form.kind("b16")
    write, read = k.write(form.operands[0], "b32"), k.read(form.operands[1], "b32")

    def step(m: Any, ix: Any) -> None:
        words = np.ascontiguousarray(m.spread(read(m, ix), ix))
        turned = words.view(np.uint16).reshape(-1, 8, 8).transpose(0, 2, 1)
        write(m, ix, np.ascontiguousarray(turned).reshape(-1, 64).view(np.uint32).reshape(-1))

    return whole_warp(step)


def _items(kind: str) -> Callable[[Array], Array]:
    """Registers of an operand -> its items as f64 or i64, those of a register on a last axis."""
    if kind in ("f16", "bf16"):
        return lambda words: decoded(kind, words[:, None].view(NUMPY[kind])).astype(np.float64)
    if kind == "tf32":
        return lambda words: (words[:, None] & _TF32_MASK).view(np.float32).astype(np.float64)
    if kind in ("s8", "u8"):
        return lambda words: words[:, None].view(NUMPY[kind]).astype(np.int64)
    return lambda words: words[:, None].view(np.float64)


_PER_REGISTER = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4, "f64": 1}
_SHAPES = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "s8": ("m16n8k16", "m16n8k32"),
    "u8": ("m16n8k16", "m16n8k32"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
}
_ACCUMULATORS = {
    "f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "s8": ("s32",), "u8": ("s32",),
    "f64": ("f64",),
}  # fmt: skip


class Operand:
    """The registers of one operand of `mma`: how they make up matrices."""

    def __init__(self, reads: list[Read], kind: str, first: bool, shape: tuple[int, int]) -> None:
        self.reads, self.convert, self.shape = reads, _items(kind), shape
        self.bits = "b64" if kind == "f64" else "b32"
        per = _PER_REGISTER[kind]
        self.rows, self.columns = [], []
        tall = 2 if shape[0] == 16 or not first else 1
        for register in range(len(reads)):
            along = (per * QUAD)[:, None] + np.arange(per)
            across = np.broadcast_to(GROUP[:, None], along.shape)
            if first:
                self.rows.append(across + 8 * (register % tall))
                self.columns.append(along + 4 * per * (register // tall))
            else:
                self.rows.append(along + 4 * per * register)
                self.columns.append(across)

    def matrices(self, m: Any, ix: Any) -> Array:
        """One matrix a warp."""
        result = None
        for read, rows, columns in zip(self.reads, self.rows, self.columns, strict=True):
            words = np.ascontiguousarray(m.spread(read(m, ix), ix))
            items = self.convert(words).reshape(-1, WARP, rows.shape[1])
            if result is None:
                result = np.zeros((len(items), *self.shape), items.dtype)
            result[:, rows, columns] = items
        assert result is not None
        return result


class Accumulator:
    """The registers of the accumulators of 16 x n tiles (8 x n for f64), read and written."""

    def __init__(
        self, kind: str, reads: list[Read], writes: list[Write], shape: tuple[int, int]
    ) -> None:
        self.kind, self.reads, self.writes, self.shape = kind, reads, writes, shape
        per = 2 if kind == "f16" else 1
        tall = 2 if shape[0] == 16 else 1
        self.places = []
        for register in range(len(writes)):
            item = per * register + np.arange(per)
            rows = GROUP[:, None] + 8 * (item // 2 % tall)
            columns = (2 * QUAD)[:, None] + item % 2 + 8 * (item // (2 * tall))
            self.places.append((rows, columns))

    def load(self, m: Any, ix: Any) -> Array:
        """One matrix a warp, as f64 or i64."""
        wide = np.int64 if self.kind == "s32" else np.float64
        result = np.zeros((m.count(ix) // WARP, *self.shape), wide)
        for read, (rows, columns) in zip(self.reads, self.places, strict=True):
            values = np.ascontiguousarray(m.spread(read(m, ix), ix))[:, None]
            items = values.view(np.float16) if self.kind == "f16" else values
            result[:, rows, columns] = items.reshape(-1, *rows.shape)
        return result

    def store(self, m: Any, ix: Any, result: Array) -> None:
        """Round matrices and give them to the lanes."""
        for write, (rows, columns) in zip(self.writes, self.places, strict=True):
            items = np.ascontiguousarray(result[:, rows, columns])
            if self.kind == "f16":
                write(m, ix, items.astype(np.float16).reshape(-1, 2).view(np.uint32)[:, 0])
            else:
                write(m, ix, items.astype(NUMPY[self.kind]).reshape(-1))


@instruction("mma", leaves=True)
def multiply_matrices(form: Form, k: Builder) -> Step:
    """`mma.sync.aligned.shape.row.col.d.a.b.c`: D = A B + C; products and sums in f64."""
    form.count(4)
    for modifier in ("sync", "aligned", "row", "col"):
        form.needed(modifier)
    saturate = form.flag("satfinite")
    of_c, of_b, of_a, of_d = (form.kind() for _ in range(4))
    pairs = {of_a, of_b}
    if of_c != of_d or of_a not in _SHAPES or not (len(pairs) == 1 or pairs == {"s8", "u8"}):
        raise form.unknown("types of matrices")
    if of_c not in _ACCUMULATORS[of_a]:
        raise form.unknown("a type of the accumulator")
    rows, columns, depth = (int(n) for n in re.findall(r"\d+", form.needed(*_SHAPES[of_a])))
    bits = "b64" if of_a == "f64" else "b32"
    per = _PER_REGISTER[of_a]
    in_a, in_b = rows * depth // (WARP * per), depth * columns // (WARP * per)
    in_c = rows * columns // (WARP * (2 if of_c == "f16" else 1))
    a = Operand([k.read(o, bits) for o in form.vector(1, in_a)], of_a, True, (rows, depth))
    b = Operand([k.read(o, bits) for o in form.vector(2, in_b)], of_b, False, (depth, columns))
    kind = "b32" if of_c == "f16" else of_c
    reads = [k.read(o, kind) for o in form.vector(3, in_c)]
    writes = [k.write(o, kind) for o in form.vector(0, in_c)]
    accumulator = Accumulator(of_c, reads, writes, (rows, columns))

    def step(m: Any, ix: Any) -> None:
        result = accumulator.load(m, ix) + np.matmul(a.matrices(m, ix), b.matrices(m, ix))
        if of_c == "s32":
            bounds = (-(2**31), 2**31 - 1)
            result = np.clip(result, *bounds) if saturate else result
        accumulator.store(m, ix, result)

    return whole_warp(step)
