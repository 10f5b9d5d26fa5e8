"""Launches: a kernel, a grid, arguments -> the device's memory changed, or an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptx_emulator import instruction_table as _instruction_table  # noqa: F401
from ptx_emulator.building import Code, compiled
from ptx_emulator.device import Allocation, Device
from ptx_emulator.errors import LaunchError
from ptx_emulator.forms import Array
from ptx_emulator.global_races import GlobalRaces
from ptx_emulator.machine import Job, Machine
from ptx_emulator.parsing import parse
from ptx_emulator.syntax import Module, Variable
from ptx_emulator.tensor_maps import TensorMap

ORDERS = ("lockstep", "random", "reverse")
LANES = 8192  # threads that run together, at most, unless one block has more
SHADOW = 64 << 20  # bytes of shared memory's shadow, at most
BUDGET = 5_000_000
STATIC_SHARED = 48 << 10
# Shared memory that a block may ask for. Source: CUDA C++ Programming Guide, compute capabilities.
SHARED_BYTES = {
    "70": 96 << 10, "75": 64 << 10, "80": 163 << 10, "86": 99 << 10, "87": 163 << 10,
    "89": 99 << 10, "90": 227 << 10, "100": 227 << 10, "103": 227 << 10, "120": 99 << 10,
}  # fmt: skip


@dataclass
class Statistics:
    """What a launch executed."""

    instructions: int = 0
    thread_instructions: int = 0


def launch(
    kernel: Module | str,
    grid: Sequence[int],
    block: Sequence[int],
    args: Sequence[Any],
    *,
    device: Device,
    name: str | None = None,
    dynamic_shared: int = 0,
    order: str = "lockstep",
    late_async: bool = True,
    seed: int = 0,
    check_races: bool = True,
    check_uninitialised: bool = True,
    budget: int = BUDGET,
) -> Statistics:
    """Run a kernel of a module, given as an object or as text.

    `args` are allocations, numpy scalars, integers, bytes or tensor maps.  `name` may be left out
    if the module has one kernel.

    Raises: PtxFault of the kind of what the program does wrong.
    """
    module = parse(kernel) if isinstance(kernel, str) else kernel
    code = compiled(module, name or _only(module))
    sizes = _three(grid, code, "grid"), _three(block, code, "block")
    if order not in ORDERS:
        raise LaunchError(f"ptx {code.name}: an order of {ORDERS}, got {order!r}")
    _check_block(code, sizes[1])
    _check_shared(code, dynamic_shared)
    parameters = _parameters(code, args)
    addresses = _globals(code, device)
    warps = -(-int(np.prod(sizes[1])) // 32)
    races = None
    if check_races:
        races = GlobalRaces(len(device.memory), warps, code.global_grain, code.only_block_barriers)
    job = Job(
        code, device, *sizes, parameters, addresses, dynamic_shared, races, check_uninitialised,
        late_async, budget,
    )  # fmt: skip
    return _run(job, _batch(code, warps, dynamic_shared), order, seed)


def _run(job: Job, batch: int, order: str, seed: int) -> Statistics:
    """Run all blocks, some at a time."""
    numbers, found = np.arange(np.prod(job.grid, dtype=np.int64)), Statistics()
    if order == "random":
        numbers = np.random.default_rng(seed).permutation(numbers)
    elif order == "reverse":
        numbers = numbers[::-1].copy()
    with np.errstate(all="ignore"):
        for first in range(0, len(numbers), batch):
            machine = Machine(job, numbers[first : first + batch])
            machine.run(order, seed + first)
            found.instructions += machine.steps
            found.thread_instructions += machine.lane_steps
    return found


def _only(module: Module) -> str:
    kernels = module.kernels
    if len(kernels) != 1:
        raise LaunchError(f"ptx: a kernel's name, got none for a module with {kernels}")
    return kernels[0]


def _three(sizes: Sequence[int], code: Code, what: str) -> tuple[int, int, int]:
    x, y, z = (*sizes, 1, 1, 1)[:3]
    limits = (2**31 - 1, 65535, 65535) if what == "grid" else (1024, 1024, 64)
    if len(sizes) > 3 or any(not 1 <= s <= top for s, top in zip((x, y, z), limits, strict=True)):
        raise LaunchError(f"ptx {code.name}: a {what} within {limits}, got {tuple(sizes)}")
    return int(x), int(y), int(z)


def _check_block(code: Code, block: tuple[int, int, int]) -> None:
    threads = int(np.prod(block))
    directives = code.function.directives
    most = int(np.prod(directives.get("maxntid", (1024,))))
    wanted = (*directives.get("reqntid", block), 1, 1)[:3]
    if threads > min(most, 1024) or wanted != block:
        raise LaunchError(
            f"ptx {code.name}: a block that the kernel was compiled for ("
            f"{directives.get('reqntid') or f'at most {min(most, 1024)} threads'}), got {block}"
        )
    if np.prod(directives.get("reqnctapercluster", (1,))) != 1:
        raise LaunchError(f"ptx {code.name}: clusters of one block, got more")


def _check_shared(code: Code, dynamic_shared: int) -> None:
    static = sum(v.bytes or 0 for v in code.shared.variables.values())
    if static > STATIC_SHARED:
        raise LaunchError(
            f"ptx {code.name}: at most {STATIC_SHARED} bytes of static shared memory, got {static}"
        )
    digits = "".join(c for c in code.module.target if c.isdigit())
    most = SHARED_BYTES.get(digits, max(SHARED_BYTES.values()))
    if static + dynamic_shared > most:
        raise LaunchError(
            f"ptx {code.name}: at most {most} bytes of shared memory a block on "
            f"{code.module.target}, got {static + dynamic_shared}"
        )


def _batch(code: Code, warps: int, dynamic_shared: int) -> int:
    shared = code.shared.size + dynamic_shared
    shadow = max(1, shared * (3 + (16 + 4 * warps) // code.shared_grain))
    return max(1, min(LANES // (32 * warps), SHADOW // shadow))


def _parameters(code: Code, args: Sequence[Any]) -> Array:
    variables = code.function.parameters
    if len(args) != len(variables):
        raise LaunchError(f"ptx {code.name}: {len(variables)} arguments, got {len(args)}")
    data = np.zeros(-(-code.parameters.size // 16) * 16 + 16, np.uint8)
    for position, (variable, argument) in enumerate(zip(variables, args, strict=True)):
        given = _argument(code, variable, argument, position)
        start = code.parameters.offsets[variable.name]
        data[start : start + len(given)] = np.frombuffer(given, np.uint8)
    return data


def _argument(code: Code, variable: Variable, argument: Any, position: int) -> bytes:
    size = variable.bytes or 0
    if isinstance(argument, Allocation):
        argument = argument.address
    if isinstance(argument, TensorMap):
        argument = argument.encoded()
    if isinstance(argument, np.generic):
        argument = argument.tobytes()
    if isinstance(argument, int):
        argument = (argument & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if not isinstance(argument, bytes) or len(argument) != size:
        raise LaunchError(f"ptx {code.name}: argument {position} of {size} bytes, got {argument!r}")
    return argument


def _globals(code: Code, device: Device) -> list[int]:
    """Addresses of the module's variables, put into the device's memory on first use."""
    module, loaded = device.loaded.get(id(code), (None, []))
    if module is not code:
        loaded = []
        for variable in code.globals:
            size = variable.bytes or 0
            data = np.frombuffer(variable.data.ljust(size, b"\0"), np.uint8)
            loaded.append(device.put(data, variable.name))
        device.loaded[id(code)] = (code, loaded)
    return [allocation.address for allocation in loaded]
