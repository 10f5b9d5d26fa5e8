"""The pipeline of each target: stages in order, each step with the reason for its place.

A step is the text of an upstream pipeline or one of our passes.  A stage's name is what
`f.ir(name)` shows: the module after the stage's last step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ted.errors import PassFailed, TedError
from ted.lowering.annotate_latches import AnnotateLatches
from ted.lowering.check_lowered import CheckLowered
from ted.lowering.convert_ted_to_linalg import ConvertTedToLinalg
from ted.lowering.copies_to_linalg import CopiesToLinalg
from ted.lowering.expand_math import ExpandMath
from ted.lowering.pass_destinations import PassDestinations
from ted.lowering.unroll_small_loops import UnrollSmallLoops
from ted.mlir import PassManager, ir
from ted.schedules.ted_schedule_contractions import TedScheduleContractions
from ted.schedules.ted_vectorize_contractions import TedVectorizeContractions


class Pass(Protocol):
    """What our passes have in common."""

    def run(self, module: ir.Module) -> None: ...


@dataclass(frozen=True)
class Step:
    """One line of a pipeline."""

    work: str | Pass
    reason: str


@dataclass(frozen=True)
class Stage:
    """Steps that end in a form with a name."""

    name: str
    steps: tuple[Step, ...]


BUFFERIZE = (
    "one-shot-bufferize{bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map}"
)
STACK = "promote-buffers-to-stack{max-alloc-size-in-bytes=65536 max-rank-of-allocated-memref=8}"

CPU_STAGES: tuple[Stage, ...] = (
    Stage("ted", (Step("inline,symbol-dce", "later steps work inside one function"),)),
    Stage(
        "linalg",
        (Step(ConvertTedToLinalg(), "tiling and bufferization know linalg, not ted"),),
    ),
    Stage(
        "scheduled",
        (
            Step(PassDestinations(), "before any CSE, which would merge the starts of two results"),
            Step("func.func(canonicalize,cse)", "equal slices and paddings become one"),
            Step(TedScheduleContractions(), "before anything else fuses or tiles what it claims"),
        ),
    ),
    Stage(
        "buffers",
        (
            Step(BUFFERIZE, "after fusion: tensors are values, memory is not"),
            Step("canonicalize,cse", "drops the allocations that in-place work left unused"),
            Step(f"func.func(buffer-hoisting,buffer-loop-hoisting,{STACK})", "small buffers of rows"),
            Step("canonicalize,cse,fold-memref-alias-ops,canonicalize,cse", "views fold into loads"),
            Step("buffer-deallocation-pipeline", "last: promotion to the stack does nothing after it"),
            Step("canonicalize,cse", "drops deallocation flags"),
        ),
    ),
    Stage(
        "loops",
        (
            Step(TedVectorizeContractions(), "layouts are known now; before generics become loops"),
            Step(CopiesToLinalg(), "a strided memref.copy would call a missing function"),
            Step("func.func(convert-linalg-to-loops),canonicalize,cse", "LLVM vectorises the loops"),
            Step(UnrollSmallLoops(), "LLVM vectorises innermost loops only, so these must be long"),
            Step(ExpandMath(), "on scalars: as a call, exp would keep its loop scalar"),
            Step("loop-invariant-code-motion", "addresses and guards of outer dims leave the loop"),
        ),
    ),
    Stage(
        "llvm",
        (
            Step("func.func(convert-vector-to-scf{full-unroll=true},lower-affine)", "needs scf"),
            Step("expand-strided-metadata,lower-affine,convert-scf-to-cf,canonicalize,cse", "views"),
            Step("convert-math-to-llvm,convert-math-to-libm", "before vectors: no vector libm"),
            Step("convert-vector-to-llvm{reassociate-fp-reductions=1}", "after math"),
            Step("finalize-memref-to-llvm{use-generic-functions=1},convert-arith-to-llvm", "types"),
            Step("convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}", "static shapes: pointers"),
            Step("convert-cf-to-llvm,convert-index-to-llvm,convert-ub-to-llvm", "the rest"),
            Step("reconcile-unrealized-casts,canonicalize,cse", "after every conversion"),
            Step(AnnotateLatches(), "on the LLVM branches: nothing earlier survives"),
            Step(CheckLowered(), "last: translation would end the process"),
        ),
    ),
)


def run_pipeline(
    module: ir.Module, until: str | None = None, stages: tuple[Stage, ...] = CPU_STAGES
) -> ir.Module:
    """Lower the module in place to the end of stage `until` (default: the last one)."""
    for _, step in _steps(stages, until):
        _run(step, module)
    return module


def stage_text(module: ir.Module, until: str, stages: tuple[Stage, ...] = CPU_STAGES) -> str:
    """The IR at the end of a stage; the module itself is left alone."""
    copy = ir.Module.parse(module.operation.get_asm(enable_debug_info=True), module.context)
    return str(run_pipeline(copy, until, stages))


def _steps(stages: tuple[Stage, ...], until: str | None) -> Iterator[tuple[Stage, Step]]:
    names = [stage.name for stage in stages]
    if until is not None and until not in names:
        raise PassFailed(f"pipeline: no stage of this name, got {until!r}, known are {names}")
    for stage in stages:
        for step in stage.steps:
            yield stage, step
        if stage.name == until:
            return


def _run(step: Step, module: ir.Module) -> None:
    with module.context, ir.Location.unknown(module.context):
        try:
            if isinstance(step.work, str):
                PassManager.parse(f"builtin.module({step.work})").run(module.operation)
            else:
                step.work.run(module)
        except TedError:
            raise
        except Exception as error:
            raise PassFailed(f"pipeline: step {step.work!r} failed, got {error}") from error
