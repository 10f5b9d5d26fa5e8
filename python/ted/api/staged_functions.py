"""What functions compiled for any machine share: the program, and its IR stage by stage.

Before: a module of ted ops and a pipeline      After: f.ir("linalg"), f.explain()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ted import dialects
from ted.codegen.requests import Request
from ted.errors import CompileError
from ted.ir.equations import System
from ted.ir.pipelines import Stage, pipeline_text, stage_text
from ted.mlir import ir
from ted.options import CompileOptions


class StagedFunction(ABC):
    """A program, and how it is lowered for one machine.

    `stages` names those of the pipeline and, as the last, what they are translated to,
    `compile_times` has the seconds of each step of the compilation.
    """

    stages: ClassVar[tuple[str, ...]]
    compile_times: dict[str, float]

    def __init__(
        self,
        system: System,
        single: bool,
        options: CompileOptions,
        module: ir.Module,
        pipeline: Sequence[Stage],
    ) -> None:
        self.system = system
        self.options = options
        self._single = single
        # With and without names of tensors and the user's lines; whoever reads it verifies it.
        self._unnamed = str(module.operation.get_asm(assume_verified=True))
        self._source = str(module.operation.get_asm(enable_debug_info=True, assume_verified=True))
        self._pipeline = pipeline

    def _request(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        files: tuple[str, ...] = (),
        until: str | None = None,
    ) -> Request:
        """What a worker is asked for, to the end of a stage."""
        pipeline = pipeline_text(self._pipeline, until)
        return Request(kind, self._source, self._unnamed, pipeline, arguments, files)

    def ir(self, stage: str = "ted") -> str:
        """The program at the end of a stage: one of `f.stages`.

        Raises: CompileError for an unknown stage.
        """
        if stage not in self.stages:
            raise CompileError(f"ir: a stage in {self.stages}, got {stage!r}")
        if stage == self.stages[-1]:
            return self._translated()
        with dialects.session():
            return stage_text(ir.Module.parse(self._source), self._pipeline, stage)

    def explain(self) -> str:
        """What shares a loop over rows, then what becomes of everything that computes.

        A paragraph each: the user's tensor and line, the row of `ted.linalg.row_strategies`, or of
        `strategies` of `ted.cpu` or `ted.gpu`, with its parameters, and the rows before it with the
        reason for which they are not taken.
        """
        with dialects.session():
            return self._explained(ir.Module.parse(self._source))

    @abstractmethod
    def _translated(self) -> str:
        """The text of the last stage."""

    @abstractmethod
    def _explained(self, module: ir.Module) -> str:
        """The strategies of a module of ted ops, which is lowered in place."""
