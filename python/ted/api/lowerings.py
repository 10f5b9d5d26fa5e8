"""How a program is lowered for a machine: its text, and its IR stage by stage.

Before: a program and a pipeline      After: its module of ted ops, `ir("linalg")`, `explained()`

It knows MLIR, and is loaded when a program is compiled or looked at: one that the disk has is
called without.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ted import dialects
from ted.api.programs import Program
from ted.codegen.requests import Request
from ted.forking import cached_property
from ted.ir.equations import System
from ted.ir.pipelines import Stage, pipeline_text, run_stages
from ted.mlir import ir


class Lowering(ABC):
    """A program, and the stages by which it is lowered for one machine."""

    def __init__(self, program: Program, stages: Sequence[Stage]) -> None:
        self.program = program
        self._stages = stages
        self._shown: tuple[str | None, str] = None, ""

    @property
    def stages(self) -> Sequence[Stage]:
        """The stages of this program."""
        return self._stages

    @cached_property
    def _texts(self) -> tuple[str, str]:
        """The program with and without names of tensors and the user's lines.

        Whoever reads it verifies it.
        """
        with dialects.session():
            op = self._written(*self.program.made).operation
            return (
                str(op.get_asm(enable_debug_info=True, assume_verified=True)),
                str(op.get_asm(assume_verified=True)),
            )

    def parsed(self) -> ir.Module:
        """The program as a module of ted ops in the context of a session."""
        return ir.Module.parse(self._texts[0])

    def request(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        files: tuple[str, ...] = (),
        until: str | None = None,
    ) -> Request:
        """What a worker is asked for, to the end of a stage."""
        pipeline = pipeline_text(self.stages, until)
        return Request(kind, *self._texts, pipeline, arguments, files)

    def ir(self, stage: str) -> str:
        """The program at the end of a stage."""
        with dialects.session():
            return str(self._at(stage))

    def _at(self, stage: str) -> ir.Module:
        """The module there; the stage that was shown last is where a later one begins."""
        names = [s.name for s in self.stages]
        shown, text = self._shown
        if shown is None or names.index(shown) > names.index(stage):
            shown, text = None, self._texts[0]
        module = ir.Module.parse(text)
        if shown != stage:
            run_stages(module, self.stages, stage, after=shown)
            text = str(module.operation.get_asm(enable_debug_info=True, assume_verified=True))
            self._shown = stage, text
        return module

    def explained(self) -> str:
        """The strategies of everything that computes, and why others were not taken."""
        with dialects.session():
            return self._explained(self.parsed())

    @abstractmethod
    def _written(self, system: System, donated: Mapping[int, int]) -> ir.Module:
        """The program as a module of ted ops."""

    @abstractmethod
    def _explained(self, module: ir.Module) -> str:
        """The strategies of a module of ted ops, which is lowered in place."""
