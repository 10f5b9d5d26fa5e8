"""Programs of recurrences as researchers write them, at orders 0, 1 and 2 against torch.

Their second derivatives met what operators alone do not: neighbours in rows of nine, masks of rows
that data name, sums that start from one another in a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import ted

FAR = 1e3


@dataclass(frozen=True)
class Research:
    """A program in ted and in torch, its arrays, and how many of the first have slopes."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    floats: int


def smallest(values: Any, library: Any) -> Any:
    """The smooth minimum of a few numbers."""
    return -0.5 * library.logsumexp(library.stack([-value / 0.5 for value in values]), 0)


def warped(x: Any, y: Any) -> Any:
    """Soft dynamic time warping: a scan over rows, of which each is a scan over cells."""
    costs = ted.sum((x[:, None] - y[None]) ** 2, -1)
    edge = ted.full((1,), FAR, dtype="float64")

    def row(above: Any, costs: Any) -> Any:
        def cell(left: Any, given: Any) -> Any:
            cost, up, diagonal = given
            value = cost + smallest([left, up, diagonal], ted)
            return value, value

        _, values = ted.scan(cell, ted.constant(np.float64(FAR)), (costs, above[1:], above[:-1]))
        return ted.concatenate([edge, values]), None

    start = ted.concatenate([ted.zeros((1,), dtype="float64"), ted.tile(edge, y.shape[:1])])
    last, _ = ted.scan(row, start, costs)
    return last[-1]


def torch_warped(x: Any, y: Any) -> Any:
    """The same, cell by cell."""
    costs = ((x[:, None] - y[None]) ** 2).sum(-1)
    far = torch.tensor(FAR, dtype=torch.float64)
    above = [torch.zeros_like(far), *[far] * len(y)]
    for of_row in costs:
        row = [far]
        for cost, up, diagonal in zip(of_row, above[1:], above[:-1], strict=True):
            row.append(cost + smallest([row[-1], up, diagonal], torch))
        above = row
    return above[-1]


def hidden(changes: Any, signs: Any, seen: Any) -> Any:
    """The likelihood of what a hidden Markov model emits."""
    changes, signs = ted.nn.log_softmax(changes, 1), ted.nn.log_softmax(signs, 1)

    def step(before: Any, sign: Any) -> Any:
        return ted.logsumexp(before[:, None] + changes, 0) + signs[:, sign], None

    last, _ = ted.scan(step, signs[:, seen[0]], seen[1:])
    return ted.logsumexp(last)


def torch_hidden(changes: Any, signs: Any, seen: Any) -> Any:
    """The same, step by step."""
    changes, signs = torch.log_softmax(changes, 1), torch.log_softmax(signs, 1)
    before = signs[:, seen[0]]
    for sign in seen[1:]:
        before = torch.logsumexp(before[:, None] + changes, 0) + signs[:, sign]
    return torch.logsumexp(before, 0)


def pushed(x: Any, library: Any) -> Any:
    """Where points are after forces of pairs have moved them; none of a point on itself."""
    differences = x[:, None] - x[None]
    far = (differences**2).sum(-1)
    kept = library.where(far > 0, far, 1.0)
    force = library.where(far > 0, 1 / kept**2 - library.log(kept) / library.sqrt(kept), 0.0)
    return x + (force[..., None] * differences).sum(1)


def moved(x: Any) -> Any:
    """Two steps of a scan."""
    x, _ = ted.scan(lambda x, _: (pushed(x, ted), None), x, length=2)
    return ted.sum(x**2)


def guarded(x: Any) -> Any:
    """The same with the guard behind the force, whose slope at 0 has no number."""

    def step(x: Any, _: Any) -> Any:
        d = x[:, None] - x[None]
        r = ted.sum(d * d, -1)
        force = ted.where(r > 0, 1 / r**2 - ted.log(r) / ted.sqrt(r), 0.0)
        return x + ted.sum(force[..., None] * d, 1), None

    x, _ = ted.scan(step, x, length=2)
    return ted.sum(x**2)


def torch_moved(x: Any) -> Any:
    """Two steps."""
    return (pushed(pushed(x, torch), torch) ** 2).sum()


def programs() -> dict[str, Research]:
    """The programs; extents are no powers of two."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=(7, 3)), random.normal(size=(9, 3))
    model = random.normal(size=(4, 4)), random.normal(size=(4, 6)), random.integers(0, 6, 12)
    points = random.normal(size=(3, 2))
    return {
        "soft_dtw": Research(warped, torch_warped, (x, y), 2),
        "hidden_markov": Research(hidden, torch_hidden, model, 2),
        "pair_forces": Research(moved, torch_moved, (points,), 1),
        "pair_forces_guarded": Research(guarded, torch_moved, (points,), 1),
    }


PROGRAMS = programs()


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_recurrences_have_torchs_values_and_gradients_of_two_orders(name: str) -> None:
    program = PROGRAMS[name]
    floats, count = program.arrays[: program.floats], len(program.arrays)
    directions = [np.random.default_rng(1).normal(size=a.shape) for a in floats]
    first = ted.grad(program.ours, argnums=tuple(range(len(floats))))

    def along(*given: Any) -> Any:
        pairs = zip(first(*given[:count]), given[count:], strict=True)
        return sum(ted.sum(slope * direction) for slope, direction in pairs)

    second = ted.grad(along, argnums=tuple(range(len(floats))))
    known = [torch.tensor(a, requires_grad=k < len(floats)) for k, a in enumerate(program.arrays)]
    wanted = program.theirs(*known)
    slopes = torch.autograd.grad(wanted, known[: len(floats)], create_graph=True)
    product = sum((g * torch.tensor(v)).sum() for g, v in zip(slopes, directions, strict=True))
    curvatures = torch.autograd.grad(product, known[: len(floats)])
    close(ted.function(program.ours)(*program.arrays), wanted)
    for found, theirs in zip(first(*program.arrays), slopes, strict=True):
        close(found, theirs)
    for found, theirs in zip(second(*program.arrays, *directions), curvatures, strict=True):
        close(found, theirs)


def close(found: Any, wanted: torch.Tensor) -> None:
    """Equal to 1e-11 of the largest number."""
    numbers = wanted.detach().numpy()
    np.testing.assert_allclose(found, numbers, rtol=0, atol=1e-11 * np.abs(numbers).max())
