"""Proof that memory holds, wherever it is read, what was read before there was memory.

Before bufferization each operation gets a number, kept in its location. Afterwards the writes that
reach each read are collected, in the order of execution, loops until nothing changes. Of a read,
`tensor_origins` says which operations must and may have written it: a write of any other one
means that memory was read as one value after it was written as another.

Memory is known by where it is allocated; only what is copied into all of it, or fills it, undoes
other writes. That is exact enough: one-shot bufferization reuses memory along a chain of
destinations, and all of a chain may be in its last value; a result whose memory another chain was
computed in is copied there whole.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import field
from math import prod

from ted.errors import PassFailed
from ted.linalg.tensor_origins import Origins, TensorOrigins, uses_operand
from ted.mlir import func, ir
from ted.mlir.locations import source_location
from ted.mlir.queries import count_inputs, defining, terminator
from ted.records import dataclass

Roots = frozenset[ir.Value]


@dataclass(frozen=True)
class Expected:
    """What the operands of an operation hold, and its name and place."""

    operands: tuple[Origins, ...]
    name: str
    place: ir.Location

    def __str__(self) -> str:
        return f"{self.name} ({source_location(self.place) or 'no place'})"


def number_operations(known: TensorOrigins) -> dict[int, Expected]:
    """Write the number of each operation into its location; what each expects to read."""
    expected = {}
    for op, number in known.numbers.items():
        operands = tuple(known.expected(value) for value in op.operands)
        expected[number] = Expected(operands, op.name, op.location)
        op.location = ir.Location.name(f"{_PREFIX}{number}", op.location)
    return expected


def forget_numbers(root: ir.Operation) -> None:
    """Give operations their locations back."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if _number(op) is not None:
            op.location = ir.NameLoc(op.location).child_loc
        return ir.WalkResult.ADVANCE

    root.walk(visit)


_PREFIX = "ted.number "


def _number(op: ir.Operation) -> int | None:
    place = op.location
    if not isinstance(place, ir.NameLoc) or not place.name_str.startswith(_PREFIX):
        return None
    return int(place.name_str.removeprefix(_PREFIX))


def read_only(function: func.FuncOp) -> list[int]:
    """The arguments whose memory is not the function's to write."""
    return [
        k for k, argument in enumerate(function.arguments) for use in argument.uses
        if use.owner.operation.name == "bufferization.to_tensor"
        and "writable" not in use.owner.operation.attributes
    ]  # fmt: skip


def check_memory(
    function: func.FuncOp, expected: dict[int, Expected], kept: Sequence[int] = ()
) -> None:
    """Compare what reaches each read of a bufferized function with what is expected.

    The arguments `kept`, and constants, are not written to.
    Raises: PassFailed naming the read and the write that should not be, or should be there.
    """
    flow = _Flow(expected, frozenset(function.arguments[k] for k in kept))
    while True:
        before = {op: dict(found) for op, found in flow.entries.items()}, dict(flow.roots)
        flow.written.clear()
        flow.visit(function.entry_block)
        if (flow.entries, flow.roots) == before:
            break
    flow.is_final = True
    flow.written.clear()
    flow.visit(function.entry_block)


@dataclass
class _Flow:
    """The writes that reach a point of the program, for each subdomain of memory."""

    expected: dict[int, Expected]
    kept: Roots = frozenset()
    written: MutableMapping[ir.Value, int] = field(default_factory=dict)
    entries: dict[ir.Operation, dict[ir.Value, int]] = field(default_factory=dict)
    roots: dict[ir.Value, Roots] = field(default_factory=dict)
    is_final: bool = False

    def visit(self, block: ir.Block) -> None:
        for view in block.operations:
            self.step(view.operation)

    def step(self, op: ir.Operation) -> None:
        if op.name.startswith("linalg.") and len(op.regions):
            _linalg(op, self)
            return
        rule = _RULES.get(op.name)
        if rule is not None:
            rule(op, self)
        elif any(map(_is_memory, (*op.operands, *op.results))):
            place = source_location(op.location)
            raise PassFailed(f"ted-bufferize: {op.name} must be an operation known here", place)

    def roots_of(self, value: ir.Value) -> Roots:
        return self.roots.get(value, frozenset((value,)))

    def filled_by(self, value: ir.Value) -> ir.Value | None:
        """The memory that is known to be all of a value, whatever its shape is."""
        root, *others = self.roots_of(value)
        return root if not others and _size(root) == _size(value) else None

    def reaching(self, value: ir.Value) -> int:
        found = 0
        for root in self.roots_of(value):
            found |= self.written.get(root, 0)
        return found

    def write(self, value: ir.Value, writers: int, *, whole: bool = False) -> None:
        """A write of all of a value leaves nothing that was in memory of its size."""
        for root in self.roots_of(value) if self.is_final else ():
            if root in self.kept or defining(root, "memref.get_global") is not None:
                writer = self.expected.get(writers.bit_length() - 1, "a copy")
                raise PassFailed(
                    "ted-bufferize: the memory of an argument or a constant must be left as it is, "
                    f"got {writer}, which writes to {root.type}"
                )
        root = self.filled_by(value) if whole else None
        if root is not None:
            self.written[root] = writers
            return
        for root in self.roots_of(value):
            self.written[root] = self.written.get(root, 0) | writers

    def read(self, op: ir.Operation, operand: int, value: ir.Value) -> None:
        if not self.is_final:
            return
        expected = self.expecting(op)
        if expected is None:
            raise PassFailed(f"ted-bufferize: memory must be read as a tensor, got {op.name}")
        self.compare(expected, operand, self.reaching(value))

    def expecting(self, op: ir.Operation) -> Expected | None:
        number = _number(op)
        return None if number is None else self.expected[number]

    def compare(self, expected: Expected, operand: int, found: int) -> None:
        origins = expected.operands[operand]
        for wrong, rule in (
            (found & ~origins.may, "was written as another value before, by"),
            (origins.must & ~found, "must be written before, by"),
        ):
            if wrong:
                other = self.expected[wrong.bit_length() - 1]
                raise PassFailed(
                    f"ted-bufferize: the memory of operand {operand} of {expected.name} {rule} "
                    f"{other}",
                    source_location(expected.place),
                )


