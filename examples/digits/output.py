"""What the demo leaves behind: the loss curve as a PNG, and the training step at every level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from ted.api import CompiledFunction
from ted.errors import CompileError

SIZE, MARGIN = (800, 480), 50
INK, LIGHT, RAW, SMOOTH = "#222222", "#dddddd", "#a9c6e8", "#1f5fa8"


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


def write_curve(losses: Sequence[float], steps_per_epoch: int, path: Path) -> None:
    """The loss of every step, with a running mean over one epoch drawn over it."""
    image = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    top = max(losses)
    width, height = SIZE[0] - 2 * MARGIN, SIZE[1] - 2 * MARGIN

    def place(step: float, loss: float) -> tuple[float, float]:
        return MARGIN + width * step / len(losses), MARGIN + height * (1 - loss / top)

    for k in range(6):
        level = top * k / 5
        draw.line([place(0, level), place(len(losses), level)], fill=LIGHT)
        draw.text((8, place(0, level)[1] - 5), f"{level:.2f}", fill=INK)
    for start in range(0, len(losses) + 1, 4 * steps_per_epoch):
        x, y = place(start, 0)
        draw.text((x - 4, y + 8), str(start // steps_per_epoch), fill=INK)
    draw.text((MARGIN, MARGIN // 2 - 5), "training loss (cross-entropy) per epoch", fill=INK)
    draw.line([place(k, y) for k, y in enumerate(losses)], fill=RAW)
    smooth = [_mean(losses[max(0, k - steps_per_epoch) : k + 1]) for k in range(len(losses))]
    draw.line([place(k, y) for k, y in enumerate(smooth)], fill=SMOOTH, width=2)
    draw.line([place(0, top), place(0, 0), place(len(losses), 0)], fill=INK)
    image.save(path)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
