"""Machines as the compiler knows them: values, one row each, that are passed down as arguments.

A schedule is a function of shapes and of a row, never of timing, so the order of every sum is the
same on all machines of a row. Which row is the host's is asked in one place, `ted.api.host`; a pass
without a row takes `DEFAULT`, on every machine the same.

Loops use whole registers on every row. LLVM would rather use half of them on Intel's CPUs with
AVX-512, as clocks fell while wide registers worked; but contractions use them anyhow, sums in
lanes would have another order there, and numerical code gained from the whole ones, lower clock
included. Source: IREE, issue 13751, "Consistently enable 512-bit vectors on Skylake".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ted.errors import ScheduleError

DEFAULT = "avx2"


@dataclass(frozen=True)
class Cpu:
    """Vector registers of a CPU: `vector_bytes` each, `registers` of them; what code may use.

    `features` are named as LLVM and Linux name them, none for all that the host has. `base` and
    `tuning` are LLVM's names: of a machine with the other instructions, and of one to be fast on.
    `converts_halves`: whether it has instructions between f16 and f32.
    """

    name: str
    vector_bytes: int
    registers: int
    base: str
    tuning: str
    features: tuple[str, ...]
    converts_halves: bool = True

    def lanes(self, element_bytes: int) -> int:
        """Elements of the given width in one register."""
        return self.vector_bytes // element_bytes

    @property
    def is_native(self) -> bool:
        """Whether code may use every instruction of the machine that compiles it."""
        return not self.features

    def native(self) -> Cpu:
        """The row with all instructions of the machine that compiles."""
        return replace(self, features=())


_AVX2 = ("avx2", "fma", "f16c")
_AVX512 = (*_AVX2, "avx512f", "avx512bw", "avx512dq", "avx512vl")

CPUS = {
    cpu.name: cpu
    for cpu in (
        Cpu("avx512", 64, 32, "x86-64", "skylake-avx512", _AVX512),
        Cpu("avx2", 32, 16, "x86-64", "haswell", _AVX2),
        Cpu("sse2", 16, 16, "x86-64", "x86-64", ("sse2",), converts_halves=False),
        Cpu("neon", 16, 32, "generic", "generic", ("neon",)),
    )
}


def named_cpu(name: str) -> Cpu:
    """The row of a name.

    Raises: ScheduleError when no row has the name.
    """
    if name not in CPUS:
        raise ScheduleError(f"cpu: must be one of {', '.join(CPUS)}, got '{name}'")
    return CPUS[name]
