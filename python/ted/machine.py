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

from dataclasses import replace
from math import gcd

from ted.errors import CompileError, ScheduleError
from ted.records import dataclass

DEFAULT = "avx2"
DEFAULT_GPU = "sm_80"
LINE_BYTES = 64  # that caches of CPUs hold together
PAGE_BYTES = 4096  # that have one place in memory


@dataclass(frozen=True)
class Cache:
    """A cache of `size` bytes; a line can be in one of `ways` places, which its address says."""

    size: int
    ways: int

    def lines(self, step: int) -> int:
        """How many lines it holds at once that lie `step` bytes apart."""
        sets = self.size // (self.ways * LINE_BYTES)
        return self.ways * sets // gcd(sets, step // LINE_BYTES if step % LINE_BYTES == 0 else 1)


@dataclass(frozen=True)
class Cpu:
    """Vector registers of a CPU: `vector_bytes` each, `registers` of them; what code may use.

    `features` are named as LLVM names them; with `is_native`, code may use every other
    instruction of the machine that compiles it as well. `base` and `tuning` are LLVM's names: of a
    machine with the other instructions, and of one to be fast on. `converts_halves`: whether it has
    instructions between f16 and f32. `grain_cycles`: the least work of a unit that threads share,
    some 20 us: to wake a thread takes as long, to hand out a unit a hundredth of it. `chains`: how
    many additions are under way that do not wait for each other: two begin in each of the 4 cycles
    that one takes. `first_cache` and `second_cache` belong to a core, which knows the places
    of `pages` pages at once. `architecture` is the kernel's name of all machines that run its code;
    those of `vendor`, as they name it, take the row before others. `copies_by_library`: whether
    loops that copy become calls of `memcpy`.
    """

    name: str
    vector_bytes: int
    registers: int
    base: str
    tuning: str
    features: tuple[str, ...]
    first_cache: Cache
    second_cache: Cache
    pages: int
    converts_halves: bool = True
    is_native: bool = False
    grain_cycles: int = 60_000
    chains: int = 8
    architecture: str = "x86_64"
    vendor: str = ""
    copies_by_library: bool = True

    def lanes(self, element_bytes: int) -> int:
        """Elements of the given width in one register."""
        return self.vector_bytes // element_bytes

    @property
    def multiplies_pairs(self) -> bool:
        """Whether it has instructions for `a * b + c * d + z` of bf16 with a total in f32."""
        return "avx512bf16" in self.features

    @property
    def multiplies_matrices(self) -> bool:
        """Whether it has registers for matrices of pairs of bf16, and multiplies those."""
        return "amx-bf16" in self.features

    @property
    def fuses(self) -> bool:
        """Whether it has instructions for `x * y + z`, rounded once."""
        return "fma" in self.features or "neon" in self.features

    def native(self) -> Cpu:
        """The row with all instructions of the machine that compiles."""
        return replace(self, is_native=True)

    def with_grain(self, cycles: int) -> Cpu:
        """The row with other units of work; 0 leaves them as they are."""
        return replace(self, grain_cycles=cycles) if cycles else self


# Caches and pages are those of the first CPUs with the instructions, later ones have as much or
# more: Skylake's server, Haswell, Nehalem, Neoverse N1. Source: Intel 64 and IA-32 Architectures
# Optimization Reference Manual, on each of them; Arm Neoverse N1 Core Technical Reference Manual.
_FIRST, _SMALL, _LARGE = Cache(32 << 10, 8), Cache(256 << 10, 8), Cache(1 << 20, 16)
_AVX2 = ("avx2", "fma", "f16c")
_AVX512 = (*_AVX2, "avx512f", "avx512bw", "avx512dq", "avx512vl")

