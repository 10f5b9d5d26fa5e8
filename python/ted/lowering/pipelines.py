"""The pipeline of each target: stages in order, each step with the reason for its place.

A step is pipeline text, as `ted-opt --pass-pipeline` takes it.  A stage's name is what
`f.ir(name)` shows: the module after the stage's last step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ted.errors import PassFailed
from ted.ir import pass_driver
from ted.ir.kept_files import keep
from ted.ir.reproducer import command_line, reproducer_text
from ted.machine import DEFAULT, Cpu, named_cpu
from ted.mlir import ir


@dataclass(frozen=True)
class Step:
    """One line of a pipeline."""

    passes: str
    reason: str


@dataclass(frozen=True)
class Stage:
    """Steps that end in a form with a name."""

    name: str
    steps: tuple[Step, ...]


HALVES_IN_F32 = (
    "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32},"
    "func.func(math-extend-to-supported-types{target-type=f32})"
)

CPU_STAGES: tuple[Stage, ...] = (
    Stage(
        "ted",
        (
            Step("ted-check-sizes", "first: no later step should compute with absurd extents"),
            Step("ted-check-bounds", "every later step may rely on reads inside tensors"),
            Step("inline,symbol-dce", "later steps work inside one function"),
            Step("ted-simplify", "dead and equal equations before anything is decided by uses"),
            Step("ted-fuse-pointwise", "on equations, where a body is a value that can be moved"),
            Step("ted-split-dims", "after fusion, which brings divisions to where they are needed"),
            Step("ted-sink-recomputed", "on ops: in equations it would be no part of a recurrence"),
        ),
    ),
    Stage(
        "linalg",
        (Step("convert-ted-to-linalg", "tiling and bufferization know linalg, not ted"),),
    ),
    Stage(
        "scheduled",
        (
            Step(
                "ted-pass-destinations",
                "before any CSE, which would merge the starts of two results",
            ),
            Step("func.func(canonicalize,cse)", "equal slices and paddings become one"),
            Step("ted-schedule-contractions", "before anything else fuses or tiles what it claims"),
            Step("ted-fuse-rows", "on tensors, where fusing needs no proof about memory"),
        ),
    ),
    Stage(
        "buffers",
        (
            Step("ted-bufferize", "after fusion: tensors are values, memory is not"),
            Step(
                "func.func(scf-forall-to-for),canonicalize,cse",
                "one thread; and a buffer on the stack must not be made inside a parallel loop",
            ),
            Step("ted-fuse-columns", "on memrefs: a parallel loop on tensors carries no total"),
            Step("ted-shrink-row-buffers", "when the last reader of a row is in its loop"),
            Step("func.func(buffer-hoisting,buffer-loop-hoisting)", "one for all iterations"),
            Step("ted-promote-buffers", "before deallocation, after loops are serial"),
            Step(
                "canonicalize,cse,fold-memref-alias-ops,canonicalize,cse",
                "views fold into loads",
            ),
            Step(
                "buffer-deallocation-pipeline",
                "last: promotion to the stack does nothing after it",
            ),
            Step("canonicalize,cse", "drops deallocation flags"),
            Step(
                "func.func(optimize-allocation-liveness)",
                "deallocations move up behind the last use: the peak is what is alive at once",
            ),
        ),
    ),
    Stage(
        "loops",
        (
            Step(
                "ted-vectorize-contractions",
                "layouts are known now; before generics become loops",
            ),
            Step("ted-tile-transposes", "on memrefs: a tile on the stack has no tensor"),
            Step("ted-convert-copies", "a strided memref.copy would call a missing function"),
            Step(
                "func.func(convert-linalg-to-loops),canonicalize,cse",
                "LLVM vectorises the loops",
            ),
            Step(
                "ted-unroll-small-loops",
                "LLVM vectorises innermost loops only, so these must be long",
            ),
            Step(HALVES_IN_F32, "what equations do not make, but IR of others"),
            Step("ted-expand-math", "on scalars: as a call, exp would keep its loop scalar"),
            Step("loop-invariant-code-motion", "addresses and guards of outer dims leave the loop"),
        ),
    ),
    Stage(
        "llvm",
        (
            Step("func.func(convert-vector-to-scf{full-unroll=true},lower-affine)", "needs scf"),
            Step("ted-drop-unit-steps", "before views are expanded, when only elements are used"),
            Step(
                "expand-strided-metadata,lower-affine,convert-scf-to-cf,canonicalize,cse",
                "views",
            ),
            Step("ted-expand-half-casts", "after foldings, which join casts"),
            Step("convert-math-to-llvm,convert-math-to-libm", "before vectors: no vector libm"),
            Step("convert-vector-to-llvm{reassociate-fp-reductions=1}", "after math"),
            Step("finalize-memref-to-llvm{use-aligned-alloc=1 use-generic-functions=1}", "counted"),
            Step("convert-arith-to-llvm", "after vectors and memrefs, which make arithmetic"),
            Step(
                "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}",
                "static shapes: pointers",
            ),
            Step("convert-cf-to-llvm,convert-index-to-llvm,convert-ub-to-llvm", "the rest"),
            Step("reconcile-unrealized-casts,canonicalize,cse", "after every conversion"),
            Step("ted-store-halves-as-bits", "on LLVM values, whatever moves them"),
            Step("ted-store-bools-as-bytes", "on LLVM loads: a memref of i1 has no bytes"),
            Step("ted-annotate-functions", "on LLVM functions: the allocator appears with them"),
            Step("ted-annotate-latches", "on the LLVM branches: nothing earlier survives"),
            Step("ted-check-lowered", "last: translation would end the process"),
        ),
    ),
)


# The passes that decide by the registers and instructions of the CPU.
_OF_CPU = (
    "ted-schedule-contractions",
    "ted-fuse-rows",
    "ted-vectorize-contractions",
    "ted-tile-transposes",
    "ted-expand-half-casts",
)
_ANNOTATING = "ted-annotate-functions"


def cpu_stages(cpu: Cpu) -> tuple[Stage, ...]:
    """The stages for one CPU; native code takes all instructions of the machine that compiles."""
    given: dict[str, Sequence[str]] = {name: [f"cpu={cpu.name}"] for name in _OF_CPU}
    given[_ANNOTATING] = [f"cpu={cpu.name}", *(["native=true"] if cpu.is_native else [])]
    return with_options(CPU_STAGES, given)


def with_options(stages: Sequence[Stage], given: Mapping[str, Sequence[str]]) -> tuple[Stage, ...]:
    """The stages with options for the steps that are one pass of a name."""

    def told(step: Step) -> Step:
        options = given.get(step.passes, ())
        return replace(step, passes=f"{step.passes}{{{' '.join(options)}}}") if options else step

    known = {step.passes for stage in stages for step in stage.steps}
    assert known.issuperset(given), "each pass with options is a step of its own"
    return tuple(replace(s, steps=tuple(map(told, s.steps))) for s in stages)


def cpu_pipeline_text(
    until: str | None = None, after: str | None = None, cpu: str = DEFAULT
) -> str:
    """The pipeline of a row of CPUs from the end of stage `after` to the end of `until`.

    Raises: PassFailed for an unknown stage, ScheduleError for an unknown row.
    """
    return pipeline_text(until, after, cpu_stages(named_cpu(cpu)))


def pipeline_text(
    until: str | None = None, after: str | None = None, stages: tuple[Stage, ...] = CPU_STAGES
) -> str:
    """The pipeline from the end of stage `after` (default: the start) to the end of `until`."""
    names = [stage.name for stage in stages]
    for name in (until, after):
        if name is not None and name not in names:
            raise PassFailed(f"pipeline: stages are {', '.join(names)}, got {name!r}")
    first = 0 if after is None else names.index(after) + 1
    last = len(names) if until is None else names.index(until) + 1
    steps = [step.passes for stage in stages[first:last] for step in stage.steps]
    return f"builtin.module({','.join(steps)})"


def run_pipeline(
    module: ir.Module,
    until: str | None = None,
    after: str | None = None,
    stages: tuple[Stage, ...] = CPU_STAGES,
) -> ir.Module:
    """Lower the module in place to the end of stage `until` (default: the last one).

    Raises: PassFailed with the `ted-opt` line that reproduces it; CompileError.
    """
    text = pipeline_text(until, after, stages)
    before = module.operation.clone()
    try:
        pass_driver.run_pipeline(module, text)
    except PassFailed as error:
        raise PassFailed(f"{error}; {_reproducer(before, text)}") from error
    finally:
        before.erase()
    return module


def _reproducer(module: ir.Operation | ir.OpView, text: str) -> str:
    asm = str(module.operation.get_asm(enable_debug_info=True))
    source = reproducer_text(asm, text)
    try:
        path = keep(f"{hashlib.sha256(source.encode()).hexdigest()[:12]}.mlir", source)
    except OSError as error:  # the failure itself matters more
        return f"reproducer: must be a writable file, got '{error.filename}': {error.strerror}"
    return f"to reproduce: {command_line(path)}"


def stage_text(module: ir.Module, until: str, stages: tuple[Stage, ...] = CPU_STAGES) -> str:
    """The IR at the end of a stage; the module itself is left alone."""
    copy = ir.Module.parse(str(module.operation.get_asm(enable_debug_info=True)), module.context)
    return str(run_pipeline(copy, until, stages=stages))
