"""Random strategies at random operations: each is obeyed, with the same results, or refused.

    make fuzz ORACLE=wishes COUNT=500

A random program is compiled, on a CPU or for the emulated GPU, while passes that choose write
something else at some operations: another row of their table, other parameters, other groups of
equations over rows, for CPUs, or of operations on tensors, for GPUs; or while some equations ask
for what became of equations of their name before, or for another form. What is built must give what
torch gives; a refusal is a ScheduleError that names the attribute. Anything else is a finding.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest import mock

from fuzz.cases import random_case
from fuzz.comparison import compare
from fuzz.outcomes import Outcome
from support.in_process import compiling_here
from ted.api import cpu_lowerings, cuda_compiling
from ted.codegen import splitting
from ted.cpu import strategies as cpu_strategies
from ted.cpu import ted_choose_loops
from ted.gpu import strategies as gpu_strategies
from ted.gpu import ted_choose_kernels
from ted.linalg import kernel_strategies, ted_emit_kernels
from ted.linalg.kernel_strategies import COLUMNS, COMMON_POINTS, PADDED, TOTALS
from ted.linalg.shared_rows import ALONE, ROWS
from ted.linalg.strategies import CONTRACTION, PARTS, POINTS
from ted.mlir import ir
from ted.mlir.locations import user_name
from ted.mlir.queries import operations
from ted.mlir.strategies import (
    ATTRIBUTE,
    FORM,
    GROUP,
    Choice,
    Declined,
    Strategy,
    annotate,
    parameters,
)

RARE = 0.03  # what is refused nearly always
DRAWS = 6  # sets of wishes for each program
NUMBERS = (-1, 0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 48, 64, 128, 256, 1 << 20)
REFUSED, WAY_OUT = "ScheduleError", "take the attribute"


@dataclass
class Wishes:
    """What is asked for; each draw of one seed is the same in every process."""

    random: random.Random
    most: int
    written: list[str] = field(default_factory=list)
    sites: list[Any] = field(default_factory=list)  # of decisions that are not written yet
    early: dict[str, list[tuple[str, str, dict[str, Any]]]] | None = None  # by names of equations

    def now(self, share: float) -> bool:
        """Whether something else is asked for here."""
        return len(self.written) < self.most and self.random.random() < share

    def at(self, op: ir.Operation, choice: Choice, table: Sequence[Strategy]) -> None:
        """Write what was chosen, or something else, mostly what is possible."""
        annotate(op, choice)
        if self.early is not None:
            self.note(op, ATTRIBUTE, choice)
        elif self.now(0.3):
            row, plan = choice.row, choice.plan
            if self.random.random() < 0.6:
                row = self.random.choice(table)
                possible = list(self._possible(op, table))
                if possible and self.random.random() > RARE:
                    row, plan = self.random.choice(possible)
            known = parameters(plan) if self.random.random() < 0.5 else {}
            given = {n: self.value(v) for n, v in known.items() if self.random.random() < 0.3}
            self.write(op, ATTRIBUTE, row.name, given)

    def _possible(
        self, op: ir.Operation, table: Sequence[Strategy]
    ) -> Iterator[tuple[Strategy, Any]]:
        """The rows that fit an operation, also such that decline, with their plans."""
        while self.sites[0].op != op:
            self.sites.pop(0)  # the host's
        for row in table:
            found = row.match(self.sites[0])
            plan = found.plan if isinstance(found, Declined) else found
            if plan is not None:
                yield row, plan

    def seen(self, decisions: Iterable[Any]) -> Iterator[Any]:
        """Decisions, whose sites are kept until the next ones are seen."""
        self.sites.clear()
        for decision in decisions:
            self.sites.append(decision.site)
            yield decision

    def of_equations(
        self, decide: Callable[..., kernel_strategies.Decisions], block: ir.Block, *target: Any
    ) -> kernel_strategies.Decisions:
        """Groups that lose, gain or exchange members, share fewer dims, or loop over other blocks,
        decided again with what is asked."""
        decisions = decide(block, *target)
        kernel_strategies.note(decisions)
        self._of_groups(decisions.choices)
        return decide(block, *target)

    def _of_groups(self, choices: Sequence[tuple[ir.Operation, Choice]]) -> None:
        if self.early is not None:
            for op, choice in choices:
                self.note(op, GROUP, choice)
            return
        fewer = self.now(0.2)
        for op, choice in choices:
            row, known = choice.row.name, parameters(choice.plan)
            if fewer and row == ROWS:
                self.write(op, GROUP, ROWS, {**known, "depth": max(1, known["depth"] - 1)})
            elif row in (ROWS, COLUMNS, COMMON_POINTS, TOTALS) and self.now(0.3):
                self.write(op, GROUP, ALONE, {})
            elif row == PADDED and self.now(0.5):
                self.write(op, GROUP, PADDED, {"size": self.value(known["size"])})
            elif self.now(RARE / 3):
                rows = self.random.choice([ROWS, COMMON_POINTS])
                self.write(op, GROUP, rows, {"group": self.random.choice([1, 1, 2, 3])})
            elif self.now(RARE / 3):
                self.write(op, GROUP, self.random.choice([COLUMNS, PADDED, TOTALS]), {})

    def note(self, op: ir.Operation, attribute: str, choice: Choice) -> None:
        """Keep what is decided, to be asked for at an equation of the next program."""
        name = user_name(op.location)
        if name is not None and self.early is not None:
            wish = (attribute, choice.row.name, parameters(choice.plan))
            self.early.setdefault(name, []).append(wish)

    def at_equations(self, module: ir.Module) -> None:
        """Ask at some equations for what was decided about one of their name, or of another."""
        if self.early is None:
            return
        for op in operations(module, "ted.compute"):
            wishes = self.early.get(user_name(op.location) or "", [])
            if self.random.random() < 0.1 and self.now(0.9):
                self.write(op, FORM, *self._form())
            if self.random.random() < RARE:
                wishes = self.random.choice([*self.early.values(), []])
            if wishes and self.now(0.5):
                attribute, name, known = self.random.choice(wishes)
                given = {n: self.value(v) if self.random.random() < 0.2 else v
                         for n, v in known.items()
                         if attribute == GROUP or self.random.random() < 0.5}  # fmt: skip
                self.write(op, attribute, name, given)

    def _form(self) -> tuple[str, dict[str, Any]]:
        """What an equation may become, mostly without a refusal."""
        name = self.random.choice([CONTRACTION, PARTS, PARTS, POINTS, POINTS])
        limit = self.random.choice([1, 2, 3, 8, 200, *NUMBERS[:2]])
        return name, {"most": limit} if name == PARTS and self.random.random() < 0.7 else {}

    def value(self, old: Any) -> Any:
        """Another value of a parameter, mostly of its type."""
        draw = self.random
        if isinstance(old, bool):
            return not old
        if isinstance(old, str):
            return draw.choice([old, "x", ""])
        return draw.choice([old, old * 2, old // 2, old + 1, draw.choice(NUMBERS), True])

    def write(self, op: ir.Operation, attribute: str, name: str, given: dict[str, Any]) -> None:
        """Put the attribute at the operation."""
        spelled = {k: str(v).lower() if isinstance(v, bool) else v for k, v in given.items()}
        spelled = {k: f'"{v}"' if given[k] == v and isinstance(v, str) else v
                   for k, v in spelled.items()}  # fmt: skip
        text = ", ".join(f"{k} = {v}" for k, v in {"name": f'"{name}"', **spelled}.items())
        self.written.append(f"{attribute} = {{{text}}} at {op.name}")
        op.attributes[attribute] = ir.Attribute.parse(f"{{{text}}}", op.context)


@contextmanager
def wishing(wishes: Wishes) -> Iterator[None]:
    """Let the passes that choose write these wishes."""
    loops, kernels = ted_choose_loops.decide, ted_choose_kernels.every
    groups = ted_emit_kernels.decide

    def early(run: Any, module: ir.Module, *rest: Any, **named: Any) -> ir.Module:
        wishes.at_equations(module)
        return run(module, *rest, **named)

    changed = (
        (ted_choose_loops, "decide", lambda *a: wishes.seen(loops(*a))),
        (ted_choose_loops, "annotate", lambda o, c: wishes.at(o, c, cpu_strategies.TABLE)),
        (ted_choose_kernels, "every", lambda *a: wishes.seen(kernels(*a))),
        (ted_choose_kernels, "annotate", lambda o, c: wishes.at(o, c, gpu_strategies.TABLE)),
        (ted_emit_kernels, "decide", partial(wishes.of_equations, groups)),
        (cpu_lowerings, "run_stages", partial(early, cpu_lowerings.run_stages)),
        *((module, "run_text", partial(early, module.run_text))
          for module in (splitting, cuda_compiling)),
    )  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(compiling_here())
        for module, name, function in changed:
            stack.enter_context(mock.patch.object(module, name, function))
        yield
    wishes.sites.clear()


def check_strategies(seed: int) -> Outcome:
    """Compare one program with several sets of wishes."""
    target = "cuda:sm_80" if seed % 2 else "cpu"
    case = random_case(seed // 2, target=target)
    counts = {"obeyed": 0, "refused": 0, "plain": 0}
    known: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for draw in range(DRAWS):
        early = known if draw % 2 else None
        wishes = Wishes(random.Random(f"{seed} {draw}"), (1, 2, 6)[draw % 3], early=early)
        with wishing(wishes):
            outcome = compare(case)
        if REFUSED in outcome.label and WAY_OUT in outcome.detail:
            counts["refused"] += 1
            continue
        if outcome.kind != "ok":
            detail = "\n".join([outcome.detail, f"draw {draw}:", *wishes.written])
            return Outcome(outcome.kind, outcome.label, detail)
        counts["obeyed" if wishes.written else "plain"] += 1
    return Outcome("ok", counts=counts)
