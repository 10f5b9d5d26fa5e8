"""A fixed corpus of programs, and what ted makes of each: texts that two versions of ted compare.

An item is a name and a number, such as `programs 3`; `text_of` gives all that comes out of it, the
exception if that is what comes out. Nothing is remembered from one item to the next.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.pieces import pieces
from fuzz.symbolic_programs import Program
from support.random_programs import random_program
from support.run_lines import run_stage
from ted import dialects
from ted.domain import bounds, fibres, guarded, sets
from ted.frontend.systems import system_of
from ted.ir.equations import System, Tensor
from ted.ir.to_ops import to_module
from ted.transforms.gradient import differentiate, scatter_form
from unit.domain.random_maps import random_problem

Item = tuple[str, int]
LOWERED = (["--ted-cpu-pipeline"], ["--ted-cuda-pipeline=until=buffers"])


def _piece(number: int) -> Iterator[str]:
    """A piece of an IR test, through the passes of the test."""
    piece = pieces()[number]
    yield _opt(piece.text, list(piece.flags))


def _program(number: int) -> Iterator[str]:
    """A random program of the fuzzer with its gradients, as equations and lowered."""
    from fuzz.answers import heads_of  # torch, which the others do without
    from fuzz.cases import random_case
    from fuzz.compiled import traced

    case = random_case(number)
    program = traced(case, heads_of(case))
    yield from _both(system_of(program.inputs, list(program.results.values())))


def _system(number: int) -> Iterator[str]:
    """A random system of equations, its scatter form, and the gradients of two orders."""
    system = random_program(number, fewest_reads=2).system
    for order in (1, 2):
        heads = [Tensor(f"d{t.name}_{order}", t.shape, t.dtype) for t in system.outputs]
        inputs = (*system.inputs, *heads)
        yield _ir(System(inputs, tuple(scatter_form(system, heads).values())))
        found = differentiate(system.outputs, system.inputs, heads)
        system = System(inputs, tuple(found.gradients))
        yield from _both(system)


def _symbolic(number: int) -> Iterator[str]:
    """A random program of symbolic sizes with its gradients."""
    yield _ir(Program(number).system)


def _map(number: int) -> Iterator[str]:
    """The fibres of a random map over a small set, in pieces and in one; its range and image."""
    problem = random_problem(number)
    for split in (True, False):
        yield from map(str, fibres.solve_fibres(problem.domain, problem.functions, split=split))
    yield str(guarded.guarded_piece(problem.domain, problem.functions))
    yield str(bounds.image(problem.domain, problem.functions))
    for dim in range(sets.rank_of(problem.domain)):
        yield str(sets.project(problem.domain, [dim]))


# Kind -> what comes out of a number, and how many there are.
KINDS: dict[str, tuple[Callable[[int], Iterator[str]], int]] = {
    "pieces": (_piece, len(pieces())),
    "programs": (_program, 50),
    "systems": (_system, 12),
    "symbolic": (_symbolic, 30),
    "maps": (_map, 200),
}


def items() -> list[Item]:
    """All of the corpus."""
    return [(kind, k) for kind, (_, count) in KINDS.items() for k in range(count)]


def text_of(item: Item) -> str:
    """What comes out of an item."""
    _forget()
    kind, number = item
    texts: list[str] = []
    try:
        texts += KINDS[kind][0](number)
    except Exception as error:
        texts.append(f"{type(error).__name__}: {error}")
    return re.sub(r"/\S*/ted-\w{8}/", "", "\n".join(texts))  # where reproducers are kept


def _forget() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("ted.domain."):
            for value in vars(module).values():
                clear: Any = getattr(value, "cache_clear", None)
                if clear is not None:
                    clear()


def _ir(system: System) -> str:
    with dialects.session():
        return str(to_module(system))


def _both(system: System) -> Iterator[str]:
    text = _ir(system)
    yield text
    for flags in LOWERED:
        yield _opt(text, flags)


def _opt(text: str, flags: list[str]) -> str:
    status, output = run_stage(["ted-opt", "-", *flags, "2>&1"], text.encode())
    return f"{status}\n{output.decode()}"
