"""The registry of ted's passes: a table of strings, resolved when a pass is first used.

A pass is a frozen dataclass whose fields are its options and whose `run(module)` rewrites the
module, or raises `TedError`. The strings are the one place where a low package names a high one:
importing this module loads no pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, get_type_hints

from ted.errors import PassFailed
from ted.importing import imported
from ted.machine import named_cpu, named_gpu
from ted.records import dataclass

if TYPE_CHECKING:
    from ted.mlir import ir


class Pass(Protocol):
    """What every pass of ted has."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module in place, or raise `TedError`."""
        ...


@dataclass(frozen=True)
class Row:
    """The package that holds a pass, and what the pass does, in one line.

    For a pipeline, the function that gives its text. A pass `on_memory` comes after emission:
    it would misunderstand operations on tensors, and is not run where there are any. One that
    `obeys` an attribute decides by it; others leave what asks for something, or are refused. One
    that `checks` changes nothing, so that there is nothing to verify after it.
    """

    package: str
    summary: str
    on_memory: bool = False
    obeys: tuple[str, ...] = ()
    checks: bool = False


STRATEGY, GROUP, FORM, THREADS = "ted.strategy", "ted.group", "ted.form", "ted.threads"


# `ted-x-y` is the class `TedXY` in the file `ted_x_y.py` of its package.
PASSES: dict[str, Row] = {
    "ted-raise-linalg": Row(
        "ted.raising", "turn functions of linalg, tensor and scf into functions of equations"
    ),
    "ted-check-bounds": Row(
        "ted.transforms",
        "prove that accesses lie in their tensors and sets write points once",
        checks=True,
    ),
    "ted-inline-pointwise": Row(
        "ted.transforms", "move pointwise producers under the conditions of their consumers"
    ),
    "ted-split-dims": Row(
        "ted.transforms", "turn floordiv and mod by constants into dims of their own"
    ),
    "ted-differentiate": Row("ted.transforms", "append the vector-Jacobian product of a function"),
    "ted-scatter-to-gather": Row(
        "ted.transforms", "solve affine scatters for the points that reach an element"
    ),
    "ted-fuse-pointwise": Row(
        "ted.transforms", "compute pointwise tensors where they are used, if that costs less"
    ),
    "ted-loop-over-blocks": Row("ted.plan", "compute what outgrows a cache in loops over blocks"),
    "ted-simplify": Row(
        "ted.transforms", "drop zeros, empty domains and dead equations; merge equal ones"
    ),
    "ted-factor-sums": Row(
        "ted.transforms", "take factors out of sums, and products of many factors in pairs"
    ),
    "ted-join-pieces": Row(
        "ted.transforms", "add up the pieces of a tensor that mostly overlap in one equation"
    ),
    "ted-turn-histories": Row(
        "ted.linalg", "keep histories in the order of dims in which the program reads them"
    ),
    "ted-hoist-outer-sums": Row(
        "ted.transforms", "let an outer step make the sums that its inner steps do not wait for"
    ),
    "ted-cut-strips": Row(
        "ted.transforms", "cut triangles of temporaries into strips as wide as their rows are long"
    ),
    "ted-limit-memory": Row(
        "ted.transforms", "compute tensors again so that at most so many bytes are held: bytes=N"
    ),
    "ted-specialise-sizes": Row(
        "ted.transforms", "put numbers where symbolic sizes are: values=5,8 in their order"
    ),
    "ted-split-residuals": Row(
        "ted.transforms", "split a gradient into the part before the cotangents and the part after"
    ),
    "ted-report-gradient": Row(
        "ted.transforms", "say which equations scatter, and the exact operation counts", checks=True
    ),
    "ted-schedule-contractions": Row(
        "ted.cpu", "find contractions on tensors and claim them for the vector route"
    ),
    "ted-time-kernels": Row(
        "ted.cpu", "let a program that calls kernels say when each began and ended"
    ),
    "ted-spread-operands": Row("ted.cpu", "give small operands dims that they are repeated along"),
    "ted-collapse-dims": Row("ted.cpu", "make one loop of neighbouring dims without gaps"),
    "ted-choose-loops": Row(
        "ted.cpu", "write the strategy of each operation that becomes loops", obeys=(STRATEGY,)
    ),
    "ted-outline-kernels": Row("ted.cpu", "make functions of loop nests, equal ones one"),
    "ted-parallelize-kernels": Row(
        "ted.cpu", "cut kernels with much work into units that threads share", obeys=(THREADS,)
    ),
    "ted-fork-units": Row("ted.cpu", "let the threads of the runtime share units of work"),
    "ted-tile-loops": Row(
        "ted.cpu",
        "turn contractions and reads across rows into loops around tiles",
        obeys=(STRATEGY,),
    ),
    "ted-block-rows": Row(
        "ted.cpu", "let blocks of rows have totals of their own, which threads may share"
    ),
    "ted-check-sizes": Row(
        "ted.linalg", "refuse tensors larger than what can be addressed", checks=True
    ),
    "ted-sink-recomputed": Row(
        "ted.linalg", "move recomputed equations into the steps that read them"
    ),
    "ted-choose-forms": Row("ted.linalg", "write what each equation becomes", obeys=(FORM,)),
    "convert-ted-to-linalg": Row(
        "ted.linalg", "lower equations to linalg and scf on tensors", obeys=(FORM,)
    ),
    "ted-choose-groups": Row(
        "ted.linalg", "write which equations share a loop over rows", obeys=(GROUP,)
    ),
    "ted-emit-kernels": Row(
        "ted.linalg", "make loops and linalg on memory of equations", obeys=(FORM, GROUP)
    ),
    "ted-lower-tensors": Row(
        "ted.linalg", "give linalg on tensors, as other tools write it, memory", obeys=(FORM,)
    ),
    "ted-plan-memory": Row("ted.cpu", "choose which buffers are one, and when they are freed"),
    "ted-convert-copies": Row("ted.cpu", "turn memref.copy into a linalg.generic"),
    "ted-leave-loops": Row("ted.cpu", "end loops by what they say goes on"),
    "ted-drop-unit-steps": Row("ted.cpu", "step by one in views over one element"),
    "ted-unroll-small-loops": Row(
        "ted.cpu", "turn innermost loops of few trips into straight-line code"
    ),
    "ted-outline-math": Row(
        "ted.math", "turn math operations into calls of functions with variants for vectors"
    ),
    "ted-expand-math": Row("ted.math", "turn math operations into polynomials in arith"),
    "ted-expand-half-casts": Row(
        "ted.math", "turn conversions of 16-bit floats into integer arithmetic"
    ),
    "ted-store-halves-as-bits": Row(
        "ted.math", "move 16-bit floats as integers, which every processor has"
    ),
    "ted-hide-identities": Row(
        "ted.cpu", "hide from LLVM what a masked maximum takes elsewhere, so that it vectorises"
    ),
    "ted-store-bools-as-bytes": Row(
        "ted.cpu", "let bools occupy bytes in memory, so that their loops vectorise"
    ),
    "ted-annotate-functions": Row(
        "ted.cpu", "tell LLVM which CPU functions are for, and that new memory is fresh"
    ),
    "ted-annotate-latches": Row("ted.cpu", "tell LLVM which loops to vectorise"),
    "ted-check-lowered": Row(
        "ted.cpu", "fail if anything but LLVM operations is left", checks=True
    ),
    "ted-choose-kernels": Row(
        "ted.gpu",
        "write the strategy of each piece of work that becomes kernels",
        on_memory=True,
        obeys=(STRATEGY,),
    ),
    "ted-map-to-gpu": Row(
        "ted.gpu", "turn work on memrefs into GPU kernels", on_memory=True, obeys=(STRATEGY,)
    ),
    "ted-mark-contractions": Row(
        "ted.gpu", "find contractions and claim them for their kernels", on_memory=True
    ),
    "ted-order-loops": Row(
        "ted.gpu", "run the loops of maps in the order of the result", on_memory=True
    ),
    "ted-mask-boxes": Row(
        "ted.linalg", "turn equations over parts of boxes into boxes with masks", obeys=(FORM,)
    ),
    "ted-fuse-row-loops": Row("ted.gpu", "put loops over the same rows into one"),
    "ted-sink-column-sums": Row("ted.gpu", "move sums over rows behind the loops over these rows"),
    "ted-fuse-siblings": Row(
        "ted.gpu", "compute over the same points in one operation", on_memory=True
    ),
    "ted-forward-copies": Row(
        "ted.gpu",
        "let contractions read what their padded or reversed factors copy",
        on_memory=True,
    ),
    "ted-expand-epilogues": Row(
        "ted.gpu",
        "work on totals in the dims in which contractions sum them",
        on_memory=True,
    ),
    "ted-split-accumulators": Row(
        "ted.gpu", "start and finish each part of a total by itself", on_memory=True
    ),
    "ted-resolve-donations": Row(
        "ted.gpu",
        "let results that may be in an input's memory not overwrite what is read",
        on_memory=True,
    ),
    "ted-record-index-errors": Row(
        "ted.gpu", "record bad indices in memory that the host looks at"
    ),
    "ted-expand-gpu-math": Row(
        "ted.gpu", "compute exponentials by the GPU's unit for powers of two"
    ),
    "ted-lower-gpu-math": Row("ted.gpu", "turn math operations into LLVM intrinsics"),
    "ted-lower-warps-to-rocdl": Row(
        "ted.gpu", "turn waits and votes of warps into what AMD GPUs have"
    ),
    "ted-merge-kernels": Row("ted.gpu", "put all kernels of a program into one module"),
}


