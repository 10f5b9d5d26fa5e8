"""`ted-order-loops`: loops of maps in the order of the result's dims.

Before: `linalg.generic` with loops (j, i) of `%y[i, j]`, since a CPU likes no short innermost loop
After: loops (i, j): rows are dims that come first, and neighbouring threads write side by side
"""

from __future__ import annotations

from ted.mlir import ir
from ted.mlir.affine_forms import substitute
from ted.mlir.generic import Generic, set_maps
from ted.mlir.queries import functions, operations
from ted.records import dataclass


@dataclass(frozen=True)
class TedOrderLoops:
    """Interchange the loops of every map whose results are all written in one other order."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            for op in operations(function.operation, "linalg.generic"):
                places = _places(op)
                if places != sorted(places):
                    _interchange(op, places)


def _places(op: ir.Operation) -> list[int]:
    """Where in the result each loop stands; empty where there is no single answer."""
    generic = Generic(op)
    if not generic.is_map:
        return []
    first, *others = generic.maps[generic.count_inputs :]
    if not first.is_permutation or any(m != first for m in others):
        return []
    order = [ir.AffineDimExpr(e).position for e in first.results]
    return [order.index(loop) for loop in range(len(order))]


def _interchange(op: ir.Operation, places: list[int]) -> None:
    """Loop k becomes loop places[k]."""
    rank = len(places)
    dims: list[ir.AffineExpr] = [ir.AffineExpr.get_dim(p) for p in places]
    maps = Generic(op).maps
    set_maps(
        op, [ir.AffineMap.get(rank, 0, [substitute(dims, e) for e in m.results]) for m in maps]
    )
    i64 = ir.IntegerType.get_signless(64)
    for index in operations(op, "linalg.index"):
        loop = ir.IntegerAttr(index.attributes["dim"]).value
        index.attributes["dim"] = ir.IntegerAttr.get(i64, places[loop])
