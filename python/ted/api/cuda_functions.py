"""Programs compiled for NVIDIA GPUs: PTX and manifest without a GPU, calls with one.

Before: ted.compile([x], [y], target="cuda:sm_90a")      After: a `CudaFunction`: f.ptx, f(x)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from ted.api.cpu_functions import CompiledFunction
from ted.api.cuda_compiling import request_arguments
from ted.api.cuda_lowerings import CudaLowering
from ted.api.options import compile_options
from ted.api.profiles import KernelTime, Profile, check_repeats
from ted.api.programs import Program, known_program
from ted.api.rounding_scales import rounding_scales
from ted.api.staged_functions import StagedFunction
from ted.codegen.manifest import Manifest, memories_of_kernels, with_constants
from ted.codegen.manifest_json import loads as manifest_of
from ted.codegen.nvptx import toolkit
from ted.codegen.nvptx.ptxas import Resources, assemble
from ted.codegen.nvptx.shared_memory import check_shared_memory
from ted.codegen.requests import Request
from ted.codegen.watching import Watch
from ted.errors import CompileError
from ted.forking import cached_property
from ted.gpu.pipeline import GPU_STAGES
from ted.machine import Gpu
from ted.options import CompileOptions
from ted.runtime.archives import write
from ted.runtime.cuda.arguments import is_torch
from ted.runtime.cuda.arrays import DeviceArray
from ted.runtime.cuda.bundles import pack_bundle
from ted.runtime.cuda.contexts import Context, context_of
from ted.runtime.cuda.graphs import GraphCall
from ted.runtime.cuda.loading import loads
from ted.runtime.cuda.programs import Program as DeviceProgram

# Of the largest number, for results of factors that were rounded to 10 bits.
_TF32_TOLERANCE = 1e-2


class CudaFunction(StagedFunction):
    """A program compiled for a GPU: call it with arrays on the device, look at its PTX.

    `f(*arrays)` returns a tuple of `ted.cuda.DeviceArray`, or one when it was compiled for a single
    tensor; `out=` gives arrays to fill, `stream=` says where to run.

    Raises: CompileError for a tensor of more than 2**31 - 1 elements.
    """

    stages = (*(stage.name for stage in GPU_STAGES), "ptx")

    def __init__(self, program: Program, single: bool, options: CompileOptions) -> None:
        assert isinstance(options.machine, Gpu), "a program for a GPU"
        super().__init__(program, single, options)
        self.chip = options.machine.name
        self._programs: dict[Context, DeviceProgram] = {}
        self._latest: DeviceProgram | None = None
        self.compile_times = {}
        library = _libdevice()
        files = (library,) if library else ()

        def request() -> Request:
            arguments = request_arguments(*program.made, options, library)
            asked = self._lowering.request("cuda", arguments, files)
            return replace(asked, unnamed=asked.source)  # the manifest names arrays, kernels, lines

        with Watch(program.name, self.compile_times) as watch:
            made = manifest_of(program.call(request, files, watch).code["manifest"])
            data = [array.tobytes() for array in program.constants]
            self.manifest: Manifest = with_constants(made, data)
        check_shared_memory(self.manifest)

    def __call__(self, *arrays: Any, out: Any = None, stream: Any = None) -> Any:
        """Run on one array per input; returns before the device is done.

        Raises: ExecutionError naming the argument, or the tensor and index that an earlier call
        found out of range; without a driver or a device that runs the target.
        """
        program = self._latest
        first = arrays[0] if arrays else None
        if program is None or getattr(first, "context", None) is not program.context:
            program = self._latest = self.program(_ordinal(arrays))
        results = program(*arrays, out=out, stream=stream)
        return results[0] if self._single else results

    def program(self, device: int = 0) -> DeviceProgram:
        """The program, loaded into a device.

        Raises: ExecutionError without a driver, or when the device does not run it.
        """
        context = context_of(device)
        found = self._programs.get(context)
        if found is None:
            found = self._programs[context] = DeviceProgram(self.manifest, context)
        return found

    def graph(self, *arrays: Any, **options: Any) -> GraphCall:
        """The call on arrays, recorded as a CUDA graph: call it with new numbers, or replay it."""
        program = self.program(_ordinal(arrays))  # loaded before the recording begins
        return GraphCall(self, arrays, program.context, **options)

    def profile(self, *arrays: Any, repeats: int = 20) -> Profile:
        """How long each kernel takes, the median over some calls on arrays; print it.

        Units: seconds, by events of the device around each launch; bytes of the arrays that a
        kernel is given, each once in a call. Operations are not counted.
        Raises: ExecutionError as a call does.
        """
        check_repeats(repeats)
        program = self.program(_ordinal(arrays))
        program.timed(*arrays)
        found = [program.timed(*arrays) for _ in range(repeats)]
        memories = memories_of_kernels(self.manifest)
        nbytes = {name: sum(map(self.manifest.memory_bytes, of)) for name, of in memories.items()}
        kernels = tuple(
            KernelTime(name or "copies", "", median(times[name] for times, _ in found),
                       nbytes.get(name, 0), None)
            for name in found[0][0]
        )  # fmt: skip
        return Profile(kernels, median(total for _, total in found))

    @property
    def ptx(self) -> str:
        """The kernels' text."""
        return self.manifest.ptx

    def resources(self) -> Mapping[str, Resources]:
        """Registers, spills and shared memory of each kernel, from NVIDIA's assembler.

        Raises: CompileError where `ptxas` is not installed.
        """
        return assemble(self.ptx, self.chip).kernels if self.ptx else {}

    @property
    def peak_bytes(self) -> int:
        """Bytes of results, temporary buffers and constants that a call holds."""
        return self.manifest.peak_bytes

    def _lowered(self) -> CudaLowering:
        return self._lowering

    @cached_property
    def _lowering(self) -> CudaLowering:
        return CudaLowering(self._program, self.options)

    def _translated(self) -> str:
        return self.ptx

    def save(
        self,
        path: str | os.PathLike[str],
        *samples: Sequence[Any],
        tolerance: float | None = None,
    ) -> None:
        """Write a file from which `ted.load` makes the function, without a compiler.

        `python path` runs it where there is only Python, numpy and the driver. Each sample is a
        sequence of host arrays, one per input. Their results are computed here, by the same program
        on the CPU, and compared with there. An error is judged by the largest number of a result,
        or by what that is a sum of where this is larger. Pickles hold the same, without samples.
        Raises: ExecutionError for a sample that does not fit, a path that cannot be written.
        """
        checked = [(sample, *self._expected(sample)) for sample in samples]
        if tolerance is None and self.options.tf32:
            tolerance = _TF32_TOLERANCE
        write(path, pack_bundle(self.manifest, checked, tolerance, self._single))

    def __reduce__(self) -> Any:
        return loads, (pack_bundle(self.manifest, single=self._single),)

    def _expected(self, sample: Sequence[Any]) -> tuple[Sequence[np.ndarray], np.ndarray]:
        results = self._on_cpu(*sample)
        return results, rounding_scales(self._on_cpu, sample, results)

    @cached_property
    def _on_cpu(self) -> Any:
        return CompiledFunction(known_program(self.system), False, compile_options())


def _ordinal(arrays: Sequence[Any]) -> int:
    """The device of the first argument that says it."""
    for array in arrays:
        if type(array) is DeviceArray:
            return array.context.ordinal
        if is_torch(array) and array.is_cuda:
            return array.get_device()
    return 0


def _libdevice() -> str | None:
    """The file, if there is one: few programs need it, and the worker looks again for those."""
    try:
        return str(toolkit.libdevice())
    except CompileError:
        return None
