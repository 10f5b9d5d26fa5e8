"""The dialect `ted`: operations and their verifier."""

from ted.dialects.ted.ops import (
    COMBINERS,
    ELEMENT_TYPES,
    LOAD_MODES,
    MAX_RUNS,
    ComputeOp,
    IndexOp,
    LoadOp,
    ScanOp,
    SizeOp,
    StopGradientOp,
    Ted,
    YieldOp,
)

__all__ = [
    "COMBINERS",
    "ELEMENT_TYPES",
    "LOAD_MODES",
    "MAX_RUNS",
    "ComputeOp",
    "IndexOp",
    "LoadOp",
    "ScanOp",
    "SizeOp",
    "StopGradientOp",
    "Ted",
    "YieldOp",
]
