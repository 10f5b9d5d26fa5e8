"""What the host does for a CUDA program, as data: kernels, memory, launches in order.

Before: a module of GPU kernels and its host function      After: a `Manifest`

Nothing on the host is compiled. Whoever has a manifest can run it: the driver layer in
`ted.runtime.cuda`, the PTX interpreter in `ptx_emulator`, or a saved bundle on a machine that
has neither MLIR nor ted. So this module needs the standard library only.

Tensors are dense, row-major, of static shape; bool is one byte an element. Offsets are in bytes.
Temporaries share one arena, constants are uploaded once. Memory ("errors",) is four int64, zero
before a call: a kernel that meets a bad index puts its check's code into the first (atomically,
once) and the index into the second, and leaves the access out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from ted.records import dataclass

VERSION = 1
ALIGNMENT = 256  # of the arena, of every buffer in it, of every constant
ERROR_WORDS = 4  # int64: code (0 = none), value, linear position, reserved
ERROR_BYTES = 8 * ERROR_WORDS
ITEM_SIZES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1,
    "uint64": 8, "uint32": 4, "uint16": 2, "uint8": 1, "bool": 1,
}  # fmt: skip
SCALAR_TYPES = ("i64", "i32", "f64", "f32")
PARAMETER_TYPES = ("pointer", *SCALAR_TYPES, "tensormap")
# ("input", k), ("output", k), ("buffer", k), ("constant", k), or ("errors",)
Memory = tuple[str, int] | tuple[str]
ERRORS: Memory = ("errors",)


@dataclass(frozen=True)
class ArraySpec:
    """An input or a result; scalars have shape ().

    An input with `donated_to` = k may have its memory taken over by result k: then both pointers
    are the same, and the program is right in this case too.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    donated_to: int | None = None

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.elements * ITEM_SIZES[self.dtype]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Buffer:
    """A temporary at a fixed offset of the arena; buffers that overlap are never alive together."""

    name: str
    bytes: int
    offset: int


@dataclass(frozen=True)
class Constant:
    """Bytes that are uploaded when the program is loaded."""

    name: str
    data: bytes

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return len(self.data)


@dataclass(frozen=True)
class Kernel:
    """An entry of the PTX: its launch shape and the types of its parameters, in order."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    params: tuple[str, ...]
    dynamic_shared_bytes: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)


@dataclass(frozen=True)
class Linear:
    """A number: a constant, plus a coefficient for each surrounding loop's variable."""

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def at(self, variables: Mapping[str, int]) -> int:
        """The number, at values of the variables."""
        return self.constant + sum(variables[name] * factor for name, factor in self.terms)


@dataclass(frozen=True)
class Pointer:
    """An address: a piece of memory and an offset in bytes."""

    memory: Memory
    offset: Linear = Linear()


@dataclass(frozen=True)
class Scalar:
    """A number passed by value, of one of SCALAR_TYPES."""

    type: str
    value: Linear | float


@dataclass(frozen=True)
class TensorMap:
    """A tiled tensor map (`cuTensorMapEncodeTiled`), 128 bytes by value; dims innermost first.

    `strides` are in bytes, of dims 1 and up. `swizzle` is one of none, 32B, 64B, 128B.
    """

    pointer: Pointer
    dtype: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str = "none"


Argument = Pointer | Scalar | TensorMap


@dataclass(frozen=True)
class Launch:
    """Launch a kernel with arguments, one per parameter."""

    kernel: str
    args: tuple[Argument, ...]


@dataclass(frozen=True)
class Copy:
    """Copy bytes on the device; the two ranges do not overlap, unless they are the same."""

    dst: Pointer
    src: Pointer
    bytes: int


@dataclass(frozen=True)
class Loop:
    """Do the steps for each value of range(start, stop, step)."""

    var: str
    start: int
    stop: int
    step: int
    steps: tuple[Step, ...]

    @property
    def values(self) -> range:
        """The values of the variable, in order."""
        return range(self.start, self.stop, self.step)


Step = Launch | Copy | Loop


@dataclass(frozen=True)
class Check:
    """What an error code says: an index into dim `dim` of a tensor was not below the extent.

    A code is the check's position in `Manifest.checks` plus 1. `message`, when there is one, stands
    for the whole rule, with {value} for the number that the kernel found; `place` is the line of
    the user that makes the access.
    """

    tensor: str
    dim: int
    extent: int
    message: str = ""
    place: str = ""

    def text(self, function: str, value: int) -> str:
        """The message of the error, in the words of every target."""
        if self.message:
            return f"{function}: {self.message.replace('{value}', str(value))}"
        return (
            f"{function}: index out of range: tensor {self.tensor} has extent {self.extent} "
            f"in dim {self.dim}, got index {value}" + (f", at {self.place}" if self.place else "")
        )


