"""How an operation on memory may be cut into units of work, which threads share.

A cut follows from shapes and the machine's row alone, never from the number of threads: so results
are the same bits on one thread and on many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, prod
from typing import Any

from ted.cpu.contraction_plan import PACK_CYCLES, Plan, streams
from ted.cpu.plans import plan_of
from ted.cpu.unit_slices import may_slice
from ted.cpu.work import bytes_of, cycles, most_trips, trips
from ted.forking import cached_property
from ted.linalg.contractions import ELEMENT_BYTES, MARK, recognise
from ted.linalg.loops import PARALLEL, PARALLEL_INSIDE
from ted.linalg.strided_contractions import classify, swap_inputs
from ted.linalg.transposes import tile_side, transposed_accesses
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.combining import combiners
from ted.mlir.generic import Generic, generic_of
from ted.mlir.queries import constant_of, defining, is_inside, operands_inside, operations
from ted.mlir.strategies import Declined
from ted.records import dataclass

# More units than cores hide that some take longer; each costs some 100 ns.
MOST_UNITS = 256
# As many keep a large machine busy; where a loop has fewer points, another one is looked for.
ENOUGH_UNITS = 16
# Neighbours in memory that stay in one unit: cache lines are not shared, registers are full.
RUN = 64
# Partial sums of a unit must be made of so many points each.
POINTS_PER_PARTIAL = 16
# Of buffers that each thread has for itself; rows are shorter.
MOST_PRIVATE_BYTES = 1 << 24
# What packing a panel costs for the rows of one unit, by what their products cost.
PACKING_SHARE = 1 / 20
_NO_LOOP = "it is no loop yet, but an operation, which slices and partial sums cut"
_REPEATED = "a loop around it adds to the same results"
Outline = Callable[[ir.Operation, int], None]


@dataclass(frozen=True, eq=False)
class Site:
    """An operation, the fills right before it of what it adds to, and the CPU.

    `outline` makes functions of a loop over so many units. `loop` repeats the operation on the same
    results: each unit runs all of it, on its part.
    """

    op: ir.Operation
    fills: tuple[ir.Operation, ...]
    cpu: Cpu
    outline: Outline
    loop: ir.Operation | None = None

    @property
    def outer(self) -> ir.Operation:
        """All that a unit has a part of."""
        return self.loop or self.op

    @cached_property
    def generic(self) -> Generic | None:
        """The view of a `linalg.generic` with constant extents."""
        found = generic_of(self.op)
        return None if found is None or found.extents is None else found

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the loops of a generic, or the memory that is filled."""
        if self.op.name == "linalg.fill":
            kind = ir.MemRefType(self.op.operands[1].type)
            return tuple(kind.shape) if kind.has_static_shape else ()
        return self.generic.extents or () if self.generic else ()

    @cached_property
    def units(self) -> int:
        """Units of a grain each, by the estimated time of the operation."""
        return units_of(cycles(self.outer, self.cpu), self.cpu)

    def if_long(self, plan: Any) -> Any:
        """The plan; only where somebody asks for it, when it is too short for two threads."""
        reason = f"it takes less than two units of {self.cpu.grain_cycles} cycles"
        return plan if self.units >= 2 else Declined(reason, plan)


@dataclass(frozen=True)
class Cut:
    """Units of `size` points of one loop; the last one may have fewer."""

    loop: int
    size: int


@dataclass(frozen=True)
class Columns:
    """Units of `size` iterations of the parallel loop inside of a loop, which all run whole."""

    size: int


@dataclass(frozen=True)
class Iterations:
    """Units of `size` iterations, of this loop alone or together with the one nested in it."""

    size: int
    nested: bool = False


def slices(site: Site) -> Any:
    """Parts of the results: a range of a loop along which every result moves."""
    if not site.extents:
        return Declined("it is no linalg.generic of constant extents")
    loops = [*_loops(site)]
    cuts = [
        Cut(loop, size)
        for loop, multiple in loops
        if (size := unit_size(site.extents[loop], multiple, site.units))
    ]
    if not cuts:
        reason = "no loop along which all results move has points for two units"
        return Declined(reason, Cut(loops[0][0], 1) if loops else None)
    counts = [ceil(site.extents[cut.loop] / cut.size) for cut in cuts]
    enough = [n >= min(site.units, ENOUGH_UNITS) for n in counts]
    best = enough.index(True) if any(enough) else counts.index(max(counts))
    return site.if_long(cuts[best])


def check_slices(site: Site, plan: Cut) -> str | None:
    """The rule that a cut breaks which somebody asked for."""
    return _check(site, plan, [loop for loop, _ in _loops(site)])


