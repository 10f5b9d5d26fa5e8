"""Pipelines below equations that are validated: to linalg on tensors, and to memory of a GPU."""

from __future__ import annotations

ON_TENSORS = (
    "ted-cpu-pipeline{until=ted},ted-mask-boxes{asked=true},"
    "convert-ted-to-linalg{rows=8 ahead=true branches=true},func.func(canonicalize,cse)"
)
ON_GPU = "ted-cuda-pipeline{until=buffers}"
