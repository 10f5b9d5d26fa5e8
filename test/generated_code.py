"""One line for each program of a corpus and each target: a hash of the code that it becomes.

    PYTHONPATH=test:examples python test/generated_code.py [--only softmax] > before.txt

Two checkouts on one machine that print the same generate the same code. Names of tensors and the
user's lines are no part of it. The corpus: every operator of `test/numeric` with its gradients, the
demo's training step, recurrences. Targets: this machine's CPU, and two GPUs.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from digits import data, model, training

import ted
from numeric.operator_programs import program
from numeric.operators import OPERATORS
from ted.testing.tracing import tensors

TARGETS = ("cpu", "cuda:sm_80", "cuda:sm_90a")
Program = tuple[list[Any], list[Any]]
_LOCATION = re.compile(r"\s*loc\(.*\)$|^#loc.*$", re.MULTILINE)


def operator(name: str) -> Program:
    """An operator and its gradients in float32."""
    p = program(name, "float32")
    made = [t for t in dict.fromkeys([p.output, *p.gradients[0]]) if not t.is_input]
    return tensors([*p.inputs, *p.heads]), tensors(made)


def recurrence(step: Callable[..., Any], checkpoint: Any) -> Program:
    """A scan over 12 steps and its gradients."""
    shapes = {"xs": (12, 8), "h": (8,), "w": (8, 8)}
    xs, h, w = (ted.placeholder(shape, name=name) for name, shape in shapes.items())
    last, _ = ted.scan(lambda c, x: (step(c, x, w), None), h, xs, checkpoint=checkpoint)
    return [xs, h, w], [last, *ted.differentiate(ted.sum(last * last), [xs, h, w])]


def demo() -> Program:
    """The training step of the third example."""
    train_set, _ = data.load()
    params = model.initial()
    x, y = next(train_set.batches(training.BATCH, np.random.default_rng(0)))
    system = model.step.trace(params, model.OPTIMIZER.init(params), x, y).system()
    return tensors(system.inputs), tensors(system.outputs)


def corpus() -> Iterator[tuple[str, Callable[[], Program]]]:
    """Names and programs."""
    for one in OPERATORS:
        yield one.name, partial(operator, one.name)
    cell = lambda c, x, w: ted.tanh(c @ w + x)  # noqa: E731
    for checkpoint in (False, 4):
        yield f"scan, checkpoint={checkpoint}", partial(recurrence, cell, checkpoint)
    yield "digits", demo


def code(inputs: list[Any], outputs: list[Any], target: str) -> str:
    """A hash of the last IR of a program, or what refuses it."""
    try:
        text = ted.compile(inputs, outputs, target=target).ir("llvm")
    except ted.errors.TedError as error:
        return type(error).__name__
    return hashlib.sha256(_LOCATION.sub("", text).encode()).hexdigest()[:16]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="programs with this in their names")
    only = parser.parse_args().only
    for name, make in corpus():
        if only in name:
            inputs, outputs = make()
            for target in TARGETS:
                print(f"{name:32} {target:12} {code(inputs, outputs, target)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
