"""What a function is compiled for: one value, made at the API, that transformations carry on.

Before: target="cuda:sm_80,tf32", deterministic=False      After: `CompileOptions`, as `f.options`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ted.api.host import host_cpu, host_gpu
from ted.errors import CompileError
from ted.machine import GPUS, Cpu, Gpu

PRECISIONS = ("fast_math", "tf32")
TF32_SINCE = (8, 0)  # sm_80


@dataclass(frozen=True)
class CompileOptions:
    """The machine that code is for, and what code may do there.

    `machine` is a row of `ted.machine`, of `CPUS` or of `GPUS`. Without `deterministic`, sums at
    indices that are data may be in any order on a GPU. `fast_math` is for functions of scalars on a
    GPU, `tf32` for factors of contractions in float32 there.
    """

    machine: Cpu | Gpu
    deterministic: bool = True
    fast_math: bool = False
    tf32: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.machine, Cpu | Gpu):
            raise CompileError(
                f"compile: a machine is a row of ted.machine, got {self.machine!r}; "
                "compile_options(target) finds it"
            )
        for name in ("deterministic", *PRECISIONS):
            if not isinstance(getattr(self, name), bool):
                got = getattr(self, name)
                raise CompileError(f"compile: {name} is True or False, got {got!r}")
        if self.tf32 and isinstance(self.machine, Gpu) and self.machine.capability < TF32_SINCE:
            raise CompileError(
                "compile: tf32 needs the tensor cores of sm_80 or later, got "
                f"{self.target!r}; leave it out"
            )
        if isinstance(self.machine, Cpu) and (self.tf32 or self.fast_math):
            raise CompileError("compile: fast_math and tf32 are options of GPUs, got a CPU")

    @property
    def target(self) -> str:
        """As `target=` takes it: `cpu`, or `cuda:sm_80,tf32`."""
        if isinstance(self.machine, Cpu):
            return "cpu"
        return ",".join([f"cuda:{self.machine.name}", *(p for p in PRECISIONS if getattr(self, p))])

    def __str__(self) -> str:
        if isinstance(self.machine, Cpu):
            machine = f"cpu ({self.machine.name}{', native' * self.machine.is_native})"
        else:
            machine = self.target
        return f"{machine}, {'' if self.deterministic else 'not '}deterministic"


def compile_options(target: str = "cpu", *, deterministic: bool = True) -> CompileOptions:
    """Read `target=` and `deterministic=`; the machine is this one where none is named.

    Raises: CompileError for a text of another form, a chip that is not known, or one without what
    an option asks for; ScheduleError when `TED_CPU` names a row that the host cannot execute.
    """
    if target == "cpu":
        return CompileOptions(host_cpu(), deterministic)
    return replace(_on_gpu(target), deterministic=deterministic)


def options_for(
    fn: Callable[..., Any], target: str | None = None, deterministic: bool | None = None
) -> CompileOptions:
    """What is made of `fn` is compiled as is asked for, else as `fn` is, else for this machine."""
    while isinstance(fn, partial):
        fn = fn.func
    mine = getattr(fn, "options", None)
    if not isinstance(mine, CompileOptions):
        mine = compile_options("cpu" if target is None else target)
    base = mine if target is None or target == mine.target else compile_options(target)
    return replace(
        base, deterministic=mine.deterministic if deterministic is None else deterministic
    )


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
    return CompileOptions(GPUS[chip or host_gpu()], **dict.fromkeys(precisions, True))
