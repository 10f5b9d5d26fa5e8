"""The CUDA driver as an object: every function of libcuda by its name, errors as exceptions.

`open_driver()` loads the library on first use, so that ted imports and compiles without one. A test
gives an object with the same functions instead: `with using(library): ...`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ted.errors import ExecutionError
from ted.runtime.cuda.prototypes import NO_DEVICE, PROTOTYPES, SUCCESS

LIBRARIES = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")
WAY_OUT = (
    "install the driver of NVIDIA's GPUs, or compile for a chip by name (target='cuda:sm_80'), "
    "save the function and run the bundle on a machine with a GPU"
)


class DriverError(ExecutionError):
    """A function of the driver failed; `code` is its CUresult."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Driver:
    """The functions of a driver library: `driver.cuMemFree_v2(pointer)` raises when it fails.

    Raises: DriverError when the driver cannot start or finds no device.
    """

    def __init__(self, library: Any) -> None:
        self.library = library
        self.contexts: dict[int, Any] = {}  # by the number of the device
        if isinstance(library, ctypes.CDLL):
            _declare(library)
        code = library.cuInit(0)
        if code != SUCCESS:
            found = "no device" if code == NO_DEVICE else self.text(code)
            raise DriverError(f"no CUDA driver: the library is there but cuInit says {found}", code)

    def __getattr__(self, name: str) -> Callable[..., None]:
        function = getattr(self.library, name, None)
        if name not in PROTOTYPES or function is None:
            raise ExecutionError(f"cuda: this driver has no {name}; install a newer one")

        def checked(*arguments: Any) -> None:
            code = function(*arguments)
            if code:
                raise DriverError(f"cuda: {name} failed: {self.text(code)}", code)

        self.__dict__[name] = checked
        return checked

    def text(self, code: int) -> str:
        """A CUresult in the driver's words: name and description."""
        name, description = ctypes.c_char_p(), ctypes.c_char_p()
        self.library.cuGetErrorName(code, ctypes.byref(name))
        self.library.cuGetErrorString(code, ctypes.byref(description))
        words = [w.value.decode() for w in (name, description) if w.value]
        return f"{words[0]} ({words[-1]})" if words else f"error {code}"

    def number(self, name: str, *arguments: Any) -> int:
        """What a function writes to an int before the other arguments."""
        found = ctypes.c_int()
        getattr(self, name)(ctypes.byref(found), *arguments)
        return found.value

    def handle(self, name: str, *arguments: Any) -> int:
        """What a function writes to a handle before the other arguments."""
        found = ctypes.c_void_p()
        getattr(self, name)(ctypes.byref(found), *arguments)
        return found.value or 0


_opened: list[Driver] = []  # the driver of the process, once it is open; tests put theirs on top


def open_driver() -> Driver:
    """The driver of this process.

    Raises: ExecutionError "no CUDA driver: ..." with what was tried and the way out.
    """
    if not _opened:
        _opened.append(_load(LIBRARIES))
    return _opened[-1]


def is_available() -> bool:
    """Whether there is a driver with a device."""
    try:
        return open_driver().number("cuDeviceGetCount") > 0
    except ExecutionError:
        return False


@contextmanager
def using(library: Any) -> Iterator[Driver]:
    """Within the block, an object with the driver's functions is the driver of the process."""
    driver = Driver(library)
    _opened.append(driver)
    try:
        yield driver
    finally:
        _opened.remove(driver)


def _load(names: Sequence[str]) -> Driver:
    tried: list[str] = []
    for name in names:
        library = _library(name, tried)
        if library is not None:
            return Driver(library)
    raise ExecutionError(f"no CUDA driver: tried {', '.join(tried)}; {WAY_OUT}")


def _library(name: str, tried: list[str]) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        tried.append(f"{name} ({error})")
        return None


def _declare(library: ctypes.CDLL) -> None:
    for name, types in PROTOTYPES.items():
        function = getattr(library, name, None)  # an old driver may lack some that are not needed
        if function is not None:
            function.argtypes, function.restype = types, ctypes.c_int
