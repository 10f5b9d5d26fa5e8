"""A CUDA driver without a GPU: streams, events, graphs, modules and memory, as libcuda has them.

Before: `f(x)` says "no CUDA driver"      After: with using(EmulatedDriver(machine)): f(x) computes

The runtime talks to it as to the real library: same functions, same arguments, same codes. When
work is done says `EmulatedStreams`; what kernels do, and the device's memory, are the machine's.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ted.codegen.manifest import ITEM_SIZES
from ted.machine import STATIC_SHARED_BYTES
from ted.records import dataclass
from ted.runtime.cuda import host_memory
from ted.runtime.cuda.prototypes import (
    CAPABILITY_MAJOR,
    CAPABILITY_MINOR,
    FUNCTION_MAX_DYNAMIC_SHARED,
    FUNCTION_SHARED_BYTES,
    INVALID_CONTEXT,
    INVALID_PTX,
    OUT_OF_MEMORY,
    SHARED_PER_BLOCK_OPTIN,
    SUCCESS,
    TENSOR_MAP_TYPES,
)
from ted.testing.emulated_streams import (
    CAPTURE_UNSUPPORTED,
    INVALID_VALUE,
    NOT_FOUND,
    EmulatedStreams,
)


class Machine(Protocol):
    """Memory and kernels of the device that is emulated."""

    def allocate(self, size: int) -> int:
        """The address of new memory."""
        ...

    def free(self, address: int) -> None:
        """Take memory back."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the device."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Put bytes on the device."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Move bytes on the device."""
        ...

    def tensor_map(
        self, address: int, item_bytes: int, dims: tuple[int, ...], strides: tuple[int, ...],
        box: tuple[int, ...], element_strides: tuple[int, ...], swizzle: int,
    ) -> bytes:  # fmt: skip
        """The 128 bytes that stand for a tensor map."""
        ...

    def load(self, ptx: str) -> Any:
        """A module of kernels; raises ValueError with the log when the text is not valid."""
        ...

    def kernel(self, module: Any, name: str) -> tuple[Sequence[int], int]:
        """Sizes of a kernel's parameters, and its bytes of fixed shared memory; KeyError."""
        ...

    def launch(
        self, module: Any, name: str, grid: tuple[int, ...], block: tuple[int, ...], shared: int,
        arguments: list[bytes],
    ) -> None:  # fmt: skip
        """Run a kernel to its end; raises what it finds wrong."""
        ...


@dataclass
class _Function:
    module: Any
    name: str
    sizes: Sequence[int]
    shared: int
    most_dynamic: int = STATIC_SHARED_BYTES


