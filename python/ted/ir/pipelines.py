"""Pipelines of passes: stages in order, each step with the reason for its place.

A step is pipeline text, as `ted-opt --pass-pipeline` takes it.  A stage's name is what
`f.ir(name)` shows: the module after the stage's last step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ted.errors import PassFailed
from ted.ir.kept_files import keep
from ted.ir.reproducer import command_line, reproducer_text
from ted.records import dataclass

if TYPE_CHECKING:
    from ted.ir import pass_driver
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


def with_options(stages: Sequence[Stage], given: Mapping[str, Sequence[str]]) -> tuple[Stage, ...]:
    """The stages with options for the steps that are one pass of a name."""

    def told(step: Step) -> Step:
        options = given.get(step.passes, ())
        return replace(step, passes=f"{step.passes}{{{' '.join(options)}}}") if options else step

    known = {step.passes for stage in stages for step in stage.steps}
    assert known.issuperset(given), "each pass with options is a step of its own"
    return tuple(replace(s, steps=tuple(map(told, s.steps))) for s in stages)


def pipeline_text(
    stages: Sequence[Stage], until: str | None = None, after: str | None = None
) -> str:
    """The pipeline from the end of stage `after` (default: the start) to the end of `until`.

    Raises: PassFailed for an unknown stage, or an end before the start.
    """
    names = [stage.name for stage in stages]
    for name in (until, after):
        if name is not None and name not in names:
            raise PassFailed(f"pipeline: stages are {', '.join(names)}, got {name!r}")
    first = 0 if after is None else names.index(after) + 1
    last = len(names) if until is None else names.index(until) + 1
    if last < first:
        raise PassFailed(f"pipeline: until must not come before after, got {until!r}, {after!r}")
    steps = [step.passes for stage in stages[first:last] for step in stage.steps]
    return f"builtin.module({','.join(steps)})"


def joined(*pipelines: str) -> str:
    """The pipeline that is these, one after the other."""
    inner = (text.removeprefix("builtin.module(").removesuffix(")") for text in pipelines)
    return f"builtin.module({','.join(filter(None, inner))})"


def run_stages(
    module: ir.Module,
    stages: Sequence[Stage],
    until: str | None = None,
    after: str | None = None,
) -> ir.Module:
    """Lower the module in place to the end of stage `until` (default: the last one).

    Raises: PassFailed with the `ted-opt` line that reproduces it; CompileError.
    """
    return run_text(module, pipeline_text(stages, until, after))


def run_text(
    module: ir.Module,
    pipeline: str,
    doing: Callable[[str], object] | None = None,
    steps: Sequence[pass_driver.Step] | None = None,
) -> ir.Module:
    """Run a pipeline on the module, in place; `doing` hears the name of each step.

    `steps` are those of the pipeline, made once where it runs on many modules of a context.
    Raises: PassFailed with the `ted-opt` line that reproduces it; CompileError.
    """
    from ted.ir import pass_driver  # with MLIR, which who reads a pipeline does without

    before = module.operation.clone()
    try:
        # Ours are verified, and the end is: MLIR's own between them would take a tenth of the time.
        pass_driver.run_pipeline(module, pipeline, verify_each=False, doing=doing, steps=steps)
    except PassFailed as error:
        text = str(before.get_asm(enable_debug_info=True))
        raise PassFailed(f"{error}; {kept_reproducer(text, pipeline)}") from error
    finally:
        before.erase()
    return module


def kept_reproducer(module_text: str, pipeline: str) -> str:
    """Keep a module and a pipeline in a file; how to run it."""
    source = reproducer_text(module_text, pipeline)
    try:
        path = keep(f"{hashlib.sha256(source.encode()).hexdigest()[:12]}.mlir", source)
    except OSError as error:  # the failure itself matters more
        return f"reproducer: must be a writable file, got: {error}"
    return f"to reproduce: {command_line(path)}"


def stage_text(module: ir.Module, stages: Sequence[Stage], until: str) -> str:
    """The IR at the end of a stage; the module itself is left alone."""
    from ted.mlir import ir

    copy = ir.Module.parse(str(module.operation.get_asm(enable_debug_info=True)), module.context)
    return str(run_stages(copy, stages, until))
