"""ted: differentiable tensor expressions on MLIR.

The public names are those of a few modules, each loaded on first use, so that `import ted` and the
command line tools start at once. `__init__.pyi` tells type checkers the same.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from ted.importing import imported as _imported

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

# Their `__all__`; the first ones are found without loading MLIR.
_EXPORTING = (
    "ted.loading", "ted.runtime.threads", "ted.frontend", "ted.api", "ted.files", "ted.raising",
)  # fmt: skip
# The modules that are public names themselves; others are found too, as passes and tools need them.
_MODULES = (
    "cache", "cuda", "errors", "fft", "linalg", "nn", "random", "special", "testing", "tree",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__all__":
        exporting = map(_imported, _EXPORTING)
        return sorted({*_MODULES, *(each for module in exporting for each in module.__all__)})
    if name.startswith("_"):  # those are asked for by tools, and by imports, of every module
        raise AttributeError(f"module 'ted' has no attribute {name!r}")
    if find_spec(f"ted.{name}") is not None:
        return _imported(f"ted.{name}")
    for module in map(_imported, _EXPORTING):
        if name in module.__all__:
            value = globals()[name] = getattr(module, name)
            return value
    raise _imported("ted.frontend.missing_names").missing("ted", name, __dir__())


def __array_namespace_info__() -> Any:
    """The inspection functions of the array API standard: `dtypes()`, `devices()` and others."""
    return _imported("ted.frontend.namespace_info").NamespaceInfo()


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]
