"""Machine code and argument specs -> a Python callable: arrays in, arrays out.

Nearly every call passes arrays of NumPy that fit: the native kernel takes them as they are and
makes the arrays of the results (`fresh`). Where it declines, a call hands it results, too: it runs,
or says which argument it cannot take, and then Python converts that one or explains what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from ted._runtime import EndlessLoop, IndexFault, Kernel
from ted.errors import CompileError, ExecutionError, index_message
from ted.options import subnormals_code
from ted.runtime.buffers import ArgSpec, allocate, as_array, as_input, check, to_numpy
from ted.runtime.sharing import is_shared
from ted.runtime.subnormals import SubnormalNotice
from ted.runtime.targets import Targets, is_number, targets_of, wrong_count
from ted.runtime.threads import check_wish


class Runnable(Protocol):
    """What runs on arrays, or says which of them it cannot take; a `Kernel` is one."""

    def fresh(self, *inputs: Any) -> tuple[Any, ...] | None:
        """The results in arrays of their own, or None where inputs take a longer look."""
        ...

    def exchanged(self, exchange: Any, *inputs: Any) -> tuple[Any, ...] | None:
        """The results as tensors of another library, or None where inputs take a longer look."""
        ...

    def fill(self, *arguments: Any) -> int | None:
        """None, or the position of the first argument that does not fit; then nothing ran."""
        ...

    @property
    def peak_bytes(self) -> int:
        """Bytes of temporary buffers that the latest call held at most at once."""
        ...


class BoundFunction:
    """A compiled function: call it with its inputs, get a tuple of its results.

    `out=` takes one array, or a sequence of one array per result; they are filled and returned. For
    a result whose entry is None there is a fresh array. Without it the results that `donated` names
    go into the arrays of those arguments.
    """

    def __init__(
        self,
        kernel: Runnable,
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
            raise wrong_count(self.name, "expected", "arguments", self.inputs, len(arrays))
        if not self._donated:
            if out is None:
                return self._run(arrays)
            given = tuple(out) if type(out) in (list, tuple) else (out,)
            if len(given) == len(self.outputs) and self._attempt((*arrays, *given)) is None:
                return given
        targets = targets_of(self.name, self.inputs, self.outputs, self._donated, arrays, out)
        if targets.donated:
            self._check_apart(arrays, targets)
        return self._call_into(arrays, targets)

    @property
    def direct(self) -> Callable[..., tuple[Any, ...] | None]:
        """The short way: `fresh`, which declines for a function whose arguments are taken over."""
        return declined if self._donated else self.fresh

    def fresh(self, *arrays: Any) -> tuple[Any, ...] | None:
        """The results for arrays of NumPy that fit as they are; None for all that is not so.

        Raises: ExecutionError naming the tensor and index, or the bytes.
        """
        try:
            return self._kernel.fresh(*arrays)
        except (IndexFault, EndlessLoop, MemoryError) as error:
            raise self._failed(error) from None

    def exchanged(self, exchange: Any, *tensors: Any) -> tuple[Any, ...] | None:
        """The results as tensors of the library whose DLPack exchange API is the first argument.

        None for what does not fit as it is. Memory is read as it lies: callers rule out lazy views,
        such as torch's negative and conjugate ones.
        Raises: ExecutionError naming the tensor and index, or the bytes.
        """
        if self._donated:
            return None
        try:
            return self._kernel.exchanged(exchange, *tensors)
        except (IndexFault, EndlessLoop, MemoryError) as error:
            raise self._failed(error) from None

    def fill(self, arguments: Sequence[Any]) -> None:
        """Run on arrays that fit, the inputs and then the results to fill.

        Raises: ExecutionError naming the tensor and index, or the bytes.
        """
        refused = self._attempt(arguments)
        assert refused is None, f"{self.name}: argument {refused} is not accepted"

    @property
    def temporary_bytes(self) -> int:
        """Bytes of temporary buffers that the latest call held at most at once."""
        return self._kernel.peak_bytes

    @property
    def peak_bytes(self) -> int:
        """Bytes that the latest call held at most at once: results and temporary buffers."""
        return self._result_bytes + self._kernel.peak_bytes

    def _filled_up(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """Arrays for all results, fresh ones in place of None."""
        pairs = zip(given, self.outputs, strict=True)
        try:
            return tuple([allocate(spec) if g is None else g for g, spec in pairs])
        except (MemoryError, ValueError, OverflowError) as error:
            raise self._out_of_memory(f"{self._result_bytes} bytes of results") from error

    def _out_of_memory(self, what: str) -> ExecutionError:
        return ExecutionError(f"{self.name}: out of memory: cannot allocate {what}")

    def _run(self, arrays: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """Compute fresh results, converting inputs where they do not fit as they are."""
        results = self.fresh(*map(as_array, arrays))
        if results is None:
            pairs = zip(arrays, self.inputs, strict=True)
            inputs = [as_input(array, spec, self.name) for array, spec in pairs]
            results = self.fresh(*inputs)
            if results is None:  # the kernel makes none, or there is no memory
                results = self._filled_up([None] * len(self.outputs))
                self.fill([*inputs, *results])
        return results

    def _attempt(self, arguments: Sequence[Any]) -> int | None:
        """Call the kernel: None, or which argument it refused; faults become our errors."""
        try:
            return self._kernel.fill(*arguments)
        except (IndexFault, EndlessLoop, MemoryError) as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> ExecutionError:
        if isinstance(error, IndexFault):
            return self._index_error(*error.args)
        if isinstance(error, EndlessLoop):
            return ExecutionError(
                f"{self.name}: a loop without max_steps ends by its condition, got 2**31 - 3 steps "
                "in which it held; give ted.while_loop max_steps="
            )
        return self._out_of_memory(f"{error} bytes")

    def _index_error(self, tensor: int, dim: int, value: int, extent: int) -> ExecutionError:
        name, place = self._accesses.get(tensor, (f"number {tensor}", ""))
        return ExecutionError(index_message(self.name, name, dim, extent, value, place))

    def _call_into(self, arrays: Sequence[Any], targets: Targets) -> tuple[Any, ...]:
        """Run into the caller's arrays: directly where the kernel takes them, else by copying.

        One that is not dense cannot be written to by the kernel; such a call computes fresh results
        and copies at the end.
        """
        given = self._filled_up(targets.arrays)
        if self._attempt([*arrays, *given]) is None:
            return given
        if self._attempt([*map(as_array, arrays), *map(_target, given)]) is None:
            return given
        results = self._run(arrays)  # an argument that does not fit is refused before a target
        for array, values in zip(self._writable(given, targets), results, strict=True):
            array[...] = values
        return given

    def _check_apart(self, arrays: Sequence[Any], targets: Targets) -> None:
        """No argument has memory of a donated one, which is written to."""
        donors = {n: k for k, n in self._donated.items() if k in targets.donated}
        spans = {n: span for n, a in enumerate(arrays) if (span := _span(a)) is not None}
        for mine in donors.keys() & spans.keys():
            start, stop = spans[mine]
            for other, (first, end) in spans.items():
                if other == mine or first >= stop or end <= start:
                    continue
                if not _overlap(as_array(arrays[mine]), as_array(arrays[other])):
                    continue
                if other in donors:
                    raise targets.overlapping(*sorted((donors[mine], donors[other])))
                raise targets.read_elsewhere(donors[mine], self.inputs[other])

    def _writable(self, given: Sequence[Any], targets: Targets) -> list[np.ndarray]:
        """The targets as arrays of numpy that share no memory."""
        found: list[np.ndarray] = []
        for position, (value, spec) in enumerate(zip(given, self.outputs, strict=True)):
            if is_number(value):
                raise targets.not_writable(position, f"{type(value).__name__} {value}")
            what = targets.what(position)
            array = to_numpy(value, spec, what)
            check(array, spec, what)
            if not array.flags.writeable:
                raise targets.not_writable(position, "one that is read-only")
            if not is_shared(value, array):
                raise targets.not_writable(position, f"{type(value).__name__}, which gives copies")
            found.append(array)
        for (i, a), (j, b) in combinations(enumerate(found), 2):
            if _overlap(a, b):
                raise targets.overlapping(i, j)
        return found


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
    threads: int | None = None,
    subnormals: str | None = None,
    notice: Callable[[], object] | None = None,
    constants: Sequence[np.ndarray] = (),
) -> BoundFunction:
    """Make compiled code callable; `code` is an ExecutionEngine or a packed function's address.

    The code takes bare pointers, inputs first and then results. `name` stands in messages, `symbol`
    is the function to look up (default: `name`), `accesses` maps the ids that the code passes to
    `ted_index_error` to names of tensors and lines of the user, `donated` gives for results that
    overwrite an input the positions of both, `owner` is kept alive with the function, and a call
    uses at most so many `threads` and does what the word `subnormals` of the options says; `notice`
    is called once, after a call that met some. `constants` are the arrays of the last inputs;
    callers give the others.
    Raises: CompileError when the code does not have the symbol, or no kernel takes such arrays.
    """
    check_wish()
    symbol = symbol or name
    address = code if isinstance(code, int) else code.raw_lookup(symbol)
    if not address:
        raise CompileError(
            f"{name}: the compiled code does not resolve, looking up symbol {symbol!r}"
        )
    specs = [spec.kernel_spec(writable=False) for spec in inputs]
    specs += [spec.kernel_spec(writable=True) for spec in outputs]
    kept = code if owner is None else (code, owner)
    notice = notice or SubnormalNotice(name, subnormals)
    small = subnormals_code(subnormals)
    try:
        kernel = Kernel(address, tuple(specs), kept, threads or 0, small, notice)
    except (OverflowError, ValueError) as error:
        raise CompileError(f"{name}: an argument cannot be an array: {error}") from error
    return bound(kernel, inputs, outputs, name, accesses or {}, donated or {}, constants)


def bound(
    kernel: Runnable,
    inputs: Sequence[ArgSpec],
    outputs: Sequence[ArgSpec],
    name: str,
    accesses: Mapping[int, tuple[str, str]],
    donated: Mapping[int, int],
    constants: Sequence[np.ndarray],
) -> BoundFunction:
    """A kernel with what calls of it need to know; `constants` are its last inputs."""
    if not constants:
        return BoundFunction(kernel, inputs, outputs, name, accesses, donated)
    given = inputs[: len(inputs) - len(constants)]
    whole = WithConstants(kernel, len(given), constants)
    return BoundFunction(whole, given, outputs, name, accesses, donated)


class ArrayFunction:
    """What a user calls on arrays of the host: a value, of which nothing is copied.

    `direct` gives all results for arrays that fit as they are, or None; `bound` is the whole way.
    """

    direct: Callable[..., Any]
    bound: Any  # a `BoundFunction`, or a property that gives it
    _single: bool

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on one array per input.

        Raises: ExecutionError naming the argument, or the tensor and index that is out of range.
        """
        results = self.direct(*arrays) if out is None else None
        if results is None:
            results = self.bound(*arrays, out=out)
        return results[0] if self._single else results

    def __deepcopy__(self, memo: Any) -> ArrayFunction:
        return self

    def __copy__(self) -> ArrayFunction:
        return self


