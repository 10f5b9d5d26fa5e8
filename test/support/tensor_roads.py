"""The roads on tensors: that of GPUs, and that of CPUs for linalg of other tools."""

from __future__ import annotations

# What `ted-lower-tensors` runs as long as there are tensors, on what equations become.
ON_CPU = (
    "ted-cpu-pipeline{until=ted},ted-mask-boxes{asked=true},"
    "convert-ted-to-linalg{rows=8 ahead=true branches=true},ted-pass-destinations,"
    "func.func(canonicalize,cse),ted-schedule-contractions,ted-fuse-rows"
)
ON_GPU = "ted-cuda-pipeline{until=scheduled}"
