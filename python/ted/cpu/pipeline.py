"""The pipeline of CPUs: from equations to the LLVM dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.ir.pipelines import Stage, Step, pipeline_text, with_options
from ted.linalg.pipeline import equations
from ted.machine import DEFAULT, Cpu, named_cpu
from ted.records import dataclass

HALVES_IN_F32 = (
    "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32},"
    "func.func(math-extend-to-supported-types{target-type=f32})"
)

KERNELS = "kernels"  # the stage behind which each kernel goes its own way

_JOIN = Step("ted-join-pieces", "before fusion: what is one map can be moved to where it is read")
_TURN = Step("ted-turn-histories", "after fusion, which leaves what reads a history in the end")
_CUT = Step("ted-cut-strips", "after fusion: fewer tensors, and what is read is known")
_BLOCKS = Step("ted-loop-over-blocks", "last: its loops are groups of tensors, no recurrences")

CPU_STAGES: tuple[Stage, ...] = (
    equations([_JOIN], [_TURN], [_CUT, _BLOCKS]),
    Stage(
        "linalg",
        (
            Step("ted-mask-boxes{asked=true}", "what strips ask for, as products know boxes only"),
            Step("ted-emit-kernels", "equations tell what may share a loop, and lie where"),
            Step("ted-lower-tensors", "linalg of other tools, which has no equations"),
        ),
    ),
    Stage(
        "scheduled",
        (
            Step("ted-schedule-contractions", "before anything else fuses or tiles what it claims"),
            Step("canonicalize,cse", "loops that run once go, constants stand in front of all"),
            Step("ted-block-rows", "on memory: no equation has a total of some rows"),
        ),
    ),
    Stage(
        "buffers",
        (
            Step(
                "canonicalize,cse,fold-memref-alias-ops,canonicalize,cse",
                "views fold into loads",
            ),
            Step("ted-plan-memory", "each loop nest is one operation, what uses a buffer is known"),
        ),
    ),
    Stage(
        KERNELS,
        (
            Step("ted-convert-copies", "before kernels: copies of one tensor are one"),
            Step(
                "ted-outline-kernels", "all that follows is done once for equal nests, in objects"
            ),
        ),
    ),
    Stage(
        "loops",
        (
            Step("ted-spread-operands", "before units are cut: dims that can be one stay together"),
            Step("ted-parallelize-kernels", "before loops are built: units are smaller operations"),
            Step("ted-collapse-dims", "after units are cut, which are slices of dims"),
            Step("ted-choose-loops", "layouts are known now; before anything is built, to be read"),
            Step("ted-tile-loops", "on memrefs: a tile on the stack has no tensor"),
            Step(
                "func.func(convert-linalg-to-loops),canonicalize,cse",
                "LLVM vectorises the loops",
            ),
            Step(
                "ted-unroll-small-loops",
                "LLVM vectorises innermost loops only, so these must be long",
            ),
            Step(HALVES_IN_F32, "what equations do not make, but IR of others"),
            Step("ted-outline-math", "before expansion, which keeps what has no rare cases inline"),
            Step("ted-expand-math", "on scalars: as a call, exp would keep its loop scalar"),
            Step("loop-invariant-code-motion", "addresses and guards of outer dims leave the loop"),
        ),
    ),
    Stage(
        "llvm",
        (
            Step("ted-leave-loops", "after all that knows loops by their extents"),
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
            Step("ted-hide-identities", "last of what folds: canonicalize knows them, too"),
            Step("ted-fork-units", "on LLVM functions, where there are pointers to them"),
            Step("ted-annotate-functions", "on LLVM functions: the allocator appears with them"),
            Step("ted-annotate-latches", "on the LLVM branches: nothing earlier survives"),
            Step("ted-check-lowered", "last: translation would end the process"),
        ),
    ),
)


# The passes that decide by the registers and instructions of the CPU.
_OF_CPU = (
    "ted-loop-over-blocks",
    "ted-emit-kernels",
    "ted-lower-tensors",
    "ted-schedule-contractions",
    "ted-block-rows",
    "ted-spread-operands",
    "ted-parallelize-kernels",
    "ted-choose-loops",
    "ted-tile-loops",
    "ted-unroll-small-loops",
    "ted-outline-math",
    "ted-expand-half-casts",
)
_OF_GRAIN = ("ted-block-rows", "ted-parallelize-kernels")
_ANNOTATING = "ted-annotate-functions"


@dataclass(frozen=True)
class Held:
    """Bytes that equations should hold at most, computed again where they are read late.

    What takes more than `block` bytes, if that is said, or outgrows the second cache is made in
    blocks, of which none of several rows takes more than `block` bytes.
    """

    most: int
    block: int = 0


def cpu_stages(cpu: Cpu, held: Held | None = None) -> tuple[Stage, ...]:
    """The stages for one CPU; native code takes all instructions of the machine that compiles."""
    given: dict[str, Sequence[str]] = {name: [f"cpu={cpu.name}"] for name in _OF_CPU}
    if cpu.grain_cycles != named_cpu(cpu.name).grain_cycles:
        given |= {name: [f"cpu={cpu.name}", f"grain={cpu.grain_cycles}"] for name in _OF_GRAIN}
    given[_ANNOTATING] = [f"cpu={cpu.name}", *(["native=true"] if cpu.is_native else [])]
    stages = with_options(CPU_STAGES, given)
    if held is None:
        return stages
    limit = Step(f"ted-limit-memory{{bytes={held.most}}}", "after fusion: what is left is held")
    options = f"cpu={cpu.name} always=true bytes={held.block}"
    blocks = replace(_BLOCKS, passes=f"{_BLOCKS.passes}{{{options}}}")
    return (equations([_JOIN], [_TURN], [_CUT, limit, blocks]), *stages[1:])


def cpu_pipeline_text(
    until: str | None = None, after: str | None = None, cpu: str = DEFAULT
) -> str:
    """The pipeline of a row of CPUs from the end of stage `after` to the end of `until`.

    Raises: PassFailed for an unknown stage, ScheduleError for an unknown row.
    """
    return pipeline_text(cpu_stages(named_cpu(cpu)), until, after)
