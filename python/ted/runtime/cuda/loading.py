"""A saved program on the machine where it runs: call it, compare with stored results, time it.

Before: the bytes of an archive      After: `bundle(x, y)`, or a line that says whether it is right
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import field, replace
from statistics import median
from typing import Any

import numpy as np

from ted.codegen.manifest import ArraySpec, Manifest, walk
from ted.codegen.manifest_json import loads as manifest_of
from ted.errors import ExecutionError, TedError
from ted.forking import cached_property
from ted.records import dataclass
from ted.runtime import archives
from ted.runtime.cuda.arguments import device_array
from ted.runtime.cuda.arrays import DeviceArray
from ted.runtime.cuda.contexts import context_of
from ted.runtime.cuda.graphs import capture
from ted.runtime.cuda.programs import Program
from ted.runtime.cuda.streams import Event

# Error relative to the largest expected number, or to the numbers that it is a sum of where they
# are larger: the sums of host and device differ in order.
TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}
_CALLS_PER_TIMING = 20
KERNELS, SAMPLES = "kernels.ptx", "samples.npz"  # parts of the archive
_SAID = {"target", "single", "tolerance", "manifest"}


@dataclass(frozen=True)
class Times:
    """Microseconds of a call: launched one by one, and replayed as a graph; medians."""

    launched: float
    replayed: float


@dataclass(frozen=True)
class Bundle:
    """A program from a file: call it with arrays, `check()` compares, `time()` measures.

    It computes what the function computed that was saved, on one device, and has no IR.
    """

    manifest: Manifest
    samples: tuple[tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...], np.ndarray], ...]
    tolerance: float | None
    single: bool
    data: bytes = field(repr=False)
    device: int = 0

    def __call__(self, *arrays: Any, out: Any = None, stream: Any = None) -> Any:
        """Run on one array per input; returns before the device is done.

        Raises: ExecutionError as calls of the function that was saved.
        """
        results = self.program(*arrays, out=out, stream=stream)
        return results[0] if self.single else results

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the same file again.

        Raises: ExecutionError for a path that cannot be written.
        """
        archives.write(path, self.data)

    def __reduce__(self) -> Any:
        return loads, (self.data, "load", self.device)

    @cached_property
    def program(self) -> Program:
        """The program, loaded into the device."""
        return Program(self.manifest, context_of(self.device))

    def asarray(self, value: Any) -> DeviceArray:
        """An array on the bundle's device: of the host by copying, of a device without a copy."""
        return device_array(value, context=context_of(self.device))

    def inputs(self, sample: int = 0) -> list[DeviceArray]:
        """The inputs of a sample on the device; without samples, numbers between -1 and 1."""
        given = self.samples[sample][0] if self.samples else self._made_up()
        return [
            device_array(array, context=context_of(self.device), element_type=spec.dtype)
            for array, spec in zip(given, self.manifest.inputs, strict=True)
        ]

    def check(self) -> list[str]:
        """What differs from the stored results; an empty list when nothing does."""
        wrong = []
        for k, (_, expected, summands) in enumerate(self.samples):
            results = zip(self.program(*self.inputs(k)), expected, summands, strict=True)
            for spec, (found, wanted, size) in zip(self.manifest.outputs, results, strict=True):
                numbers = as_numbers(found.numpy(), spec.dtype)
                text = self._difference(numbers, as_numbers(wanted, spec.dtype), spec.dtype, size)
                if text:
                    wrong.append(f"sample {k}, result {spec.name!r}: {text}")
        return wrong

    def time(self, repeat: int = 10, inputs: Sequence[DeviceArray] = ()) -> Times:
        """Measure calls with events on the device's default stream and as a graph.

        Without `inputs`, arrays of the device, they are those of `self.inputs()`.
        """
        program, arrays = self.program, inputs or self.inputs()
        results = program(*arrays)
        launched = [
            self._timed(lambda: program(*arrays, out=[*results])) for _ in range(repeat + 1)
        ]
        with capture(program.context) as graph:
            program(*arrays, out=[*results])
        replayed = [self._timed(graph.replay) for _ in range(repeat + 1)]
        return Times(median(launched[1:]), median(replayed[1:]))

    def _timed(self, call: Any) -> float:
        """Microseconds of a call on the device, of several in a row."""
        context = self.program.context
        start = Event(context).record()
        for _ in range(_CALLS_PER_TIMING):
            call()
        return 1e3 * start.milliseconds_until(Event(context).record()) / _CALLS_PER_TIMING

    @property
    def least_bytes(self) -> int:
        """Bytes of inputs and results: no program reads and writes less."""
        return sum(spec.nbytes for spec in (*self.manifest.inputs, *self.manifest.outputs))

    def _made_up(self) -> list[np.ndarray]:
        random = np.random.default_rng(0)
        made = []
        for spec in self.manifest.inputs:
            if "float" not in spec.dtype:
                made.append(np.zeros(spec.shape, np.dtype(spec.dtype)))
                continue
            numbers = random.uniform(-1, 1, spec.shape).astype(np.float32)
            bits = numbers.view(np.uint32) >> 16
            made.append(
                bits.astype(np.uint16) if spec.dtype == "bfloat16" else numbers.astype(spec.dtype)
            )
        return made

    def _difference(
        self, found: np.ndarray, wanted: np.ndarray, element_type: str, size: float
    ) -> str:
        if not wanted.size:
            return ""
        finite = np.isfinite(wanted)
        same = np.where(np.isnan(wanted), np.isnan(found), found == wanted)
        if not same[~finite].all():
            return "not finite at other places"
        allowed = self.tolerance if self.tolerance is not None else TOLERANCES.get(element_type, 0)
        largest = np.abs(wanted[finite]).max(initial=0.0)
        error = np.abs(found[finite] - wanted[finite]).max(initial=0.0)
        if error <= allowed * max(largest, size):
            return ""
        by = (
            f"summands of size {size:.3g}"
            if size > largest
            else f"the largest number {largest:.3g}"
        )
        return f"error {error:.3g}, allowed {allowed:.3g} of {by}"


