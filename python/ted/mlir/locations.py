"""MLIR locations <-> the user's names and lines.

A value that the user named `C` on line 41 of `model.py` has the location `"C"("model.py":41:0)`; an
equation over dims that the user named i and r has `fused<"i, r">["C"("model.py":41:0)]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ted.errors import SourceLocation
from ted.mlir import ir

NAMELESS = "-"
"""The file that MLIR names in the locations of a text that it has parsed."""


def rename_files(module: ir.Module, old: str, new: str) -> None:
    """Write another name of a file into the locations of all operations and arguments."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        op.location = _renamed(op.location, old, new)
        for region in op.regions:
            for argument in (a for block in region.blocks for a in block.arguments):
                argument.set_location(_renamed(argument.location, old, new))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def _renamed(location: ir.Location, old: str, new: str) -> ir.Location:
    if isinstance(location, ir.FileLineColLoc) and location.filename == old:
        line, column = location.start_line, location.start_col
        return ir.Location.file(new, line, column, location.context)
    if isinstance(location, ir.NameLoc):
        inner = _renamed(location.child_loc, old, new)
        return ir.Location.name(location.name_str, inner, location.context)
    return location


def source_location(location: ir.Location) -> SourceLocation | None:
    """The user's line in a location: the first file and line below names, calls and fusions."""
    if isinstance(location, ir.FileLineColLoc):
        return SourceLocation(location.filename, location.start_line, location.start_col)
    if isinstance(location, ir.NameLoc):
        return source_location(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return source_location(location.callee)
    if isinstance(location, ir.FusedLoc):
        found = (source_location(one) for one in _parts(location))
        return next((one for one in found if one is not None), None)
    return None


def user_name(location: ir.Location) -> str | None:
    """The name that a location carries, if any."""
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.FusedLoc):
        found = (user_name(one) for one in _parts(location))
        return next((one for one in found if one is not None), None)
    return None


def dim_names(location: ir.Location) -> tuple[str, ...]:
    """The user's names of iteration dims that a location carries; empty when it has none."""
    metadata = location.metadata if isinstance(location, ir.FusedLoc) else None
    names = None if metadata is None else metadata.maybe_downcast()
    return tuple(names.value.split(", ")) if isinstance(names, ir.StringAttr) else ()


def with_dim_names(location: ir.Location, names: Sequence[str]) -> ir.Location:
    """The location carrying names of iteration dims, if there are any."""
    if not names:
        return location
    metadata = ir.StringAttr.get(", ".join(names), location.context)
    return ir.Location.fused([location], metadata, location.context)


def _parts(location: ir.FusedLoc) -> list[ir.Location]:
    return [cast("ir.Location", one) for one in location.locations]


def mlir_location(
    source: SourceLocation | None, name: str | None = None, context: ir.Context | None = None
) -> ir.Location:
    """The location of something on the user's line, under the user's name."""
    if source is None:
        place = ir.Location.unknown(context)
    else:
        # A name of a file may hold bytes that are no text.
        file = source.file.encode("utf-8", "backslashreplace").decode("utf-8")
        place = ir.Location.file(file, source.line, source.column, context)
    return place if name is None else ir.Location.name(name, place, context)
