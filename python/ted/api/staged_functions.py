"""What functions compiled for any machine share: the program, and its IR stage by stage.

Before: a module of ted ops and a pipeline      After: f.ir("linalg"), f.explain()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ted import dialects
from ted.api.programs import Program
from ted.codegen.requests import Request
from ted.errors import CompileError
from ted.forking import cached_property
from ted.ir.equations import System
from ted.ir.pipelines import Stage, pipeline_text, run_stages
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
        self, program: Program, single: bool, options: CompileOptions, pipeline: Sequence[Stage]
    ) -> None:
        self.options = options
        self._program = program
        self._single = single
        self._stages = pipeline
        self._shown: tuple[str | None, str] = None, ""

    @property
    def _pipeline(self) -> Sequence[Stage]:
        """The stages of this program."""
        return self._stages

    @property
    def system(self) -> System:
        """The equations of the program, which are derived when somebody asks."""
        return self._program.system

    @cached_property
    def _texts(self) -> tuple[str, str]:
        """The program with and without names of tensors and the user's lines.

        Whoever reads it verifies it.
        """
        with dialects.session():
            op = self._written(*self._program.made).operation
            return (
                str(op.get_asm(enable_debug_info=True, assume_verified=True)),
                str(op.get_asm(assume_verified=True)),
            )

    def _request(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        files: tuple[str, ...] = (),
        until: str | None = None,
    ) -> Request:
        """What a worker is asked for, to the end of a stage."""
        pipeline = pipeline_text(self._pipeline, until)
        return Request(kind, *self._texts, pipeline, arguments, files)

    def ir(self, stage: str = "ted") -> str:
        """The program at the end of a stage: one of `f.stages`.

        Raises: CompileError for an unknown stage.
        """
        if stage not in self.stages:
            raise CompileError(f"ir: a stage in {self.stages}, got {stage!r}")
        if stage == self.stages[-1]:
            return self._translated()
        with dialects.session():
            return str(self._at(stage))

    def _at(self, stage: str) -> ir.Module:
        """The module there; the stage that was shown last is where a later one begins."""
        names = [s.name for s in self._pipeline]
        shown, text = self._shown
        if shown is None or names.index(shown) > names.index(stage):
            shown, text = None, self._texts[0]
        module = ir.Module.parse(text)
        if shown != stage:
            run_stages(module, self._pipeline, stage, after=shown)
            text = str(module.operation.get_asm(enable_debug_info=True, assume_verified=True))
            self._shown = stage, text
        return module

    def explain(self) -> str:
        """What shares a loop over rows, then what becomes of everything that computes.

        A paragraph each: the user's tensor and line, the row of `ted.linalg.row_strategies`, or of
        `strategies` of `ted.cpu` or `ted.gpu`, with its parameters, and the rows before it with the
        reason for which they are not taken.
        """
        with dialects.session():
            return self._explained(ir.Module.parse(self._texts[0]))

    @abstractmethod
    def _written(self, system: System, donated: Mapping[int, int]) -> ir.Module:
        """The program as a module of ted ops."""

    @abstractmethod
    def _translated(self) -> str:
        """The text of the last stage."""

    @abstractmethod
    def _explained(self, module: ir.Module) -> str:
        """The strategies of a module of ted ops, which is lowered in place."""
