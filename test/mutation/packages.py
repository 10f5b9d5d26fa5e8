"""Which faults are drawn, and which tests judge those of a package.

A package is judged by the fast tests that stand beside it: its unit tests and its IR tests. Its
subpackages belong to it, but for the templates of GPUs, which are a program of their own.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from mutation.operators import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
SEED = "ted"
EACH = 70  # mutants of each package
# IR tests of GPUs, but for those of the templates, which are a program of their own.
GPU_IR = [p for p in sorted((ROOT / "test/gpu").glob("*.mlir")) if p.stem != "gpu-templates"]
# Of the IR tests those whose passes execute what `mlir` has for all of them: others add few lines.
_IR_OF_MLIR = (
    *(f"test/cpu/{name}.mlir" for name in (
        "ted-collapse-dims", "ted-block-rows", "ted-outline-kernels",
        "ted-parallelize-kernels", "ted-parallelize-kernels-invalid", "ted-schedule-contractions",
        "ted-schedule-contractions-pairs", "ted-tile-loops", "ted-tile-loops-matrices",
        "ted-tile-loops-pairs")),
    *(f"test/linalg/{name}.mlir" for name in (
        "branches", "expanded-results", "ted-choose-forms", "ted-emit-kernels",
        "ted-lower-tensors")),
    *(f"test/transforms/{name}.mlir" for name in (
        "ted-check-bounds", "ted-differentiate-recurrences")),
)  # fmt: skip

# Package -> the folders and files of its tests, from the root of the checkout.
TESTS: dict[str, tuple[str, ...]] = {
    "autodiff": ("test/unit/autodiff", "test/transforms/ted-differentiate.mlir",
                 "test/transforms/ted-differentiate-calls.mlir",
                 "test/transforms/ted-differentiate-invalid.mlir",
                 "test/transforms/ted-differentiate-recurrences.mlir"),
    "domain": ("test/unit/domain",),
    "transforms": ("test/transforms", "test/unit/transforms"),
    "ir": ("test/unit/ir",),
    "api": tuple(f"test/unit/api/test_{name}.py" for name in (
        "custom", "differentiating", "function_calls", "functions", "lifting", "modes", "overrides",
        "residuals", "symbolic", "user_derivatives", "vectorising", "scanning", "recomputing",
        "compiling", "host", "options", "cuda_functions", "head_prefixes", "rounding_scales",
        "donation", "misuse")),
    "linalg": ("test/linalg", "test/unit/linalg"),
    "math": ("test/math", "test/unit/math"),
    "frontend": ("test/unit/frontend",),
    "nn": ("test/unit/nn",),
    "special": ("test/unit/special", "test/numeric/test_special_functions.py"),
    "random": ("test/unit/random",),
    "fft": ("test/unit/fft",),
    "spectral": ("test/unit/spectral",),
    "raising": ("test/unit/raising", "test/raising"),
    "torch": ("test/unit/torch",),
    "jax": ("test/unit/jax",),
    "onnx": ("test/unit/onnx",),
    "testing": ("test/unit/testing", "test/unit/frontend/test_reducers.py",
                "test/unit/runtime/test_cuda_graphs.py", "test/unit/runtime/test_cuda_programs.py"),
    "codegen": ("test/unit/codegen", "test/unit/codegen/llvm", "test/unit/codegen/nvptx",
                "test/unit/api/test_exporting.py"),
    "runtime": ("test/unit/runtime", "test/unit/api/test_exporting.py"),
    "mlir": ("test/unit/mlir", "test/unit/ir/test_locations.py", *_IR_OF_MLIR),
    "gpu": (*(f"test/gpu/{path.name}" for path in GPU_IR), "test/unit/gpu"),
}  # fmt: skip

# Tests of what ends a worker, which in a campaign is the process of the test.
APART = (
    "test/unit/codegen/test_requests.py::"
    "test_a_module_that_ends_the_worker_is_an_error_with_a_reproducer",
    "test/unit/torch/test_importing.py::"
    "test_an_operator_that_ends_the_process_of_the_binding_is_taken_apart_by_torch",
)


def sources(package: str) -> dict[str, Path]:
    """The modules of a package and of its subpackages."""
    folder = ROOT / "python" / "ted" / package
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*.py"))}
    return {
        ".".join(("ted", package, *path.with_suffix("").parts)): whole
        for path, whole in paths.items()
        if path.stem != "__init__" and path.parts[0] != "templates"
    }


def drawn(package: str, count: int = EACH, seed: str = SEED) -> list[Mutant]:
    """The first `count` of all mutants of a package in an order that the seed makes."""
    found = [m for module, path in sources(package).items() for m in mutants_of(module, path)]
    return sorted(found, key=lambda m: hashlib.sha256(f"{seed}{m.key}".encode()).digest())[:count]


def test_files(package: str) -> list[Path]:
    """The files of the package's tests."""
    found: list[Path] = []
    for name in TESTS[package]:
        path = ROOT / name
        inside = [*path.glob("test_*.py"), *path.glob("*.mlir")] if path.is_dir() else [path]
        found += sorted(inside)
    return found
