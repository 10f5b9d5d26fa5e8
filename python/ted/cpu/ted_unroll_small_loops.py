"""Innermost loops of few trips -> straight-line code: `ted-unroll-small-loops`.

Before: a window reduction `scf.for %r = 0 to 2` inside a loop over pixels.
After: the window's two points in the body of the pixel loop, which LLVM can then vectorise; it
vectorises innermost loops only.

Rows of a few more points that fill no registers, ten classes say, are unrolled where they are
summed, or gone over several times: ten points are one register and a rest, point by point, but
eight rows of ten points are ten registers.  So are rows of a few registers in which the place of
the greatest is searched for: LLVM vectorises no such loop, but the one over rows.
"""

from __future__ import annotations

from ted.cpu.work import number_bytes
from ted.machine import DEFAULT, Cpu, named_cpu
from ted.mlir import interpreter, ir
from ted.mlir.pass_managers import pass_manager
from ted.mlir.queries import computed_from, operations, trip_count
from ted.records import dataclass

UNROLLED_TRIPS = 8
UNROLLED_ROW = 15
UNROLLED_SEARCH = 24
_MARK = "ted.unroll"


@dataclass(frozen=True)
class TedUnrollSmallLoops:
    """Unroll loops of a constant trip count up to `limit`, as long as the body stays small.

    `row`: and rows of so many points that fill no registers of `cpu`, a row of `ted.machine.CPUS`.
    `search`: and those of so many in which a place is searched for.
    """

    limit: int = UNROLLED_TRIPS
    row: int = UNROLLED_ROW
    search: int = UNROLLED_SEARCH
    largest_body: int = 512
    rounds: int = 6
    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        cpu = named_cpu(self.cpu)
        for _ in range(self.rounds):
            factors = self._mark(module, cpu)
            if not factors:
                return
            _unroll(module, sorted(factors))
            pass_manager("builtin.module(canonicalize,cse)", module.context).run(module.operation)

    def _mark(self, module: ir.Module, cpu: Cpu) -> set[int]:
        factors: set[int] = set()

        def visit(op: ir.Operation) -> ir.WalkResult:
            trips = trip_count(op) if op.name == "scf.for" else None
            most = max(self.limit, self.row, self.search)
            if trips is not None and 2 <= trips <= most and _is_nested(op):
                size = innermost_size(op)
                fits = size is not None and size * trips <= self.largest_body
                if fits and (
                    trips <= self.limit
                    or (trips <= self.row and _is_rest(op, trips, cpu))
                    or (trips <= self.search and _is_search(op))
                ):
                    op.attributes[f"{_MARK}_{trips}"] = ir.UnitAttr.get()
                    factors.add(trips)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        return factors


def _is_nested(op: ir.Operation) -> bool:
    """Whether another loop is around: a loop that stands alone gains nothing."""
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        if parent.operation.name in ("scf.for", "scf.forall"):
            return True
        parent = parent.operation.parent
    return False


def _is_rest(op: ir.Operation, trips: int, cpu: Cpu) -> bool:
    """Whether an innermost loop fills no registers, and is a sum or one of several over a row."""
    stores = operations(op, "memref.store")
    kinds = [store.operands[0].type for store in stores] + [value.type for value in op.results]
    widest = max(map(number_bytes, kinds), default=0)
    if not widest or trips % cpu.lanes(widest) == 0:
        return False
    number = op.regions[0].blocks[0].arguments[0]
    places = [list(store.operands)[2:] for store in stores]
    is_sum = bool(op.results) or any(number not in computed_from(at) for at in places)
    return is_sum or sum(o.operation.name == "scf.for" for o in op.block.operations) > 1


def _is_search(op: ir.Operation) -> bool:
    """Whether an innermost loop carries a value and its place, which LLVM does not vectorise."""
    number = op.regions[0].blocks[0].arguments[0]
    stores = [list(store.operands) for store in operations(op, "memref.store")]
    kinds = [value.type for value in op.results]
    kinds += [value.type for value, _, *at in stores if number not in computed_from(at)]
    places = [kind for kind in kinds if str(kind) in ("i64", "index")]
    return len(kinds) == 2 and bool(places) and bool(operations(op, "arith.select"))


def innermost_size(op: ir.Operation) -> int | None:
    """Operations in the body of a loop; None when it contains another loop."""
    count = 0

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal count
        if inner != op and inner.name == "scf.for":
            count = -(1 << 30)
        count += 1
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return count if count >= 0 else None


def _unroll(module: ir.Module, factors: list[int]) -> None:
    kind = "!transform.any_op"
    for trips in factors:
        script = ir.Module.parse(f"""
          module attributes {{transform.with_named_sequence}} {{
            transform.named_sequence @unroll(%root: {kind}) {{
              %loops = transform.structured.match ops{{["scf.for"]}}
                attributes{{{_MARK}_{trips}}} in %root : ({kind}) -> {kind}
              transform.loop.unroll %loops {{factor = {trips}}} : {kind}
              transform.yield
            }}
          }}""")
        sequence = script.body.operations[0].operation
        interpreter.apply_named_sequence(module.operation, sequence, script.operation)
