"""Equations -> `linalg` and loops, on memory or on tensors, for every target.

`ted.linalg` is what users call linear algebra by, too: those names are of `ted.frontend`, each
loaded on first use, since passes and tools read this package without it.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "ted.frontend.compositions.structured": ("block_diag", "toeplitz"),
    "ted.frontend.contraction": ("matmul", "outer", "tensordot", "vecdot"),
    "ted.frontend.dims": ("diagonal", "matrix_transpose", "trace"),
    "ted.frontend.factorisations": ("lu",),
    "ted.frontend.linear_algebra": ("cholesky", "solve_triangular"),
    "ted.spectral.determinants": ("det", "slogdet"),
    "ted.spectral.eigen": ("eigh", "eigvalsh"),
    "ted.spectral.exponential": ("expm",),
    "ted.spectral.inverses": ("matrix_rank", "pinv"),
    "ted.spectral.matrix_functions": ("funm",),
    "ted.spectral.reflections": ("householder_product", "qr"),
    "ted.spectral.singular": ("svd", "svdvals"),
    "ted.spectral.solutions": ("inv", "solve"),
    "ted.spectral.systems": ("lstsq", "multi_dot", "tensorinv", "tensorsolve"),
    "ted.spectral.norms": ("cond", "cross", "matrix_norm", "matrix_power", "norm", "vector_norm"),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        missing = importlib.import_module("ted.frontend.missing_names").missing
        raise missing(__name__, name, __all__)
    accepting = importlib.import_module("ted.frontend.keywords").accepting
    home = importlib.import_module(_HOME[name])
    value = accepting(getattr(home, name), __name__, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
