"""`cp.async.bulk`: copies of blocks of bytes and of boxes of tensors, by one thread for all.

A load tells its bytes to a barrier object when it lands; a store belongs to a group of its thread.
Source: PTX ISA, "Data Movement and Conversion Instructions: Bulk copy"; swizzles move the 16-byte
chunk at address bits 4 and up by exclusive or with the bits from 7 on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptx_emulator import errors
from ptx_emulator.building import Builder
from ptx_emulator.device import SHARED, SPACE
from ptx_emulator.forms import Array, Form, Read, Step
from ptx_emulator.syntax import Address, Immediate, Name, Vector
from ptx_emulator.tensor_maps import BYTES, TensorMap

_RANKS = ("1d", "2d", "3d", "4d", "5d")
_OFFSET = (1 << SPACE) - 1
CHUNK = 16


def bulk_copy(form: Form, k: Builder) -> Step:
    """`cp.async.bulk` in its forms."""
    if form.flag("commit_group"):
        return lambda m, ix: m.bulk_stores.commit(m.numbers(ix))
    if form.flag("wait_group"):
        form.count(1)
        form.flag("read")
        count = form.operands[0]
        if not isinstance(count, Immediate):
            raise form.unknown("a constant number of groups")
        return lambda m, ix: m.bulk_stores.wait(m.numbers(ix), count.value)
    if form.flag("multicast::cluster"):
        raise form.unknown("a copy within a cluster of one block")
    if form.flag("L2::cache_hint"):
        form.operands = form.operands[:-1]
    k.only_block_barriers = False
    k.access("shared", CHUNK)
    if form.flag("prefetch"):
        form.flag("tensor", "L2", "global", "tile", *_RANKS)
        return lambda m, ix: None
    tensor = form.flag("tensor")
    loads = form.flag("mbarrier::complete_tx::bytes")
    if not loads:
        form.needed("bulk_group")
    spaces = [r for r in form.rest if r.startswith(("shared", "global"))]
    form.flag(*spaces)
    to_shared = bool(spaces) and spaces[0].startswith("shared")
    if len(spaces) != 2 or to_shared != loads or spaces[0][:6] == spaces[1][:6]:
        raise form.unknown("a copy between global and shared memory")
    if tensor:
        form.flag("tile")
        rank = int(form.needed(*_RANKS)[0])
        return _tensor_load(form, k, rank) if loads else _tensor_store(form, k, rank)
    return _plain_load(form, k) if loads else _plain_store(form, k)


def _shared(address: int) -> int:
    return address & _OFFSET if address >> SPACE == SHARED else address


def _map_and_coordinates(
    form: Form, k: Builder, operand: Any, rank: int
) -> tuple[Read, list[Read]]:
    if not isinstance(operand, Address) or len(operand.parts) != 1:
        raise form.unknown("a tensor map and coordinates")
    coordinates = operand.parts[0]
    if not isinstance(coordinates, Vector) or len(coordinates.items) != rank:
        raise form.unknown(f"{rank} coordinates")
    where = k.address(Address(operand.base, operand.bytes))
    own = isinstance(operand.base, Name) and operand.base.name in k.parameters.offsets
    if own:
        raise form.unknown("a tensor map by its generic address")
    return where, [k.read(c, "s32") for c in coordinates.items]


def _tensor_map(m: Any, address: int, lane: int, rank: int) -> TensorMap:
    where = np.array([address], np.uint64) + np.arange(0, BYTES, 8, dtype=np.uint64)
    if address % 64:
        m.fail(
            errors.Misaligned,
            f"a tensor map: an address that is a multiple of 64, got {address:#x}",
            lane,
        )
    data = m.memory.load("generic", where, np.full(len(where), lane), 8).tobytes()
    found = TensorMap.decoded(data)
    if found is None:
        return m.fail(errors.BulkCopyFault, "a tensor copy: a tensor map, got other bytes", lane)
    if len(found.dims) != rank:
        got = f"one of {len(found.dims)}"
        m.fail(errors.BulkCopyFault, f"a tensor copy: a tensor map of {rank} dims, got {got}", lane)
    if found.swizzle and found.box[0] * found.item_bytes != found.swizzle:
        m.fail(
            errors.BulkCopyFault, "a tensor copy: rows as long as the swizzle, the only ones that "
            f"the interpreter knows, got {found.box[0] * found.item_bytes}", lane,
        )  # fmt: skip
    return found


def box_places(shape: TensorMap, coordinates: list[int]) -> tuple[Array, Array]:
    """Addresses of all items of a box, innermost last, and which lie inside the tensor."""
    addresses, inside = np.int64(0), np.bool_(True)
    strides = (shape.item_bytes, *shape.strides)
    for axis in reversed(range(len(shape.dims))):
        count = -(-shape.box[axis] // shape.element_strides[axis])
        index = coordinates[axis] + shape.element_strides[axis] * np.arange(count, dtype=np.int64)
        valid = (index >= 0) & (index < shape.dims[axis])
        addresses = np.asarray(addresses)[..., None] + index * strides[axis]
        inside = np.asarray(inside)[..., None] & valid
    return np.asarray(addresses) + shape.address, np.asarray(inside)


def swizzled(start: int, count: int, swizzle: int) -> Array:
    """Addresses in shared memory of the 16-byte chunks of a box that begins at `start`."""
    address = start + CHUNK * np.arange(count // CHUNK, dtype=np.int64)
    return address ^ ((address >> 7) & (swizzle // CHUNK - 1 if swizzle else 0)) << 4


def _check_box_start(m: Any, shape: TensorMap, start: int, lane: int) -> None:
    multiple = 8 * shape.swizzle if shape.swizzle else 128
    if start % multiple:
        m.fail(
            errors.Misaligned, f"a tensor copy: an address in shared memory that is a multiple of "
            f"{multiple}, got {m.memory.describe('shared', start)}", lane,
        )  # fmt: skip


def _chunk_places(m: Any, chunks: Array, lane: int, verb: str) -> Array:
    """Places of chunks in the array of shared memory."""
    lanes = np.full(len(chunks), lane)
    places = m.memory.place("shared", chunks.astype(np.uint64), lanes, CHUNK, verb)
    if m.memory.barriers.reshape(-1, CHUNK)[places // CHUNK].any():
        m.fail(errors.MbarrierFault, f"{verb}: bytes of no barrier object, got some", lane)
    return places


def _load_into_shared(m: Any, lane: int, chunks: Array, data: Array, barrier: int) -> None:
    """Bytes are on their way to chunks of shared memory, and to the count of a barrier object."""
    memory, races, block = m.memory, m.shared_races, int(m.block_of[lane])
    places = _chunk_places(m, chunks, lane, "a bulk copy to")
    rows, time = places // CHUNK, m.clocks.next_copy(block)
    if races is not None:
        at, races.now = races.grains(places, CHUNK), m.at
        if races.agent_write(at, block, int(m.warp_of[lane]), time):
            m.fail(
                errors.SharedRace, "a bulk copy to shared memory: an order after all accesses, "
                f"got none with one to {memory.describe('shared', int(chunks[0]))} or after", lane,
            )  # fmt: skip
    memory.shared.reshape(-1, CHUNK)[rows] = 0xCD
    memory.shared_written.reshape(-1, CHUNK)[rows] = 0

    def land() -> None:
        memory.shared.reshape(-1, CHUNK)[rows] = data.reshape(-1, CHUNK)
        memory.shared_written.reshape(-1, CHUNK)[rows] = 1

    m.mbarriers.bring(block, barrier, lane, land, data.size, time)


def _each(m: Any, ix: Any, *reads: Read) -> Any:
    """The lanes that execute an instruction with the values of operands, as integers."""
    columns = [m.spread(read(m, ix), ix) for read in reads]
    for lane, *values in zip(m.numbers(ix), *columns, strict=True):
        yield int(lane), [int(v) for v in values]


def _fetch(m: Any, lane: int, shape: TensorMap, places: Array, inside: Array, data: Array) -> None:
    """Read the items of a box that lie inside the tensor: whole rows by chunks where possible."""
    width, step = shape.item_bytes, CHUNK // shape.item_bytes
    starts = places[..., ::step]
    if inside.all() and shape.element_strides[0] == 1 and not (starts % CHUNK).any():
        where = starts.reshape(-1).astype(np.uint64)
        chunks = m.memory.load("global", where, np.full(len(where), lane), CHUNK)
        data[:] = chunks.reshape(data.shape)
        return
    wanted = places[inside].astype(np.uint64)
    data[inside] = m.memory.load("global", wanted, np.full(len(wanted), lane), width)


def _tensor_load(form: Form, k: Builder, rank: int) -> Step:
    form.count(3)
    target, barrier = k.address(form.operands[0]), k.address(form.operands[2])
    where, coordinates = _map_and_coordinates(form, k, form.operands[1], rank)

    def step(m: Any, ix: Any) -> None:
        for lane, (start, bar, address, *at) in _each(m, ix, target, barrier, where, *coordinates):
            shape, start = _tensor_map(m, address, lane, rank), _shared(start)
            _check_box_start(m, shape, start, lane)
            places, inside = box_places(shape, at)
            data = np.zeros((*places.shape, shape.item_bytes), np.uint8)
            _fetch(m, lane, shape, places, inside, data)
            chunks = swizzled(start, data.size, shape.swizzle)
            _load_into_shared(m, lane, chunks, data.reshape(-1), _shared(bar))

    return step


def _tensor_store(form: Form, k: Builder, rank: int) -> Step:
    form.count(2)
    source = k.address(form.operands[1])
    where, coordinates = _map_and_coordinates(form, k, form.operands[0], rank)

    def step(m: Any, ix: Any) -> None:
        for lane, (start, address, *at) in _each(m, ix, source, where, *coordinates):
            shape, start = _tensor_map(m, address, lane, rank), _shared(start)
            _check_box_start(m, shape, start, lane)
            places, inside = box_places(shape, at)
            chunks = swizzled(start, shape.box_bytes, shape.swizzle)
            data = m.bulk_stores.read(lane, chunks).reshape(*places.shape, shape.item_bytes)
            m.bulk_stores.send(lane, chunks, places[inside].astype(np.uint64), data[inside])

    return step


def _check_plain(m: Any, lane: int, size: int, *addresses: int) -> None:
    if size % CHUNK or any(a % CHUNK for a in addresses):
        m.fail(
            errors.Misaligned, "a bulk copy: addresses and a size that are multiples of 16, got "
            f"{', '.join(hex(a) for a in addresses)} and {size}", lane,
        )  # fmt: skip


def _plain_load(form: Form, k: Builder) -> Step:
    form.count(4)
    target, source, barrier = (k.address(form.operands[n]) for n in (0, 1, 3))
    size = k.read(form.operands[2], "u32")

    def step(m: Any, ix: Any) -> None:
        for lane, (start, address, count, bar) in _each(m, ix, target, source, size, barrier):
            start = _shared(start)
            _check_plain(m, lane, count, start, address)
            offsets = np.arange(0, count, CHUNK, dtype=np.int64)
            lanes = np.full(len(offsets), lane)
            data = m.memory.load("global", (address + offsets).astype(np.uint64), lanes, CHUNK)
            _load_into_shared(m, lane, start + offsets, data.reshape(-1), _shared(bar))

    return step


def _plain_store(form: Form, k: Builder) -> Step:
    form.count(3)
    target, source = k.address(form.operands[0]), k.address(form.operands[1])
    size = k.read(form.operands[2], "u32")

    def step(m: Any, ix: Any) -> None:
        for lane, (address, start, count) in _each(m, ix, target, source, size):
            start = _shared(start)
            _check_plain(m, lane, count, start, address)
            offsets = np.arange(0, count, CHUNK, dtype=np.int64)
            data = m.bulk_stores.read(lane, start + offsets).reshape(-1, CHUNK)
            m.bulk_stores.send(lane, start + offsets, (address + offsets).astype(np.uint64), data)

    return step
