"""The oracles that a campaign can call, by name: what a seed stands for, and who decides.

torch     programs in ted and torch on the CPU, with metamorphic relations
cuda      the same through the CUDA pipeline on the emulated GPU
special   the same on data with NaN, infinities and zeros of both signs: values alone
systems   systems of equations against their definition and exact counts
symbolic  programs of symbolic sizes against the same with plain numbers
rows      programs over a batch in strips of few rows against the whole program
half      programs on f16 and bf16, for two rows of CPUs, against the interpreter
extremes  scalar functions at hard points, values and two derivatives in extended precision
work      the work of gradients against that of random expressions
wishes    random strategies at random operations, on both targets: obeyed and right, or refused
imported  programs of StableHLO against JAX, of linalg against MLIR's own lowering
inputs    damaged inputs of tools, bundles and cache end in messages
kinds     arguments of another kind at every place of every public function end in messages
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fuzz.outcomes import Outcome, failure_of


@dataclass(frozen=True)
class Oracle:
    """`draw` makes a subject of a seed, `decide` checks it; a subject that is a Case can shrink."""

    draw: Callable[[int], Any]
    decide: Callable[[Any], Outcome]
    seconds: float = 60.0


def _torch_case(seed: int) -> Any:
    from fuzz.cases import random_case
    from fuzz.relations import RELATIONS

    return random_case(seed, relations=tuple(RELATIONS))


def _special_case(seed: int) -> Any:
    from fuzz.cases import random_case
    from fuzz.relations import RELATIONS

    return random_case(seed, relations=tuple(RELATIONS), special=True)


def _jax_case(seed: int) -> Any:
    from fuzz.cases import random_case

    return random_case(seed, library="jax")


def _cuda_case(seed: int) -> Any:
    from fuzz.cases import random_case

    return random_case(seed, target="cuda:sm_80")


def _decide_case(case: Any) -> Outcome:
    import torch

    from fuzz.comparison import compare

    torch.set_num_threads(1)
    return compare(case)


def _decide_system(seed: int) -> Outcome:
    from fuzz.random_systems import check_system

    return Outcome("ok", counts=check_system(seed))


def _decide_symbolic(seed: int) -> Outcome:
    from fuzz.symbolic_programs import check

    check(seed)
    return Outcome("ok")


def _decide_rows(seed: int) -> Outcome:
    from fuzz.row_programs import check

    check(seed)
    return Outcome("ok")


def _decide_half(seed: int) -> Outcome:
    from fuzz.half_checks import check_half_program

    return Outcome("ok", counts={check_half_program(seed): 1})


def _decide_extremes(seed: int) -> Outcome:
    from fuzz.extremes import check

    return check(seed)


def _decide_work(seed: int) -> Outcome:
    from fuzz.work_bounds import check_expression

    return check_expression(seed)


def _decide_wishes(seed: int) -> Outcome:
    import torch

    from fuzz.random_wishes import check_strategies

    torch.set_num_threads(1)
    return check_strategies(seed)


def _decide_input(seed: int) -> Outcome:
    from fuzz.mutated_inputs import check_damaged

    return check_damaged(seed)


def _decide_kinds(seed: int) -> Outcome:
    from fuzz.argument_kinds import check_argument

    return check_argument(seed)


def _decide_imported(seed: int) -> Outcome:
    from fuzz.imported_checks import check_imported

    return check_imported(seed)


def _seed(seed: int) -> int:
    return seed


ORACLES = {
    "torch": Oracle(_torch_case, _decide_case),
    "special": Oracle(_special_case, _decide_case),
    "jax": Oracle(_jax_case, _decide_case),
    "cuda": Oracle(_cuda_case, _decide_case, 180.0),
    "systems": Oracle(_seed, _decide_system, 120.0),
    "symbolic": Oracle(_seed, _decide_symbolic, 120.0),
    "rows": Oracle(_seed, _decide_rows, 120.0),
    "half": Oracle(_seed, _decide_half),
    "extremes": Oracle(_seed, _decide_extremes, 600.0),
    "work": Oracle(_seed, _decide_work),
    "wishes": Oracle(_seed, _decide_wishes, 400.0),
    "kinds": Oracle(_seed, _decide_kinds, 400.0),
    "imported": Oracle(_seed, _decide_imported, 120.0),
    "inputs": Oracle(_seed, _decide_input, 120.0),  # whose child has limits of its own
}


def answer(question: tuple[str, Any, bool]) -> Outcome:
    """What a child process does: check a seed, or a subject."""
    start = time.process_time()
    outcome = _answer(*question)
    return replace(outcome, seconds=time.process_time() - start)


def _answer(name: str, subject: Any, is_seed: bool) -> Outcome:
    oracle = ORACLES[name]
    try:
        return oracle.decide(oracle.draw(subject) if is_seed else subject)
    except AssertionError as error:
        return Outcome("wrong", str(error)[:60], traceback.format_exc()[-1500:])
    except Exception as error:
        return replace(failure_of(error), detail=traceback.format_exc()[-1500:])
