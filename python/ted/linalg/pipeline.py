"""The stage that every target begins with: equations."""

from __future__ import annotations

from collections.abc import Sequence

from ted.ir.pipelines import Stage, Step


def equations(
    before_fusion: Sequence[Step] = (), fused: Sequence[Step] = (), last: Sequence[Step] = ()
) -> Stage:
    """The first stage, with steps of a target's own before and after fusion, and on small dims."""
    return Stage(
        "ted",
        (
            Step("ted-check-sizes", "first: no later step should compute with absurd extents"),
            Step("ted-check-bounds", "every later step may rely on reads inside tensors"),
            Step(
                "inline{default-pipeline=cse},symbol-dce",
                "later steps work inside one function; without patterns, as equations fold",
            ),
            Step("ted-simplify", "dead and equal equations before anything is decided by uses"),
            Step(
                "ted-factor-sums", "before fusion: operands of contractions are plain reads still"
            ),
            *before_fusion,
            Step("ted-fuse-pointwise", "on equations, where a body is a value that can be moved"),
            *fused,
            Step("ted-split-dims", "after fusion, which brings divisions to where they are needed"),
            Step("ted-hoist-outer-sums", "after fusion, which would bring them back"),
            *last,
            Step("ted-sink-recomputed", "after fusion: in equations it is no part of a recurrence"),
        ),
    )


EQUATIONS = equations()
