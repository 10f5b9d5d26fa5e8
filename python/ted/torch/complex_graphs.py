"""Graphs with complex tensors -> graphs with two real ones for each, and functions of pairs.

Before: %z = view_as_complex(%x); %w = permute(%z, [1, 0]); return mul(%w, 1j)
After:  %a, %b = paired(%x); %c = permute(%a, [1, 0]); %d = permute(%b, [1, 0]); ...

What is linear in its tensors, as all that moves elements, acts on each part; the others are those
of `ted.Complex`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any

import torch
from torch.utils import _pytree

import ted
from ted.errors import FrontendError
from ted.frontend.complex_pairs import Complex, applied

_BY_PARTS = {
    "alias", "cat", "chunk", "clone", "contiguous", "constant_pad_nd", "cumsum", "detach",
    "diagonal", "diff", "expand", "expand_as", "flatten", "flip", "gather", "index",
    "index_select", "mT", "mean", "movedim", "narrow", "neg", "numpy_T", "pad", "permute",
    "repeat", "reshape", "roll", "select", "slice", "split", "split_with_sizes", "squeeze",
    "stack", "sum", "swapaxes", "t", "tile", "transpose", "tril", "triu", "unbind", "unflatten",
    "unsqueeze", "view", "zeros_like",
}  # fmt: skip
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def _scaled(name: str) -> Callable[..., Any]:
    def function(a: Any, b: Any, *, alpha: Any = 1) -> Any:
        return applied(name, a, b if alpha == 1 else applied("multiply", b, alpha))

    return function


def _converted(x: Any, *_: Any, **__: Any) -> Any:
    """A tensor as a complex one; the type is that of the result."""
    return x if isinstance(x, Complex) else Complex(x, ted.zeros_like(x))


def _transform(name: str) -> Callable[..., Any]:
    function, last = getattr(ted.fft, name), name.endswith("fft")
    default = -1 if last else (-2, -1) if name.endswith("2") else None

    def call(x: Any, size: Any = None, dim: Any = default, norm: Any = None) -> Any:
        return function(x, size, dim, norm)

    return call


def _turned(z: Any) -> Any:
    return applied("conj", z).mT


_ELEMENTWISE = (
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "square", "reciprocal", "angle",
    "isnan", "isinf", "isfinite", "real", "imag", "conj", "where", "matmul", "cumprod",
)  # fmt: skip
_RENAMED = {
    "abs": "absolute", "absolute": "absolute", "mul": "multiply", "multiply": "multiply",
    "div": "divide", "divide": "divide", "pow": "power", "eq": "equal", "ne": "not_equal",
    "sgn": "sign", "_conj": "conj", "conj_physical": "conj", "mm": "matmul", "bmm": "matmul",
    "mv": "matmul", "dot": "matmul",
}  # fmt: skip
_TRANSFORMS = [f"fft_{i}{r}fft{n}" for i in ("", "i") for r in ("", "r") for n in ("", "2", "n")]


def _named(name: str) -> Callable[..., Any]:
    return lambda *args, **options: applied(name, *args, **options)


# By the name of an operator, of any overload.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: _named(name) for name in _ELEMENTWISE},
    **{name: _named(word) for name, word in _RENAMED.items()},
    **{name: _transform(name.removeprefix("fft_")) for name in _TRANSFORMS},
    "fft_fftshift": lambda z, dim=None: ted.fft.fftshift(z, dim),
    "fft_ifftshift": lambda z, dim=None: ted.fft.ifftshift(z, dim),
    "add": _scaled("add"), "sub": _scaled("subtract"),
    "outer": lambda a, b: applied("multiply", a[:, None], b),
    "rsqrt": lambda z: applied("reciprocal", applied("sqrt", z)),
    "vdot": lambda a, b: applied("matmul", applied("conj", a), b),
    "mH": _turned, "matrix_H": _turned, "adjoint": _turned,
    "resolve_conj": _converted, "to": _converted, "_to_copy": _converted,
    "linear": lambda x, w, b=0.0: applied("add", applied("matmul", x, w.mT), b),
    "complex": Complex,
    "polar": lambda size, angle: Complex(size * ted.cos(angle), size * ted.sin(angle)),
    "view_as_complex": lambda x: Complex(x[..., 0], x[..., 1]),
    "view_as_real": lambda z: ted.stack([z.real, z.imag], -1),
    "einsum": lambda formula, operands, **_: applied("einsum", formula, *operands),
    "masked_fill": lambda z, mask, value: applied("where", mask, value, z),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Paired:
    """A function of pairs as one of their parts: `given` are its arguments, marks for tensors."""

    function: Callable[..., Any]
    given: Sequence[Any]
    spec: Any
    name: str
    gives_pair: bool

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        """The parts of the result for the parts of what it takes."""
        rest = iter(tensors)
        flat = [
            Complex(next(rest), next(rest)) if a is _PAIR else next(rest) if a is _TENSOR else a
            for a in self.given
        ]
        args, kwargs = _pytree.tree_unflatten(flat, self.spec)
        found = self.function(*args, **kwargs)
        if not self.gives_pair:  # of a pair that becomes real torch keeps the real part
            return (found.real if isinstance(found, Complex) else found,)
        return (found.real, found.imag)


_TENSOR, _PAIR = object(), object()
Parts = dict[Any, tuple[Any, Any]]


def is_complex(node: Any) -> bool:
    """Whether a value of a graph is complex, or one of several."""
    return isinstance(node, torch.fx.Node) and any(
        isinstance(v, torch.Tensor) and v.is_complex()
        for v in _pytree.tree_leaves(node.meta.get("val"))
    )


def with_parts(graph: torch.fx.Graph) -> torch.fx.Graph:
    """The graph with pairs of real tensors for complex ones, in place.

    Raises: FrontendError for an operator that has no function of pairs, by its name.
    """
    parts: Parts = {}
    gone = []
    for node in [*graph.nodes]:
        leaves = _pytree.tree_leaves((node.args, node.kwargs))
        if not is_complex(node) and not any(map(is_complex, leaves)):
            continue
        if node.op == "output":
            flat = _pytree.tree_leaves(node.args)
            node.args = (tuple(p for a in flat for p in parts.get(a, (a,))),)
            continue
        with graph.inserting_before(node):
            _replace(graph, node, leaves, parts)
        gone.append(node)
    for node in reversed(gone):
        graph.erase_node(node)
    return graph


def _replace(graph: torch.fx.Graph, node: Any, leaves: Sequence[Any], parts: Parts) -> None:
    if node.op == "placeholder":
        places = (graph.placeholder(f"{node.name}_{part}") for part in ("real", "imag"))
        parts[node] = _typed(node, *places)
        return
    name = getattr(node.target, "_opname", None)
    if node.target is getitem or (name in _BY_PARTS and _is_linear(node, leaves)):
        parts[node] = _typed(node, *(_copy(graph, node, parts, k) for k in (0, 1)))
        return
    function = FUNCTIONS.get(str(name))
    to_bool = name in ("to", "_to_copy") and node.meta["val"].dtype is torch.bool
    if function is None or to_bool:
        raise FrontendError(
            f"from_exported: {node.target} of complex numbers has no equations, got it in "
            f"'{node.name}'; give it their real and imaginary parts"
        )
    flat, spec = _pytree.tree_flatten((node.args, node.kwargs))
    given = [_PAIR if a in parts else _TENSOR if isinstance(a, torch.fx.Node) else a for a in flat]
    tensors = [p for a in flat if isinstance(a, torch.fx.Node) for p in parts.get(a, (a,))]
    paired = Paired(function, given, spec, str(name), is_complex(node))
    made = graph.call_function(paired, tuple(tensors))
    value = node.meta["val"]
    made.meta["val"] = tuple(_halves(value)) if is_complex(node) else (value,)
    results = [graph.call_function(getitem, (made, k)) for k in range(len(made.meta["val"]))]
    for result, own in zip(results, made.meta["val"], strict=True):
        result.meta["val"] = own
    if is_complex(node):
        parts[node] = (results[0], results[1])
    else:
        node.replace_all_uses_with(results[0])


def _is_linear(node: Any, leaves: Sequence[Any]) -> bool:
    """Whether each part of a result is that of the arguments, which all are complex or indices."""
    rest = [a for a in leaves if isinstance(a, torch.fx.Node) and not is_complex(a)]
    if any(a.meta["val"].is_floating_point() for a in rest) or not is_complex(node):
        return False
    if node.target._opname in ("cat", "stack"):
        return not rest
    fills = node.target._opname in ("pad", "constant_pad_nd")
    behind = (*node.args[2:], *node.kwargs.values())  # what to pad with, behind the widths
    is_filled = fills and any(isinstance(a, (int, float)) and a for a in behind)
    return not is_filled and not any(a in _REAL or isinstance(a, complex) for a in leaves)


def _copy(graph: torch.fx.Graph, node: Any, parts: Parts, which: int) -> Any:
    """The operator of a node on one part of each complex argument."""
    return graph.node_copy(node, lambda a: parts[a][which] if a in parts else a)


def _typed(node: Any, real: Any, imag: Any) -> tuple[Any, Any]:
    halves = _pytree.tree_map(_halves, node.meta["val"])
    is_one = isinstance(node.meta["val"], torch.Tensor)
    for k, part in enumerate((real, imag)):
        part.meta.pop("tensor_meta", None)
        part.meta["val"] = halves[k] if is_one else [pair[k] for pair in halves]
    return real, imag


def _halves(value: torch.Tensor) -> list[torch.Tensor]:
    """Tensors without data of both parts."""
    return [value.new_empty(value.shape, dtype=_REAL[value.dtype]) for _ in range(2)]
