"""Programs through the CUDA pipeline, run by the PTX interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from support.ptx_programs import run_manifest
from ted import dialects
from ted.api.cuda_compiling import compile_module
from ted.codegen.manifest import Manifest
from ted.codegen.manifest_rules import validate
from ted.frontend.systems import system_of
from ted.ir.equations import System
from ted.ir.to_ops import to_module
from ted.machine import GPUS
from ted.options import CompileOptions

Array = np.ndarray[Any, Any]


def manifest_of(inputs: Sequence[Any], outputs: Sequence[Any], chip: str = "sm_80") -> Manifest:
    """The CUDA program of tensors of the frontend."""
    return manifest_of_system(system_of(inputs, outputs), chip)


def manifest_of_system(system: System, chip: str = "sm_80") -> Manifest:
    """The CUDA program of a system; it keeps the rules of manifests."""
    with dialects.session():
        manifest = compile_module(to_module(system), CompileOptions(GPUS[chip]))
    validate(manifest)
    return manifest


def run(inputs: Sequence[Any], outputs: Sequence[Any], arrays: Sequence[Array]) -> list[Array]:
    """The results of a program on arrays, which are converted to the types of its inputs."""
    manifest = manifest_of(inputs, outputs)
    given = [np.asarray(a, dtype_of(s.dtype)) for a, s in zip(arrays, manifest.inputs, strict=True)]
    return run_manifest(manifest, given)


def dtype_of(name: str) -> np.dtype[Any]:
    """The numpy type of an element type."""
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
