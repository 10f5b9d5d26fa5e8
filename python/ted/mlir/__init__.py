"""The one module that names the MLIR binding: all others write `from ted.mlir import ir, linalg`.

The binding is the package `torch_mlir`, of the version that pyproject.toml pins: MLIR promises
nothing from one version to the next, and LLVM's own package `mlir` is on no index. Its modules are
imported when something in them is used: half of ted's start would be theirs, and a program that the
disk has needs none. Spellings that change between MLIR
versions are the functions at the end of this file, and live nowhere else.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from ted.errors import TedError
from ted.importing import imported

BINDING = "torch_mlir"

# Name here -> (module inside the binding, attribute of that module or None for the module itself).
_EXPORTS: dict[str, tuple[str, str | None]] = {
    "ir": ("ir", None),
    "passmanager": ("passmanager", None),
    "rewrite": ("rewrite", None),
    "execution_engine": ("execution_engine", None),
    "PassManager": ("passmanager", "PassManager"),
    "ExecutionEngine": ("execution_engine", "ExecutionEngine"),
    "ext": ("dialects.ext", None),
    "irdl": ("dialects.irdl", None),
    "affine": ("dialects.affine", None),
    "arith": ("dialects.arith", None),
    "bufferization": ("dialects.bufferization", None),
    "builtin": ("dialects.builtin", None),
    "cf": ("dialects.cf", None),
    "func": ("dialects.func", None),
    "gpu": ("dialects.gpu", None),
    "index": ("dialects.index", None),
    "linalg": ("dialects._linalg_ops_gen", None),
    "linalg_functions": ("_mlir_libs._mlirDialectsLinalg", None),
    "llvm": ("dialects.llvm", None),
    "math": ("dialects.math", None),
    "memref": ("dialects.memref", None),
    "nvgpu": ("dialects.nvgpu", None),
    "nvvm": ("dialects.nvvm", None),
    "openmp": ("dialects.openmp", None),
    "scf": ("dialects.scf", None),
    "tensor": ("dialects.tensor", None),
    "ub": ("dialects.ub", None),
    "vector": ("dialects.vector", None),
    "interpreter": ("dialects.transform.interpreter", None),
}

if TYPE_CHECKING:
    linalg_functions: Any
    from torch_mlir import execution_engine as execution_engine
    from torch_mlir import ir as ir
    from torch_mlir import passmanager as passmanager
    from torch_mlir import rewrite as rewrite
    from torch_mlir.dialects import affine as affine
    from torch_mlir.dialects import arith as arith
    from torch_mlir.dialects import bufferization as bufferization
    from torch_mlir.dialects import builtin as builtin
    from torch_mlir.dialects import cf as cf
    from torch_mlir.dialects import ext as ext
    from torch_mlir.dialects import func as func
    from torch_mlir.dialects import gpu as gpu
    from torch_mlir.dialects import index as index
    from torch_mlir.dialects import irdl as irdl
    from torch_mlir.dialects import linalg as linalg
    from torch_mlir.dialects import llvm as llvm
    from torch_mlir.dialects import math as math
    from torch_mlir.dialects import memref as memref
    from torch_mlir.dialects import nvgpu as nvgpu
    from torch_mlir.dialects import nvvm as nvvm
    from torch_mlir.dialects import openmp as openmp
    from torch_mlir.dialects import scf as scf
    from torch_mlir.dialects import tensor as tensor
    from torch_mlir.dialects import ub as ub
    from torch_mlir.dialects import vector as vector
    from torch_mlir.dialects.transform import bufferization as transform_bufferization  # noqa: F401
    from torch_mlir.dialects.transform import interpreter as interpreter
    from torch_mlir.dialects.transform import loop as transform_loop  # noqa: F401
    from torch_mlir.dialects.transform import vector as transform_vector  # noqa: F401
    from torch_mlir.execution_engine import ExecutionEngine as ExecutionEngine
    from torch_mlir.passmanager import PassManager as PassManager


class _Late(ModuleType):
    """A module of the binding, which is imported when something in it is asked for."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(_import(self.__name__), name)
        setattr(self, name, value)  # the next time it is found at once
        return value


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module_name, attribute = _EXPORTS[name]
    value: Any = _Late(f"{BINDING}.{module_name}")
    if attribute is not None:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def _hash_by_identity(ir_module: Any) -> None:
    """Let operations stay where they are in sets and tables while they change.

    The binding compares operations by identity but hashes what they are made of, attributes and
    operands included (llvm/llvm-project#156514): with another attribute, an operation is not found.
    """
    import ctypes

    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_size_t, (ctypes.py_object, ctypes.c_char_p)
    name = f"{BINDING}.ir.Operation._CAPIPtr".encode()
    ir_module._OperationBase.__hash__ = lambda op: address(op._CAPIPtr, name)


