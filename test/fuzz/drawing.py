"""A random program from a seed: steps are drawn from the table and run by torch as they come.

A step stays if torch gives numbers that are finite and not large, far from kinks unless everything
is a whole number, and few.
"""

from __future__ import annotations

import numpy as np
import torch

from fuzz.pool import Pool, Unsuitable, type_name
from fuzz.programs import FLOATS, INTEGERS, Input, Program, Step
from fuzz.rebuilding import used
from fuzz.rows.row import Row
from fuzz.rows.table import ROWS
from fuzz.texts import step_lines
from fuzz.torch_meaning import namespace, quiet, tensor_of

EXTENTS = (0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33)
USUAL = (1, 2, 3, 4, 5, 6, 8)
MOST_ELEMENTS = 600
MOST_STEPS = 9
ATTEMPTS = 120
# The largest number that a program may hold, and the closest to a kink, for each type.
LARGEST = {"float64": 1e3, "float32": 1e3, "float16": 60.0, "bfloat16": 60.0}
LARGEST_WHOLE = {"float64": 2.0**30, "float32": 2.0**14, "float16": 2.0**8, "bfloat16": 2.0**5}
NAMES = namespace(ideal=False)
NEAREST = {"float64": 1e-3, "float32": 1e-2, "float16": 0.1, "bfloat16": 0.2}


def random_program(
    random: np.random.Generator, exact: bool, dtype: str, library: str = "torch"
) -> Program:
    """A program over floats of one type mostly, `exact` on whole numbers."""
    pool = Pool(random, exact, extended, library)
    inputs = _inputs(pool, dtype)
    pool.values = [tensor_of(i.array()) for i in inputs]
    return used(extended(pool, inputs, pool.integer(1, MOST_STEPS)))


def extended(pool: Pool, inputs: list[Input], length: int) -> Program:
    """So many steps on the values of a pool; the values that nobody reads are results, and more."""
    steps: list[Step] = []
    rows = [r for r in ROWS if (r.exact or not pool.exact) and pool.library in r.texts]
    weights = np.array([r.weight for r in rows])
    for _ in range(ATTEMPTS):
        if len(steps) == length:
            break
        row = rows[int(pool.random.choice(len(rows), p=weights / weights.sum()))]
        try:
            steps.append(drawn_step(pool, row))
        except Unsuitable:
            continue
    return Program(tuple(inputs), tuple(steps), _results(pool, steps, len(inputs)))


def drawn_step(pool: Pool, row: Row) -> Step:
    """A step of a row; its value joins the pool.

    Raises: Unsuitable.
    """
    drawn = row.draw(pool)
    step = Step(row.name, drawn.args, tuple(drawn.fields.items()), drawn.body)
    try:
        pool.values.append(_run(pool, row, step))
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        raise Unsuitable from error  # torch takes no such operands: as good as not drawn
    kinds = {pool.values[a].dtype for a in step.args}
    if step.body is not None and pool.values[-1].dtype not in kinds:
        pool.values.pop()
        raise Unsuitable  # torch.func makes float64 of scalars in float32
    return step


def _inputs(pool: Pool, dtype: str) -> list[Input]:
    """Two to four floats, some integers and conditions; extents are shared, so that shapes fit."""
    sizes = [pool.choose(EXTENTS), pool.choose(USUAL), pool.choose(USUAL)]
    sizes = [n for n in sizes if n or pool.chance(0.5)] or [3]
    kinds = [dtype] * pool.integer(2, 4) + [pool.choose(INTEGERS)] * pool.integer(0, 2)
    kinds += ["bool"] * pool.integer(0, 1)
    if pool.chance(0.2):
        kinds.append(pool.choose(FLOATS))
    made = []
    for kind in kinds:
        shape = tuple(pool.choose(sizes) for _ in range(pool.choose((0, 1, 1, 2, 2, 2, 3))))
        while np.prod(shape) > MOST_ELEMENTS:
            shape = shape[1:]
        made.append(Input(shape, kind, pool.exact, int(pool.random.integers(2**31))))
    return made


def _run(pool: Pool, row: Row, step: Step) -> torch.Tensor:
    """The value of a step; raises Unsuitable for numbers that say little."""
    values = [f"v{k}" for k in range(len(pool.values) + 1)]
    scope = NAMES | dict(zip(values, pool.values, strict=False))
    with quiet():
        exec("\n".join(step_lines(step, "torch", values, len(pool.values))), scope)
    value = scope[values[-1]]
    if value.numel() > MOST_ELEMENTS or value.ndim > 4:
        raise Unsuitable
    if value.is_floating_point() and value.numel():
        kind = type_name(value)
        largest = float(value.abs().max())
        if not largest < (LARGEST_WHOLE if pool.exact else LARGEST)[kind]:
            raise Unsuitable
    if row.kink and not pool.exact:
        _check_kink(row, step, scope)
    return value


def _check_kink(row: Row, step: Step, scope: dict) -> None:
    operands = dict(zip("xyz", (f"v{a}" for a in step.args), strict=False))
    distance = eval(row.kink.format(**operands, **dict(step.fields)), scope).abs()
    kind = type_name(distance)
    if distance.numel() and float(distance.min()) < NEAREST.get(kind, 0.0):
        raise Unsuitable


def _results(pool: Pool, steps: list[Step], first: int) -> tuple[int, ...]:
    read = {a for step in steps for a in step.args}
    last = len(pool.values)
    chosen = [k for k in range(first, last) if k not in read or pool.chance(0.5)]
    return tuple(chosen)
