"""What the demo leaves behind beside its loss curve: the training step at every level."""

from __future__ import annotations

from pathlib import Path

from ted.api import CompiledFunction
from ted.errors import CompileError


def write_ir(function: CompiledFunction, folder: Path) -> list[Path]:
    """One file per level of the compiled function; assembly only where objdump is installed."""
    paths = []
    for position, stage in enumerate(function.stages):
        try:
            text = function.ir(stage)
        except CompileError as error:
            print(f"  no {stage}: {error}")
            continue
        path = folder / f"step.{position}.{stage}.{'s' if stage == 'asm' else 'mlir'}"
        path.write_text(text)
        paths.append(path)
    return paths