@functools.cache
def _import(module: str) -> Any:
    if isinstance(sys.modules.get(module), _Late):
        del sys.modules[module]
    try:
        found = imported(module)
    except ModuleNotFoundError as error:
        raise TedError(
            f"mlir: the binding must be installed and have {module}, got {error}; "
            "install torch-mlir, which `pip install .` of ted does"
        ) from error
    if module == f"{BINDING}.ir":
        _hash_by_identity(found)
    return found


def make_context(*, threading: bool = False) -> ir.Context:
    """Make a context with every upstream dialect; `ted.dialects.make_context` adds ted's own.

    Threads do not survive a fork: a context that has some hangs in the child.
    """
    from ted.mlir import ir

    context = ir.Context()
    if not threading:
        context.enable_multithreading(False)
    return context


def binding_version() -> str:
    """Name and version of the binding's distribution, for `--version` and bug reports."""
    from importlib import metadata

    distribution = BINDING.replace("_", "-")
    try:
        return f"{distribution} {metadata.version(distribution)}"
    except metadata.PackageNotFoundError:
        return f"{distribution} (unknown version)"


# ---- spellings that differ between MLIR versions -------------------------------------------------

# What a program for CPUs meets on its way, beside the dialects that `ir` brings along.
_ON_THE_WAY = (
    "ir", "passmanager", "ext", "arith", "bufferization", "func", "linalg", "math", "memref",
    "tensor",
)  # fmt: skip


def load_ahead() -> None:
    """Import what compiling for a CPU uses, in a process that does nothing else.

    The binding's module of `llvm` takes a tenth of that, for classes that are asked for where
    operations are made, not where they are read; that of `linalg` another one, for builders of
    operations out of sums in a language of its own.
    Raises: TedError without the binding.
    """
    provide_dialect("llvm", __getattr__("llvm"))
    provide_dialect("linalg", __getattr__("linalg"))
    for name in _ON_THE_WAY:
        _import(f"{BINDING}.{_EXPORTS[name][0]}")


def opt_tool() -> str | None:
    """Path of the binding's own `mlir-opt`, an independent reader of our IR; None if absent."""
    package = importlib.import_module(f"{BINDING}._mlir_libs")
    for name in ("torch-mlir-opt", "mlir-opt"):
        for folder in package.get_lib_dirs():
            path = os.path.join(folder, name)
            if os.path.exists(path):
                return path
    return None


def leave_out_unsound_passes(loads_bytes: bool) -> None:
    """Tell LLVM, for this process from now on, to leave out passes from which wrong code comes.

    The exchange of loops, on by default in the binding's LLVM 24, lets what the outer loop computes
    for the inner one keep its first value: `A[i, min(j, 1)]` became `A[i, 0]`. Schedules of ted
    choose the order.

    `loads_bytes`: of eight bytes that are compared with 0, and of the eight from the second on, the
    vectoriser of straight lines makes one vector of conditions, and shifts it for the others. With
    AVX-512 the last of these is then true whatever its byte is.

    Raises: TedError if the binding's library does not take options.
    """
    import ctypes

    texts = (
        b"ted", b"-enable-loopinterchange=false",
        b"-vectorize-slp=" + (b"false" if loads_bytes else b"true"),
    )  # fmt: skip
    array = (ctypes.c_char_p * len(texts))(*texts)
    _options_of_llvm()(len(texts), array, b"")  # of an option that came before the last one counts


