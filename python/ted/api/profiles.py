"""How long each kernel of a program takes: `f.profile(*arrays)`.

Before: a compiled function and its arrays
After: ms, GB/s and GF/s of each kernel, with the user's tensor and line
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from ted.codegen.jit import link
from ted.codegen.kernels import objects_of
from ted.codegen.requests import Request, compile_cached
from ted.cpu.pipeline import KERNELS
from ted.cpu.ted_time_kernels import NOTES, TedTimeKernels, kernel_calls, program_of
from ted.cpu.work import bytes_of, operations
from ted.errors import ExecutionError
from ted.ir.pipelines import Stage, pipeline_text, run_stages
from ted.mlir import func, ir
from ted.mlir.locations import source_location, user_name
from ted.mlir.queries import functions
from ted.options import CompileOptions
from ted.records import dataclass
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import BoundFunction, bind
from ted.runtime.library import library_path
from ted.runtime.subnormals import SUBNORMAL, WAY_OUT

_NOTHING = "builtin.module()"


@dataclass(frozen=True)
class KernelTime:
    """A kernel: the last tensor that it makes, the user's line, and the median of its times.

    `nbytes` is the memory that it is given, each array once; `operations` are those on floats, None
    where they were not counted; `met_subnormals`: whether operands were subnormal, which takes
    processors long; `underflowed`: whether results were below the normal range, or became zero.
    """

    tensor: str
    place: str
    seconds: float
    nbytes: int
    operations: int | None
    met_subnormals: bool = False
    underflowed: bool = False

    def __str__(self) -> str:
        per_second = 1e-9 / max(self.seconds, 1e-9)
        rate = f"{self.nbytes * per_second:8.2f} GB/s"
        if self.operations is not None:
            rate += f" {self.operations * per_second:8.2f} GF/s"
        small = [SUBNORMAL] * self.met_subnormals + ["results that underflow"] * self.underflowed
        return ", ".join([f"{self.seconds * 1e3:9.4f} ms {rate}  {self.name}", *small])

    @property
    def name(self) -> str:
        """The tensor with the user's line."""
        return f"{self.tensor} ({self.place})" if self.place else self.tensor


@dataclass(frozen=True)
class Profile:
    """The kernels of a program in their order; `seconds` has the median of whole calls."""

    kernels: tuple[KernelTime, ...]
    seconds: float

    def __str__(self) -> str:
        rest = max(0.0, self.seconds - sum(one.seconds for one in self.kernels))
        end = f"{rest * 1e3:9.4f} ms of {self.seconds * 1e3:.4f} in no kernel"
        small = [f"{SUBNORMAL} take processors long: {WAY_OUT}"] if self.slowed else []
        return "\n".join([*map(str, self.kernels), end, *small])

    __repr__ = __str__

    @property
    def slowed(self) -> tuple[KernelTime, ...]:
        """The kernels that met subnormal numbers."""
        return tuple(one for one in self.kernels if one.met_subnormals)


def check_repeats(repeats: Any) -> None:
    """Check how often a program is to be timed.

    Raises: ExecutionError for what is no number from 1 on.
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ExecutionError(f"profile: repeats is a number from 1 on, got {repeats!r}")


@dataclass(frozen=True)
class TimedProgram:
    """A program that has one more result, the times of its kernels."""

    kernels: tuple[KernelTime, ...]
    call: BoundFunction

    def measured(self, arrays: Sequence[Any], repeats: int) -> Profile:
        """The medians over some calls, after one that is not counted."""
        self.call(*arrays)
        seconds, ends = [], []
        for _ in range(repeats):
            began = perf_counter()
            *_, times = self.call(*arrays)
            seconds.append(perf_counter() - began)
            ends.append(times.reshape(-1, len(NOTES)))
        began, ended, met = np.moveaxis(np.array(ends), 2, 0)
        each = np.median(ended - began, axis=0) * 1e-9
        rows = zip(self.kernels, each, np.bitwise_or.reduce(met, axis=0), strict=True)
        kernels = [
            replace(k, seconds=float(s), met_subnormals=bool(m & 1), underflowed=bool(m & 2))
            for k, s, m in rows
        ]
        return Profile(tuple(kernels), statistics.median(seconds))


def timed_program(
    module: ir.Module,
    stages: Sequence[Stage],
    symbol: str,
    like: BoundFunction,
    options: CompileOptions,
    brought: Mapping[ArgSpec, np.ndarray],
) -> TimedProgram:
    """A module of ted ops, which is lowered in place, with arguments and results as another call.

    `brought` are the last inputs, which the call brings along.

    Raises: TedError of the pass that refuses it.
    """
    run_stages(module, stages, KERNELS)
    known = {one.name.value: one for one in functions(module)}
    kernels = [_kernel(call, known) for call in kernel_calls(program_of(module))]
    TedTimeKernels().run(module)
    text = str(module.operation.get_asm(enable_debug_info=True))
    request, files = Request("cpu", text, text, _NOTHING), (library_path(),)
    rest = pipeline_text(stages, after=KERNELS)
    code = link(objects_of(compile_cached(request), lambda: request, rest, files), symbol, files)
    times = ArgSpec("times", "int64", (len(NOTES) * len(kernels),))
    call = bind(
        code.address, [*like.inputs, *brought], [*like.outputs, times], name=like.name,
        accesses=dict(enumerate(code.made.indexed)), owner=code, threads=options.threads,
        subnormals=options.subnormals, constants=tuple(brought.values()),
    )  # fmt: skip
    return TimedProgram(tuple(kernels), call)


def _kernel(call: ir.Operation, known: Mapping[str, func.FuncOp]) -> KernelTime:
    place = source_location(call.location)
    body = known[ir.FlatSymbolRefAttr(call.attributes["callee"]).value].operation
    return KernelTime(
        tensor=user_name(call.location) or "no name",
        place="" if place is None else str(place),
        seconds=0.0,
        nbytes=sum(bytes_of(value.type) for value in dict.fromkeys(call.operands)),
        operations=operations(body),
    )
