"""`ted-mark-contractions`: find contractions and claim them for their kernels.

Before: named matrix products and convolutions, and generics that sum products of anything.
After: `linalg.generic {ted.contraction}` with a body `out + a * b`; element-wise work in its
factors stands before it as maps. Factors of
16 bits keep their type, and the body extends them: tensor cores take them as they are.
"""

from __future__ import annotations

from ted.gpu.wide_products import is_wide_product
from ted.linalg.contraction_factors import split_factors
from ted.linalg.contractions import MARK, recognise
from ted.linalg.generalizing import generalize, generics
from ted.linalg.strided_contractions import classify
from ted.mlir import ir
from ted.records import dataclass


@dataclass(frozen=True)
class TedMarkContractions:
    """Mark every contraction; its kernel is chosen later."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        with module.context, ir.Location.unknown(module.context):
            generalize(module)
            for op in generics(module.operation):
                if is_wide_product(op):
                    op.attributes[MARK] = ir.UnitAttr.get()
                    continue
                contraction = split_factors(op) or op
                if _is_product_of_matrices(contraction):
                    contraction.attributes[MARK] = ir.UnitAttr.get()


def _is_product_of_matrices(op: ir.Operation) -> bool:
    """Whether factors are used more than once: a sum of squares is a sum like any other."""
    found = recognise(op)
    strided = None if found is None else found.strided()
    if strided is None:
        return False
    dims = classify(strided[0])
    return bool(dims.rows and dims.columns)
