"""What a function is compiled for: one value, made at the API, that transformations carry on."""

from __future__ import annotations

from dataclasses import replace

from ted.errors import CompileError
from ted.machine import Cpu, Gpu
from ted.records import dataclass

PRECISIONS = ("fast_math", "tf32")
COUNTS = ("threads", "memory_limit")
SUBNORMALS = ("keep", "flush", "caller")  # in the order of the runtime's enum ted_subnormals
TF32_SINCE = (8, 0)  # sm_80


@dataclass(frozen=True)
class CompileOptions:
    """The machine that code is for, and what code may do there.

    `machine` is a row of `ted.machine`, of `CPUS` or of `GPUS`. Without `deterministic`, sums at
    indices that are data may be in any order on a GPU. `fast_math` is for functions of scalars on a
    GPU, `tf32` for factors of contractions in float32 there. A call on a CPU uses at most so many
    `threads`, None for all that the process may use; the number changes no bit of a result. A call
    holds at most `memory_limit` bytes of results and of its own, on one thread: what is needed late
    is computed again for that; None for as many as are fast. With `debug_nans` every call of what
    is traced tests all tensors. `subnormals` are numbers below the normal range of their type:
    calls on a CPU "keep" them, "flush" each to a zero of its sign, or do as the thread does that
    calls ("caller"); None keeps them, but in operators of a library that has a switch.

    Raises: CompileError for what is no row, an option that is no bool, or one that the machine does
    not have.
    """

    machine: Cpu | Gpu
    deterministic: bool = True
    threads: int | None = None
    fast_math: bool = False
    tf32: bool = False
    memory_limit: int | None = None
    debug_nans: bool = False
    subnormals: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.machine, Cpu | Gpu):
            raise CompileError(
                f"compile: a machine is a row of ted.machine, got {self.machine!r}; "
                "compile_options(target) finds it"
            )
        for name in ("deterministic", *PRECISIONS, "debug_nans"):
            if not isinstance(getattr(self, name), bool):
                got = getattr(self, name)
                raise CompileError(f"compile: {name} is True or False, got {got!r}")
        for name in COUNTS:
            count = getattr(self, name)
            if count is not None and not _is_count(count):
                raise CompileError(f"compile: {name} is an integer from 1 on, got {count!r}")
            if count is not None and isinstance(self.machine, Gpu):
                raise CompileError(f"compile: {name} is an option of CPUs, got {self.machine.name}")
        self._check_subnormals()
        if self.tf32 and isinstance(self.machine, Gpu) and self.machine.capability < TF32_SINCE:
            raise CompileError(
                "compile: tf32 needs the tensor cores of sm_80 or later, got "
                f"{self.target!r}; leave it out"
            )
        if isinstance(self.machine, Cpu) and (self.tf32 or self.fast_math):
            raise CompileError("compile: fast_math and tf32 are options of GPUs, got a CPU")

    def _check_subnormals(self) -> None:
        given = self.subnormals
        if given is not None and not (isinstance(given, str) and given in SUBNORMALS):
            raise CompileError(
                f"compile: subnormals is one of {', '.join(SUBNORMALS)}, got {given!r}"
            )
        if given is not None and isinstance(self.machine, Gpu):
            raise CompileError(f"compile: subnormals is an option of CPUs, got {self.machine.name}")

    @property
    def of_a_caller(self) -> CompileOptions:
        """The same for operators of a library that has a switch, which calls find in the thread."""
        if self.subnormals is not None or isinstance(self.machine, Gpu):
            return self
        return replace(self, subnormals="caller")

    @property
    def target(self) -> str:
        """As `target=` takes it: `cpu`, `cpu:avx2,threads=2`, or `cuda:sm_80,tf32`."""
        if isinstance(self.machine, Cpu):
            device = "cpu" if self.machine.is_native else f"cpu:{self.machine.name}"
            given = {name: getattr(self, name) for name in (*COUNTS, "subnormals")}
            return ",".join([device, *(f"{k}={n}" for k, n in given.items() if n is not None)])
        return ",".join([f"cuda:{self.machine.name}", *(p for p in PRECISIONS if getattr(self, p))])

    def __str__(self) -> str:
        is_native = isinstance(self.machine, Cpu) and self.machine.is_native
        machine = f"{self.target} ({self.machine.name}, native)" if is_native else self.target
        order = f"{'' if self.deterministic else 'not '}deterministic"
        return f"{machine}, {order}{', debug_nans' if self.debug_nans else ''}"


def subnormals_code(word: str | None) -> int:
    """What calls do about subnormal numbers as the runtime knows it."""
    return SUBNORMALS.index(word or "keep")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