@dataclass(frozen=True)
class Manifest:
    """A CUDA program: PTX with all kernels, the arrays it takes, and its steps."""

    name: str
    target: str
    ptx: str
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    kernels: tuple[Kernel, ...]
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...] = ()
    constants: tuple[Constant, ...] = ()
    checks: tuple[Check, ...] = ()
    version: int = VERSION

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arena: where its last buffer ends."""
        return max((b.offset + b.bytes for b in self.buffers), default=0)

    @property
    def peak_bytes(self) -> int:
        """Bytes of results, temporaries and constants of a call; inputs are the caller's."""
        taken_over = {spec.donated_to for spec in self.inputs}
        results = sum(s.nbytes for k, s in enumerate(self.outputs) if k not in taken_over)
        return results + self.arena_bytes + sum(c.bytes for c in self.constants)

    def memory_bytes(self, memory: Memory) -> int:
        """Size of a piece of memory."""
        if memory == ERRORS:
            return ERROR_BYTES
        kind, position = memory[0], memory[-1]
        assert isinstance(position, int), f"memory {memory} has no position"
        if kind in ("input", "output"):
            return (self.inputs if kind == "input" else self.outputs)[position].nbytes
        return (self.buffers if kind == "buffer" else self.constants)[position].bytes

    def kernel(self, name: str) -> Kernel:
        """The kernel of a name."""
        return next(k for k in self.kernels if k.name == name)


def walk(
    steps: tuple[Step, ...], variables: Mapping[str, int] | None = None
) -> Iterator[tuple[Launch | Copy, Mapping[str, int]]]:
    """Every launch and copy in order, with the values of the loops around it."""
    at = variables or {}
    for step in steps:
        if isinstance(step, Loop):
            for value in step.values:
                yield from walk(step.steps, {**at, step.var: value})
        else:
            yield step, at


def memories_of_kernels(manifest: Manifest) -> dict[str, set[Memory]]:
    """The memory that each kernel is given in a call, whatever it does there."""
    found: dict[str, set[Memory]] = {}
    for step, _ in walk(manifest.steps):
        if isinstance(step, Launch):
            given = (a.pointer if isinstance(a, TensorMap) else a for a in step.args)
            memories = {a.memory for a in given if isinstance(a, Pointer)}
            found.setdefault(step.kernel, set()).update(memories)
    return found


# ------------------------------------------------------------------ manifest constants
#
# Inputs of a CUDA program whose values are known -> constants, which are uploaded once.
#
# Before: a manifest of inputs x, W, and the bytes of W      After: one of input x and constant W


def with_constants(manifest: Manifest, data: Sequence[bytes]) -> Manifest:
    """The manifest whose last inputs are constants with these bytes."""
    if not data:
        return manifest
    given = len(manifest.inputs) - len(data)
    made = [Constant(s.name, d) for s, d in zip(manifest.inputs[given:], data, strict=True)]
    became: dict[Memory, Memory] = {
        ("input", given + k): ("constant", len(manifest.constants) + k) for k in range(len(data))
    }
    return replace(
        manifest,
        inputs=manifest.inputs[:given],
        constants=(*manifest.constants, *made),
        steps=tuple(_step(step, became) for step in manifest.steps),
    )


def _step(step: Step, became: dict[Memory, Memory]) -> Step:
    if isinstance(step, Loop):
        return replace(step, steps=tuple(_step(inner, became) for inner in step.steps))
    if isinstance(step, Copy):
        return replace(step, src=_pointer(step.src, became), dst=_pointer(step.dst, became))
    return Launch(step.kernel, tuple(_argument(a, became) for a in step.args))


def _argument(argument: Argument, became: dict[Memory, Memory]) -> Argument:
    if isinstance(argument, Pointer):
        return _pointer(argument, became)
    if isinstance(argument, TensorMap):
        return replace(argument, pointer=_pointer(argument.pointer, became))
    return argument


def _pointer(pointer: Pointer, became: dict[Memory, Memory]) -> Pointer:
    return replace(pointer, memory=became.get(pointer.memory, pointer.memory))
