"""The registry of ted's passes: a table of strings, resolved when a pass is first used.

A pass is a frozen dataclass whose fields are its options and whose `run(module)` rewrites the
module, or raises `TedError`. The strings are the one place where a low package names a high one:
importing this module loads no pass.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, get_type_hints

from ted.errors import PassFailed

if TYPE_CHECKING:
    from ted.mlir import ir


class Pass(Protocol):
    """What every pass of ted has."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module in place, or raise `TedError`."""
        ...


@dataclass(frozen=True)
class Row:
    """Where a pass lives and what it does, in one line."""

    target: str
    summary: str

    @property
    def module(self) -> str:
        """Name of the module that defines the pass."""
        return self.target.partition(":")[0]


PASSES: dict[str, Row] = {
    "ted-check-bounds": Row(
        "ted.transforms.ted_check_bounds:TedCheckBounds",
        "prove that every access lies in its tensor and every set writes a point once",
    ),
    "ted-inline-pointwise": Row(
        "ted.transforms.ted_inline_pointwise:TedInlinePointwise",
        "move pointwise producers into the bodies that read them",
    ),
    "ted-split-dims": Row(
        "ted.transforms.ted_split_dims:TedSplitDims",
        "turn floordiv and mod of a dim by a constant into extra dims",
    ),
    "ted-differentiate": Row(
        "ted.transforms.ted_differentiate:TedDifferentiate",
        "append the vector-Jacobian product of a function",
    ),
    "ted-scatter-to-gather": Row(
        "ted.transforms.ted_scatter_to_gather:TedScatterToGather",
        "solve every affine scatter for the points that reach an element",
    ),
    "ted-simplify": Row(
        "ted.transforms.ted_simplify:TedSimplify",
        "drop zeros, empty domains and dead equations; merge equal ones",
    ),
    "ted-report-gradient": Row(
        "ted.transforms.ted_report_gradient:TedReportGradient",
        "say which adjoints are gathers, and the exact operation counts",
    ),
    "ted-schedule-contractions": Row(
        "ted.schedules.ted_schedule_contractions:TedScheduleContractions",
        "find contractions on tensors and claim them for the vector route",
    ),
    "ted-vectorize-contractions": Row(
        "ted.schedules.ted_vectorize_contractions:TedVectorizeContractions",
        "turn claimed contractions on memrefs into loops around register tiles",
    ),
    "ted-fuse-rows": Row(
        "ted.schedules.ted_fuse_rows:TedFuseRows",
        "tile groups of generics over common outer dims and fuse them into one loop nest",
    ),
    "convert-ted-to-linalg": Row(
        "ted.lowering.convert_ted_to_linalg:ConvertTedToLinalg",
        "lower equations to linalg and scf on tensors",
    ),
    "ted-pass-destinations": Row(
        "ted.lowering.ted_pass_destinations:TedPassDestinations",
        "turn results of functions into memory that the caller provides",
    ),
    "ted-convert-copies": Row(
        "ted.lowering.ted_convert_copies:TedConvertCopies",
        "turn copies of memory into linalg, which becomes loops",
    ),
    "ted-unroll-small-loops": Row(
        "ted.lowering.ted_unroll_small_loops:TedUnrollSmallLoops",
        "unroll innermost loops of few trips, from the inside out",
    ),
    "ted-expand-math": Row(
        "ted.lowering.ted_expand_math:TedExpandMath",
        "turn elementary functions into polynomials that vectorise",
    ),
    "ted-annotate-latches": Row(
        "ted.lowering.ted_annotate_latches:TedAnnotateLatches",
        "keep LLVM from unrolling vectorised loops away",
    ),
    "ted-check-lowered": Row(
        "ted.lowering.ted_check_lowered:TedCheckLowered",
        "refuse operations outside the LLVM dialect and symbols that nothing defines",
    ),
}


def available() -> Iterator[tuple[str, Row]]:
    """The passes whose module exists, in the order of the table."""
    for name, row in PASSES.items():
        if _exists(row.module):
            yield name, row


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def is_ours(name: str) -> bool:
    """Whether the pass is written in Python; all others belong to MLIR."""
    return name in PASSES


def pass_class(name: str) -> type[Any]:
    """The class of a pass.

    Raises: PassFailed if there is no such pass.
    """
    row = PASSES.get(name)
    if row is None or not _exists(row.module):
        known = ", ".join(known_name for known_name, _ in available())
        raise PassFailed(f"pass: must be one of {known}, got '{name}'")
    module, _, attribute = row.target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def make_pass(name: str, options: Mapping[str, str] | None = None) -> Pass:
    """Construct a pass from options as text, spelled with `-` or `_`.

    Raises: PassFailed if the pass or an option is unknown, or a value does not parse.
    """
    cls = pass_class(name)
    types = get_type_hints(cls)
    known = {field.name: types[field.name] for field in fields(cls)}
    values: dict[str, Any] = {}
    for key, text in (options or {}).items():
        field_name = key.replace("-", "_")
        if field_name not in known:
            names = ", ".join(one.replace("_", "-") for one in known) or "none"
            raise PassFailed(f"{name}: options are {names}, got '{key}'")
        values[field_name] = _option(name, key, known[field_name], text)
    return cls(**values)


_TRUTH = {"true": True, "1": True, "": True, "false": False, "0": False}


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split(","))


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    bool: (lambda text: _TRUTH[text.lower()], "true or false"),
    int: (int, "an integer"),
    float: (float, "a number"),
    str: (str, "text"),
    tuple[int, ...]: (_integers, "integers with commas between them"),
}


def _option(name: str, key: str, kind: Any, text: str) -> Any:
    reader, wanted = _READERS.get(kind, _READERS[str])
    try:
        return reader(text)
    except (KeyError, ValueError):
        raise PassFailed(f"{name}: option {key} must be {wanted}, got '{text}'") from None
