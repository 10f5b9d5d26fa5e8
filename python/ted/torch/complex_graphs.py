"""Graphs with complex tensors -> graphs with two real ones for each, and functions of pairs.

Before: %z = view_as_complex(%x); %w = permute(%z, [1, 0]); return mul(%w, 1j)
After:  %a, %b = paired(%x); %c = permute(%a, [1, 0]); %d = permute(%b, [1, 0]); ...

What is linear in its tensors, as all that moves elements, acts on each part; the others are those
of `ted.Complex`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any

import torch
from torch.utils import _pytree

import ted
from ted.errors import FrontendError
from ted.frontend.complex_pairs import Complex, applied
from ted.raising.complex_algebra import as_pair
from ted.raising.complexes import each, opened
from ted.records import dataclass
from ted.torch.complex_matrices import MATRICES
from ted.torch.kept_functions import OF_FLOATS

_BY_PARTS = {
    "alias", "cat", "chunk", "clone", "contiguous", "constant_pad_nd", "cumsum", "detach",
    "diag_embed", "diagonal", "diff", "expand", "expand_as", "flatten", "flip", "gather", "index",
    "index_add", "index_put", "index_select", "lift_fresh_copy", "mT", "mean", "movedim", "narrow",
    "neg", "numpy_T", "pad", "permute", "repeat", "reshape", "roll", "scatter", "scatter_add",
    "select", "select_scatter", "slice", "slice_scatter", "split", "split_with_sizes", "squeeze",
    "stack", "sum", "swapaxes", "t", "tile", "trace", "transpose", "tril", "triu", "unbind",
    "unflatten", "unfold", "unsqueeze", "view",
}  # fmt: skip
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def _scaled(name: str) -> Callable[..., Any]:
    def function(a: Any, b: Any, *, alpha: Any = 1) -> Any:
        return applied(name, a, b if alpha == 1 else applied("multiply", b, alpha))

    return function


def _converted(x: Any, *_: Any, **__: Any) -> Any:
    """A tensor as a complex one; the type is that of the result."""
    return as_pair(x)


def _transform(name: str) -> Callable[..., Any]:
    function = getattr(ted.fft, name)

    def call(x: Any, size: Any = None, dim: Any = _LAST[name[-1]], norm: Any = None) -> Any:
        return function(x, size, dim, norm)

    return call


def _hermitian(name: str) -> Callable[..., Any]:
    """Of a real spectrum: the other way round of what is of a real signal, and conjugate."""
    inner, is_inverse = _transform(name), name.startswith("r")

    def call(x: Any, size: Any = None, dim: Any = _LAST[name[-1]], norm: Any = None) -> Any:
        given = x if is_inverse else applied("conj", x)
        found = inner(given, size, dim, _SWAPPED.get(norm, norm))
        return applied("conj", found) if is_inverse else found

    return call


_LAST = {"t": -1, "2": (-2, -1), "n": None}
_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward"}


def _turned(z: Any) -> Any:
    return applied("conj", z).mT


def _joined(name: str) -> Callable[..., Any]:
    return lambda tensors, dim=0: applied(name, [*map(_converted, tensors)], axis=dim)


def _filled(value: Any) -> Any:
    """A number, which has the shape and the type that torch says."""
    return Complex(*(ted.full((), part, "float64") for part in (value.real, value.imag)))


def _sigmoid(z: Any) -> Any:
    return applied("reciprocal", applied("add", applied("exp", applied("negative", z)), 1))


def _vector_norm(z: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
    axis = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    return ted.linalg.vector_norm(applied("absolute", z), axis=axis, keepdims=keepdim, ord=ord)


def _short_time(
    x: Any, n: int, hop: Any = None, width: Any = None, window: Any = None, normalized: Any = False,
    onesided: Any = None, return_complex: Any = None, *_: Any, **__: Any,
) -> Any:  # fmt: skip
    """Spectra of windows, in columns; a window that is shorter stands in the middle."""
    step, is_pair = hop or n // 4, isinstance(x, Complex)
    shape = (*x.shape[:-1], (x.shape[-1] - n) // step + 1, n)
    window = _window(x, n, width or n, window)

    def rows(x: Any) -> Any:
        return window * ted.compute(shape, lambda *i: x[(*i[:-2], step * i[-2] + i[-1])])

    half = not is_pair if onesided is None else onesided
    found = (ted.fft.rfft if half else ted.fft.fft)(each(rows, x)).mT
    found = found * n**-0.5 if normalized else found
    return found if return_complex else ted.stack([found.real, found.imag], -1)


def _window(x: Any, n: int, width: int, window: Any) -> Any:
    window = ted.ones(width, x.real.dtype) if window is None else window
    before = (n - width) // 2
    return window if width == n else ted.pad(window, [(before, n - width - before)])


def _signal(
    z: Any, n: int, hop: Any = None, width: Any = None, window: Any = None, center: bool = True,
    normalized: bool = False, _onesided: Any = None, length: Any = None,
    return_complex: bool = False, **__: Any,
) -> Any:  # fmt: skip
    """The signal of spectra of windows, which meet in sums, over the sum of squares of windows."""
    step, (*batch, _, count) = hop or n // 4, z.shape
    window = _window(z, n, width or n, window)
    spectra = z if return_complex else z[..., : n // 2 + 1, :]  # the others, of a real signal
    frames = (ted.fft.ifft if return_complex else ted.fft.irfft)(spectra.mT, n)
    size = n + step * (count - 1)
    start = n // 2 if center else 0
    end = start + length if length is not None else size - start
    kept = slice(start, min(end, size))

    def summed(parts: Any) -> Any:
        rows = ted.reshape(parts, (-1, count, n))
        found = ted.nn.fold(rows, (1, size), (1, n), (1, step))[:, 0, kept, 0]
        return ted.reshape(found, (*parts.shape[:-2], -1))

    squares = summed(ted.broadcast_to(ted.square(window), (count, n)))
    scale = n**0.5 if normalized else 1.0

    def signal(part: Any) -> Any:
        found = summed(part * (window * scale)) / squares
        return ted.pad(found, [(0, 0)] * len(batch) + [(0, max(end - size, 0))])

    return each(signal, frames)


_ZEROS = (
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "new_zeros",
    "zeros", "zeros_like",
)  # fmt: skip
_ELEMENTWISE = (
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "square", "reciprocal", "angle",
    "isnan", "isinf", "isfinite", "real", "imag", "conj", "where", "matmul", "cumprod",
    "nan_to_num",
)  # fmt: skip
_RENAMED = {
    "abs": "absolute", "absolute": "absolute", "mul": "multiply", "multiply": "multiply",
    "div": "divide", "divide": "divide", "pow": "power", "eq": "equal", "ne": "not_equal",
    "sgn": "sign", "_conj": "conj", "conj_physical": "conj", "_conj_physical": "conj",
    "mm": "matmul", "bmm": "matmul", "mv": "matmul", "dot": "matmul",
}  # fmt: skip
_TRANSFORMS = [f"{i}{r}fft{n}" for i in ("", "i") for r in ("", "r") for n in ("", "2", "n")]
_HERMITIAN = {
    f"fft_{i}hfft{n}": f"{r}rfft{n}" for i, r in (("", "i"), ("i", "")) for n in ("", "2", "n")
}


def _named(name: str) -> Callable[..., Any]:
    return lambda *args, **options: applied(name, *args, **options)


# By the name of an operator, of any overload.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _named(name) for name in _ELEMENTWISE},
    **{name: _named(word) for name, word in _RENAMED.items()},
    **{f"fft_{name}": _transform(name) for name in _TRANSFORMS},
    **{name: _hermitian(of) for name, of in _HERMITIAN.items()},
    "fft_fftshift": lambda z, dim=None: ted.fft.fftshift(z, dim),
    "fft_ifftshift": lambda z, dim=None: ted.fft.ifftshift(z, dim),
    "fft_fftfreq": lambda n, d=1.0, **_: ted.fft.fftfreq(n, d, "float64"),
    "fft_rfftfreq": lambda n, d=1.0, **_: ted.fft.rfftfreq(n, d, "float64"),
    "stft": _short_time, "istft": _signal,
    **{name: lambda *_, **__: _filled(0) for name in _ZEROS},
    **{name: lambda *_, **__: _filled(1) for name in ("ones", "ones_like", "new_ones")},
    **{name: lambda _, value, **__: _filled(value) for name in ("full", "full_like")},
    "new_full": lambda _, __, value, **___: _filled(value),
    "scalar_tensor": lambda value, **_: _filled(value),
    "eye": lambda n, m=None, **_: _converted(ted.eye(n, m, dtype="float64")),
    "cat": _joined("concatenate"), "stack": _joined("stack"),
    "add": _scaled("add"), "sub": _scaled("subtract"),
    "outer": lambda a, b: applied("multiply", a[:, None], b),
    "rsqrt": lambda z: applied("reciprocal", applied("sqrt", z)),
    "vdot": lambda a, b: applied("matmul", applied("conj", a), b),
    "mH": _turned, "matrix_H": _turned, "adjoint": _turned,
    "copy": lambda _, source, *__: _converted(source), "convert_element_type": _converted,
    "prod": lambda z, dim=None, keepdim=False, **_: applied("prod", z, dim, keepdims=keepdim),
    **MATRICES, "sigmoid": _sigmoid, "linalg_vector_norm": _vector_norm,
    "resolve_conj": _converted, "to": _converted, "_to_copy": _converted,
    "linear": lambda x, w, b=0.0: applied("add", applied("matmul", x, w.mT), b),
    "complex": Complex,
    "polar": lambda size, angle: Complex(size * ted.cos(angle), size * ted.sin(angle)),
    "view_as_complex": lambda x: Complex(x[..., 0], x[..., 1]),
    "view_as_real": lambda z: ted.stack([z.real, z.imag], -1),
    "einsum": lambda formula, operands, **_: applied("einsum", formula, *operands),
    "masked_fill": lambda z, mask, value: applied("where", mask, value, z),
}  # fmt: skip


_WORDS = ("var", "std", "var_mean", "std_mean")
_SPREADS = {target: f for target, f in OF_FLOATS.items() if target._opname in _WORDS}


@dataclass(frozen=True, eq=False)
class Paired:
    """A function of pairs as one of their parts: `given` are its arguments, marks for tensors.

    `gives` says of each result whether it is a pair.
    """

    function: Callable[..., Any]
    given: Sequence[Any]
    spec: Any
    name: str
    gives: Sequence[bool]

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        """The parts of the results for the parts of what it takes."""
        rest = iter(tensors)
        flat = [
            Complex(next(rest), next(rest)) if a is _PAIR else next(rest) if a is _TENSOR else a
            for a in self.given
        ]
        args, kwargs = _pytree.tree_unflatten(flat, self.spec)
        found = self.function(*args, **kwargs)
        results = found if isinstance(found, tuple) else (found,)
        # Of a pair that becomes real torch keeps the real part.
        rows = zip(results, self.gives, strict=True)
        return tuple(opened(as_pair(r) if is_pair else ted.real(r) for r, is_pair in rows))


_TENSOR, _PAIR = object(), object()
Parts = dict[Any, Any]  # the two parts of a value, or a list with one or two for each of several


def is_complex(node: Any) -> bool:
    """Whether a value of a graph is complex, or one of several."""
    return isinstance(node, torch.fx.Node) and any(
        isinstance(v, torch.Tensor) and v.is_complex()
        for v in _pytree.tree_leaves(node.meta.get("val"))
    )


def _is_fourier(node: Any) -> bool:
    """Whether a node is of torch.fft, which gives and takes real tensors, too."""
    name = str(getattr(node.target, "_opname", None))
    return name in FUNCTIONS and name.startswith("fft_")


def _function(node: Any) -> Callable[..., Any] | None:
    name = str(getattr(node.target, "_opname", None))
    return _SPREADS.get(node.target) or FUNCTIONS.get(name)


def is_of_pairs(node: Any) -> bool:
    """Whether an operator takes or gives complex numbers, and has a function of pairs."""
    leaves = _pytree.tree_leaves((node.args, node.kwargs))
    return bool(_function(node)) and any(map(is_complex, (node, *leaves)))


def with_parts(graph: torch.fx.Graph) -> torch.fx.Graph:
    """The graph with pairs of real tensors for complex ones, in place.

    Raises: FrontendError for an operator that has no function of pairs, by its name.
    """
    parts: Parts = {}
    gone = []
    for node in [*graph.nodes]:
        leaves = _pytree.tree_leaves((node.args, node.kwargs))
        if not is_complex(node) and not any(map(is_complex, leaves)) and not _is_fourier(node):
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
    if node.target is getitem and isinstance(parts[node.args[0]], list):  # of a function of pairs
        _become(node, parts[node.args[0]][node.args[1]], parts)
        return
    if node.target is getitem or (name in _BY_PARTS and _is_linear(node, leaves)):
        parts[node] = _typed(node, *(_copy(graph, node, parts, k) for k in (0, 1)))
        return
    function = _function(node)
    to_bool = function is _converted and node.meta["val"].dtype is torch.bool
    if function is None or to_bool:
        raise FrontendError(
            f"from_exported: {node.target} of complex numbers has no equations, got it in "
            f"'{node.name}'; give it their real and imaginary parts"
        )
    flat, spec = _pytree.tree_flatten((node.args, node.kwargs))
    given = [_PAIR if a in parts else _TENSOR if isinstance(a, torch.fx.Node) else a for a in flat]
    tensors = [p for a in flat if isinstance(a, torch.fx.Node) for p in parts.get(a, (a,))]
    value = node.meta["val"]
    values = [value] if isinstance(value, torch.Tensor) else [*value]
    paired = Paired(function, given, spec, str(name), [v.is_complex() for v in values])
    made = graph.call_function(paired, tuple(tensors))
    rows = [_halves(v) if v.is_complex() else [v] for v in values]
    made.meta["val"] = tuple(part for row in rows for part in row)
    results = iter([graph.call_function(getitem, (made, k)) for k in range(len(made.meta["val"]))])
    found = [tuple(_meaning(next(results), part) for part in row) for row in rows]
    if isinstance(value, torch.Tensor):
        _become(node, found[0], parts)
    else:
        parts[node] = found


def _meaning(node: Any, value: torch.Tensor) -> Any:
    node.meta["val"] = value
    return node


def _become(node: Any, found: Sequence[Any], parts: Parts) -> None:
    """A value is now a pair, or a real one."""
    if len(found) == 2:
        parts[node] = found
    else:
        node.replace_all_uses_with(found[0])


def _is_linear(node: Any, leaves: Sequence[Any]) -> bool:
    """Whether each part of a result is that of the arguments, which all are complex or indices."""
    rest = [a for a in leaves if isinstance(a, torch.fx.Node) and not is_complex(a)]
    if any(a.meta["val"].is_floating_point() for a in rest) or not is_complex(node):
        return False
    name = node.target._opname
    if name in ("cat", "stack"):
        return not rest
    if name == "scatter" and node.target._overloadname != "src":
        return False
    is_filled = name in ("pad", "constant_pad_nd") and _fill(node)
    return not is_filled and not any(a in _REAL or isinstance(a, complex) for a in leaves)


def _fill(node: Any) -> Any:
    """What a pad puts around its tensor."""
    at = 3 if node.target._opname == "pad" else 2
    return node.kwargs.get("value", node.args[at] if len(node.args) > at else 0)


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
