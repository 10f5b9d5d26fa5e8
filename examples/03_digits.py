"""Lesson 3, and the demo of `make demo`: a convolutional network learns handwritten digits.

Model, loss, gradients and Adam are expressions (examples/digits/model.py); ted derives the
gradients and compiles the whole training step to one function. The step's gradients are checked
against central differences before it is trusted with training.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from digits import gradient_check, model, training
from digits.data import Digits, load
from digits.output import write_ir
from training import FOLDER, save_curves

TOLERANCE_F64, TOLERANCE_F32 = 1e-6, 1e-5


def main() -> None:
    """Check, train, write what was learned and how it was compiled."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    train_set, test_set = load()
    print(f"scikit-learn digits: {len(train_set.y)} images to learn, {len(test_set.y)} to test")
    compile_step(train_set)
    check_gradients(train_set)
    losses, accuracy = learn(train_set, test_set, options.epochs)
    write(train_set, losses, options.output)
    print(f"test accuracy: {accuracy:.4f}")


def compile_step(digits: Digits) -> None:
    """Derive and compile the training step; later calls reuse it."""
    print("training step: deriving and compiling", flush=True)
    began = time.perf_counter()
    compiled = model.step.compiled(*arguments(digits))
    seconds = time.perf_counter() - began
    equations = sum(len(t.equations) for t in compiled.system.tensors())
    print(f"training step: {equations} equations, one function, {seconds:.1f} s")


def arguments(digits: Digits) -> tuple[object, ...]:
    """The arguments of the first training step, which also name its signature."""
    params = model.initial()
    x, y = next(digits.batches(training.BATCH, np.random.default_rng(0)))
    return params, model.OPTIMIZER.init(params), x, y


def check_gradients(digits: Digits) -> None:
    """Print the errors of the compiled gradients.

    Raises: SystemExit when one is out of tolerance.
    """
    x, y = arguments(digits)[2:]
    print("gradients of the compiled step (relative errors):")
    print("             float64 / central differences    float32 / float64")
    wrong = []
    for name, (double, single) in gradient_check.check(x, y).items():
        print(f"  {name:8} {double:20.1e} {single:28.1e}")
        if not (double <= TOLERANCE_F64 and single <= TOLERANCE_F32):
            wrong.append(name)
    if wrong:
        raise SystemExit(f"gradient check failed: {', '.join(wrong)}")
    print(f"  all within {TOLERANCE_F64:g} and {TOLERANCE_F32:g}")


def learn(train_set: Digits, test_set: Digits, epochs: int) -> tuple[list[float], float]:
    """Train, a line for every epoch; the losses of all steps and the last accuracy."""
    losses: list[float] = []
    accuracy = 0.0
    began = time.perf_counter()
    for number, epoch in enumerate(training.train(train_set, test_set, epochs), 1):
        losses += epoch.losses
        accuracy = epoch.accuracy
        mean = sum(epoch.losses) / len(epoch.losses)
        print(
            f"epoch {number:2}/{epochs}  loss {mean:.4f}  test accuracy {accuracy:.4f}", flush=True
        )
    print(f"trained in {time.perf_counter() - began:.1f} s")
    return losses, accuracy


def write(digits: Digits, losses: list[float], folder: Path) -> None:
    """The loss curve and the IR of every level."""
    epoch = len(digits.y) // training.BATCH
    save_curves(folder / "loss.png", {"cross-entropy": losses}, "training loss", mean=epoch)
    paths = write_ir(model.step.compiled(*arguments(digits)), folder)
    print(f"the training step at every level, in {folder}: {', '.join(p.name for p in paths)}")


if __name__ == "__main__":
    main()
