"""The stages that every target begins with: equations, and linalg on tensors."""

from __future__ import annotations

from ted.ir.pipelines import Stage, Step

LAST_ON_SYSTEMS = "ted-split-dims"


def equations(*before_fusion: Step) -> Stage:
    """The first stage, with steps of a target's own on equations that are not fused yet."""
    return Stage(
        "ted",
        (
            Step("ted-check-sizes", "first: no later step should compute with absurd extents"),
            Step("ted-check-bounds", "every later step may rely on reads inside tensors"),
            Step("inline,symbol-dce", "later steps work inside one function"),
            Step("ted-simplify", "dead and equal equations before anything is decided by uses"),
            Step(
                "ted-factor-sums", "before fusion: operands of contractions are plain reads still"
            ),
            *before_fusion,
            Step("ted-fuse-pointwise", "on equations, where a body is a value that can be moved"),
            Step(LAST_ON_SYSTEMS, "after fusion, which brings divisions to where they are needed"),
            Step("ted-sink-recomputed", "after fusion: in equations it is no part of a recurrence"),
        ),
    )


EQUATIONS = equations()
LINALG = Stage(
    "linalg",
    (Step("convert-ted-to-linalg", "tiling and bufferization know linalg, not ted"),),
)

DESTINATIONS = Step(
    "ted-pass-destinations",
    "before any CSE, which would merge the starts of two results",
)
CLEAN = Step("func.func(canonicalize,cse)", "equal slices and paddings become one")
