"""Small PTX kernels for tests: a body in, a text out, and a way to run it on arrays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ptx_emulator import Device, launch

_REGISTERS = """
  .reg .pred %p<20>;
  .reg .b16 %h<20>;
  .reg .b32 %r<100>;
  .reg .b64 %rd<40>;
  .reg .f32 %f<100>;
  .reg .f64 %d<20>;
"""


def entry(body: str, pointers: str = "x y", shared: str = "", target: str = "sm_90a") -> str:
    """A kernel `k` whose pointer parameters are in registers `%<name>`, whose thread is in %tid."""
    names = pointers.split()
    parameters = ", ".join(f".param .u64 k_{name}" for name in names)
    loads = "".join(
        f"  .reg .b64 %{name};\n  ld.param.u64 %{name}, [k_{name}];\n"
        f"  cvta.to.global.u64 %{name}, %{name};\n"
        for name in names
    )
    thread = (
        "  .reg .b32 %t;\n  .reg .b64 %wide;\n  mov.u32 %t, %tid.x;\n  cvt.u64.u32 %wide, %t;\n"
    )
    return (
        f".version 8.3\n.target {target}\n.address_size 64\n{shared}\n"
        f".visible .entry k({parameters})\n{{{_REGISTERS}{loads}{thread}{body}\n  ret;\n}}\n"
    )


def run(
    text: str,
    inputs: dict[str, np.ndarray[Any, Any]],
    outputs: dict[str, tuple[tuple[int, ...], Any]] | None = None,
    threads: Any = 32,
    blocks: Any = 1,
    **options: Any,
) -> list[np.ndarray[Any, Any]]:
    """Run kernel `k`; arguments by the names of its parameters, results in the order given."""
    device = Device()
    held = {name: device.put(array, name) for name, array in inputs.items()}
    wanted = outputs or {}
    for name, (shape, dtype) in wanted.items():
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        held[name] = device.allocate(size, name)
    names = re.findall(r"\.param \.\w+ k_(\w+)", text)
    grid = blocks if isinstance(blocks, tuple) else (blocks,)
    block = threads if isinstance(threads, tuple) else (threads,)
    launch(text, grid, block, [held[name] for name in names], device=device, **options)
    return [device.get(held[name], shape, dtype) for name, (shape, dtype) in wanted.items()]


def each_thread(instructions: str, kinds: str, result: str) -> str:
    """A kernel where each thread loads one item of a, b, ..., and stores `%out` to y.

    `kinds` gives the types of the arrays: `u32 u32 f32`; items are in registers `%a %b ...`.
    """
    names = "abcd"[: len(kinds.split())]
    body = ""
    for name, kind in zip(names, kinds.split(), strict=True):
        storage, size = storage_of(kind)
        body += (
            f"  .reg .{storage} %v{name};\n  mad.lo.u64 %rd1, %wide, {size}, %{name};\n"
            f"  ld.global.{storage} %v{name}, [%rd1];\n"
        )
    storage, size = storage_of(result)
    body += f"  .reg .{storage} %out;\n  {instructions}\n"
    body += f"  mad.lo.u64 %rd1, %wide, {size}, %y;\n  st.global.{storage} [%rd1], %out;\n"
    return entry(body, f"{' '.join(names)} y")


def storage_of(kind: str) -> tuple[str, int]:
    """The untyped register type of a kind, and its bytes."""
    bits = 32 if kind.endswith("x2") or kind == "tf32" else int(re.sub(r"\D", "", kind))
    return f"b{bits}", bits // 8
