"""What is asked of a random program: which results at once, of which order, where, and how.

A case is data, drawn from one seed; the texts, arrays and answers follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fuzz.drawing import random_program
from fuzz.programs import FLOATS, Program

Wanted = tuple[str, int]  # ("value", 0): the first result; ("d1", 0), ("d2", 0): gradients
DTYPES = ("float64",) * 6 + ("float32",) * 3 + ("float16", "bfloat16")
RELATED = 0.35  # how often a metamorphic relation is asked of a program too


@dataclass(frozen=True)
class Case:
    """A program and what is asked of it.

    `wanted` says which results one compiled function gives, in this order: values, gradients
    (`d1`), and gradients of gradients (`d2`), by numbers of results or of inputs. `relation` is the
    name of a metamorphic relation.
    """

    program: Program
    wanted: tuple[Wanted, ...]
    exact: bool
    target: str = "cpu"
    donate: bool = False
    relation: str = ""
    seed: int = 0
    library: str = "torch"  # whose answer counts

    @property
    def order(self) -> int:
        """How often it is differentiated."""
        return max((int(kind[1]) for kind, _ in self.wanted if kind != "value"), default=0)


def random_case(
    seed: int,
    target: str = "cpu",
    relations: tuple[str, ...] = (),
    library: str = "torch",
    special: bool = False,
) -> Case:
    """The case of a seed; of `special` data only the values are asked."""
    random = np.random.default_rng([seed, 9])
    exact = bool(random.random() < 0.5) and not special
    dtype = DTYPES[int(random.integers(len(DTYPES)))]
    if target != "cpu" and dtype == "float64" and random.random() < 0.5:
        dtype = "float32"
    while True:
        program = random_program(random, exact, dtype, library)
        # torch sums before it multiplies, where by the definition infinity meets zeros.
        if program.results and program.steps and not (special and "einsum" in program.rows()):
            break
    order = 0 if special else int(random.choice((0, 1, 2), p=(0.4, 0.35, 0.25)))
    wanted = _wanted(random, program, order)
    relation = ""
    if relations and random.random() < RELATED:
        relation = relations[int(random.integers(len(relations)))]
    donate = bool(random.random() < 0.25)
    if special:
        program = replace(program, inputs=tuple(replace(i, special=True) for i in program.inputs))
    return Case(program, wanted, exact, target, donate, relation, seed, library)


def _wanted(random: np.random.Generator, program: Program, order: int) -> tuple[Wanted, ...]:
    """A random part of what there is, in random order: always something of the highest order."""
    inputs = [k for k, i in enumerate(program.inputs) if i.dtype in FLOATS]
    orders = range(1, order + 1) if inputs else ()
    last = [(f"d{n}", k) for n in orders for k in inputs]
    every = [("value", k) for k in range(len(program.results))] + last
    chosen = [w for w in every if random.random() < 0.6] or [every[-1]]
    random.shuffle(chosen)
    return tuple((str(kind), int(k)) for kind, k in chosen)
