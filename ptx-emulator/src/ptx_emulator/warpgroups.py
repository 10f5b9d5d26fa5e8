"""`wgmma`: matrix products of four warps, with operands in shared memory or, for A, in registers.

A descriptor says where the 16-byte chunks of an operand lie.  With row = m or n, c = swizzle / 16:
K-major, chunks along k: 8 rows every 16 c (or 16), eights of rows every SBO, chunks every 16 (LBO
without swizzle).  MN-major, chunks along the row: c of them every 16 and then every LBO, 8 of k
every 16 c and then every SBO (without swizzle: chunks every SBO, k every 16, eights of k every
LBO).  Then address bits 4 and up are changed by exclusive or with those from 7 on.
Source: PTX ISA, "Asynchronous warpgroup level matrix shared memory layout": canonical layouts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptx_emulator import errors
from ptx_emulator.building import Builder
from ptx_emulator.bulk_stores import agent_read
from ptx_emulator.convergence import WARP, whole_warp
from ptx_emulator.forms import Array, Form, Read, Step, instruction
from ptx_emulator.matrices import Accumulator, Operand
from ptx_emulator.rounding import bf16_to_f32
from ptx_emulator.syntax import Immediate, Name, Vector
from ptx_emulator.warpgroup_state import Owed, Product

CHUNK = 16
ROWS = 16  # of a warp
_SWIZZLE = {0: 0, 1: 128, 2: 64, 3: 32}
_RESERVED = (3 << 14) | (3 << 30) | (7 << 46) | (0x3FF << 52)
_BASE_OFFSET = 7 << 49
_DEPTH = {"f16": 16, "bf16": 16, "tf32": 8}
_ITEM = {"f16": 2, "bf16": 2, "tf32": 4}


@dataclass(frozen=True)
class Descriptor:
    """An operand in shared memory: offsets in bytes."""

    start: int
    leading: int
    stride: int
    swizzle: int

    @staticmethod
    def decoded(word: int) -> Descriptor | None:
        """The fields of 64 bits, if the interpreter knows them all."""
        if word & (_RESERVED | _BASE_OFFSET):
            return None
        start, leading, stride = ((word >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
        return Descriptor(start, leading, stride, _SWIZZLE[word >> 62])

    def chunks(self, rows: Array, depth: int, item: int, k_major: bool) -> Array:
        """Addresses of chunks: of each row along k, or (MN-major) of each k along the rows."""
        span = self.swizzle // CHUNK
        if k_major:
            row, chunk = rows[:, None], np.arange(depth * item // CHUNK)
            along = chunk * (CHUNK if span else self.leading)
            address = row % 8 * (self.swizzle or CHUNK) + row // 8 * self.stride + along
        else:
            k, chunk = np.arange(depth)[:, None], rows[:: CHUNK // item] * item // CHUNK
            if span:
                along = chunk % span * CHUNK + chunk // span * self.leading
                address = along + k % 8 * self.swizzle + k // 8 * self.stride
            else:
                address = chunk * self.stride + k % 8 * CHUNK + k // 8 * self.leading
        address = self.start + address
        return address ^ ((address >> 7) & (span - 1 if span else 0)) << 4


@instruction("wgmma", leaves=True)
def warpgroup(form: Form, k: Builder) -> Step:
    """`wgmma.fence commit_group wait_group mma_async`."""
    action = form.needed("fence", "commit_group", "wait_group", "mma_async")
    form.needed("sync")
    form.needed("aligned")
    k.only_block_barriers = False
    if action == "mma_async":
        return whole_warp(_multiply(form, k))
    if action == "wait_group":
        form.count(1)
        count = form.operands[0]
        if not isinstance(count, Immediate):
            raise form.unknown("a constant number of groups")
        return whole_warp(lambda m, ix: m.warpgroups.wait(_warps(m, ix), count.value))
    form.count(0)
    if action == "fence":
        return whole_warp(lambda m, ix: m.warpgroups.fence(_warps(m, ix)))
    return whole_warp(lambda m, ix: m.warpgroups.commit(_warps(m, ix)))


def _warps(m: Any, ix: Any) -> Array:
    return m.numbers(ix)[::WARP] // WARP


@dataclass
class _Shape:
    """What the text of an instruction says."""

    kind: str
    columns: int
    result: str
    scale: int
    k_major_a: bool
    k_major_b: bool


def _shape_of(form: Form, registers: bool) -> _Shape:
    of_b, of_a = form.kind(), form.kind()
    if of_a != of_b or of_a not in _DEPTH:
        raise form.unknown("types of matrices")
    shapes = [r for r in form.rest if re.fullmatch(rf"m64n\d+k{_DEPTH[of_a]}", r)]
    if not shapes:
        raise form.unknown("a shape")
    form.flag(*shapes)
    columns = int(shapes[0].split("n")[1].split("k")[0])
    result = form.kind("f32", "f16")
    if columns % 8 or not 8 <= columns <= 256 or (result == "f16" and of_a != "f16"):
        raise form.unknown("a shape and type of the result")
    transpositions = 0 if of_a == "tf32" else (1 if registers else 2)
    form.count(6 + transpositions)
    numbers = [o.value for o in form.operands[4:] if isinstance(o, Immediate)]
    if len(numbers) != 2 + transpositions or any(abs(n) != 1 for n in numbers[:2]):
        raise form.unknown("constant scales and transpositions")
    bits = [0] * (2 - transpositions) + numbers[2:]
    k_major = [bit == 0 for bit in bits]
    return _Shape(of_a, columns, result, numbers[0] * numbers[1], *k_major)


def _items(data: Array, kind: str) -> Array:
    """Bytes as numbers of f64, on the last axis."""
    if kind == "f16":
        return data.view(np.float16).astype(np.float64)
    if kind == "bf16":
        return bf16_to_f32(data.view(np.uint16)).astype(np.float64)
    return (data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


class _InSharedMemory:
    """An operand by its descriptor: rows x depth matrices for warps."""

    def __init__(self, read: Read, kind: str, k_major: bool, rows: int, per_warp: bool) -> None:
        self.read, self.kind, self.k_major = read, kind, k_major
        self.rows, self.per_warp = rows, per_warp

    def words(self, m: Any, ix: Any) -> Array:
        """The descriptor of each warp, the same for all its lanes."""
        words = m.spread(self.read(m, ix), ix).reshape(-1, WARP)
        if (words != words[:, :1]).any():
            self._fail(m, ix, "one descriptor for a warp, got several")
        return words[:, 0]

    def _fail(self, m: Any, ix: Any, what: str) -> None:
        m.fail(errors.WarpgroupFault, f"wgmma.mma_async: {what}", int(m.numbers(ix)[0]))

    def matrices(self, m: Any, ix: Any, words: Array) -> tuple[Array, Array | None]:
        """One matrix a warp, and the grains that were read."""
        depth, item, warps = _DEPTH[self.kind], _ITEM[self.kind], _warps(m, ix)
        rank = warps % m.warps % 4 if self.per_warp else np.zeros_like(warps)
        keys, which = np.unique(
            np.stack([words, rank.astype(np.uint64)], 1), axis=0, return_inverse=True
        )
        tables = []
        for word, quarter in keys:
            shape = Descriptor.decoded(int(word))
            if shape is None:
                self._fail(
                    m, ix, f"a descriptor with zeros where nothing is known, got {int(word):#x}"
                )
                raise AssertionError
            rows = np.arange(self.rows) + self.rows * int(quarter)
            tables.append(shape.chunks(rows, depth, item, self.k_major))
        chunks = np.stack(tables)[which.reshape(-1)]
        places = self._places(m, chunks.reshape(len(warps), -1), warps)
        grains = agent_read(m, places, warps * WARP, "wgmma.mma_async")
        self._check_written(m, places, warps)
        data = m.memory.shared.reshape(-1, CHUNK)[places // CHUNK]
        items = _items(np.ascontiguousarray(data), self.kind).reshape(*chunks.shape, -1)
        if self.k_major:
            return items.reshape(len(warps), self.rows, depth), grains
        return items.reshape(len(warps), depth, self.rows).transpose(0, 2, 1), grains

    def _places(self, m: Any, chunks: Array, warps: Array) -> Array:
        """Where chunks lie in the array of shared memory, after a check of bounds."""
        lanes = np.repeat(warps * WARP, chunks.shape[1])
        flat = chunks.reshape(-1).astype(np.uint64)
        return m.memory.place("shared", flat, lanes, CHUNK, "read").reshape(chunks.shape)

    def _check_written(self, m: Any, places: Array, warps: Array) -> None:
        written = m.memory.shared_written.view(np.uint64).reshape(-1, 2)[places // CHUNK]
        bad = (written != np.uint64(0x0101_0101_0101_0101)).any(axis=(1, 2))
        if bad.any():
            rule = "operands in shared memory that have been written"
            lane = int(warps[np.argmax(bad)]) * WARP
            m.fail(errors.UninitialisedRead, f"wgmma.mma_async: {rule}, got others", lane)


def _multiply(form: Form, k: Builder) -> Step:
    registers = isinstance(form.operands[1], Vector)
    shape = _shape_of(form, registers)
    k.access("shared", CHUNK)
    per = 2 if shape.result == "f16" else 1
    items = form.vector(0, shape.columns // (2 * per))
    kind = "b32" if shape.result == "f16" else "f32"
    slots = tuple(k.slot(o.name) for o in items if isinstance(o, Name))
    accumulator = Accumulator(
        shape.result, [k.read(o, kind) for o in items], [k.write(o, kind) for o in items],
        (ROWS, shape.columns),
    )  # fmt: skip
    depth = _DEPTH[shape.kind]
    fragment = None
    if registers:
        reads = [k.read(o, "b32") for o in form.vector(1, 4)]
        fragment = Operand(reads, shape.kind, True, (ROWS, depth))
    first = k.read(form.operands[1], "b64") if fragment is None else None
    in_a = first and _InSharedMemory(first, shape.kind, shape.k_major_a, ROWS, True)
    in_b = _InSharedMemory(
        k.read(form.operands[2], "b64"), shape.kind, shape.k_major_b, shape.columns, False
    )
    keep = k.read(form.operands[3], "pred")

    def step(m: Any, ix: Any) -> None:
        warps, grains = _warps(m, ix), []
        words = in_b.words(m, ix)
        of_a = in_a.words(m, ix) if in_a else np.zeros_like(words)
        m.warpgroups.begin(warps, words ^ (of_a << np.uint64(1)))
        if fragment is not None:
            a = fragment.matrices(m, ix)
        else:
            assert in_a
            a, read = in_a.matrices(m, ix, of_a)
            grains.append(read)
        b, read = in_b.matrices(m, ix, words)
        grains.append(read)
        kept = m.spread(keep(m, ix), ix).reshape(-1, WARP)[:, 0]
        result = shape.scale * np.matmul(a, b.transpose(0, 2, 1))
        if kept.any():
            present = _present(m, ix, warps, slots, accumulator)
            result = result + np.where(kept[:, None, None], present, 0.0)
        known = [g for g in grains if g is not None]
        _hand_over(m, ix, warps, slots, accumulator, _rounded(result, shape.result), known)

    return step


def _rounded(result: Array, kind: str) -> Array:
    return result.astype(np.float16 if kind == "f16" else np.float32).astype(np.float64)


def _present(
    m: Any, ix: Any, warps: Array, slots: tuple[int, ...], accumulator: Accumulator
) -> Array:
    """What the accumulators hold, or will hold once products under way are done."""
    owed = m.warpgroups.owed.get(slots)
    if owed is None:
        return accumulator.load(m, ix)
    if owed.version[warps].all():
        return owed.values[warps]
    held = accumulator.load(m, ix)
    return np.where((owed.version[warps] > 0)[:, None, None], owed.values[warps], held)


def _hand_over(
    m: Any, ix: Any, warps: Array, slots: tuple[int, ...], accumulator: Accumulator, result: Array,
    grains: list[Array],
) -> None:  # fmt: skip
    """Give the result to the registers now, or (late) only at the wait."""
    state = m.warpgroups
    if not m.late:
        accumulator.store(m, ix, result)
        state.open.append(Product(warps, grains, lambda done: None))
        return
    owed = state.owed.get(slots)
    if owed is None:
        values = np.zeros((state.count, *result.shape[1:]))
        owed = state.owed[slots] = Owed(values, np.zeros(state.count, np.int64))
    state.version += 1
    version, poisoned = state.version, bool(owed.version[warps].all())
    owed.values[warps], owed.version[warps] = result, version
    if not poisoned:
        accumulator.store(m, ix, np.full_like(result, np.nan))

    def deliver(done: Array) -> None:
        mine = done[owed.version[done] == version]
        if len(mine):
            lanes = (mine[:, None] * WARP + np.arange(WARP)).reshape(-1)
            accumulator.store(m, lanes, owed.values[mine])
            owed.version[mine] = 0

    state.open.append(Product(warps, grains, deliver))
