"""Machine code and argument specs -> a Python callable: arrays in, arrays out.

The fast path hands the caller's objects to the native kernel as they are. The kernel runs, or says
which argument it cannot take, and only then does Python convert that one or explain what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ted._runtime import IndexFault, Kernel
from ted.errors import CompileError, ExecutionError
from ted.runtime.buffers import ArgSpec, allocate, as_input, as_result, check, is_number, to_numpy


class BoundFunction:
    """A compiled function: call it with its inputs, get a tuple of its results.

    `out=` takes one array, or a sequence of one array per result; they are filled and returned. For
    a result whose entry is None there is a fresh array. Without it the results that `donated` names
    go into the arrays of those arguments.
    """

    def __init__(
        self,
        kernel: Kernel,
        inputs: Sequence[ArgSpec],
        outputs: Sequence[ArgSpec],
        name: str,
        accesses: Mapping[int, tuple[str, str]],
        donated: Mapping[int, int],
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._kernel = kernel
        self._accesses = accesses
        self._donated = donated
        self._result_bytes = sum(spec.nbytes for spec in outputs)

    def __call__(self, *arrays: Any, out: Any = None) -> tuple[Any, ...]:
        """Run on `arrays`, one for each input, into fresh results or into `out`.

        Raises: ExecutionError naming the argument, the tensor and index, or the bytes.
        """
        if len(arrays) != len(self.inputs):
            names = ", ".join(spec.name for spec in self.inputs)
            raise ExecutionError(
                f"{self.name}: expected {len(self.inputs)} arguments ({names}), got {len(arrays)}"
            )
        taken: dict[int, int] = {}
        if out is None and self._donated:
            taken = {k: n for k, n in self._donated.items() if not is_number(arrays[n])}
            out = [arrays[taken[k]] if k in taken else None for k in range(len(self.outputs))]
        if out is not None:
            return self._call_into(arrays, out, taken)
        return tuple(map(as_result, self._run(arrays), self.outputs))

    @property
    def peak_bytes(self) -> int:
        """Bytes that the latest call held at most at once: results and temporary buffers."""
        return self._result_bytes + self._kernel.peak_bytes

    def _allocate(self) -> list[np.ndarray]:
        try:
            return [allocate(spec) for spec in self.outputs]
        except (MemoryError, ValueError, OverflowError) as error:
            raise self._out_of_memory(f"{self._result_bytes} bytes of results") from error

    def _out_of_memory(self, what: str) -> ExecutionError:
        return ExecutionError(f"{self.name}: out of memory: cannot allocate {what}")

    def _run(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """Compute fresh results, converting each input that the kernel refuses."""
        storage = self._allocate()
        arguments = [*arrays, *storage]
        converted = -1
        while (refused := self._attempt(arguments)) is not None:
            assert converted < refused < len(self.inputs), f"argument {refused} is not accepted"
            arguments[refused] = as_input(arguments[refused], self.inputs[refused], self.name)
            converted = refused
        return storage

    def _attempt(self, arguments: Sequence[Any]) -> int | None:
        """Call the kernel: None, or which argument it refused; faults become our errors."""
        try:
            return self._kernel(*arguments)
        except IndexFault as fault:
            raise self._index_error(*fault.args) from None
        except MemoryError as error:
            raise self._out_of_memory(f"{error} bytes") from None

    def _index_error(self, tensor: int, dim: int, value: int, extent: int) -> ExecutionError:
        name, place = self._accesses.get(tensor, (f"number {tensor}", ""))
        return ExecutionError(
            f"{self.name}: index out of range: tensor {name} has extent {extent} in dim {dim}, "
            f"got index {value}" + (f", at {place}" if place else "")
        )

    def _call_into(
        self, arrays: Sequence[Any], out: Any, taken: Mapping[int, int]
    ) -> tuple[Any, ...]:
        """Run into the caller's arrays: directly where the kernel takes them, else by copying.

        A target that overlaps an input must not be written while inputs are still read, and one
        that is not dense cannot be; such a call computes fresh results and copies at the end.
        `taken` says which of them are arguments.
        """
        given = tuple(out) if isinstance(out, list | tuple) else (out,)
        if any(g is None for g in given) and len(given) == len(self.outputs):
            fresh = self._allocate()
            pairs = zip(given, fresh, self.outputs, strict=True)
            given = tuple(as_result(f, spec) if g is None else g for g, f, spec in pairs)
        if len(given) == len(self.outputs) and self._attempt([*arrays, *given]) is None:
            return given
        results = self._run(arrays)  # an argument that does not fit is refused before a target
        targets = self._targets(given, taken)
        for target, values, spec in zip(targets, results, self.outputs, strict=True):
            target[...] = as_result(values, spec)
        return given

    def _targets(self, given: Sequence[Any], taken: Mapping[int, int]) -> list[np.ndarray]:
        if len(given) != len(self.outputs):
            names = ", ".join(spec.name for spec in self.outputs)
            raise ExecutionError(
                f"{self.name}: out= expected {len(self.outputs)} arrays ({names}), got {len(given)}"
            )
        names = [f"out={spec.name!r}" for spec in self.outputs]
        for k, n in taken.items():
            names[k] = f"donated argument {self.inputs[n].name!r}"
        targets: list[np.ndarray] = []
        for value, spec, name in zip(given, self.outputs, names, strict=True):
            what = f"{self.name}: {name}"
            if is_number(value):
                raise ExecutionError(
                    f"{what}: expected an array to write, got {type(value).__name__} {value}"
                )
            target = to_numpy(value, spec, what)
            check(target, spec, what)
            if not target.flags.writeable:
                raise ExecutionError(f"{what}: the array is read-only")
            targets.append(target)
        for (i, a), (j, b) in combinations(enumerate(targets), 2):
            if _overlap(a, b):
                raise ExecutionError(f"{self.name}: {names[i]} and {names[j]} overlap in memory")
        return targets


def bind(
    code: Any,
    inputs: Sequence[ArgSpec],
    outputs: Sequence[ArgSpec],
    *,
    name: str = "main",
    symbol: str | None = None,
    accesses: Mapping[int, tuple[str, str]] | None = None,
    donated: Mapping[int, int] | None = None,
    owner: Any = None,
) -> BoundFunction:
    """Make compiled code callable; `code` is an ExecutionEngine or a packed function's address.

    The code takes bare pointers, inputs first and then results. `name` stands in messages, `symbol`
    is the function to look up (default: `name`), `accesses` maps the ids that the code passes to
    `ted_index_error` to names of tensors and lines of the user, `donated` gives for results that
    overwrite an input the positions of both, and `owner` is kept alive with the function.
    Raises: CompileError when the code does not have the symbol, or no kernel takes such arrays.
    """
    symbol = symbol or name
    address = code if isinstance(code, int) else code.raw_lookup(symbol)
    if not address:
        raise CompileError(
            f"{name}: the compiled code does not resolve, looking up symbol {symbol!r}"
        )
    specs = [spec.kernel_spec(writable=False) for spec in inputs]
    specs += [spec.kernel_spec(writable=True) for spec in outputs]
    try:
        kernel = Kernel(address, tuple(specs), code if owner is None else (code, owner))
    except (OverflowError, ValueError) as error:
        raise CompileError(f"{name}: an argument cannot be an array: {error}") from error
    return BoundFunction(kernel, inputs, outputs, name, accesses or {}, donated or {})


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        # numpy's annotation of max_work knows the two special values only
        return np.shares_memory(a, b, max_work=10_000)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True
