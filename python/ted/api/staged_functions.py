"""What functions compiled for any machine share: the program, and how it is lowered to look at.

Before: a program and options      After: f.ir("linalg"), f.explain()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ted.api.programs import Program
from ted.errors import CompileError
from ted.ir.equations import System
from ted.options import CompileOptions

if TYPE_CHECKING:
    from ted.api.lowerings import Lowering


class StagedFunction(ABC):
    """A program, and how it is lowered for one machine.

    `stages` names those of the pipeline and, as the last, what they are translated to,
    `compile_times` has the seconds of each step of the compilation.
    """

    stages: ClassVar[tuple[str, ...]]
    compile_times: dict[str, float]

    def __init__(self, program: Program, single: bool, options: CompileOptions) -> None:
        self.options = options
        self._program = program
        self._single = single

    @property
    def system(self) -> System:
        """The equations of the program, which are derived when somebody asks."""
        return self._program.system

    def ir(self, stage: str = "ted") -> str:
        """The program at the end of a stage: one of `f.stages`.

        Raises: CompileError for an unknown stage.
        """
        if stage not in self.stages:
            raise CompileError(f"ir: a stage in {self.stages}, got {stage!r}")
        if stage == self.stages[-1]:
            return self._translated()
        return self._lowered().ir(stage)

    def explain(self) -> str:
        """What shares a loop over rows, then what becomes of everything that computes.

        A paragraph each: the user's tensor and line, the row of `kernel_strategies` of
        `ted.linalg`, or of `strategies` of `ted.cpu` or `ted.gpu`, with its parameters, and the
        rows before it with the reason for which they are not taken.
        """
        return self._lowered().explained()

    @abstractmethod
    def _lowered(self) -> Lowering:
        """How the program is lowered, which loads MLIR."""

    @abstractmethod
    def _translated(self) -> str:
        """The text of the last stage."""