# ---- rules: what an operation does to memory -----------------------------------------------------


def _linalg(op: ir.Operation, flow: _Flow) -> None:
    for k, value in enumerate(op.operands):
        if _is_memory(value) and uses_operand(op, k):
            flow.read(op, k, value)
    flow.visit(op.regions[0].blocks[0])
    number = _number(op)
    for value in list(op.operands)[count_inputs(op) :]:
        flow.write(value, 0 if number is None else 1 << number, whole=op.name == "linalg.fill")


def _load(op: ir.Operation, flow: _Flow) -> None:
    flow.read(op, 0, op.operands[0])


def _store(op: ir.Operation, flow: _Flow) -> None:
    number = _number(op)
    flow.write(op.operands[1], 0 if number is None else 1 << number)


def _copy(op: ir.Operation, flow: _Flow) -> None:
    """A copy carries what it finds to who reads it; into memory that is no tensor, that is all."""
    expected = flow.expecting(op)
    if expected is not None and expected.name == "bufferization.materialize_in_destination":
        flow.read(op, 0, op.operands[0])
    flow.write(op.operands[1], flow.reaching(op.operands[0]), whole=True)


def _allocate(op: ir.Operation, flow: _Flow) -> None:
    flow.written[op.results[0]] = 0


def _view(op: ir.Operation, flow: _Flow) -> None:
    flow.roots[op.results[0]] = flow.roots_of(op.operands[0])


def _nothing(op: ir.Operation, flow: _Flow) -> None:
    pass


def _return(op: ir.Operation, flow: _Flow) -> None:
    for k, value in enumerate(op.operands):
        if _is_memory(value):
            flow.read(op, k, value)


def _if(op: ir.Operation, flow: _Flow) -> None:
    before, either = flow.written, dict[ir.Value, int]()
    for region in op.regions:
        own = dict[ir.Value, int]()  # most memory is not of this branch
        flow.written = ChainMap(own, before)
        for block in region.blocks:
            flow.visit(block)
            _bind(flow, op.results, terminator(block).operands)
        for root, writers in own.items():
            either[root] = either.get(root, before.get(root, 0)) | writers
    before.update(either)
    flow.written = before


def _loop(op: ir.Operation, flow: _Flow) -> None:
    """A loop starts from what was written before it, or by the turn before."""
    body = op.regions[0].blocks[0]
    carried = list(op.operands)[len(op.operands) - len(op.results) :]
    arguments = list(body.arguments)[len(body.arguments) - len(op.results) :]
    _bind(flow, arguments, carried)
    entries = flow.entries.setdefault(op, {})
    for root, writers in entries.items():
        flow.written[root] = flow.written.get(root, 0) | writers
    before, own = flow.written, dict[ir.Value, int]()
    flow.written = ChainMap(own, before)
    flow.visit(body)
    ends = terminator(body).operands if op.results else ()
    _bind(flow, arguments, ends)
    _bind(flow, op.results, carried)
    _bind(flow, op.results, ends)
    for root, writers in own.items():
        if writers != before.get(root):
            entries[root] = entries.get(root, 0) | writers
    flow.written = before  # in the end that is what every turn finds


def _bind(flow: _Flow, names: Iterable[ir.Value], values: Iterable[ir.Value]) -> None:
    for name, value in zip(names, values, strict=True):
        if _is_memory(name):
            flow.roots[name] = flow.roots.get(name, frozenset()) | flow.roots_of(value)


_RULES: dict[str, Callable[[ir.Operation, _Flow], None]] = {
    "func.return": _return,
    "memref.alloc": _allocate,
    "memref.cast": _view,
    "memref.collapse_shape": _view,
    "memref.copy": _copy,
    "memref.dim": _nothing,
    "memref.expand_shape": _view,
    "memref.get_global": _nothing,
    "memref.load": _load,
    "memref.reinterpret_cast": _view,
    "memref.store": _store,
    "memref.subview": _view,
    "scf.for": _loop,
    "scf.forall": _loop,
    "scf.if": _if,
    "scf.yield": _nothing,
}


def _size(value: ir.Value) -> int:
    return prod(ir.MemRefType(value.type).shape)


def _is_memory(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType)
