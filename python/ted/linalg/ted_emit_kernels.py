"""Functions of equations -> loops and operations of linalg on memory: the pass `ted-emit-kernels`.

Before: `%m = "ted.compute"(%x, %init)`, a maximum of each row, and one that reads it at its row
After: `scf.for %i`, in which `linalg.generic` on row %i of memory writes and reads a row of `%m`

No tensor is left, so that nothing below has to find out what may lie where: `memory_places.py`
knows it from equations. Which of them share a loop is found by `kernel_strategies.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ted.linalg.borders import hulls_of
from ted.linalg.branches import lower_with_branches
from ted.linalg.equation_groups import EQUATION, SCAN, read_inside, short, short_shape, top_of
from ted.linalg.generics import filled
from ted.linalg.joined_maps import joined
from ted.linalg.kernel_proofs import check_reads, check_steps, is_at_row
from ted.linalg.kernel_strategies import decide, erase
from ted.linalg.kernel_totals import begun_total, end_total, row_of, total_at_row
from ted.linalg.kernels import Kernel
from ted.linalg.leaving import declare_condition
from ted.linalg.loops import PARALLEL, TOTAL
from ted.linalg.memory_places import Places, take_over
from ted.linalg.padding import Paddings
from ted.linalg.results_in_memory import check_results, set_type, taken_over
from ted.linalg.rolling_buffers import Beginning, beginning, slices_shape, written
from ted.linalg.scan_strategies import Site, plan_scan, windows_of
from ted.linalg.signs import drop_signs
from ted.linalg.sliced_dims import in_block, with_counters, write_at
from ted.linalg.storage_folding import Window
from ted.linalg.strategies import lower_equation
from ted.linalg.subdomain import TESTED_AHEAD, Start, Subdomain, from_compute
from ted.linalg.ted_check_sizes import check_is_static
from ted.linalg.unit_dims import expand, reshaped, without_unit_iterations
from ted.machine import DEFAULT, Cpu, named_cpu
from ted.mlir import func, ir
from ted.mlir.aliasing import whole
from ted.mlir.queries import defining, functions, operations, terminator
from ted.mlir.scalars import affine_value, element_type, index, shape_of
from ted.mlir.storage import forall, loop, part
from ted.mlir.strategies import FORM, Choice, check_is_seen
from ted.records import dataclass

_TENSORS = ("tensor.empty", "linalg.fill", "arith.constant", "ted.stop_gradient")


@dataclass(frozen=True)
class TedEmitKernels:
    """Replace functions of equations by kernels on memory. `cpu` is a row of `ted.machine.CPUS`.

    `gpu`: for a GPU, which makes rows at once, and tests nothing in front of them; `cpu` then only
    says what is read across rows.
    """

    cpu: str = DEFAULT
    gpu: bool = False

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: ScheduleError for a `ted.form` that does not fit, PassFailed for results that are
        no tensors of static size.
        """
        cpu = named_cpu(self.cpu)
        found = [f for f in functions(module) if _is_of_equations(f)]
        if not found:
            return  # somebody's operations on tensors, which others lower
        drop_signs(module)
        with module.context:
            for function in found:
                equations = operations(function.operation, EQUATION, SCAN)
                check_is_seen(function.operation, set(equations), FORM)
                for op in () if self.gpu else equations:
                    op.attributes[TESTED_AHEAD] = ir.UnitAttr.get()
                _Emission(function, cpu, self.gpu).run()
        declare_condition(module.operation)


def _is_of_equations(function: func.FuncOp) -> bool:
    known = (*_TENSORS, "tensor.bitcast", EQUATION, SCAN, "func.return", "ted.size")
    return all(view.operation.name in known for view in function.entry_block.operations)


