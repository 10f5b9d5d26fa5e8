"""Rows of the table for operations that write pieces of the same memory, one after the other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ted.gpu.box_strategies import BOXES
from ted.gpu.dead_fills import Starts
from ted.gpu.disjoint_store_kernels import apart, map_apart, why_no_cells
from ted.gpu.disjoint_stores import Pieces
from ted.gpu.output_tiles import map_cells
from ted.gpu.sites import Site
from ted.mlir import ir
from ted.mlir.strategies import Choice, Declined, Strategy, first_match
from ted.records import dataclass


@dataclass(frozen=True)
class Apart:
    """Pieces that keep kernels of their own, whose blocks become those of one."""

    group: Pieces
    parts: list[tuple[Site, Choice]]


@dataclass(frozen=True)
class Cells:
    """Pieces that are found for each element of the memory."""

    group: Pieces


def _pieces_apart(site: Site) -> Any:
    group = site.pieces
    found = "no other operation writes the same memory" if group is None else apart(group)
    if group is None or isinstance(found, str):
        return Declined(str(found))
    parts = [_part(site, op, starts) for op, starts in found]
    return Apart(group, [(part, first_match(BOXES, part)) for part in parts])


def _part(site: Site, op: ir.Operation, starts: tuple[ir.Value | None, ...]) -> Site:
    return replace(site, op=op, starts=Starts({op: starts}), templates=None)


def _emit_apart(_: Site, plan: Apart) -> None:
    emits = [(part.op, partial(c.row.emit, part, c.plan)) for part, c in plan.parts]
    map_apart(plan.group.ops[-1], emits)


def _pieces_in_cells(site: Site) -> Any:
    group = site.pieces
    if group is None:
        return Declined("no other operation writes the same memory")
    reason = why_no_cells(group)
    return Cells(group) if reason is None else Declined(reason)


def _emit_cells(_: Site, plan: Cells) -> None:
    last = plan.group.ops[-1]
    with ir.InsertionPoint(last), last.location:
        map_cells(plan.group)


def _of_group(_: Site, plan: Apart | Cells) -> tuple[ir.Operation, ...]:
    return plan.group.ops


PIECES = (
    Strategy("pieces_apart", _pieces_apart, _emit_apart, _of_group),
    Strategy("pieces_in_cells", _pieces_in_cells, _emit_cells, _of_group),
)
