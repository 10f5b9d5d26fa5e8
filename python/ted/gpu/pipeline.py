"""The pipeline of CUDA: equations as on CPUs, kernels on memory, and what launches them.

Before: equations      After: a host function that only launches, and a module of kernels in the
LLVM dialect. `ted.gpu.host_program` reads the first, `ted.codegen.nvptx` translates the second.
"""

from __future__ import annotations

from ted.errors import PassFailed
from ted.ir.pipelines import Stage, Step, pipeline_text, with_options
from ted.linalg.pipeline import EQUATIONS
from ted.machine import DEFAULT_GPU, GPUS
from ted.options import CompileOptions

ROWS_OF = "avx512"  # whose vectors say what is read across rows: on every host the same

GPU_STAGES: tuple[Stage, ...] = (
    Stage(
        EQUATIONS.name,
        (
            *EQUATIONS.steps,
            Step("ted-mask-boxes", "on equations, whose domains are known; loops would be serial"),
            Step("ted-sink-column-sums", "they would stand between equations over the same rows"),
        ),
    ),
    Stage(
        "linalg",
        (
            Step(
                f"ted-emit-kernels{{cpu={ROWS_OF} gpu=true}}",
                "equations tell what may share a loop, and lie where; on every host the same",
            ),
            Step("ted-lower-tensors{gpu=true}", "linalg of other tools, which has no equations"),
            Step("canonicalize,cse,canonicalize", "views of views"),
        ),
    ),
    Stage(
        "buffers",
        (
            Step("ted-order-loops", "first: what follows looks for dims in order"),
            Step("ted-mark-contractions", "one form of contractions, that nothing else claims"),
            Step("ted-fuse-row-loops", "on memrefs: loops that equations kept apart"),
        ),
    ),
    Stage(
        "work",
        (
            Step("ted-forward-copies", "before any copy is merged with other work"),
            Step("ted-expand-epilogues", "before other work over the same points joins"),
            Step(
                "ted-fuse-siblings", "on memrefs: the transform dialect fuses single results only"
            ),
            Step("ted-resolve-donations", "on whole operations, whose reads and writes are known"),
            Step("ted-record-index-errors", "before kernels: the flag becomes their parameter"),
            Step("ted-split-accumulators", "behind what would merge the fills of parts"),
        ),
    ),
    Stage(
        "gpu",
        (
            Step("ted-choose-kernels", "every choice before any kernel, to be read and overruled"),
            Step("ted-map-to-gpu", "on memrefs: only here is it known where elements lie"),
            Step("gpu-kernel-outlining", "what a kernel uses becomes its parameters"),
            Step("gpu.module(canonicalize,cse)", "after outlining: constants stay in kernels"),
            Step("ted-merge-kernels", "one module, so that there is one PTX"),
        ),
    ),
    Stage(
        "nvvm",
        (
            Step("ted-expand-gpu-math", "before what expands them for any processor"),
            Step("ted-expand-math", "on scalars: no device library is needed for these"),
            Step("ted-lower-gpu-math", "the others would be calls of a device library"),
            Step("convert-nvgpu-to-nvvm", "instructions of the templates of contractions"),
            Step("ted-drop-unit-steps", "as on CPUs"),
            Step("gpu.module(expand-strided-metadata,lower-affine,convert-scf-to-cf)", "views"),
            Step("gpu.module(convert-vector-to-llvm)", "after loops"),
            Step("gpu.module(convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1})", "kernels"),
            Step("gpu.module(reconcile-unrealized-casts,canonicalize,cse)", "after conversions"),
        ),
    ),
    Stage(
        "llvm",
        (
            Step(
                "convert-nvvm-to-llvm,gpu.module(reconcile-unrealized-casts)",
                "instructions without an intrinsic become inline PTX",
            ),
        ),
    ),
)


_FORWARDING = "ted-forward-copies"
_MAPPING = ("ted-choose-kernels", "ted-map-to-gpu")


def gpu_stages(options: CompileOptions) -> tuple[Stage, ...]:
    """The stages for a GPU, which chooses the kernels of contractions."""
    given = [f"chip={options.machine.name}", *(["tf32=true"] if options.tf32 else [])]
    of_mapping = [*given, *([] if options.deterministic else ["deterministic=false"])]
    return with_options(GPU_STAGES, {_FORWARDING: given, **dict.fromkeys(_MAPPING, of_mapping)})


def gpu_pipeline_text(
    until: str | None = None, after: str | None = None, deterministic: str = "true"
) -> str:
    """The pipeline from the end of stage `after` to the end of `until`.

    Raises: PassFailed for an unknown stage, or an option that is neither true nor false.
    """
    if deterministic not in ("true", "false"):
        raise PassFailed(f"pipeline: deterministic is true or false, got '{deterministic}'")
    options = CompileOptions(GPUS[DEFAULT_GPU], deterministic == "true")
    return pipeline_text(gpu_stages(options), until, after)
