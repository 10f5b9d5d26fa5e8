"""Innermost loops of few trips -> straight-line code: `ted-unroll-small-loops`.

Before: a window reduction `scf.for %r = 0 to 2` inside a loop over pixels.
After: the window's two points in the body of the pixel loop, which LLVM can then vectorise; it
vectorises innermost loops only.

Rows of a few more points that fill no registers, ten classes say, are unrolled where they are
summed, or gone over several times: ten points are one register and a rest, point by point, but
eight rows of ten points are ten registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.cpu.work import number_bytes
from ted.machine import DEFAULT, Cpu, named_cpu
from ted.mlir import interpreter, ir
from ted.mlir.pass_managers import pass_manager
from ted.mlir.queries import computed_from, operations, trip_count

UNROLLED_TRIPS = 8
UNROLLED_ROW = 15
_MARK = "ted.unroll"


@dataclass(frozen=True)
class TedUnrollSmallLoops:
    """Unroll loops of a constant trip count up to `limit`, as long as the body stays small.

    `row`: and rows of so many points that fill no registers of `cpu`, a row of `ted.machine.CPUS`.
    """

    limit: int = UNROLLED_TRIPS
    row: int = UNROLLED_ROW
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
            if trips is not None and 2 <= trips <= max(self.limit, self.row) and _is_nested(op):
                size = innermost_size(op)
                fits = size is not None and size * trips <= self.largest_body
                if fits and (
                    trips <= self.limit or (trips <= self.row and _is_rest(op, trips, cpu))
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
