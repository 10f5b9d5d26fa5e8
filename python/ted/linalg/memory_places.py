"""Where each tensor of a function lies: in memory of the caller, of its own, or of a row.

A tensor has memory from its first equation on, and what goes on from it lies there, too, unless
somebody else reads it as it was. A result lies where the caller wants it; an argument that is taken
over lies there until the first equation of that result, where all that reads it is done before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ted.errors import PassFailed
from ted.linalg.borders import inside_of_zeros
from ted.linalg.contractions import dense_strides
from ted.linalg.equation_groups import (
    EQUATION,
    SCAN,
    goes_on,
    in_place,
    init_of,
    short,
    short_shape,
    top_of,
)
from ted.linalg.generics import filled
from ted.linalg.kernel_proofs import is_at_row
from ted.linalg.kernels import Kernel
from ted.linalg.padding import Hull
from ted.linalg.subdomain import Read, Start, from_compute
from ted.linalg.unit_dims import collapse, expand, reshaped, without_unit_iterations
from ted.mlir import func, ir, memref
from ted.mlir.aliasing import whole
from ted.mlir.locations import user_name
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, shape_of
from ted.mlir.storage import allocated, is_dense, saved


class Places:
    """The memory of the tensors of a function; all that is asked of uses is found at first."""

    def __init__(self, function: func.FuncOp, results: Sequence[ir.Value]) -> None:
        block = function.entry_block
        self.block = block
        self.memory: dict[ir.Value, ir.Value] = {}
        self.rows: dict[ir.Value, int] = {}  # how many leading dims memory lacks
        self.starts: dict[ir.Value, Start | None] = {}
        self.given: dict[ir.Value, ir.Value] = {}
        self._goes_on = {
            result: goes_on(result)
            for view in block.operations
            if view.operation.name in (EQUATION, SCAN)
            for result in view.operation.results
        }
        self.results = results
        copies = {r: copy for r in self._goes_on if (copy := in_place(r)) is not None}
        self.names = {r: copy.source for r, copy in copies.items() if copy.is_all}
        self.fronts = {copy.source: r for r, copy in copies.items() if not copy.is_all}
        for op in (view.operation for view in block.operations):
            if op.name == "ted.stop_gradient":
                self.names[op.results[0]] = op.operands[0]
        self._held: dict[ir.Value, ir.Value] = {}  # whose elements memory has now
        self._hulls: dict[ir.Value, Hull] = {}  # of the first results in memory inside of zeros
        self.borders: dict[ir.Value, Hull] = {}  # that memory

    def first_of(self, value: ir.Value) -> ir.Value | None:
        """The result with which the memory of a value begins; None for one that is not computed."""
        found, value = None, self.named(value)
        while value in self._goes_on:
            found = value
            if not self._goes_on[value]:
                break
            value = self.named(init_of(value))
        return found

    def give(self, outs: Sequence[ir.Value]) -> list[tuple[ir.Value, ir.Value]]:
        """Let results lie where the caller wants them; those that must be copied in the end."""
        copies = []
        for result, out in zip(self.results, outs, strict=True):
            if 0 in shape_of(result):
                continue
            first = self.first_of(result)
            if first is None or first in self.given:
                copies.append((result, out))
            else:
                self.given[first] = out
        return copies

    def put_inside(self, hulls: Mapping[ir.Value, Hull]) -> None:
        """Let tensors lie inside of zeros, but for those that are others of another shape as well,
        or have a history in front: these need all elements one behind the other."""
        dense = {self.first_of(v) for v in self.fronts.values()}
        for value, hull in hulls.items():
            first, shape = self.first_of(value), shape_of(value)
            pairs = list(zip(hull, shape, strict=True))
            is_alike = first is not None and short_shape(first) == short_shape(value)
            is_flat = all(ends == (0, 0) for ends, n in pairs if n == 1)
            if first is not None and is_alike and is_flat and first not in dense:
                self._hulls[first] = [ends for ends, n in pairs if n != 1]

    def begin(self, result: ir.Value, blocks: Sequence[int] = ()) -> Start | None:
        """Give a result memory here, of a block of its leading dims; what it begins as, None if it
        goes on."""
        init = init_of(result)
        if self._goes_on[result]:
            before = self.named(init)
            self.memory[result], self.rows[result] = self.memory[before], self.rows[before]
            self.starts[result] = None
            return None
        memory = self.given.get(result)
        if result in self.fronts:
            self.begin(self.fronts[result])
            memory = _front(self.memory[self.fronts[result]], short_shape(result))
        elif memory is None:
            shape = [n for n in blocks if n > 1] + short_shape(result)[len(blocks) :]
            hull, kind = self._hulls.get(result), element_type(result)
            if hull is None or blocks:
                memory = allocated(shape, kind)
            else:
                memory = inside_of_zeros(hull, shape, kind)
                self.borders[memory] = hull
        elif list(shape_of(memory)) != short_shape(result):
            memory = reshaped(memory, short_shape(result))
        self.memory[result], self.rows[result] = memory, len(blocks)
        self.starts[result] = self._start(init, memory)
        return self.starts[result]

    def _start(self, init: ir.Value, memory: ir.Value) -> Start | None:
        start = defining(init, "tensor.empty", "linalg.fill")
        if start is not None:
            return Start(memory, start.operands[0] if start.name == "linalg.fill" else None)
        if 0 not in shape_of(init) and self.of(init) != memory:
            self.copy(init, memory)
        return None

    def copy(self, value: ir.Value, memory: ir.Value) -> None:
        """Copy a tensor to memory, which has it from here on."""
        memref.CopyOp(self.of(value), memory)
        self._held[whole(memory)] = self.named(value)

    def named(self, value: ir.Value) -> ir.Value:
        """The tensor that one is another name of."""
        while value in self.names:
            value = self.names[value]
        return value

    def write(self, result: ir.Value) -> ir.Value:
        """The memory of a result, which has its elements from here on.

        Raises: PassFailed if what it goes on from is not there any more.
        """
        memory = self.memory[result]
        if self._goes_on.get(result):
            self._check(memory, self.named(init_of(result)))
        self._held[whole(memory)] = result
        return memory

    def of(self, value: ir.Value) -> ir.Value:
        """The memory of a tensor, without unit dims.

        Raises: PassFailed if another one has been written there.
        """
        source = self.named(value)
        if source not in self.memory:
            self.memory[source] = self._made(source)
        memory = self.memory[source]
        self._check(memory, source)
        is_reshaped = source != value and list(shape_of(memory)) != short_shape(value)
        return reshaped(memory, short_shape(value)) if is_reshaped else memory

    def _check(self, memory: ir.Value, value: ir.Value) -> None:
        """A proof of what was decided: memory has what is read."""
        held = self._held.setdefault(whole(memory), value)
        if held != value:
            was, now = (user_name(v.owner.location) if isinstance(v, ir.OpResult) else str(v)
                        for v in (value, held))  # fmt: skip
            raise PassFailed(
                f"ted-emit-kernels: memory has what is read from it, got {now} written over {was}"
            )

    def _made(self, value: ir.Value) -> ir.Value:
        """What is no equation: a constant, or the same everywhere."""
        op = defining(value, "arith.constant", "tensor.empty", "linalg.fill")
        here = ir.InsertionPoint.at_block_begin(self.block) if op is None else ir.InsertionPoint(op)
        with here, value.location:
            if 0 in shape_of(value):
                return allocated(shape_of(value), element_type(value))
            assert op is not None, "a tensor has been computed before it is read"
            if op.name == "arith.constant":
                return _constant(op)
            memory = allocated(short_shape(value), element_type(value))
            return filled(memory, op.operands[0]) if op.name == "linalg.fill" else memory

    def in_full(self, value: ir.Value) -> ir.Value:
        """The memory of a tensor with all of its dims."""
        memory = self.of(value)
        return memory if shape_of(memory) == shape_of(value) else expand(memory, value.type)

    def put(self, result: ir.Value, memory: ir.Value) -> None:
        """Say where a result lies that has been made elsewhere."""
        self.memory[result], self.rows[result] = collapse(memory), 0

    def rows_of(self, value: ir.Value) -> int:
        """How many leading dims the memory of a tensor lacks, or has for a block alone."""
        return self.rows.get(self.named(value), 0)

    def read(self, read: Read) -> Read | None:
        """The read, of memory; None where there is nothing to read."""
        shape = shape_of(read.tensor)
        if 0 in shape:
            return None
        subscripts = [e for e, n in zip(read.subscripts, shape, strict=True) if n != 1]
        rows = self.rows_of(read.tensor)
        memory = self.of(read.tensor)
        return Read(memory, tuple(subscripts[rows:]), read.guard)


def _front(memory: ir.Value, shape: Sequence[int]) -> ir.Value:
    """The first elements of dense memory, with a shape of their own."""
    assert is_dense(memory), "what has a history in front lies nowhere inside of others"
    kind = ir.MemRefType.get(list(shape), element_type(memory))
    strides = dense_strides(shape)
    return memref.ReinterpretCastOp(kind, memory, [], [], [], [0], list(shape), strides).result


def _constant(op: ir.Operation) -> ir.Value:
    """The elements of a constant in memory that is part of the program."""
    module = op
    while module.parent is not None:
        module = module.parent.operation
    body = module.regions[0].blocks[0]
    value = ir.DenseElementsAttr(op.attributes["value"])
    shaped = ir.ShapedType(value.type)
    kind = ir.MemRefType.get(list(shaped.shape), shaped.element_type)
    known = [o.operation for o in body.operations if o.operation.name == "memref.global"]
    same = (g for g in known if g.attributes["initial_value"] == op.attributes["value"])
    found = next(same, None)
    if found is None:
        names = {ir.StringAttr(g.attributes["sym_name"]).value for g in known}
        name = next(n for k in range(len(names) + 1) if (n := f"__constant_{k}") not in names)
        i64 = ir.IntegerType.get_signless(64)
        with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
            found = memref.GlobalOp(
                name, ir.TypeAttr.get(kind), sym_visibility="private", initial_value=value,
                constant=True, alignment=ir.IntegerAttr.get(i64, 64),
            ).operation  # fmt: skip
    symbol = ir.StringAttr(found.attributes["sym_name"]).value
    return collapse(memref.GetGlobalOp(kind, symbol).result)


def take_over(
    places: Places, taken: Mapping[int, int], outs: Sequence[ir.Value], kernels: Sequence[Kernel]
) -> None:
    """Let arguments lie in the memory of results, or in copies of what is there at first."""
    for number, result in taken.items():
        argument = places.block.arguments[number]
        with ir.InsertionPoint.at_block_begin(places.block), argument.location:
            if 0 in shape_of(argument):
                places.memory[argument] = allocated(short_shape(argument), element_type(argument))
            elif _is_read_before(places, argument, result, kernels):
                places.memory[argument] = outs[result]
                places.of(argument)
            else:
                places.memory[argument] = saved(outs[result])


def _is_read_before(
    places: Places, argument: ir.Value, result: int, kernels: Sequence[Kernel]
) -> bool:
    """Whether all that reads an argument is done when the memory of a result is written."""
    value = places.results[result]
    first = places.first_of(value)
    if first is None or places.given.get(first) is None:
        users = [top_of(use.owner.operation, places.block) for use in argument.uses]
        others = [r for k, r in enumerate(places.results) if k != result]
        return argument not in others and all(u.name != "ted.stop_gradient" for u in users)
    order = {op: (k, kernel) for k, kernel in enumerate(kernels) for op in kernel.equations}
    writer = defining(first)
    if writer is None or writer not in order or writer.name == SCAN:
        return False
    return all(_is_before(use, writer, order, places.block) for use in argument.uses)


def _is_before(
    use: ir.OpOperand, writer: ir.Operation, order: Mapping[ir.Operation, tuple[int, Kernel]],
    block: ir.Block,
) -> bool:  # fmt: skip
    reader = use.owner.operation
    if reader not in order or reader.name == SCAN:  # or a read at data, or the end
        top = top_of(reader, block)
        return top in order and order[top][0] < order[writer][0]
    (mine, kernel), (its, _) = order[reader], order[writer]
    if mine != its:
        return mine < its
    subdomain = without_unit_iterations(from_compute(reader))
    if use.operand_number >= len(subdomain.reads):
        return reader == writer  # which goes on from it
    read = subdomain.reads[use.operand_number]
    if read is None:
        return True
    if reader == writer or kernel.is_of_points:
        inits = map(init_of, writer.results)
        is_kept = all(i == read.tensor or defining(i, "tensor.empty") is not None for i in inits)
        return is_kept and (
            not subdomain.reduction_dims and not subdomain.domain and not read.guard
            and not subdomain.writes_at_data and read.subscripts == subdomain.write
        )  # fmt: skip
    if reader in kernel.totals or writer in kernel.totals:
        return False  # which each turn changes
    members, rows = list(kernel.members), range(len(kernel.blocks))
    written = without_unit_iterations(from_compute(writer)).write
    is_row = is_at_row(short(read.subscripts, read.tensor), rows)
    is_own = is_row and is_at_row(short(written, writer.results[0]), rows)
    return is_own and members.index(reader) < members.index(writer)
