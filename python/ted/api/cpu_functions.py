"""Programs compiled for CPUs: machine code in this process, and what there is to see of it.

Before: ted.compile([x], [y])      After: a `CompiledFunction`: f(x), f.ir("loops")

A program that the disk has is linked and called without the compiler: what knows MLIR is
`cpu_lowerings`, what writes files `saving`, each loaded when it is asked for.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ted.api.host import executable_cpus, is_foreign
from ted.api.programs import Call, Program
from ted.api.staged_functions import StagedFunction
from ted.codegen.jit import Compiled, link
from ted.codegen.kernels import objects_of
from ted.codegen.parts import Objects
from ted.codegen.requests import Request
from ted.codegen.watching import Doing, Watch
from ted.cpu.pipeline import CPU_STAGES, KERNELS, cpu_stages
from ted.errors import ExecutionError
from ted.forking import cached_property
from ted.ir.pipelines import pipeline_text
from ted.machine import CPUS, Cpu
from ted.options import CompileOptions, subnormals_code
from ted.runtime.archives import write
from ted.runtime.calls import ArrayFunction, BoundFunction, bind, declined
from ted.runtime.library import address_of, library_path
from ted.runtime.saved import loads
from ted.runtime.subnormals import SubnormalNotice
from ted.runtime.xla import Entry

if TYPE_CHECKING:
    from ted.api.cpu_lowerings import CpuLowering
    from ted.api.memory_timelines import MemoryTimeline
    from ted.api.profiles import Profile, TimedProgram
    from ted.api.saving import Portable

_NOT_HERE = "ted_call_nothing"  # what code of another architecture, which is not linked, calls


class CompiledFunction(ArrayFunction, StagedFunction):
    """A program compiled for one target: call it with arrays, look at its IR.

    `f(*arrays)` returns a tuple of arrays, or one array when it was compiled for a single tensor;
    `out=` gives arrays to fill, an entry that is None leaves the array to the function. `notice` is
    that of several programs of one function.
    """

    stages = (*(stage.name for stage in CPU_STAGES), "asm")

    def __init__(
        self,
        program: Program,
        single: bool,
        options: CompileOptions,
        notice: SubnormalNotice | None = None,
    ) -> None:
        assert isinstance(options.machine, Cpu), "a program for a CPU"
        super().__init__(program, single, options)
        self._cpu = options.machine
        # By name: a row with other units of work has the same instructions.
        self._runs = self._cpu.is_native or self._cpu.name in {c.name for c in executable_cpus()}
        self.compile_times = {}
        with Watch(program.name, self.compile_times) as watch:
            self._called = call = program.call(self._kernels_request, (), watch)
            self._code = self._linked(call, watch)
        self._notice = notice or SubnormalNotice(program.name, options.subnormals)
        starts = program.in_place.values()
        self._call = bind(
            self._code.address,
            [spec for k, spec in enumerate(call.inputs) if k not in starts],
            call.outputs,
            name=program.name,
            accesses=dict(enumerate(self._code.made.indexed)),
            donated=call.donated,
            owner=self._code,
            threads=options.threads,
            subnormals=options.subnormals,
            notice=self._notice,
            constants=program.constants,
        )
        # All results for arrays of NumPy that fit as they are, or None.
        self.direct = self._call.direct if self._runs else declined
        # The same for tensors of a library with DLPack's exchange API, which comes first.
        self.exchanged = self._call.exchanged if self._runs else declined

    def profile(self, *arrays: Any, repeats: int = 20) -> Profile:
        """How long each kernel takes, the median over some calls on arrays; print it.

        Units: seconds; bytes of the arrays that a kernel is given; operations on floats.
        Raises: ExecutionError as a call does.
        """
        from ted.api.profiles import check_repeats  # which lowers a program

        check_repeats(repeats)
        found = self._timed.measured(arrays, repeats)
        self._notice.places |= {one.name for one in found.slowed}
        return found

    def explain(self) -> str:
        """As for every machine, and at the end what calls met: subnormal numbers.

        A call says only that it met them, a profile in which kernels.
        """
        return "\n\n".join(filter(None, [super().explain(), self._notice.explained()]))

    def memory(self) -> MemoryTimeline:
        """What the program holds while it runs, found without running it; print it.

        Units: bytes. Small buffers in the frame of the call are not counted.
        """
        return self._lowering.memory

    def _lowered(self) -> CpuLowering:
        return self._lowering

    @cached_property
    def _lowering(self) -> CpuLowering:
        from ted.api.cpu_lowerings import CpuLowering  # which loads MLIR

        return CpuLowering(self._program, self._cpu, self.options.memory_limit)

    @cached_property
    def _timed(self) -> TimedProgram:
        return self._lowering.timed(self.bound, self.options)

    def _kernels_request(self) -> Request:
        return self._lowering.kernels_request()

    def _linked(self, call: Call, watch: Watch) -> Compiled:
        if is_foreign(self._cpu):
            return Compiled(self._objects(call, None, watch), address_of(_NOT_HERE))
        files = (library_path(),)
        made = self._objects(call, files, watch)
        watch("linking")
        return link(made, self._program.symbol, files)

    def _objects(self, call: Call, files: tuple[str, ...] | None, watch: Doing) -> Objects:
        stages = cpu_stages(self._cpu if files else replace(self._cpu, is_native=False))
        rest = pipeline_text(stages, after=KERNELS)
        return objects_of(call.code, self._kernels_request, rest, files, watch)

    @property
    def bound(self) -> BoundFunction:
        """The machine code as a function that always returns a tuple.

        Raises: ExecutionError where this machine does not have the instructions.
        """
        if not self._runs:
            raise ExecutionError(
                f"{self._program.name}: code for '{self.options.target}' needs a CPU with "
                f"{', '.join(self._cpu.features)}, which this machine is not; "
                "its stages and its assembly can be looked at"
            )
        return self._call

    @cached_property
    def portable(self) -> Portable:
        """The program as text for LLVM, from which code for files is made."""
        from ted.api.saving import Portable

        with Watch(self._program.name, {}) as watch:
            made = self._objects(self._called, None, watch)
        program, call = self._program, self._called
        return Portable(
            program.name, program.symbol, tuple(map(bytes.decode, made.objects)), call.inputs,
            call.outputs, program.constants, call.donated, made.indexed, self._cpu, self.options,
            program.has_notes,
        )  # fmt: skip

    @cached_property
    def for_files(self) -> Portable:
        """The program for a row that every process may use: others ask for their registers."""
        if not self._cpu.multiplies_matrices:
            return self.portable
        row = CPUS["avx512"].with_grain(self._cpu.grain_cycles)
        options = replace(self.options, machine=row)
        return CompiledFunction(self._program, self._single, options).portable

    @property
    def entry(self) -> Entry:
        """The code in this process with all that calls of it need to know."""
        call, threads = self._called, self.options.threads or 0
        return Entry(
            self._program.name, self._code.address, self._code, call.inputs, call.outputs,
            self._program.constants, self._code.made.indexed, threads,
            subnormals_code(self.options.subnormals),
        )  # fmt: skip

    @property
    def objects(self) -> tuple[bytes, ...]:
        """The object files of the program."""
        return self._code.made.objects

    @cached_property
    def _saved(self) -> bytes:
        from ted.api.saving import saved_bytes

        return saved_bytes(self.for_files, self._single)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file from which `ted.load` makes the function, without a compiler.

        The code is for the row of CPUs of the target, "cpu:sse2" runs on all of an architecture;
        for "cpu:avx512" where the target is avx512_amx, whose registers a process has to ask for.
        Pickles hold the same. It is code: load files of people whom you trust.
        Raises: ExecutionError for a path that cannot be written; CompileError where there is no
        compiler for C, which links it.
        """
        write(path, self._saved)

    def __reduce__(self) -> Any:
        return loads, (self._saved,)

    @property
    def peak_bytes(self) -> int:
        """Bytes of results and temporary buffers that the latest call held at most at once.

        Small buffers in the frame of the call, at most 64 KiB in all, are not counted. Before the
        first call it is what `memory()` counts, of a call on one thread.
        """
        if self._runs and self._call.temporary_bytes:
            return self._call.peak_bytes
        return self.memory().peak_bytes

    def _translated(self) -> str:
        objects = self._code.made.objects
        if is_foreign(self._cpu):
            from ted.codegen.emission import assembly

            return assembly([*map(bytes.decode, objects)], self._cpu)
        from ted.codegen.assembly import disassemble

        return "\n".join(map(disassemble, objects))
