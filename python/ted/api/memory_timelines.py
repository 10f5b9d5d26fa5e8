"""What memory a program holds while it runs: `f.memory()`.

Before: a compiled function
After: each buffer with its bytes, the user's tensor and line, and from which kernel to which it is
held; what kernels take for themselves; the peak, and the kernel at which it is reached
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ted.cpu.ted_time_kernels import program_of
from ted.cpu.work import bytes_of
from ted.ir.pipelines import Stage, run_stages
from ted.mlir import ir
from ted.mlir.locations import source_location, user_name
from ted.mlir.queries import functions, symbol_name
from ted.records import dataclass
from ted.runtime.buffers import ArgSpec

LOOPS = "loops"  # the stage at which kernels have their own buffers
INPUT, RESULT, TEMPORARY = "input", "result", "temporary"
_TAKES, _GIVES = "memref.alloc", "memref.dealloc"
_STEPS = ("func.call", "scf.for", "scf.if", "scf.while", "scf.parallel", "scf.forall")


@dataclass(frozen=True)
class Buffer:
    """Memory of a tensor, held from kernel `first` to kernel `last`; `kind` says for whom.

    Inputs are the caller's and are in no sum. Units: bytes.
    """

    tensor: str
    place: str
    kind: str
    nbytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Step:
    """A kernel, or a loop of kernels: the tensor that it makes, and the bytes that it takes itself.

    Each thread that works on a kernel takes as much.
    """

    tensor: str
    place: str
    nbytes: int


@dataclass(frozen=True)
class MemoryTimeline:
    """The buffers of a program, and its kernels in their order; print it."""

    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]

    def held_in(self, step: int) -> list[Buffer]:
        """The buffers that are held in kernel number `step`."""
        return [b for b in self.buffers if b.first <= step <= b.last]

    def held(self, step: int) -> int:
        """Bytes of results, temporary buffers and what kernel number `step` takes itself."""
        own = self.steps[step].nbytes if self.steps else 0
        return own + sum(b.nbytes for b in self.held_in(step) if b.kind != INPUT)

    @property
    def peak_bytes(self) -> int:
        """The most bytes held at once, on one thread."""
        return self.held(self.peak_step)

    @property
    def peak_step(self) -> int:
        """The kernel in which most is held, the first of several."""
        return max(range(len(self.steps)), key=self.held, default=0)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        peak = self.peak_bytes
        yield f"{_amount(peak)} at most, of results, temporary buffers and what kernels take"
        for k, step in enumerate(self.steps):
            mark = "  <- peak" if self.held(k) == peak else ""
            own = f", {_amount(step.nbytes).strip()} its own" if step.nbytes else ""
            yield f"{_amount(self.held(k))} in {k}: {_named(step)}{own}{mark}"
        for one in self.buffers:
            when = "" if one.kind == INPUT else f", held from {one.first} to {one.last}"
            yield f"{_amount(one.nbytes)} {one.kind} {_named(one)}{when}"


def memory_timeline(
    module: ir.Module,
    stages: Sequence[Stage],
    inputs: Sequence[ArgSpec],
    outputs: Sequence[ArgSpec],
) -> MemoryTimeline:
    """The timeline of a module of ted ops, which is lowered in place, with the arrays of a call.

    Raises: TedError of the pass that refuses it.
    """
    run_stages(module, stages, LOOPS)
    callees = {symbol_name(one): one.operation for one in functions(module)}
    program = program_of(module)
    body = [view.operation for view in program.entry_block.operations]
    steps = tuple(
        Step(*_named_at(op.location), _most_held([op], callees))
        for op in body if op.name in _STEPS
    )  # fmt: skip
    last = max(0, len(steps) - 1)
    places = dict(map(_origin, program.arguments))
    arrays = [(INPUT, one) for one in inputs] + [(RESULT, one) for one in outputs]
    arguments = [
        Buffer(one.name, places.get(one.name, ""), kind, one.nbytes, 0, last)
        for kind, one in arrays
    ]
    return MemoryTimeline((*arguments, *_temporaries(body, last)), steps)


def _temporaries(body: Sequence[ir.Operation], last: int) -> list[Buffer]:
    """What is taken between kernels, held until it is given back."""
    taken: dict[ir.Value, int] = {}
    made: list[Buffer] = []
    step = 0
    for op in body:
        if op.name in _STEPS:
            step += 1
        elif op.name == _TAKES:
            taken[op.results[0]] = step
        elif op.name == _GIVES:
            value = op.operands[0]
            made.append(_temporary(value, taken.pop(value), step - 1))
    made += [_temporary(value, first, last) for value, first in taken.items()]
    return sorted(made, key=lambda one: (one.first, one.last))


def _temporary(value: ir.Value, first: int, last: int) -> Buffer:
    return Buffer(*_origin(value), TEMPORARY, bytes_of(value.type), first, last)


def _most_held(body: Sequence[ir.Operation], callees: Mapping[str, ir.Operation]) -> int:
    """The most bytes that operations hold at once, with what is in them and what they call."""
    held = most = 0
    for op in body:
        if op.name == _TAKES:
            held += bytes_of(op.results[0].type)
        elif op.name == _GIVES:
            held -= bytes_of(op.operands[0].type)
        most = max(most, held + max(_inside(op, callees), default=0))
    return most


def _inside(op: ir.Operation, callees: Mapping[str, ir.Operation]) -> Iterator[int]:
    """What each block of an operation, or of the function that it calls, holds at most."""
    if op.name == "func.call":
        op = callees.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, op)
    for region in op.regions:
        for block in region.blocks:
            yield _most_held([view.operation for view in block.operations], callees)


def _origin(value: ir.Value) -> tuple[str, str]:
    return _named_at(value.location)


def _named_at(location: ir.Location) -> tuple[str, str]:
    """The tensor and the user's line."""
    place = source_location(location)
    return user_name(location) or "no name", "" if place is None else str(place)


def _named(one: Buffer | Step) -> str:
    return f"{one.tensor} ({one.place})" if one.place else one.tensor


def _amount(nbytes: int) -> str:
    """In MiB, or KiB below one."""
    return f"{nbytes / 2**20:9.2f} MiB" if nbytes >= 2**20 else f"{nbytes / 2**10:9.2f} KiB"
