"""Which faults are drawn, and which tests judge those of a package.

A package is judged by the fast tests that stand beside it: its unit tests and its IR tests.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from mutation.operators import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
SEED = "ted"
EACH = 70  # mutants of each package
PASSES = sorted((ROOT / "test" / "gpu").glob("ted-*.mlir"))  # the others need a shell

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
    "gpu": (*(f"test/gpu/{path.name}" for path in PASSES), "test/unit/gpu"),
}  # fmt: skip


def sources(package: str) -> dict[str, Path]:
    """The modules of a package, without those of its subpackages."""
    folder = ROOT / "python" / "ted" / package
    return {
        f"ted.{package}.{path.stem}": path
        for path in sorted(folder.glob("*.py"))
        if path.stem != "__init__"
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