# The first that a machine has the instructions for is its own. That of bf16 comes behind but on
# CPUs of AMD's: on Sapphire Rapids VDPBF16PS of 32 products takes 4 times as long as VFMADD of 16,
# so that bf16 is faster there in f32; on Zen 4 as long, and products take half the time (measured).
# There `rep movsb`, as which the C library copies, takes up to twice as long as a loop to memory
# that lies a few bytes further in its page than the source, as results do, never less (measured).
CPUS = {
    cpu.name: cpu
    for cpu in (
        Cpu("avx512_amx", 64, 32, "x86-64", "sapphirerapids",
            (*_AVX512, "amx-tile", "amx-bf16"), _FIRST, _LARGE, 1536),
        Cpu("avx512", 64, 32, "x86-64", "skylake-avx512", _AVX512, _FIRST, _LARGE, 1536),
        Cpu("avx512_bf16", 64, 32, "x86-64", "znver4", (*_AVX512, "avx512bf16"), _FIRST, _LARGE,
            1536, vendor="AuthenticAMD", copies_by_library=False),
        Cpu("avx2", 32, 16, "x86-64", "haswell", _AVX2, _FIRST, _SMALL, 1024),
        Cpu("sse2", 16, 16, "x86-64", "x86-64", ("sse2",), _FIRST, _SMALL, 512,
            converts_halves=False),
        Cpu("neon", 16, 32, "generic", "generic", ("neon",), Cache(64 << 10, 4), Cache(1 << 20, 8),
            1280, architecture="aarch64"),
    )
}  # fmt: skip


def named_cpu(name: str) -> Cpu:
    """The row of a name.

    Raises: ScheduleError when no row has the name.
    """
    if name not in CPUS:
        raise ScheduleError(f"cpu: must be one of {', '.join(CPUS)}, got '{name}'")
    return CPUS[name]


# Of every GPU of NVIDIA's since sm_75. Source: CUDA C++ Programming Guide, compute capabilities.
WARP = 32  # threads
ACCESS_BYTES = 16  # of the longest load or store of a thread, which are aligned to it
SECTOR_BYTES = 32  # that memory moves at once
STATIC_SHARED_BYTES = 48 << 10  # that a kernel may declare; more must be dynamic
MOST_THREADS = 1024  # of a block
GPU_REGISTERS = 65536  # of 32 bits, of a multiprocessor

# What keeps a large GPU busy (H100: 132 multiprocessors of 2048 threads). Kernels are cut by these
# for every GPU alike, since the order of a sum depends on how it is cut.
FULL_THREADS = 1 << 18  # all that it holds at once
FULL_WARPS = 1 << 12  # half of them, in warps that work together
BUSY_THREADS = 1 << 14  # each with work of its own for long: some for every scheduler
BUSY_BLOCKS = 512  # several for each multiprocessor
SHARED_BUDGET = 32 << 10  # bytes of a block, so that more than one block fits


def compute_capability(architecture: str) -> tuple[int, int]:
    """The compute capability in the name of an architecture: (9, 0) of sm_90 and sm_90a.

    Raises: CompileError for a name of another form.
    """
    digits = architecture.removeprefix("sm_").rstrip("af")
    if not architecture.startswith("sm_") or not digits.isdecimal():
        raise CompileError(f"cuda: a target reads sm_80 or sm_90a, got {architecture!r}")
    major, minor = divmod(int(digits), 10)
    return major, minor


@dataclass(frozen=True)
class Gpu:
    """An architecture of NVIDIA's GPUs.

    `ptx` is the version to emit (80 is 8.0), the least that has the instructions we emit: a driver
    reads no newer one than its own, and 9.0 (CUDA 13.0) is the newest that may be asked for.
    `shared_bytes` of shared memory may a block ask for. So many `multiprocessors` has the largest
    chip that is sold of the architecture, None where that was not looked up. With
    `double_matrices` its tensor cores multiply in float64 faster than its other units.
    """

    name: str
    ptx: int
    shared_bytes: int
    multiprocessors: int | None = None
    double_matrices: bool = False

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability: (9, 0) of sm_90a."""
        return compute_capability(self.name)


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("sm_75", 80, 64 << 10),
        Gpu("sm_80", 80, 163 << 10, 108, double_matrices=True),
        Gpu("sm_86", 80, 99 << 10, 84),
        Gpu("sm_87", 80, 163 << 10),
        Gpu("sm_89", 80, 99 << 10, 128),
        Gpu("sm_90", 80, 227 << 10, 132, double_matrices=True),
        Gpu("sm_90a", 80, 227 << 10, 132, double_matrices=True),
        Gpu("sm_100", 86, 227 << 10),
        Gpu("sm_100a", 86, 227 << 10),
        Gpu("sm_120", 87, 99 << 10),
        Gpu("sm_120a", 87, 99 << 10),
    )
}


def named_gpu(name: str) -> Gpu:
    """The row of an architecture.

    Raises: CompileError when no row has the name.
    """
    if name not in GPUS:
        raise CompileError(f"cuda: the target must be one of {', '.join(GPUS)}, got {name!r}")
    return GPUS[name]
