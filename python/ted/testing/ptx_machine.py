"""The PTX interpreter as a device under the CUDA runtime: `target="cuda"` without a GPU.

Before: `f(x)` says "no CUDA driver"      After: with ted.testing.emulated_gpu(): f(x) computes

What runs is the whole way of a call: arrays, streams, pool, launches, graphs, error flags; only the
driver and the device are emulated. It is slow and exact: see `ptx_emulator` for what it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ted.codegen.nvptx.shared_memory import static_shared_bytes
from ted.errors import ExecutionError
from ted.records import dataclass
from ted.testing.emulator import (
    SLOT,
    Allocation,
    Device,
    InvalidPtx,
    Module,
    TensorMap,
    errors_of_ted,
    launch,
    parse,
)


@dataclass(frozen=True)
class _Loaded:
    module: Module
    shared: dict[str, int]


class PtxMachine:
    """Memory and kernels of the interpreter; `options` are those of `ptx_emulator.launch`."""

    def __init__(self, **options: Any) -> None:
        self.device = Device()
        self.options = options
        self._freed: set[int] = set()

    def allocate(self, size: int) -> int:
        """The address of memory that nobody has written."""
        return self.device.allocate(size).address

    def free(self, address: int) -> None:
        """Take memory back: from here on nobody may read or write it by a copy.

        Raises: ExecutionError for an address of no memory.
        """
        self._freed.add(self._find(address, 0)[0].number)

    def read(self, address: int, size: int) -> bytes:
        """Bytes, all of which must have been written.

        Raises: ExecutionError for bytes outside of one allocation, or not all written.
        """
        place = self._place(address, size)
        if not self.device.written[place].all():
            raise ExecutionError(f"ptx device: {size} bytes at {address:#x} are not all written")
        return self.device.memory[place].tobytes()

    def write(self, address: int, data: bytes) -> None:
        """Put bytes.

        Raises: ExecutionError for bytes outside of one allocation.
        """
        place = self._place(address, len(data))
        self.device.memory[place] = np.frombuffer(data, np.uint8)
        self.device.written[place] = 1

    def copy(self, target: int, source: int, size: int) -> None:
        """Move bytes, written or not.

        Raises: ExecutionError for bytes outside of one allocation.
        """
        into, of = self._place(target, size), self._place(source, size)
        for bytes_of in (self.device.memory, self.device.written):
            bytes_of[into] = bytes_of[of].copy()

    def load(self, ptx: str) -> _Loaded:
        """Parse PTX.

        Raises: ValueError with what is wrong.
        """
        try:
            return _Loaded(parse(ptx), static_shared_bytes(ptx))
        except InvalidPtx as error:
            raise ValueError(str(error)) from error

    def kernel(self, module: _Loaded, name: str) -> tuple[Sequence[int], int]:
        """Sizes of a kernel's parameters, and its bytes of fixed shared memory.

        Raises: KeyError when the module has no such kernel.
        """
        if name not in module.module.kernels:
            raise KeyError(name)
        parameters = module.module.functions[name].parameters
        return [parameter.bytes or 0 for parameter in parameters], module.shared.get(name, 0)

    def launch(
        self, module: _Loaded, name: str, grid: tuple[int, ...], block: tuple[int, ...],
        shared: int, arguments: list[bytes],
    ) -> None:  # fmt: skip
        """Run a kernel; raises the fault that it has."""
        with errors_of_ted():
            launch(
                module.module, grid, block, arguments, device=self.device, name=name,
                dynamic_shared=shared, **self.options,
            )  # fmt: skip

    def tensor_map(
        self, address: int, item_bytes: int, dims: tuple[int, ...], strides: tuple[int, ...],
        box: tuple[int, ...], element_strides: tuple[int, ...], swizzle: int,
    ) -> bytes:  # fmt: skip
        """The bytes that stand for a tensor map; raises for what the driver would refuse."""
        width = (0, 32, 64, 128)[swizzle]
        made = TensorMap(address, item_bytes, dims, strides, box, element_strides, width)
        with errors_of_ted():
            return made.encoded()

    def _find(self, address: int, size: int) -> tuple[Allocation, int]:
        number = (address >> SLOT) - 1
        known = self.device.allocations
        if number in range(len(known)) and number not in self._freed:
            offset = address - known[number].address
            if 0 <= offset <= known[number].bytes - size:
                return known[number], offset
        raise ExecutionError(
            f"ptx device: {size} bytes at {self.device.describe(address)} are no memory"
        )

    def _place(self, address: int, size: int) -> slice:
        allocation, offset = self._find(address, size)
        start = allocation.start + offset
        return slice(start, start + size)