class WithConstants:
    """A kernel whose last inputs are known arrays."""

    def __init__(self, kernel: Runnable, given: int, constants: Sequence[np.ndarray]) -> None:
        self._kernel = kernel
        self._given = given
        self._constants = tuple(constants)

    def fresh(self, *inputs: Any) -> tuple[Any, ...] | None:
        """The results in arrays of their own, or None where inputs take a longer look."""
        return self._kernel.fresh(*inputs, *self._constants)

    def exchanged(self, exchange: Any, *inputs: Any) -> tuple[Any, ...] | None:
        """The results as tensors of another library, or None where inputs take a longer look."""
        return self._kernel.exchanged(exchange, *inputs, *self._constants)

    def fill(self, *arguments: Any) -> int | None:
        """Run, or say which of the other arguments does not fit."""
        given = self._given
        refused = self._kernel.fill(*arguments[:given], *self._constants, *arguments[given:])
        if refused is None or refused < given:
            return refused
        return refused - len(self._constants)

    @property
    def peak_bytes(self) -> int:
        """Bytes of temporary buffers that the latest call held at most at once."""
        return self._kernel.peak_bytes


def declined(*_: Any) -> None:
    """A short way that never is the way to go."""


def _target(value: Any) -> Any:
    """The memory of a target as an array, which a number does not have, nor who gives copies."""
    array = None if is_number(value) else as_array(value)
    return array if type(array) is np.ndarray and is_shared(value, array) else None


def _span(value: Any) -> tuple[int, int] | None:
    """The first address of an array and the one behind it; None for an empty one, or a number."""
    array = None if is_number(value) else as_array(value)
    if type(array) is not np.ndarray or not array.size:
        return None
    if array.flags.c_contiguous:
        start = array.__array_interface__["data"][0]
        return start, start + array.nbytes
    return np.lib.array_utils.byte_bounds(array)


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        # numpy's annotation of max_work knows the two special values only
        return np.shares_memory(a, b, max_work=10_000)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True
