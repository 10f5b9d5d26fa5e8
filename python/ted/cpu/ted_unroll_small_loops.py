"""Innermost loops of few trips -> straight-line code: `ted-unroll-small-loops`.

Before: a window reduction `scf.for %r = 0 to 2` inside a loop over pixels.
After: the window's two points in the body of the pixel loop, which LLVM can then vectorise; it
vectorises innermost loops only.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.mlir import interpreter, ir
from ted.mlir.pass_managers import pass_manager
from ted.mlir.queries import trip_count

UNROLLED_TRIPS = 8
_MARK = "ted.unroll"


@dataclass(frozen=True)
class TedUnrollSmallLoops:
    """Unroll loops of a constant trip count up to `limit`, as long as the body stays small."""

    limit: int = UNROLLED_TRIPS
    largest_body: int = 512
    rounds: int = 6

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for _ in range(self.rounds):
            factors = self._mark(module)
            if not factors:
                return
            _unroll(module, sorted(factors))
            pass_manager("builtin.module(canonicalize,cse)", module.context).run(module.operation)

    def _mark(self, module: ir.Module) -> set[int]:
        factors: set[int] = set()

        def visit(op: ir.Operation) -> ir.WalkResult:
            trips = trip_count(op) if op.name == "scf.for" else None
            if trips is not None and 2 <= trips <= self.limit and _is_nested(op):
                size = innermost_size(op)
                if size is not None and size * trips <= self.largest_body:
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
