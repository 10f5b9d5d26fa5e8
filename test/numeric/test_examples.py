"""The lessons in examples/ run as users run them, and print what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ted.api import CompiledFunction

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str) -> list[str]:
    """The lines that an example prints."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_gradient_of_a_matrix_product_is_two_products() -> None:
    lines = run("01_matmul_gradient.py")
    assert "  dA[i, j] += dC[i, r]*B[j, r]  for r < 6" in lines
    assert "  dB[i, j] += dC[r, j]*A[r, i]  for r < 4" in lines
    assert errors(lines) == [0, 0, 0]


def test_the_gradient_of_a_strided_convolution_is_gathers() -> None:
    lines = run("02_gradient.py")
    assert "  dA[i*2 + 1] = dC[i]*W[1]  for i < 5" in lines
    assert any(
        line.startswith("  dA[i*2] += dC[i + r - 1]*W[2 - r*2]  for i < 6") for line in lines
    )
    assert "  dW[i] += dC[r]*A[i + r*2]  for r < 5" in lines
    assert not any("scatter)" in line for line in lines)
    assert errors(lines) == [0, 0]


def errors(lines: list[str]) -> list[int]:
    """The differences that a lesson prints last, in units of 1e-14, rounded down."""
    printed = [line for line in lines if "largest difference" in line]
    return [int(float(line.split()[-1]) / 1e-14) for line in printed]


def test_the_demo_checks_trains_and_writes(tmp_path: Path) -> None:
    lines = run("03_digits.py", "--epochs", "2", "--output", str(tmp_path))
    assert "  all within 1e-06 and 1e-05" in lines
    assert sum(line.startswith("epoch ") for line in lines) == 2
    text, value = lines[-1].rsplit(" ", 1)
    assert text == "test accuracy:"
    assert float(value) > 0.85
    written = {path.name for path in tmp_path.iterdir()}
    assert "loss.png" in written
    assert [f"step.{k}.{stage}" for k, stage in enumerate(CompiledFunction.stages)] == sorted(
        name.rsplit(".", 1)[0] for name in written if name.startswith("step.")
    )