def partial_sums(site: Site) -> Any:
    """Sums over a range of a summed loop each, joined in their order."""
    generic = site.generic
    if generic is None or generic.is_map:
        return Declined("it sums nothing over constant extents")
    if site.loop is not None:
        return Declined(_REPEATED)
    joined = combiners(generic)
    if joined is None or not all(_is_wide(c.kind) for c in joined):
        return Declined("partial results are not joined by one operation on wide numbers")
    loops = _summed(generic)
    if not loops:
        return Declined("no operand moves along a summed loop by equal steps")
    loop = max(loops, key=lambda k: (site.extents[k] >= RUN, -k))
    kept = prod(n for n, r in zip(site.extents, generic.reductions, strict=True) if not r)
    most = prod(site.extents) // max(1, kept * POINTS_PER_PARTIAL)
    multiple = RUN if loop == generic.rank - 1 else 1
    size = unit_size(site.extents[loop], multiple, min(site.units, most)) if most > 1 else 0
    if not size:
        return Declined("partial results would be too many", Cut(loop, 1))
    return site.if_long(Cut(loop, size))


def check_partial_sums(site: Site, plan: Cut) -> str | None:
    """The rule that a cut breaks which somebody asked for."""
    assert site.generic is not None, "the row matched"
    if site.loop is not None:
        return _REPEATED
    return _check(site, plan, _summed(site.generic))


def iterations(site: Site) -> Any:
    """Iterations of a loop that touch different elements."""
    if site.op.name != "scf.for":
        return Declined(_NO_LOOP)
    if PARALLEL not in site.op.attributes or len(site.op.results):
        return Declined("it is no loop whose iterations are known to be apart")
    most = most_trips(site.op)
    if most is None or constant_of(site.op.operands[2]) != 1:
        return Declined("nothing is known of its bounds, or its steps are no ones")
    own = own_memory(site.op)
    if any(op.block != site.op.block for op in own):
        return Declined("memory that only it uses may keep a state over a loop around it")
    if sum(bytes_of(op.results[0].type) for op in own) > MOST_PRIVATE_BYTES:
        return Declined(f"a thread would have more than {MOST_PRIVATE_BYTES} bytes for itself")
    inner = nested_loop(site.op)
    nested = inner is not None and counts_up(site.op) and most < ENOUGH_UNITS
    count = most * (trips(inner) if nested and inner is not None else 1)
    size = unit_size(count, 1, site.units)
    return site.if_long(Iterations(size, nested)) if size else Declined("it runs once at most")


def check_iterations(site: Site, plan: Iterations) -> str | None:
    """The rule that iterations break which somebody asked for."""
    if plan.nested and (nested_loop(site.op) is None or not counts_up(site.op)):
        return "nested needs a parallel loop that is all that the loop does, and constant bounds"
    return None if plan.size >= 1 else "size is 1 or more"


def columns(site: Site) -> Any:
    """Strips of the parallel loop inside of a loop that is none: each runs the whole outer loop."""
    if site.op.name != "scf.for":
        return Declined(_NO_LOOP)
    if PARALLEL_INSIDE not in site.op.attributes:
        return Declined("it is no loop around one that is parallel whatever it does")
    inner = nested_loop(site.op)
    if inner is None or len(site.op.results):
        return Declined("it does more than that loop, or its bounds are not constant")
    if own_memory(site.op):
        return Declined("all that runs would share memory that only it uses")
    if _written(inner) <= site.cpu.second_cache.size:
        return Declined(
            "what it writes stays in the second cache, where strips cost more", Columns(1)
        )
    rows = [o for o in inner.regions[0].blocks[0].operations if o.operation.name == "scf.for"]
    size = unit_size(trips(inner), 1 if rows else RUN, site.units)
    if not size:
        return Declined(f"the loop inside has no two strips of {RUN}", Columns(1))
    return site.if_long(Columns(size))


def _written(loop: ir.Operation) -> int:
    """Bytes of the largest memory that a loop writes to."""
    stores = operations(loop, "memref.store")
    return max((bytes_of(store.operands[1].type) for store in stores), default=0)


def check_columns(_: Site, plan: Columns) -> str | None:
    """The rule that columns break which somebody asked for."""
    return None if plan.size >= 1 else "size is 1 or more"


def own_memory(loop: ir.Operation) -> list[ir.Operation]:
    """What makes memory outside of a loop that only the loop uses, in the order of its uses.

    Iterations that are apart have no need to share it.
    """
    roots = (root(v) for v in operands_inside(loop) if isinstance(v.type, ir.MemRefType))
    makers = (defining(v, "memref.alloc", "memref.alloca") for v in roots)
    found = dict.fromkeys(op for op in makers if op is not None and not is_inside(op, loop))
    return [op for op in found if _is_used_in(op, loop)]


def _is_used_in(op: ir.Operation, loop: ir.Operation) -> bool:
    return all(
        is_inside(user, loop)
        or user.name == "memref.dealloc"
        or (user.name in VIEWS and _is_used_in(user, loop))
        for user in (use.owner.operation for use in op.results[0].uses)
    )


def nested_loop(loop: ir.Operation) -> ir.Operation | None:
    """The parallel loop that is all that a loop does, if its bounds are constant."""
    body = [o.operation for o in loop.regions[0].blocks[0].operations]
    loops = [o for o in body if o.name == "scf.for"]
    rest = [o for o in body if o.name not in ("scf.for", "scf.yield", "arith.constant")]
    if len(loops) != 1 or rest or PARALLEL not in loops[0].attributes or len(loops[0].results):
        return None
    return loops[0] if counts_up(loops[0]) else None


