"""`ted.torch.Module`: an operator with parameters, as `torch.nn` has them.

Before: model(params, x) with params = {"layers": [{"w": w, "b": b}]}
After:  module(x) with module.state_dict() = {"layers.0.w": w, "layers.0.b": b}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ted.errors import FrontendError
from ted.frontend.trees import flatten, opened, unflatten
from ted.torch.arrays import from_array
from ted.torch.operators import Operator, op


class Module(torch.nn.Module):
    """`fn(params, *args)` as a module of `args`; tensors in the nest `params` become its state.

    Arrays of floats are parameters, others buffers; names in `state_dict` are the paths in the
    nest, those of `ted.save`. `options` are those of `ted.torch.op`.
    Raises: FrontendError for what is no array in `params`, or a key with a dot, '' and 'training'.
    """

    def __init__(self, fn: Callable[..., Any], params: Any, **options: Any) -> None:
        super().__init__()
        self.operator = fn if isinstance(fn, Operator) else op(fn, **options)
        leaves, self._tree = flatten(params)
        self._names = [path for path, _ in leaves]
        _fill(self, params, "")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The operator of the parameters as they are now, and `args`."""
        return self.operator(self.params, *args, **kwargs)

    @property
    def params(self) -> Any:
        """The state as the nest that it was made of."""
        return unflatten(self._tree, (_state(self, name) for name in self._names))

    def extra_repr(self) -> str:
        """What stands in the printed module."""
        return repr(self.operator)


def _fill(module: torch.nn.Module, nest: Any, path: str) -> None:
    """Put the leaves of a nest into a module, those of the nests in it into modules of its own."""
    found = opened(nest)
    if found is None:
        raise FrontendError(f"Module: params is a nest of arrays, got {type(nest).__name__}")
    for key, value in zip(map(str, found.keys), found.values, strict=True):
        place = f"{path}.{key}" if path else key
        if "." in key:
            raise FrontendError(f"Module: a key in params has no dot, got {key!r}; see state_dict")
        if key in ("", "training"):
            raise FrontendError(
                f"Module: a key in params is no name that modules of torch need, got {key!r}"
            )
        if opened(value) is None:
            # Past `register_parameter`, which refuses names that modules have as attributes.
            tensor = _tensor(value, place)
            if tensor.is_floating_point():
                module._parameters[key] = torch.nn.Parameter(tensor)
            else:
                module._buffers[key] = tensor
        else:
            inner = module._modules[key] = torch.nn.Module()
            _fill(inner, value, place)


def _tensor(value: Any, path: str) -> torch.Tensor:
    """A copy, which the optimiser may write to."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    array = np.array(value)
    try:
        return from_array(array)
    except TypeError:
        raise FrontendError(
            f"Module: params.{path} is an array of a type that torch has, got {array.dtype} of "
            f"{type(value).__name__}"
        ) from None


def _state(module: Any, name: str) -> torch.Tensor:
    *folders, key = name.split(".")
    for folder in folders:
        module = module._modules[folder]
    found = module._parameters.get(key)
    if found is None:
        found = module._buffers.get(key)
    return getattr(module, key) if found is None else found  # what `parametrize` makes of it