def load(path: str | os.PathLike[str], device: int = 0) -> Bundle:
    """Read a file.

    Raises: CompileError for a manifest of another version, ExecutionError for what is no file of a
    function for a GPU.
    """
    return loads(archives.read(path), f"load: {path}", device)


def loads(data: bytes, what: str = "load", device: int = 0) -> Bundle:
    """The function of the contents of a file.

    Raises: CompileError and ExecutionError as `load` does.
    """
    said, (ptx, samples) = archives.unpack(data, what, KERNELS, SAMPLES)
    if set(said) != _SAID:
        raise archives.damaged(what, f"{said!r:.99}, not {sorted(_SAID)}")
    tolerance = said["tolerance"]
    if tolerance is not None and not (type(tolerance) in (int, float) and tolerance >= 0):
        raise archives.damaged(what, f"the tolerance {tolerance!r:.99}")
    manifest = manifest_of(json.dumps(said["manifest"]))
    try:
        manifest = replace(manifest, ptx=ptx.decode())
    except UnicodeDecodeError as error:
        raise archives.damaged(what, error) from None
    kept = _samples(archives.unpack_arrays(samples, what), manifest)
    return Bundle(manifest, kept, tolerance, bool(said["single"]), data, device)


_Arrays = tuple[np.ndarray, ...]


def _samples(
    arrays: dict[str, np.ndarray], manifest: Manifest
) -> tuple[tuple[_Arrays, _Arrays, np.ndarray], ...]:
    parts = len(manifest.inputs) + len(manifest.outputs) + 1
    sizes = ArraySpec("summands", (len(manifest.outputs),), "float64")
    return tuple(
        (
            tuple(_sample(arrays, f"{k}_input_{n}", s) for n, s in enumerate(manifest.inputs)),
            tuple(_sample(arrays, f"{k}_output_{n}", s) for n, s in enumerate(manifest.outputs)),
            _sample(arrays, f"{k}_summands", sizes),
        )
        for k in range(-(-len(arrays) // parts))
    )


def _sample(arrays: dict[str, np.ndarray], name: str, spec: ArraySpec) -> np.ndarray:
    element_type = "uint16" if spec.dtype == "bfloat16" else spec.dtype
    array = arrays.get(name)
    if array is None or (array.shape, array.dtype.name) != (spec.shape, element_type):
        got = "none" if array is None else f"{array.dtype}{list(array.shape)}"
        raise ExecutionError(
            f"cuda: sample {name} of a bundle is {element_type}{list(spec.shape)}, got {got}"
        )
    return array


def as_numbers(array: np.ndarray, element_type: str) -> np.ndarray:
    """An array as float64; bfloat16 may come as its bits."""
    if element_type == "bfloat16":
        array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


def describe(manifest: Manifest) -> str:
    """A few lines about a program."""
    launches = sum(1 for _ in walk(manifest.steps))
    return "\n".join(
        [
            f"{manifest.name} for {manifest.target}: {len(manifest.kernels)} kernels, "
            f"{launches} steps, {manifest.peak_bytes} bytes",
            *(f"  input  {spec}" for spec in manifest.inputs),
            *(f"  output {spec}" for spec in manifest.outputs),
            *(
                f"  kernel {k.name} {k.grid} x {k.block}, {k.dynamic_shared_bytes} bytes shared"
                for k in manifest.kernels
            ),
        ]
    )


def main(path: str | os.PathLike[str], arguments: Sequence[str]) -> int:
    """The command line of a file; 0 when all results are right."""
    parser = argparse.ArgumentParser(description="check and time a saved program")
    parser.add_argument("--list", action="store_true", help="say what is in it; needs no GPU")
    parser.add_argument("--repeat", type=int, default=10, help="timings, whose median is printed")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    chosen = parser.parse_args(arguments)
    try:
        bundle = load(path, chosen.device)
        if chosen.list:
            print(describe(bundle.manifest))
            return 0
        return _report(bundle, chosen.repeat, chosen.json)
    except TedError as error:
        print(f"error: {error}")
        return 2


def _report(bundle: Bundle, repeat: int, as_json: bool) -> int:
    wrong = bundle.check()
    times = bundle.time(repeat)
    rate = bundle.least_bytes / times.replayed / 1e3
    if as_json:
        found: dict[str, Any] = {
            "name": bundle.manifest.name, "device": bundle.program.context.name, "wrong": wrong,
            "samples": len(bundle.samples), "launched_us": times.launched,
            "replayed_us": times.replayed, "least_gb_per_s": rate,
        }  # fmt: skip
        print(json.dumps(found))
    else:
        print(describe(bundle.manifest).partition("\n")[0], "on", bundle.program.context.name)
        for line in wrong:
            print(f"  wrong: {line}")
        print(f"  {len(bundle.samples)} samples, {'not ' if wrong else ''}all right")
        print(
            f"  {times.launched:.1f} us a call, {times.replayed:.1f} us as a graph, {rate:.0f} GB/s"
        )
    return 1 if wrong else 0