# Pipelines with a name: functions from options to pipeline text, which is put in their place.
PIPELINES: dict[str, Row] = {
    "ted-cpu-pipeline": Row(
        "ted.cpu.pipeline:cpu_pipeline_text",
        "the stages from equations to LLVM; until=STAGE and after=STAGE choose a part, cpu=ROW the "
        "CPU",
    ),
    "ted-cuda-pipeline": Row(
        "ted.gpu.pipeline:gpu_pipeline_text",
        "the stages from equations to kernels in LLVM; until=STAGE and after=STAGE choose a part, "
        "deterministic=false allows atomic operations",
    ),
}

_PIPELINE_OPTIONS = ("until", "after", "deterministic", "cpu")  # those that are text


def named_pipeline(name: str, options: Mapping[str, str]) -> str:
    """The text of a named pipeline.

    Raises: PassFailed if an option is unknown, or names no stage.
    """
    module, _, attribute = PIPELINES[name].package.partition(":")
    text = getattr(imported(module), attribute)
    known = [o for o in signature(text).parameters if o in _PIPELINE_OPTIONS]
    unknown = [key for key in options if key not in known]
    if unknown:
        raise PassFailed(f"{name}: options are {', '.join(known)}, got '{unknown[0]}'")
    return text(**options)


def target(name: str) -> tuple[str, str]:
    """The module and the class of a pass, by the rule that names them."""
    module = f"{PASSES[name].package}.{name.replace('-', '_')}"
    return module, "".join(word.capitalize() for word in name.split("-"))