def _check(site: Site, plan: Cut, loops: list[int]) -> str | None:
    if plan.loop not in loops:
        return f"loop is one of {loops}"
    return None if plan.size >= 1 else "size is 1 or more"


def counts_up(loop: ir.Operation) -> bool:
    """Whether a loop runs from 0 to a constant, one by one."""
    lower, upper, step = (constant_of(v) for v in list(loop.operands)[:3])
    return lower == 0 and step == 1 and upper is not None


def units_of(work: float, cpu: Cpu) -> int:
    """Units of a grain each in so many cycles."""
    return min(MOST_UNITS, int(work / cpu.grain_cycles))


def unit_size(extent: int, multiple: int, wanted: int) -> int:
    """Of about so many equal units, each but the last a multiple; 0 where there are not two."""
    least = ceil(ceil(extent / max(wanted, 2)) / multiple) * multiple
    even = [n for n in range(least, 2 * least, multiple) if extent % n == 0]
    size = even[0] if even else least
    return size if size < extent else 0


def _summed(generic: Generic) -> list[int]:
    """The loops along which no result moves, and all operands by equal steps."""
    moving = dims_used(*(e for m in generic.maps[generic.count_inputs :] for e in m.results))
    return [
        k
        for k, reduction in enumerate(generic.reductions)
        if reduction and k not in moving and may_slice(generic, k)
    ]


def _is_subscript(loop: int, amap: ir.AffineMap) -> bool:
    """Whether a loop is one subscript by itself: parts neither meet nor leave gaps."""
    users = [e for e in amap.results if loop in dims_used(e)]
    return len(users) == 1 and isinstance(users[0], ir.AffineDimExpr)


def _loops(site: Site) -> Iterator[tuple[int, int]]:
    """The loops along which all results move, the best first, and of what sizes are multiples."""
    generic = site.generic
    if generic is None:
        last = len(site.extents) - 1
        yield from ((k, RUN if k == last else 1) for k in range(last + 1))
        return
    outputs = generic.maps[generic.count_inputs :]
    apart = [
        k
        for k, reduction in enumerate(generic.reductions)
        if not reduction and all(_is_subscript(k, m) for m in outputs) and may_slice(generic, k)
    ]
    if MARK in site.op.attributes:
        yield from _of_contraction(site, apart)
        return
    runs = {d for m in outputs if len(m.results) for d in dims_used(list(m.results)[-1])}
    last = max((k for k, r in enumerate(generic.reductions) if not r), default=-1)
    turned = transposed_accesses(site.op, site.cpu)
    side = tile_side(site.op, turned, site.cpu) if turned else 1
    sides = dict.fromkeys((read.along for read in turned), side)
    yield from ((k, RUN if k == last and k in runs else sides.get(k, 1)) for k in apart)


def _of_contraction(site: Site, apart: list[int]) -> Iterator[tuple[int, int]]:
    """Batches, then columns, whose panels are packed once, then rows; by strides in the result."""
    found = recognise(site.op)
    strided = None if found is None else found.strided()
    plan = None
    if found is not None and strided is not None:
        plan = plan_of(found, strided[0], site.cpu)
    if found is None or strided is None or plan is None:
        yield from ((k, 1) for k in apart)
        return
    dims = strided[0]
    batch, columns, rows = range(3)

    def role(loop: int) -> tuple[int, int]:
        dim = dims[loop]
        a, b = (dim.b, dim.a) if plan.swapped else (dim.a, dim.b)
        return (batch if bool(a) == bool(b) else columns if b else rows, -dim.c)

    def multiple(loop: int) -> int:
        kind, step = role(loop)
        if kind == columns and -step == plan.lane_dim.c:
            return plan.tile_vectors * plan.lanes
        if kind == rows:
            together = prod(d.extent for d in (*plan.rows, plan.row_dim)) // dims[loop].extent
            tile = plan.tile_rows if -step == plan.row_dim.c else 1
            return ceil(max(1, _rows_per_packing(plan) / together) / tile) * tile
        return 1

    sides = classify(swap_inputs(dims) if plan.swapped else dims)
    in_rows = streams(sides, plan.row_dim, ELEMENT_BYTES[str(found.element)], site.cpu)
    wanted = [k for k in apart if not in_rows or role(k)[0] != columns]
    yield from ((k, multiple(k)) for k in sorted(wanted, key=role))


def _rows_per_packing(plan: Plan) -> float:
    """Rows of one unit, whose products for each packed element take two registers a cycle."""
    return 2 * plan.lanes * PACK_CYCLES[plan.pack_b] / PACKING_SHARE


def _is_wide(kind: ir.Type) -> bool:
    if isinstance(kind, ir.IntegerType):
        return ir.IntegerType(kind).width >= 32
    return isinstance(kind, ir.F32Type | ir.F64Type)