class _Emission:
    """One function."""

    def __init__(self, function: func.FuncOp, cpu: Cpu, gpu: bool) -> None:
        self.function, self.block = function, function.entry_block
        self.end = terminator(self.block)
        self.results = list(self.end.operands)
        check_results(function, self.end, "ted-emit-kernels")
        self.scans = {
            op: plan_scan(op, 0 if gpu else cpu.chains, branches=not gpu)
            for op in (view.operation for view in self.block.operations)
            if op.name == SCAN
        }
        for site, choice in self.scans.values():
            for k, window in windows_of(site, choice).items():
                result = site.op.results[k]
                shape = slices_shape(window, shape_of(result))
                result.set_type(ir.RankedTensorType.get(shape, element_type(result)))
        self.places = Places(function, self.results)
        self.gpu = gpu
        decisions = decide(self.block, cpu, gpu)
        erase(decisions)
        self.kernels = decisions.kernels
        if not gpu:  # whose threads test conditions
            self.places.put_inside(hulls_of(decisions.padded))
        self.paddings = Paddings(scattered=not gpu, borders=self.places.borders)
        self._written: dict[ir.Value, ir.Value | None] = {}  # by the kernel that is emitted
        self._depth = 0

    def run(self) -> None:
        """Rewrite the function."""
        places, arguments = self.places, list(self.block.arguments)
        taken = taken_over(self.function)
        for k, argument in enumerate(arguments):
            if k not in taken:
                own = self.block.add_argument(_memory_type(argument), argument.location)
                if isinstance(argument.type, ir.RankedTensorType):
                    if 0 not in shape_of(argument):
                        places.memory[argument] = own
                else:
                    argument.replace_all_uses_with(own)
        outs = [self.block.add_argument(_memory_type(r), r.location) for r in self.results]
        copies = places.give(outs)
        take_over(places, taken, outs, self.kernels)
        for kernel in self.kernels:
            place = kernel.place
            with ir.InsertionPoint(place), place.location:
                if place in self.scans:
                    self._scan(*self.scans[place])
                elif kernel.is_of_points:
                    self._points(kernel)
                else:
                    self._kernel(kernel)
        with ir.InsertionPoint(self.end), self.end.location:
            for source, out in copies:
                fill = defining(places.named(source), "linalg.fill")
                if fill is not None:
                    filled(out, fill.operands[0])
                elif places.of(source) != out:
                    places.copy(source, out)
            func.ReturnOp([])
        self._erase(len(arguments))
        set_type(self.function)

    def _erase(self, arguments: int) -> None:
        """What was on tensors goes."""
        for op in reversed([view.operation for view in self.block.operations]):
            is_tensor = len(op.results) and isinstance(op.results[0].type, ir.RankedTensorType)
            if op == self.end or is_tensor:
                assert op.name != "scf.for", "a loop on memory carries no tensor"
                op.erase()
        for start in reversed(operations(self.function, "tensor.empty", "linalg.fill")):
            if len(start.results):  # in a loop: of what nobody reads
                start.erase()
        for _ in range(arguments):
            self.block.erase_argument(0)

    def _kernel(self, kernel: Kernel) -> None:
        # Rows of a GPU are made at once: what stays in one is cut down to it later.
        inside = set[ir.Value]() if self.gpu else set(kernel.inside)
        for op in (*kernel.members, *kernel.totals):
            for result in op.results:
                check_is_static(result)
                with result.location:
                    self.places.begin(result, kernel.blocks if result in inside else ())
        self._depth = len(kernel.blocks)
        self._written = self._whole(kernel.members) | self._of_totals(kernel)
        self.paddings.forget(self._written)
        if kernel.blocks and self.gpu:
            forall(kernel.extents, lambda at: self._turn(kernel, at))
            return
        if kernel.blocks:
            totals = {op: begun_total(op, self.places) for op in kernel.totals}
            self._loops(kernel, totals, [])
            for op, total in totals.items():
                end_total(op, total, self.places)
            return
        for op in kernel.members:
            with op.location:
                if self.gpu:  # whose threads test choices
                    lower_equation(self._on_memory(op), self.paddings)
                else:
                    lower_with_branches(op, self.paddings, self._on_memory)

    def _points(self, kernel: Kernel) -> None:
        """Maps over the same points, which are one equation with their results."""
        op, results = joined(kernel)
        for result in results:
            check_is_static(result)
            with result.location:
                self.places.begin(result)
        self._depth = 0
        self._written = self._whole(kernel.members)
        self.paddings.forget(self._written)
        with op.location:
            lower_equation(self._on_memory(op, results=results), self.paddings)
        op.erase()  # it may stand in front of what it uses

    def _whole(self, members: Sequence[ir.Operation]) -> dict[ir.Value, ir.Value | None]:
        """The memory that equations write, but for that of a turn alone: the view by which it is
        written at the row of a turn, None where it is at other places."""
        places, found = self.places, dict[ir.Value, ir.Value | None]()
        for result in (r for op in members for r in op.results):
            memory = places.memory.get(result)
            if memory is not None and not places.rows[result]:
                before = found.get(whole(memory), memory)
                is_row = not self._depth or self._is_at_row(result)
                is_alike = is_row and before is not None and before == memory
                found[whole(memory)] = memory if is_alike else None
        return found

    def _is_at_row(self, result: ir.OpResult) -> bool:
        write = without_unit_iterations(from_compute(result.owner.operation)).write
        return is_at_row(short(write, result), range(self._depth))

    def _of_totals(self, kernel: Kernel) -> dict[ir.Value, ir.Value | None]:
        """The memory that every turn of a kernel changes."""
        results = (r for op in kernel.totals for r in op.results)
        return {whole(self.places.memory[r]): None for r in results}

    def _scan(self, site: Site, choice: Choice) -> None:
        """A recurrence, whose histories lie in memory unless only slices of them are kept."""
        op, places, windows = site.op, self.places, windows_of(site, choice)
        read = read_inside(op)
        known = {v: places.in_full(v) for v in read}
        for k, (result, init) in enumerate(zip(op.results, list(op.operands), strict=True)):
            start = defining(init, "tensor.empty", "linalg.fill")
            if k in windows or (start is not None and not list(result.uses)):
                if start is None:  # a window only reads it
                    op.operands[k] = places.in_full(init)
                continue
            found = places.begin(result)
            if found is not None and found.value is not None:
                filled(found.memory, found.value)
            places.write(result)
            op.operands[k] = places.in_full(result)
            site.inits[k] = replace(beginning(init, on_memory=True), value=op.operands[k])
        site.inits.update(self._given_windows(op, windows))
        self._depth = 0
        written_here = self._whole([op])
        self.paddings.forget(written_here)
        check_steps([places.of(v) for v in read], written_here, op.location)
        if site.steps is not None:
            site.steps.body.inits = list(op.operands)
        site.known, site.on_memory = known, True
        choice.row.emit(site, choice.plan)
        for k, final in enumerate(site.results):
            if k in windows and list(op.results[k].uses):
                wanted = site.inits[k].window if k in site.inits else None
                places.put(op.results[k], written(final, wanted) if wanted is not None else final)

    def _given_windows(
        self, op: ir.Operation, windows: Mapping[int, Window]
    ) -> dict[int, Beginning]:  # fmt: skip
        """Where the caller wants the slices that are kept."""
        found: dict[int, Beginning] = {}
        for k, window in windows.items():
            memory = self.places.given.get(op.results[k])
            if memory is not None and window.is_carried:
                if list(shape_of(memory)) != short_shape(op.results[k]):
                    memory = reshaped(memory, short_shape(op.results[k]))
                lies = expand(memory, op.results[k].type)
                found[k] = replace(beginning(op.operands[k], on_memory=True), window=lies)
        return found

    def _loops(
        self, kernel: Kernel, totals: Mapping[ir.Operation, ir.Value], at: list[ir.Value]
    ) -> None:
        if len(at) == len(kernel.blocks):
            self._turn(kernel, at)
            return

        def turn(now: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            self._loops(kernel, {}, [*at, now])
            for op, total in totals.items():
                row = row_of(op)
                whole = with_counters(self._on_memory(op, [row]), {row: now})
                _lower(op, total_at_row(whole, total, now), Paddings(scattered=True))
            return carried

        blocks = kernel.extents[len(at)] // kernel.blocks[len(at)]
        made, _ = loop((index(0), index(blocks)), index(1), [], turn)
        if totals:
            made.attributes[TOTAL] = ir.IntegerAttr.get(ir.IndexType.get(), len(totals))
        else:
            made.attributes[PARALLEL] = ir.UnitAttr.get()

    def _turn(self, kernel: Kernel, at: Sequence[ir.Value]) -> None:
        """All members in a block."""
        loops = top_of(ir.InsertionPoint.current.block.owner.operation, self.block)
        made = frozenset(self.places.memory[r] for op in kernel.members for r in op.results)
        paddings = Paddings(scattered=not self.gpu, in_front=loops, of_turns=made)
        for op in kernel.members:
            with op.location:
                subdomain = self._at_block(op, kernel, at)
            _lower(op, subdomain, paddings)

    def _at_block(self, op: ir.Operation, kernel: Kernel, at: Sequence[ir.Value]) -> Subdomain:
        """An equation in a block."""
        whole, sizes = with_counters(self._on_memory(op), dict(enumerate(at))), kernel.blocks
        kept = sum(size > 1 for size in sizes)
        if kept or any(self.places.rows[result] for result in op.results):
            write = whole.write[len(at) :]
            parts = [
                memory if self.places.rows[result] else _block(memory, sizes, at)
                for result, memory in zip(op.results, whole.inits, strict=True)
            ]
        else:
            parts, write = write_at(whole, at)
        pairs = zip(whole.starts, parts, strict=True)
        starts = tuple(start and replace(start, memory=part) for start, part in pairs)
        subdomain = replace(whole, write=write, inits=tuple(parts), starts=starts)
        subdomain = in_block(subdomain, at, sizes)
        own = tuple(ir.AffineExpr.get_dim(k) for k in range(kept))
        reads = tuple(
            read and replace(read, subscripts=(*own, *read.subscripts))
            if read and self.places.rows_of(op.operands[k]) else read
            for k, read in enumerate(subdomain.reads)
        )  # fmt: skip
        return replace(subdomain, write=(*own, *subdomain.write), reads=reads)

    def _on_memory(
        self, op: ir.Operation, rows: Sequence[int] | None = None,
        results: Sequence[ir.Value] | None = None,
    ) -> Subdomain:  # fmt: skip
        """An equation of memory without unit dims; loops count its `rows`, or its first dims.
        `results` are those whose memory it writes, if not its own."""
        results = list(op.results) if results is None else results
        places = self.places
        at_data: list[ir.Value] = []
        for inner in (view.operation for view in op.regions[0].blocks[0].operations):
            for k, value in enumerate(inner.operands):
                if isinstance(value.type, ir.RankedTensorType):
                    inner.operands[k] = places.in_full(value)
                    at_data.append(places.of(value))
        subdomain = from_compute(op)
        starts: list[Start | None] = [places.starts[r] for r in results]
        shape = shape_of(results[0])
        if subdomain.is_empty or 0 in shape:
            inits = tuple(map(places.write, results))
            return replace(subdomain, inits=inits, starts=tuple(starts))
        write = tuple(e for e, n in zip(subdomain.write, shape, strict=True) if n != 1)
        on_memory = replace(
            subdomain,
            reads=tuple(r and places.read(r) for r in subdomain.reads),
            write=write,
            inits=tuple(map(places.write, results)),
            starts=tuple(starts),
        )
        short = without_unit_iterations(on_memory)
        rows = range(self._depth) if rows is None else rows
        check_reads(short, at_data, self._written, rows)
        return short


def _lower(op: ir.Operation, subdomain: Subdomain, paddings: Paddings) -> None:
    """An equation in a turn, whose body may be a copy of its own."""
    with op.location:
        lower_equation(subdomain, paddings)
    copy = subdomain.body.owner.operation
    if copy != op:
        copy.erase()


def _block(memory: ir.Value, sizes: Sequence[int], at: Sequence[ir.Value]) -> ir.Value:
    """The elements of a result in a block; dims of one point are left out."""
    shape, count = list(shape_of(memory)), len(sizes)
    kept = [k for k in range(len(shape)) if k >= count or sizes[k] > 1]
    first = [_first(now, size) for now, size in zip(at, sizes, strict=True)]
    rest = shape[count:]
    return part(memory, [*first, *[0] * len(rest)], [*sizes, *rest], [1] * len(shape), kept)


def _first(block: ir.Value, size: int) -> ir.Value:
    """The first point of a block."""
    return affine_value(ir.AffineExpr.get_dim(0) * size, [block])


def _memory_type(value: ir.Value) -> ir.Type:
    """Memory has no unit dims; a pointer to nothing is one to an element."""
    if not isinstance(value.type, ir.RankedTensorType):
        return value.type
    shape = [] if 0 in shape_of(value) else short_shape(value)
    return ir.MemRefType.get(shape, element_type(value))