class EmulatedDriver(EmulatedStreams):
    """The functions of libcuda for one device; `log` has what streams were given, in order.

    `fault` is the latest exception of a kernel; from then on every function fails, as with a real
    device. `capability`, `shared_bytes` and `memory_bytes` are those of the device. What works on
    a device asks for a context that is current in the thread.
    """

    def __init__(
        self,
        machine: Machine,
        capability: tuple[int, int] = (9, 0),
        memory_bytes: int = 1 << 40,
        shared_bytes: int = 232448,
        devices: int = 1,
    ) -> None:
        super().__init__()
        self.machine = machine
        self.capability = capability
        self.memory_bytes = memory_bytes
        self.shared_bytes = shared_bytes
        self.devices = devices
        self.allocated: dict[int, int] = {}

    @property
    def current(self) -> list[int]:
        """The contexts of this thread, the current one last."""
        return self._thread.contexts

    # ---- device and context ----------------------------------------------------------------------

    def cuInit(self, flags: int) -> int:
        """Always there."""
        return SUCCESS if flags == 0 else INVALID_VALUE

    def cuDriverGetVersion(self, out: Any) -> int:
        """CUDA 13.0."""
        return self._give(out, 13000)

    def cuDeviceGetCount(self, out: Any) -> int:
        """As many as were asked for; all share one memory."""
        return self._give(out, self.devices)

    def cuDeviceGet(self, out: Any, ordinal: int) -> int:
        """The handle of a device is its number."""
        return self._give(out, ordinal)

    def cuDeviceGetName(self, text: Any, size: int, device: int) -> int:
        """Says that it is none."""
        text.value = b"emulated device"[: size - 1]
        return SUCCESS

    def cuDeviceGetAttribute(self, out: Any, attribute: int, device: int) -> int:
        """Those that the runtime asks for."""
        known = {
            CAPABILITY_MAJOR: self.capability[0],
            CAPABILITY_MINOR: self.capability[1],
            SHARED_PER_BLOCK_OPTIN: self.shared_bytes,
        }
        return self._give(out, known[attribute]) if attribute in known else INVALID_VALUE

    def cuDevicePrimaryCtxRetain(self, out: Any, device: int) -> int:
        """A context per device."""
        return self._give(out, 0xC000 + device)

    def cuCtxGetCurrent(self, out: Any) -> int:
        """The top of the stack."""
        return self._give(out, self.current[-1] if self.current else 0)

    def cuCtxPushCurrent_v2(self, context: int) -> int:
        """Make a context current."""
        self.current.append(context)
        return SUCCESS

    def cuCtxPopCurrent_v2(self, out: Any) -> int:
        """Undo a push."""
        return self._give(out, self.current.pop()) if self.current else INVALID_VALUE

    # ---- memory ----------------------------------------------------------------------------------

    def cuMemAlloc_v2(self, out: Any, size: int) -> int:
        """Memory of the machine, within the bytes of the device."""
        if size <= 0:
            return INVALID_VALUE
        if self._may_not():
            return CAPTURE_UNSUPPORTED
        if sum(self.allocated.values()) + size > self.memory_bytes:
            return OUT_OF_MEMORY
        address = self.machine.allocate(size)
        self.allocated[address] = size
        return self._give(out, address)

    def cuMemFree_v2(self, address: int) -> int:
        """Wait, as the driver does, and take the memory back."""
        self.cuCtxSynchronize()
        if self.allocated.pop(address, None) is None:
            return INVALID_VALUE
        self.machine.free(address)
        return SUCCESS

    def cuMemHostAlloc(self, out: Any, size: int, flags: int) -> int:
        """Memory of the host."""
        memory = host_memory.pinned(size)
        self._objects[host_memory.address_of(memory)] = memory
        return self._give(out, host_memory.address_of(memory))

    def cuMemFreeHost(self, address: int) -> int:
        """Take it back."""
        return SUCCESS if self._objects.pop(address, None) is not None else INVALID_VALUE

    def cuMemcpyHtoDAsync_v2(self, target: int, source: Any, size: int, stream: int) -> int:
        """Pageable memory of the host is staged: read now, written later."""
        data = host_memory.read(source, size)
        return self._do(stream, lambda: self.machine.write(target, data), ("HtoD", target, size))

    def cuMemcpyDtoHAsync_v2(self, target: Any, source: int, size: int, stream: int) -> int:
        """Copy to the host, later."""
        return self._do(
            stream,
            lambda: host_memory.write(target, self.machine.read(source, size)),
            ("DtoH", source, size),
        )

    def cuMemcpyDtoDAsync_v2(self, target: int, source: int, size: int, stream: int) -> int:
        """Copy on the device."""
        return self._do(
            stream,
            lambda: self.machine.copy(target, source, size),
            ("DtoD", target, source, size),
        )

    def _fill(self, address: int, value: bytes, count: int, stream: int) -> int:
        return self._do(
            stream, lambda: self.machine.write(address, value * count), ("fill", address, value)
        )

    def cuMemsetD8Async(self, address: int, value: int, count: int, stream: int) -> int:
        """Fill with a byte."""
        return self._fill(address, struct.pack("<B", value), count, stream)

    def cuMemsetD16Async(self, address: int, value: int, count: int, stream: int) -> int:
        """Fill with two bytes."""
        return self._fill(address, struct.pack("<H", value), count, stream)

    def cuMemsetD32Async(self, address: int, value: int, count: int, stream: int) -> int:
        """Fill with four bytes."""
        return self._fill(address, struct.pack("<I", value), count, stream)

    # ---- modules and launches --------------------------------------------------------------------

    def cuModuleLoadDataEx(
        self, out: Any, text: bytes, count: int, options: Any, values: Any
    ) -> int:
        """Parse the PTX."""
        try:
            return self._give(out, self._new(self.machine.load(text.decode())))
        except ValueError as error:
            host_memory.write(values[0], str(error).encode()[:1000] + b"\0")
            return INVALID_PTX

    def cuModuleUnload(self, module: int) -> int:
        """Forget the module."""
        return SUCCESS if self._objects.pop(module, None) is not None else INVALID_VALUE

    def cuModuleGetFunction(self, out: Any, module: int, name: bytes) -> int:
        """A kernel by name."""
        try:
            sizes, shared = self.machine.kernel(self._objects[module], name.decode())
        except KeyError:
            return NOT_FOUND
        made = _Function(self._objects[module], name.decode(), sizes, shared)
        return self._give(out, self._new(made))

    def cuFuncGetAttribute(self, out: Any, attribute: int, function: int) -> int:
        """Fixed shared memory."""
        if attribute != FUNCTION_SHARED_BYTES:
            return INVALID_VALUE
        return self._give(out, self._objects[function].shared)

    def cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> int:
        """Allow more dynamic shared memory."""
        fixed = self._objects[function].shared
        if attribute != FUNCTION_MAX_DYNAMIC_SHARED or fixed + value > self.shared_bytes:
            return INVALID_VALUE
        self._objects[function].most_dynamic = value
        return SUCCESS

    def cuLaunchKernel(
        self, function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int,
        stream: int, params: Any, extra: Any,
    ) -> int:  # fmt: skip
        """Read the arguments now, run the kernel later."""
        called: _Function = self._objects[function]
        grid, block = (gx, gy, gz), (bx, by, bz)
        if shared > called.most_dynamic or min(*grid, *block) < 1 or bx * by * bz > 1024:
            return INVALID_VALUE
        arguments = host_memory.read_arguments(params, called.sizes)
        return self._do(
            stream,
            lambda: self.machine.launch(called.module, called.name, grid, block, shared, arguments),
            ("launch", called.name, grid, block, shared, arguments),
        )

    def cuTensorMapEncodeTiled(
        self, out: Any, dtype: int, rank: int, address: int, dims: Any, strides: Any, box: Any,
        element_strides: Any, interleave: int, swizzle: int, promotion: int, fill: int,
    ) -> int:  # fmt: skip
        """128 bytes in the machine's own format."""
        sizes = {number: ITEM_SIZES[name] for name, number in TENSOR_MAP_TYPES.items()}
        if out % 64 or address % 16:
            return INVALID_VALUE
        data = self.machine.tensor_map(
            address, sizes[dtype], tuple(dims[:rank]), tuple(strides[: rank - 1]),
            tuple(box[:rank]), tuple(element_strides[:rank]), swizzle,
        )  # fmt: skip
        host_memory.write(out, data)
        return SUCCESS


# All but those that ask of the driver, of a device, or of the contexts of a thread.
_OF_A_CONTEXT = re.compile("cu(?!Init|Driver|Device|GetError|CtxGet|CtxPush|CtxPop)[A-Z].*")


def _in_context(function: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(function)
    def checked(self: EmulatedDriver, *arguments: Any) -> int:
        return function(self, *arguments) if self.current else INVALID_CONTEXT

    return checked


for _name, _function in (*vars(EmulatedStreams).items(), *vars(EmulatedDriver).items()):
    if _OF_A_CONTEXT.fullmatch(_name):
        setattr(EmulatedDriver, _name, _in_context(_function))
