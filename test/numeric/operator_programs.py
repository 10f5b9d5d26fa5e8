"""Operators traced and differentiated, their ops, and what the interpreter makes of them.

Test files import this module, not each other: pytest knows a test file by another name, and what
is cached here would be made twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import ted
from numeric.operators import OPERATORS, Operator
from ted.ir.equations import Tensor
from ted.mlir import ir
from ted.testing import Counts
from ted.testing.interpreter import interpret
from ted.testing.tracing import module_of, nodes
from ted.transforms.gradient import differentiate

BY_NAME = {o.name: o for o in OPERATORS}
Array = np.ndarray[Any, Any]
# The scope puts the tests of an operator, which share its programs, behind each other.
names = pytest.mark.parametrize("name", BY_NAME, scope="module")


@dataclass(frozen=True)
class Program:
    """An operator with its gradients of two orders and an array for every input."""

    inputs: list[Tensor]
    output: Tensor
    heads: list[Tensor]
    gradients: list[list[Tensor]]  # of order 1, of order 2
    arrays: list[Array]
    cotangents: list[list[Array]]

    @property
    def parts(self) -> tuple[list[Tensor], ...]:
        """What is computed together: the result, the result and its gradients, the second order."""
        return [self.output], [self.output, *self.gradients[0]], self.gradients[1]

    @property
    def values(self) -> list[Array]:
        """An array for every input and head."""
        return [*self.arrays, *(a for arrays in self.cotangents for a in arrays)]


@cache
def program(name: str, dtype: str = "float64") -> Program:
    """An operator of the table as `program_of` makes it."""
    return program_of(BY_NAME[name], dtype)


def program_of(operator: Operator, dtype: str = "float64") -> Program:
    """The operator traced, and differentiated twice with respect to all floats and the head.

    `dtype` is the type of what is float64 in the arrays.
    """
    arrays = operator.arrays()
    generator = np.random.default_rng(11)
    placeholders = [
        ted.placeholder(a.shape, a.dtype.name.replace("float64", dtype), name=f"x{k}")
        for k, a in enumerate(arrays)
    ]
    (output,) = nodes(operator.ours(*placeholders), "test")
    inputs = nodes(placeholders, "test")
    known, outputs = [t for t in inputs if t.dtype.is_float], [output]
    heads: list[Tensor] = []
    gradients: list[list[Tensor]] = []
    cotangents: list[list[Array]] = []
    for order in (1, 2):
        new = [Tensor(f"d{order}_{k}", t.shape, t.dtype) for k, t in enumerate(outputs)]
        found = list(differentiate(outputs, known, new).gradients)
        heads, known, outputs = [*heads, *new], [*known, *new], found
        gradients.append(found)
        cotangents.append([np.asarray(generator.normal(size=t.shape)) for t in new])
    return Program(inputs, output, heads, gradients, arrays, cotangents)


@cache
def module(name: str, outputs: tuple[Tensor, ...]) -> ir.Module:
    """The ops of some of an operator's tensors."""
    p = program(name)
    return module_of([*p.inputs, *p.heads], outputs)


@cache
def executed(name: str, part: int) -> tuple[list[Array], Counts]:
    """One of the parts by the interpreter: its values, and what it executed."""
    p, counts = program(name), Counts()
    found = interpret(module(name, tuple(p.parts[part])), p.values, counts=counts)
    return list(found), counts


def interpreted_values(name: str) -> dict[Tensor, Array]:
    """The result and the gradients of both orders by the interpreter."""
    parts = program(name).parts
    return {t: a for k in (1, 2) for t, a in zip(parts[k], executed(name, k)[0], strict=True)}
