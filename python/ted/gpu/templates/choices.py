"""Tile sizes that are worth trying, and which of them a contraction gets.

A cost is counted in multiply-adds of the busiest multiprocessor, divided by the share of the peak
that a tile can reach at best; only the ranking has to be right. Everything is a static integer, so
the choice is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ted.gpu.templates.problem import Gemm
from ted.gpu.templates.schedule import Plan, Tiling
from ted.machine import GPUS
from ted.records import dataclass

# (tiling, share of the peak). The share falls with the loads per multiply-add of a tile.
Choices = tuple[tuple[Tiling, float], ...]
SIMT_4_BYTES: Choices = (
    (Tiling(128, 128, 8, (4, 2), (8, 8)), 1.0),
    (Tiling(128, 64, 8, (4, 1), (8, 8)), 0.9),
    (Tiling(64, 64, 8, (2, 2), (8, 4)), 0.75),
    (Tiling(128, 32, 8, (4, 1), (8, 4)), 0.7),
    (Tiling(32, 128, 8, (2, 2), (4, 8)), 0.7),
    (Tiling(32, 32, 16, (2, 1), (4, 4)), 0.45),
)
SIMT_8_BYTES: Choices = (
    (Tiling(64, 64, 8, (4, 2), (4, 4)), 1.0),
    (Tiling(32, 64, 8, (2, 2), (4, 4)), 0.9),
    (Tiling(32, 32, 8, (2, 1), (4, 4)), 0.7),
)
MMA_2_BYTES: Choices = (
    (Tiling(128, 256, 32, (2, 4), stages=4), 1.0),
    (Tiling(256, 128, 32, (4, 2), stages=4), 1.0),
    (Tiling(128, 128, 32, (2, 2), stages=4), 0.95),
    (Tiling(128, 64, 32, (2, 2), stages=4), 0.75),
    (Tiling(64, 128, 32, (2, 2), stages=4), 0.75),
    (Tiling(64, 64, 32, (2, 2), stages=4), 0.55),
    (Tiling(32, 32, 32, (2, 2), stages=4), 0.25),
)
# Where an operand passes through registers: more threads share that work.
MMA_2_BYTES_BY_REGISTERS: Choices = (
    (Tiling(128, 128, 32, (4, 2), stages=3), 0.9),
    (Tiling(128, 64, 32, (4, 2), stages=3), 0.7),
    (Tiling(64, 128, 32, (2, 4), stages=3), 0.7),
    (Tiling(64, 64, 32, (2, 2), stages=3), 0.5),
    (Tiling(32, 32, 32, (2, 2), stages=3), 0.25),
)
MMA_4_BYTES: Choices = (
    (Tiling(128, 256, 16, (2, 4), stages=4), 1.0),
    (Tiling(128, 128, 16, (2, 4), stages=4), 0.8),
    (Tiling(128, 64, 16, (2, 2), stages=4), 0.75),
    (Tiling(64, 64, 16, (2, 2), stages=4), 0.6),
    (Tiling(32, 32, 32, (2, 2), stages=3), 0.3),
)
MMA_8_BYTES: Choices = (
    (Tiling(128, 64, 16, (2, 2), stages=4), 1.0),
    (Tiling(64, 128, 16, (2, 2), stages=4), 0.95),
    (Tiling(64, 64, 16, (2, 2), stages=4), 0.85),
    (Tiling(32, 32, 16, (2, 2), stages=4), 0.4),
)
WGMMA: Choices = (
    (Tiling(128, 256, 64, (0, 0), stages=4), 1.0),
    (Tiling(256, 128, 64, (0, 0), stages=4), 1.0),
    (Tiling(128, 128, 64, (0, 0), stages=6), 0.85),
    (Tiling(256, 64, 64, (0, 0), stages=5), 0.7),
    (Tiling(128, 64, 64, (0, 0), stages=6), 0.6),
)
# What mma.sync reaches where there is wgmma.
MMA_BESIDE_WGMMA = 0.6
# What wgmma reaches when threads copy what it reads.
GATHER_BESIDE_BOXES = 0.9
OTHER_CHIPS = 108  # multiprocessors
# Products per element of C below which a split is not worth its second kernel.
LEAST_SPLIT_DEPTH = 256
MOST_SPLITS = 32
MOST_ROUNDS = 3  # blocks of a multiprocessor, where sums are cut
# Steps of k that filling and emptying a block's pipeline costs.
FILLING = 64
# A kernel costs some microseconds to start, as so many multiply-adds of one multiprocessor do.
STARTING = 1 << 20
# Multiply-adds in the time of one element of partial sums, written and read again.
SUM_COST = 90
# Both are counted by ordinary arithmetic; tensor cores make so many more in that time.
TENSOR_CORES = 10


def processors(chip: str) -> int:
    """Multiprocessors of a chip's largest form."""
    row = GPUS.get(chip)
    return OTHER_CHIPS if row is None else row.multiprocessors or OTHER_CHIPS


@dataclass(frozen=True)
class Option:
    """A template with the tile sizes to try, and its share of the chip's best rate."""

    template: str
    choices: Choices
    share: float = 1.0
    tf32: bool = False


def cheapest(gemm: Gemm, chip: str, options: Sequence[Option]) -> Plan:
    """The plan of least cost; the first of equals."""
    available = processors(chip)
    plans = [
        (_cost(candidate, available) / (share * option.share), candidate)
        for option in options
        for tiling, share in option.choices
        for candidate in _splits(
            Plan(option.template, chip, gemm, tiling, 1, option.tf32), available
        )
    ]
    return min(plans, key=lambda entry: entry[0])[1]


def _splits(base: Plan, available: int) -> list[Plan]:
    """The plan with k in one piece, and cut into 2, 3, .. where the grid is a few rounds at most.

    Not powers of two alone: 7 splits of 18 tiles fill 126 of 132 multiprocessors, 4 fill 72.
    """
    found = {1: base}
    for splits in range(2, MOST_SPLITS + 1):
        depth = ceil(base.steps / splits)
        if base.blocks * splits > MOST_ROUNDS * available:
            break
        if depth * base.tiling.depth < LEAST_SPLIT_DEPTH:
            break
        whole = ceil(base.steps / depth)
        found.setdefault(whole, replace(base, splits=whole))
    return list(found.values())


def _cost(candidate: Plan, available: int) -> float:
    """Multiply-adds on the busiest multiprocessor, plus the traffic of the second stage."""
    tiling, gemm = candidate.tiling, candidate.gemm
    rounds = ceil(candidate.blocks / available)
    work = tiling.rows * tiling.columns * (candidate.steps_per_split * tiling.depth + FILLING)
    second = 0.0
    if candidate.splits > 1:
        sums = gemm.m * gemm.n * gemm.batches * candidate.splits
        second = STARTING + SUM_COST * sums / available
        second *= 1 if candidate.template == "simt" else TENSOR_CORES
    return rounds * work + second
