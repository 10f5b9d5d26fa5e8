"""What users say, target="cpu:avx2", "cuda,tf32" or deterministic=False -> `CompileOptions`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ted.api.host import host_cpu, host_gpu
from ted.errors import CompileError
from ted.machine import CPUS, GPUS, Cpu
from ted.options import COUNTS, PRECISIONS, CompileOptions


def compile_options(
    target: str = "cpu",
    *,
    deterministic: bool = True,
    memory_limit: int | None = None,
    subnormals: str | None = None,
) -> CompileOptions:
    """Read `target=` and what stands beside it; the machine is this one where none is named.

    A `memory_limit`, and `subnormals`, go before those of the target.

    Raises: CompileError for a text of another form, a chip that is not known, or one without what
    an option asks for; ScheduleError when `TED_CPU` names a row that the host cannot execute.
    """
    if isinstance(target, str) and target.partition(",")[0].partition(":")[0] == "cpu":
        found = _on_cpu(target)
    else:
        found = _on_gpu(target)
    return _with(found, deterministic, memory_limit, subnormals)


def options_for(
    fn: Callable[..., Any],
    target: str | None = None,
    deterministic: bool | None = None,
    memory_limit: int | None = None,
    debug_nans: bool | None = None,
    subnormals: str | None = None,
) -> CompileOptions:
    """What is made of `fn` is compiled as is asked for, else as `fn` is, else for this machine."""
    while isinstance(fn, partial):
        fn = fn.func
    mine = getattr(fn, "options", None)
    if not isinstance(mine, CompileOptions):
        mine = compile_options("cpu" if target is None else target)
    base = mine if target is None or target == mine.target else compile_options(target)
    ordered = mine.deterministic if deterministic is None else deterministic
    tested = mine.debug_nans if debug_nans is None else debug_nans
    return replace(_with(base, ordered, memory_limit, subnormals), debug_nans=tested)


def _with(
    found: CompileOptions, deterministic: bool, memory_limit: int | None, subnormals: str | None
) -> CompileOptions:
    limit = found.memory_limit if memory_limit is None else memory_limit
    small = found.subnormals if subnormals is None else subnormals
    return replace(found, deterministic=deterministic, memory_limit=limit, subnormals=small)


def _on_cpu(text: str) -> CompileOptions:
    device, *options = text.split(",")
    _, colon, row = device.partition(":")
    pairs = [option.partition("=") for option in options]
    given: dict[str, Any] = {n: int(count) for n, _, count in pairs if count.isdecimal()}
    given |= {name: word for name, _, word in pairs if name == "subnormals"}
    known = len(given) == len(options) and set(given) <= {*COUNTS, "subnormals"}
    if not known or (colon and not row):
        raise CompileError(
            "compile: on a CPU a target is 'cpu', 'cpu:avx2' for code of a row of CPUs, or one of "
            "them with ',threads=2' for calls of at most so many threads, ',memory_limit=65536' "
            "for calls that hold at most so many bytes, or ',subnormals=flush' for calls that take "
            f"subnormal numbers for zero, got {text!r}"
        )
    machine = _named_cpu(row) if row else host_cpu()
    return CompileOptions(machine, **given)


def _named_cpu(name: str) -> Cpu:
    if name not in CPUS:
        raise CompileError(f"compile: a CPU is one of {', '.join(CPUS)}, got 'cpu:{name}'")
    return CPUS[name]


def _on_gpu(text: str) -> CompileOptions:
    device, *precisions = text.split(",") if isinstance(text, str) else [""]
    kind, colon, chip = device.partition(":")
    is_known = len(set(precisions) & set(PRECISIONS)) == len(precisions)
    if kind != "cuda" or (colon and not chip) or not is_known:
        after = " and ".join(f"',{name}'" for name in PRECISIONS)
        raise CompileError(
            f"compile: a target is 'cpu', 'cuda', or 'cuda:' with one of {', '.join(GPUS)} "
            f"(and {after} after it), got {text!r}"
        )
    if chip and chip not in GPUS:
        way = "; arrays say on which device a program runs" if chip.isdigit() else ""
        raise CompileError(f"compile: a chip is one of {', '.join(GPUS)}, got {chip!r}{way}")
    flags: dict[str, Any] = dict.fromkeys(precisions, True)
    return CompileOptions(GPUS[chip or host_gpu()], **flags)
