"""Constants of a program: small ones stay in it, large ones become its last inputs.

Before: f(x) = x @ W, where W is an array of 4 MB      After: f(x, W), and the array of W
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ted.ir.constants import Constant
from ted.ir.equations import System, Tensor, rewrite_system


def large_constants(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The first tensor of each constant that is no literal, in order."""
    found: dict[Constant, Tensor] = {}
    for tensor in tensors:
        constant = tensor.constant
        if constant is not None and not constant.is_literal:
            found.setdefault(constant, tensor)
    return tuple(found.values())


def arguments_of(inputs: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The inputs that a caller gives."""
    return tuple(t for t in inputs if t.constant is None)


def with_constant_inputs(system: System, last: Sequence[Tensor] | None = None) -> System:
    """The same program, in which equal constants are one tensor and large ones the last inputs.

    `last` has these in their order, where that is known; the program may read fewer.
    """
    own = (*system.inputs, *system.tensors())
    last = large_constants(own) if last is None else last
    first: dict[Constant, Tensor] = {t.constant: t for t in last if t.constant is not None}
    for tensor in own:
        if tensor.constant is not None:
            first.setdefault(tensor.constant, tensor)
    if any(first[t.constant] is not t for t in own if t.constant is not None):
        system, _ = rewrite_system(
            system, lambda t, equations: equations if t.constant is None else first[t.constant]
        )
    return replace(system, inputs=(*arguments_of(system.inputs), *last))