def available() -> Iterator[tuple[str, Row]]:
    """The passes and pipelines, in the order of their tables."""
    yield from PASSES.items()
    yield from PIPELINES.items()


def is_ours(name: str) -> bool:
    """Whether the pass is written in Python; all others belong to MLIR."""
    return name in PASSES


def pass_class(name: str) -> type[Any]:
    """The class of a pass.

    Raises: PassFailed if there is no such pass.
    """
    if name not in PASSES:
        known = ", ".join(known_name for known_name, _ in available())
        raise PassFailed(f"pass: must be one of {known}, got '{name}'")
    module, attribute = target(name)
    return getattr(imported(module), attribute)


def make_pass(name: str, options: Mapping[str, str] | None = None) -> Pass:
    """Construct a pass from options as text, spelled with `-` or `_`.

    Raises: PassFailed if the pass or an option is unknown, one that it needs is missing, or a value
    does not parse; ScheduleError for an unknown machine.
    """
    cls = pass_class(name)
    known = _option_types(cls)
    values: dict[str, Any] = {}
    for key, text in (options or {}).items():
        field_name = key.replace("-", "_")
        if field_name not in known:
            names = ", ".join(one.replace("_", "-") for one in known) or "none"
            raise PassFailed(f"{name}: options are {names}, got '{key}'")
        values[field_name] = _option(name, key, known[field_name], text)
        if field_name in _MACHINES:
            _MACHINES[field_name](text)
    for field in fields(cls):
        is_needed = field.default is field.default_factory is MISSING
        if is_needed and field.name not in values:
            wanted = _reader(known[field.name])[1]
            raise PassFailed(f"{name}: needs {field.name}=, {wanted}, got no such option")
    return cls(**values)


@cache
def _option_types(cls: type[Any]) -> dict[str, Any]:
    types = get_type_hints(cls)
    return {field.name: types[field.name] for field in fields(cls)}


_TRUTH = {"true": True, "1": True, "": True, "false": False, "0": False}


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split(","))


def _count(text: str) -> int:
    found = int(text)
    if found < 0:
        raise ValueError(text)
    return found


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    bool: (lambda text: _TRUTH[text.lower()], "true or false"),
    int: (_count, "an integer from 0 on"),
    float: (float, "a number"),
    str: (str, "text"),
    tuple[int, ...]: (_integers, "integers with commas between them"),
}


_MACHINES: dict[str, Callable[[str], object]] = {"cpu": named_cpu, "chip": named_gpu}


def _reader(kind: Any) -> tuple[Callable[[str], Any], str]:
    return _READERS.get(kind, _READERS[str])


def _option(name: str, key: str, kind: Any, text: str) -> Any:
    reader, wanted = _reader(kind)
    try:
        return reader(text)
    except (KeyError, ValueError):
        raise PassFailed(f"{name}: option {key} must be {wanted}, got '{text}'") from None