@functools.cache
def _options_of_llvm() -> Any:
    import ctypes

    package = importlib.import_module(f"{BINDING}._mlir_libs")
    files = [file for path in package.get_lib_dirs() for file in Path(path).glob("lib*CAPI.so")]
    for file in files:
        library = ctypes.CDLL(str(file))
        if hasattr(library, "LLVMParseCommandLineOptions"):
            return library.LLVMParseCommandLineOptions
    found = ", ".join(file.name for file in files) or "no such file"
    raise TedError(f"mlir: lib*CAPI.so must have LLVMParseCommandLineOptions, got {found}")


def provide_dialect(name: str, module: ModuleType) -> None:
    """Let the binding find the Python module of a dialect that it does not have.

    It imports `<binding>.dialects.<name>` whenever it meets an operation of the dialect, and tries
    again each time that fails: a tenth of the time to compile.
    """
    sys.modules.setdefault(f"{BINDING}.dialects.{name}", module)


_SET = re.compile(r"affine_set<(\(.*?\)(?:\[.*?\])?) : \((.*)\)>$")


@functools.lru_cache(maxsize=1024)  # a program has few sets, and verifier and passes read them
def integer_set(attribute: ir.Attribute) -> ir.IntegerSet:
    """The set inside an IntegerSetAttr.

    The binding has no accessor for it, so the constraints are read through an affine map with the
    same dims, symbols and expressions.

    Raises: ValueError for an attribute of another kind.
    """
    from ted.mlir import ir

    found = _SET.match(str(attribute))
    if found is None:
        raise ValueError(f"not an integer set: {attribute}")
    dims, body = found.groups()
    if body == "0 == 0":  # most are everywhere
        zero = ir.AffineExpr.get_constant(0, attribute.context)
        counts = dims.count("d"), dims.count("s")
        return ir.IntegerSet.get(*counts, [zero], [True], attribute.context)
    constraints = [text.rsplit(" ", 2) for text in body.split(", ")]  # "d0 - 1", ">=", "0"
    text = f"affine_map<{dims} -> ({', '.join(left for left, _, _ in constraints)})>"
    exprs = ir.AffineMapAttr(ir.Attribute.parse(text, attribute.context)).value
    are_equalities = [relation == "==" for _, relation, _ in constraints]
    return ir.IntegerSet.get(
        exprs.n_dims, exprs.n_symbols, list(exprs.results), are_equalities, attribute.context
    )


def indexing_maps(op: ir.Operation) -> list[ir.AffineMap]:
    """The maps from the loops of an operation of linalg to its operands."""
    from ted.mlir import ir, linalg_functions

    return [ir.AffineMapAttr(a).value for a in linalg_functions.get_indexing_maps(op)]


def scalar_value(attribute: ir.Attribute) -> int | float | bool:
    """The number in an IntegerAttr, FloatAttr or BoolAttr."""
    return cast("Any", attribute).value


def text_of(module: ir.Module | ir.OpView | ir.Operation, **flags: Any) -> str:
    """The assembly of a module or operation, printed with the flags of `get_asm`."""
    return str(module.operation.get_asm(**flags))


def load_foreign_dialects(context: ir.Context) -> None:
    """Let a context know the dialects of torch and StableHLO, where the binding has them."""
    for name in ("_torchMlir", "_stablehlo"):
        try:
            library = importlib.import_module(f"{BINDING}._mlir_libs.{name}")
        except ModuleNotFoundError:
            continue
        library.register_dialect(context)
        if name == "_stablehlo" and not context.is_dialect_loaded("chlo"):
            _load_chlo(library, context)


def _load_chlo(library: Any, context: ir.Context) -> None:
    """Load CHLO, which the binding registers by no function: with a pass that makes ops of it."""
    from ted.mlir import PassManager, ir

    library.register_stablehlo_passes()
    with context, ir.Location.unknown():
        pipeline = "builtin.module(func.func(stablehlo-legalize-quant-to-math))"
        PassManager.parse(pipeline, context).run(ir.Module.create().operation)


def dialect_names(context: ir.Context) -> list[str]:
    """Namespaces of the dialects that a context has loaded, of those that have a Python module."""
    import pkgutil

    package = importlib.import_module(f"{BINDING}.dialects")
    names = {m.name.removesuffix("_dialect") for m in pkgutil.iter_modules(package.__path__)}
    known = {"ted", "omp" if "openmp" in names else "", "acc" if "openacc" in names else ""}
    return sorted(name for name in names | known if name and context.is_dialect_loaded(name))
