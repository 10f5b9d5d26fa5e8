"""Two compiled functions for training loops of others: forward with residuals, then backward.

Before: f(x, dy) -> (y, dx)
After:  forward(x) -> (y, saved), and later backward(saved, dy) -> dx
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from ted.api.compiling import Compilation, compile_sizes
from ted.api.differentiating import differentiate
from ted.api.options import compile_options
from ted.api.symbolic import SymbolicFunction
from ted.errors import DerivativeError
from ted.frontend.locations import fail
from ted.frontend.systems import system_of, tensors_of
from ted.frontend.tensors import Tensor, wrap
from ted.ir.equations import System
from ted.ir.equations import Tensor as Node
from ted.options import CompileOptions
from ted.records import dataclass
from ted.transforms.residuals import RECOMPUTE, Split, split_residuals


@dataclass(frozen=True)
class ForwardBackward:
    """What `forward_backward` compiles; `split` says what is saved."""

    split: Split
    first: Compilation | SymbolicFunction[Compilation]
    second: Compilation | SymbolicFunction[Compilation]

    @property
    def options(self) -> CompileOptions:
        """What both functions were compiled for."""
        return self.first.options

    def forward(self, *arrays: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The results, and what `backward` needs: some arguments and results, and the residuals."""
        found = self.first(*arrays)
        count = len(found) - len(self.split.residuals)
        kept = [arrays[k] for k in self.split.inputs] + [found[k] for k in self.split.results]
        return tuple(found[:count]), (*kept, *found[count:])

    def backward(self, saved: Sequence[Any], *cotangents: Any) -> tuple[Any, ...]:
        """The gradients of the float arguments, from one cotangent per float result."""
        return tuple(self.second(*saved, *cotangents))


def forward_backward(
    outputs: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor],
    recompute: float = RECOMPUTE,
    target: str = "cpu",
    *,
    deterministic: bool = True,
    memory_limit: int | None = None,
    subnormals: str | None = None,
) -> ForwardBackward:
    """Compile the program from `inputs` to `outputs` and its VJP as two functions.

    A map that costs at most `recompute` operations an element is computed again by the second, all
    else that it needs is saved by the first. `deterministic` is that of `ted.compile`, and so are
    `memory_limit`, for each of both, and `subnormals`.
    Raises: DerivativeError when no output or no input is of a float type; FrontendError when
    `recompute` is no number or negative.
    """
    options = compile_options(
        target, deterministic=deterministic, memory_limit=memory_limit, subnormals=subnormals
    )
    if isinstance(recompute, bool) or not isinstance(recompute, Real) or not recompute >= 0:
        fail(
            "forward_backward: recompute is a number of operations an element, at least 0, got "
            f"{recompute!r}; 0 repeats no operation, math.inf every map"
        )
    results, inputs = (tensors_of(t, "forward_backward") for t in (outputs, inputs))
    wanted = [x for x in inputs if x.dtype.is_float]
    split = split_program(inputs, results, results, wanted, recompute)
    first, second = (compile_sizes(s, options=options) for s in (split.forward, split.backward))
    return ForwardBackward(split, first, second)


def split_program(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    results: Sequence[Tensor],
    wanted: Sequence[Tensor],
    recompute: float = RECOMPUTE,
    name: str = "main",
) -> Split:
    """The program of `outputs`, and that of the gradients that `wanted` have of `results`.

    A cotangent comes for each of the results that is of floats.
    Raises: DerivativeError when none is, or nothing is wanted, or something has no derivative.
    """
    system = system_of(inputs, outputs, name)
    smooth = [r for r in results if r.dtype.is_float]
    if not smooth or not wanted:
        raise DerivativeError("forward_backward: a float output and a float input, got none")
    heads = [wrap(Node(f"d{r.name}", r.shape, r.dtype)) for r in smooth]
    gradients = differentiate(smooth, wanted, heads)
    joint = System(
        (*system.inputs, *(h.node for h in heads)),
        (*system.outputs, *(g.node for g in gradients)),
        name,
    )
    return split_residuals(joint, len(heads), len(outputs), recompute)
