"""One module for all kernels of a program: the pass `ted-merge-kernels`.

Before: `gpu.module @main_kernel { gpu.func @main_kernel ... }`, one for each launch
After:  `gpu.module @kernels { gpu.func @dx_5f2c81d0 ... }` with all of them; equal kernels are one

A kernel is named after the first tensor that it computes and a hash of what it does, so that its
name in a profile stays when the rest of the program changes.  Pointers are marked as distinct and
aligned, which is what joins loads into vectors.  Kernels that keep a few numbers in registers ask
for 1024 threads at a time, since some read memory while others compute; those that keep many say
that one block is enough: else the assembler puts some of them into memory, to make room for more.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence

from ted.gpu.contractions import MODULE, kernel_module
from ted.machine import ACCESS_BYTES
from ted.mlir import ir
from ted.mlir.aliasing import donated_pairs
from ted.mlir.locations import user_name
from ted.mlir.queries import functions, operations, symbol_name
from ted.mlir.scalars import byte_width
from ted.records import dataclass

THREADS_AT_ONCE = 1024  # of a multiprocessor: each may have 64 registers
MOST_KEPT = 32  # elements of a thread
REGISTER_BYTES = 4
_Path = tuple[str, ...]  # a kernel in its module
_STEM, _DIGITS = 40, 8  # characters of a name, and of the hash behind it


@dataclass(frozen=True)
class TedMergeKernels:
    """Move every kernel into one module."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        sources = operations(module.operation, "gpu.module")
        calls = operations(module.operation, "gpu.launch_func")
        if not sources:
            return
        shared = _may_be_one(module)
        for path, kernel in _kernels(sources):
            if path[0] != MODULE:  # templates mark their own
                _mark_pointers(kernel, shared.get(path[0], set()))
                _mark_registers(kernel)
        names, kept = _names(sources, _stems(calls))
        block = kernel_module(module).regions[0].blocks[0]
        for path, kernel in kept.items():
            if path[0] != MODULE:
                kernel = kernel.clone(ir.InsertionPoint(block)).operation
            kernel.attributes["sym_name"] = ir.StringAttr.get(names[path])
        for call in calls:
            call.attributes["kernel"] = ir.SymbolRefAttr.get([MODULE, names[_path(call)]])
        # Not before: kernels are printed to be compared, and only valid IR prints as text.
        for source in sources:
            if symbol_name(source) != MODULE:
                source.erase()


def _kernels(sources: list[ir.Operation]) -> Iterator[tuple[_Path, ir.Operation]]:
    """All kernels, those of templates first."""
    for source in sorted(sources, key=lambda op: symbol_name(op) != MODULE):
        for kernel in operations(source, "gpu.func"):
            yield (symbol_name(source), symbol_name(kernel)), kernel


def _names(
    sources: list[ir.Operation], stems: dict[_Path, str]
) -> tuple[dict[_Path, str], dict[_Path, ir.Operation]]:
    """The new name of each kernel, and one of those that are equal."""
    names, kept, known = dict[_Path, str](), dict[_Path, ir.Operation](), dict[str, str]()
    for path, kernel in _kernels(sources):
        text = str(kernel).replace(f"@{path[1]}(", "@(", 1)
        if text not in known:
            known[text] = _new_name(stems.get(path, path[1]), text, set(known.values()))
            kept[path] = kernel
        names[path] = known[text]
    return names, kept


def _stems(calls: list[ir.Operation]) -> dict[_Path, str]:
    """What the first launch of each kernel computes, as far as the user named it."""
    found: dict[_Path, str] = {}
    for call in calls:
        name = user_name(call.location)
        if name is not None:
            found.setdefault(_path(call), name)
    return found


def _new_name(stem: str, text: str, taken: set[str]) -> str:
    """A name that is a symbol in PTX and in LLVM; a longer hash if it is taken."""
    stem = re.sub(r"[^A-Za-z0-9_]", "_", stem)[:_STEM]
    stem, digest = stem if stem[:1].isalpha() else f"k{stem}", hashlib.sha256(text.encode())
    names = (f"{stem}_{digest.hexdigest()[:k]}" for k in range(_DIGITS, 2 * digest.digest_size))
    return next(name for name in names if name not in taken)


def _path(call: ir.Operation) -> _Path:
    return tuple(ir.SymbolRefAttr(call.attributes["kernel"]).value)


def _may_be_one(module: ir.Module) -> dict[str, set[int]]:
    """For each module of a kernel the parameters that may be the same memory as another one."""
    found: dict[str, set[int]] = {}
    for function in functions(module):
        pairs = donated_pairs(function)
        for call in operations(function, "gpu.launch_func"):
            count = list(ir.DenseI32ArrayAttr(call.attributes["operandSegmentSizes"]))
            first = sum(count[:11])
            given = list(call.operands)[first : first + count[11]]
            name = _path(call)[0]
            for pair in pairs:
                if all(value in given for value in pair):
                    found.setdefault(name, set()).update(given.index(v) for v in pair)
    return found


def _mark_pointers(kernel: ir.Operation, shared: set[int]) -> None:
    kinds = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value).inputs
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [_marks(kind, n in shared) for n, kind in enumerate(kinds)]
    )


def _mark_registers(kernel: ir.Operation) -> None:
    kept = [ir.MemRefType(op.results[0].type) for op in operations(kernel, "memref.alloca")]
    if kept:
        threads = ir.DenseI32ArrayAttr(kernel.attributes["known_block_size"])[0]
        blocks = max(1, THREADS_AT_ONCE // threads) if _is_short(kept) else 1
        i32 = ir.IntegerType.get_signless(32)
        kernel.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(i32, blocks)


def _is_short(kept: Sequence[ir.MemRefType]) -> bool:
    """Whether what a thread keeps leaves enough of 64 registers for what it works on."""
    elements = sum(math.prod(kind.shape) for kind in kept)
    widths = [byte_width(kind.element_type) for kind in kept]
    return max(widths) <= REGISTER_BYTES and elements <= MOST_KEPT


def _marks(kind: ir.Type, may_be_shared: bool) -> ir.Attribute:
    if not isinstance(kind, ir.MemRefType):
        return ir.DictAttr.get({})
    width = byte_width(kind.element_type)
    # LLVM fills loads up to what is aligned: never beyond the last byte of what is in memory.
    aligned = max(math.gcd(ACCESS_BYTES, math.prod(kind.shape) * width), width)
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), aligned)
    marks: dict[str, ir.Attribute] = {"llvm.align": number}
    if not may_be_shared:
        marks["llvm.noalias"] = ir.UnitAttr.get()
    return ir.DictAttr.get(marks)
