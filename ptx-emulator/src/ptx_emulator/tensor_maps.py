"""Tensor maps: what a tiled tensor copy knows of its tensor, as 128 bytes passed by value.

The layout of the bytes is the interpreter's own; the limits are those of `cuTensorMapEncodeTiled`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ptx_emulator.errors import BulkCopyFault

SWIZZLES = {"none": 0, "32B": 32, "64B": 64, "128B": 128}
_HEAD = struct.Struct("<4sHHQ")
_MAGIC = b"tmap"
BYTES = 128


@dataclass(frozen=True)
class TensorMap:
    """A tensor in global memory and the box that a copy moves; dims innermost first.

    `strides` are in bytes, of dims 1 and up.
    """

    address: int
    item_bytes: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: int = 0

    def check(self) -> None:
        """Raise BulkCopyFault for what the driver would refuse."""
        rank, inner = len(self.dims), self.box[0] * self.item_bytes
        rules = (
            (1 <= rank <= 5, "1 to 5 dims", self.dims),
            (len(self.box) == rank == len(self.element_strides), "a box of as many dims", self.box),
            (len(self.strides) == rank - 1, "a stride for each dim but the first", self.strides),
            (self.address % 16 == 0, "an address that is a multiple of 16", hex(self.address)),
            (all(1 <= n <= 2**32 for n in self.dims), "dims up to 2**32", self.dims),
            (all(s % 16 == 0 and 0 < s < 2**40 for s in self.strides),
             "strides that are multiples of 16 bytes below 2**40", self.strides),
            (all(1 <= n <= 256 for n in self.box), "a box of 1 to 256 in each dim", self.box),
            (inner % 16 == 0, "a box with rows of a multiple of 16 bytes", inner),
            (not self.swizzle or inner <= self.swizzle, "rows no longer than the swizzle", inner),
            (self.swizzle in SWIZZLES.values(), "a swizzle of 0, 32, 64 or 128", self.swizzle),
            (all(1 <= s <= 8 for s in self.element_strides), "element strides of 1 to 8",
             self.element_strides),
        )  # fmt: skip
        for holds, rule, got in rules:
            if not holds:
                raise BulkCopyFault(f"ptx tensor map: {rule}, got {got}")

    @property
    def box_bytes(self) -> int:
        """Bytes that one copy moves, with those outside the tensor."""
        count = self.item_bytes
        for extent, stride in zip(self.box, self.element_strides, strict=True):
            count *= -(-extent // stride)
        return count

    def encoded(self) -> bytes:
        """The map as a kernel's parameter."""
        self.check()
        rank = len(self.dims)
        head = _HEAD.pack(_MAGIC, rank | self.item_bytes << 4, self.swizzle, self.address)
        lists = struct.pack(f"<{rank}Q{rank - 1}Q", *self.dims, *self.strides)
        sizes = struct.pack(f"<{rank}H{rank}B", *self.box, *self.element_strides)
        return (head + lists + sizes).ljust(BYTES, b"\0")

    @staticmethod
    def decoded(data: bytes) -> TensorMap | None:
        """The map that 128 bytes hold, if they do."""
        magic, shape, swizzle, address = _HEAD.unpack_from(data)
        if magic != _MAGIC:
            return None
        rank, item = shape & 15, shape >> 4
        values = struct.unpack_from(f"<{rank}Q{rank - 1}Q", data, _HEAD.size)
        sizes = struct.unpack_from(f"<{rank}H{rank}B", data, _HEAD.size + 8 * len(values))
        return TensorMap(
            address, item, values[:rank], values[rank:], sizes[:rank], sizes[rank:], swizzle
        )
