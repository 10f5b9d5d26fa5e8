"""Pieces under several guards: their parts come in one order."""

from __future__ import annotations

import ted
from ted.lowering.pipelines import run_pipeline
from ted.testing.tracing import module_of, nodes


def test_guards_are_decided_in_the_order_of_the_reads() -> None:
    inputs = [ted.placeholder((12,), "float64", name=name) for name in "abcd"]

    def element(i: ted.Scalar, j: ted.Scalar) -> ted.Scalar:
        a, b, c, d = inputs
        ahead = ted.where(i >= j + 1, a[i - j - 1], 0.0) * ted.where(i >= j + 3, b[i - j - 3], 1.0)
        behind = ted.where(j >= i + 2, c[j - i - 2], 1.0) + ted.where(j >= i + 5, d[j - i - 5], 0.0)
        return ahead * behind

    def lowered() -> str:
        module = module_of(nodes(inputs), nodes([ted.compute((12, 12), element)]))
        with module.context:
            return str(run_pipeline(module, until="linalg"))

    assert len({lowered() for _ in range(8)}) == 1
