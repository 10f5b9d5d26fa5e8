"""The names of the array API standard as expressions, for any module that has them.

Each name has expressions `case(xp, v)` over values `v` of every kind: floats `f g`, positive ones
`p`, ones in (-1, 1) `u`, integers `i j`, bools `b c`, a vector `w`, square matrices `m`, batched
matrices `t`, vectors of integers `k`, the extents `rows, columns`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

Case = Callable[[Any, Any], Any]


def _of(name: str, *kinds: str) -> list[Case]:
    """One expression for each word of letters that name operands."""
    return [
        lambda xp, v, word=word: getattr(xp, name)(*(getattr(v, c) for c in word)) for word in kinds
    ]


ELEMENTWISE: dict[str, list[Case]] = {
    **{n: _of(n, "f", "i") for n in ("abs", "negative", "positive", "sign", "square")},
    **{n: _of(n, "f") for n in ("atan", "cos", "sin", "tan", "exp", "expm1", "sinh", "cosh", "tanh",
                               "asinh", "conj", "real", "isfinite", "isinf", "isnan", "signbit",
                               "reciprocal")},
    **{n: _of(n, "u") for n in ("acos", "asin", "atanh")},
    **{n: _of(n, "p") for n in ("log", "log10", "log1p", "log2", "sqrt")},
    **{n: _of(n, "f", "i") for n in ("ceil", "floor", "round", "trunc")},
    **{n: _of(n, "fg", "ij", "fw") for n in ("add", "subtract", "multiply", "maximum", "minimum")},
    **{n: _of(n, "fg", "fw") for n in ("divide", "atan2", "copysign", "hypot", "logaddexp",
                                      "nextafter")},
    **{n: _of(n, "fg", "ij") for n in ("floor_divide", "remainder")},
    **{n: _of(n, "fg", "ij", "ff") for n in ("equal", "not_equal", "greater", "greater_equal",
                                            "less", "less_equal")},
    **{n: _of(n, "ij", "bc") for n in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{n: _of(n, "bc") for n in ("logical_and", "logical_or", "logical_xor")},
    **{n: _of(n, "ik") for n in ("bitwise_left_shift", "bitwise_right_shift")},
    "bitwise_invert": _of("bitwise_invert", "i", "b"),
    "logical_not": _of("logical_not", "b"),
    "acosh": [lambda xp, v: xp.acosh(v.p + 1.0)],
    "pow": [lambda xp, v: xp.pow(v.p, v.g), lambda xp, v: xp.pow(v.f, 3),
            lambda xp, v: xp.pow(v.i, 2)],
    "clip": [lambda xp, v: xp.clip(v.f, -1.0, 1.0), lambda xp, v: xp.clip(v.f, min=0.0),
             lambda xp, v: xp.clip(v.f, max=v.p), lambda xp, v: xp.clip(v.i, -2, 3)],
}  # fmt: skip

AXES: tuple[dict[str, Any], ...] = (
    {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)},
)  # fmt: skip


def _reduced(name: str, kind: str, axes: tuple[dict[str, Any], ...] = AXES) -> list[Case]:
    return [lambda xp, v, o=o: getattr(xp, name)(getattr(v, kind), **o) for o in axes]


STATISTICAL: dict[str, list[Case]] = {
    **{n: _reduced(n, "f") + _reduced(n, "i") for n in ("sum", "prod", "max", "min")},
    **{n: _reduced(n, "f") for n in ("mean", "std", "var")},
    **{n: _reduced(n, "b") + _reduced(n, "f") for n in ("all", "any")},
    **{n: _reduced(n, "f", AXES[:3]) for n in ("argmax", "argmin")},
    "count_nonzero": _reduced("count_nonzero", "b") + _reduced("count_nonzero", "i"),
    "cumulative_sum": [
        lambda xp, v: xp.cumulative_sum(v.f, axis=1), lambda xp, v: xp.cumulative_sum(v.w),
        lambda xp, v: xp.cumulative_sum(v.i, axis=0, include_initial=True)],
    "cumulative_prod": [
        lambda xp, v: xp.cumulative_prod(v.f, axis=1), lambda xp, v: xp.cumulative_prod(v.w),
        lambda xp, v: xp.cumulative_prod(v.i, axis=0, include_initial=True)],
    "diff": [lambda xp, v: xp.diff(v.f), lambda xp, v: xp.diff(v.i, axis=0),
             lambda xp, v: xp.diff(v.f, n=2, prepend=v.g, append=v.p)],
}  # fmt: skip
STATISTICAL["var"].append(lambda xp, v: xp.var(v.f, correction=0.5))
STATISTICAL["std"].append(lambda xp, v: xp.std(v.f, correction=0.5, axis=1))
STATISTICAL["sum"].append(lambda xp, v: xp.sum(v.i, dtype=xp.float64))

MANIPULATION: dict[str, list[Case]] = {
    "astype": [lambda xp, v: xp.astype(v.i, xp.float64), lambda xp, v: xp.astype(v.f, xp.bool),
               lambda xp, v: xp.astype(v.f, xp.int64)],
    "broadcast_arrays": [lambda xp, v: list(xp.broadcast_arrays(v.f, v.w))],
    "broadcast_to": [lambda xp, v: xp.broadcast_to(v.f, (2, v.rows, v.columns))],
    "concat": [lambda xp, v: xp.concat([v.f, v.g]), lambda xp, v: xp.concat((v.f, v.g), axis=-1),
               lambda xp, v: xp.concat([v.f, v.w], axis=None)],
    "expand_dims": [lambda xp, v, k=k: xp.expand_dims(v.f, axis=k) for k in (0, 1, -1)],
    "flip": [lambda xp, v: xp.flip(v.f), lambda xp, v: xp.flip(v.f, axis=1)],
    "matrix_transpose": _of("matrix_transpose", "f", "t"),
    "moveaxis": [lambda xp, v: xp.moveaxis(v.t, 0, -1),
                 lambda xp, v: xp.moveaxis(v.t, (0, 2), (1, 0))],
    "permute_dims": [lambda xp, v: xp.permute_dims(v.t, (2, 0, 1))],
    "repeat": [lambda xp, v: xp.repeat(v.f, 2), lambda xp, v: xp.repeat(v.f, 3, axis=1)],
    "reshape": [lambda xp, v: xp.reshape(v.f, (v.columns, v.rows)),
                lambda xp, v: xp.reshape(v.f, (-1,))],
    "roll": [lambda xp, v: xp.roll(v.f, 2), lambda xp, v: xp.roll(v.f, -1, axis=0),
             lambda xp, v: xp.roll(v.f, (1, 2), axis=(0, 1))],
    "squeeze": [lambda xp, v: xp.squeeze(xp.expand_dims(v.f, axis=1), axis=1)],
    "stack": [lambda xp, v: xp.stack([v.f, v.g]), lambda xp, v: xp.stack([v.f, v.g], axis=-1)],
    "tile": [lambda xp, v: xp.tile(v.f, (2, 1)), lambda xp, v: xp.tile(v.w, (2, 3)),
             lambda xp, v: xp.tile(v.f, (2,))],
    "tril": [lambda xp, v: xp.tril(v.f), lambda xp, v: xp.tril(v.t, k=1)],
    "triu": [lambda xp, v: xp.triu(v.f), lambda xp, v: xp.triu(v.t, k=-1)],
    "unstack": [lambda xp, v: list(xp.unstack(v.f)), lambda xp, v: list(xp.unstack(v.f, axis=1))],
    "where": [lambda xp, v: xp.where(v.b, v.f, v.g), lambda xp, v: xp.where(v.b, v.f, v.w)],
    "take": [lambda xp, v: xp.take(v.f, v.k % v.columns, axis=1)],
    "take_along_axis": [
        lambda xp, v: xp.take_along_axis(v.f, v.i % v.columns, axis=1),
        lambda xp, v: xp.take_along_axis(v.f, v.i % v.columns)],
}  # fmt: skip

SORTING: dict[str, list[Case]] = {
    **{n: [lambda xp, v, n=n: getattr(xp, n)(v.f), lambda xp, v, n=n: getattr(xp, n)(v.i, axis=0),
           lambda xp, v, n=n: getattr(xp, n)(v.u, descending=True)] for n in ("sort", "argsort")},
    "searchsorted": [lambda xp, v: xp.searchsorted(xp.sort(v.w), v.f),
                     lambda xp, v: xp.searchsorted(v.w, v.f, side="right", sorter=xp.argsort(v.w))],
}  # fmt: skip

CREATION: dict[str, list[Case]] = {
    "arange": [lambda xp, v: xp.arange(5), lambda xp, v: xp.arange(2, 9, 3),
               lambda xp, v: xp.arange(7, 1, -2), lambda xp, v: xp.arange(5, 2),
               lambda xp, v: xp.arange(0.5, 2.0, 0.25, dtype=xp.float64),
               lambda xp, v: xp.arange(4, dtype=xp.float32)],
    "asarray": [lambda xp, v: xp.asarray(v.f), lambda xp, v: xp.asarray([1, 2, 3]),
                lambda xp, v: xp.asarray(3), lambda xp, v: xp.asarray(1.5, dtype=xp.float64)],
    "empty": [lambda xp, v: xp.empty((2, 0), dtype=xp.float64)],
    "empty_like": [lambda xp, v: xp.zeros_like(xp.empty_like(v.f))],
    "eye": [lambda xp, v: xp.eye(3, dtype=xp.float64),
            lambda xp, v: xp.eye(2, 4, k=1, dtype=xp.int64)],
    "from_dlpack": [lambda xp, v: xp.from_dlpack(v.numpy)],
    "full": [lambda xp, v: xp.full((2, 3), 7), lambda xp, v: xp.full((2,), True),
             lambda xp, v: xp.full(3, 1.5, dtype=xp.float64)],
    "full_like": [lambda xp, v: xp.full_like(v.f, 2.0), lambda xp, v: xp.full_like(v.i, 2),
                  lambda xp, v: xp.full_like(v.i, 2, dtype=xp.float32)],
    "linspace": [lambda xp, v: xp.linspace(-1.0, 2.0, 7, dtype=xp.float64),
                 lambda xp, v: xp.linspace(0, 5, 4, dtype=xp.float64, endpoint=False),
                 lambda xp, v: xp.linspace(3.0, 3.5, 1, dtype=xp.float64)],
    "meshgrid": [lambda xp, v: list(xp.meshgrid(v.w, v.w, v.w)),
                 lambda xp, v: list(xp.meshgrid(v.w, v.w[:1], indexing="ij")),
                 lambda xp, v: list(xp.meshgrid(v.w))],
    "ones": [lambda xp, v: xp.ones((2, 3), dtype=xp.float64)],
    "ones_like": [lambda xp, v: xp.ones_like(v.i), lambda xp, v: xp.ones_like(v.f, dtype=xp.bool)],
    "zeros": [lambda xp, v: xp.zeros((2, 3), dtype=xp.int32)],
    "zeros_like": [lambda xp, v: xp.zeros_like(v.f),
                   lambda xp, v: xp.zeros_like(v.f, dtype=xp.int64)],
}  # fmt: skip

LINEAR: dict[str, list[Case]] = {
    "matmul": [lambda xp, v: xp.matmul(v.f, v.m), lambda xp, v: xp.matmul(v.t, v.m),
               lambda xp, v: xp.matmul(v.w, v.m)],
    "tensordot": [lambda xp, v: xp.tensordot(v.f, v.m, axes=1),
                  lambda xp, v: xp.tensordot(v.f, v.g),
                  lambda xp, v: xp.tensordot(v.t, v.f, axes=((1, 2), (0, 1))),
                  lambda xp, v: xp.tensordot(v.w, v.w, axes=0)],
    "vecdot": [lambda xp, v: xp.vecdot(v.f, v.g), lambda xp, v: xp.vecdot(v.t, v.w),
               lambda xp, v: xp.vecdot(v.f, v.g, axis=-2)],
}  # fmt: skip


# Of complex numbers: what the standard has for them, and the extension for Fourier transforms. A
# complex result is shown as its parts.
def _complex(xp: Any, v: Any) -> Any:
    return xp.astype(v.u, xp.complex128) + 1j * xp.astype(v.p, xp.complex128)


def _parts(xp: Any, z: Any) -> list[Any]:
    return [xp.real(z), xp.imag(z)] if xp.isdtype(z.dtype, "complex floating") else [z]


def _of_complex(apply: Case) -> list[Case]:
    return [lambda xp, v: _parts(xp, apply(xp, _complex(xp, v)))]


COMPLEX: dict[str, list[Case]] = {
    **{n: _of_complex(lambda xp, z, n=n: getattr(xp, n)(z)) for n in (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp",
        "expm1", "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "negative",
        "positive", "real", "reciprocal", "round", "sign", "sin", "sinh", "sqrt", "square", "tan",
        "tanh", "all", "any", "count_nonzero", "diff", "mean", "prod", "sum", "flip",
        "matrix_transpose", "tril", "triu", "ones_like", "zeros_like")},
    **{n: _of_complex(lambda xp, z, n=n: getattr(xp, n)(z, z * (2.0 - 1j))) for n in (
        "add", "divide", "equal", "multiply", "not_equal", "pow", "subtract", "vecdot")},
    "cumulative_sum": _of_complex(lambda xp, z: xp.cumulative_sum(z, axis=1)),
    "cumulative_prod": _of_complex(lambda xp, z: xp.cumulative_prod(z, axis=0)),
    "matmul": _of_complex(lambda xp, z: z @ xp.matrix_transpose(z)),
    "tensordot": _of_complex(lambda xp, z: xp.tensordot(z, z, axes=((1,), (1,)))),
    "concat": _of_complex(lambda xp, z: xp.concat([z, z], axis=1)),
    "stack": _of_complex(lambda xp, z: xp.stack([z, z * 1j])),
    "where": _of_complex(lambda xp, z: xp.where(xp.real(z) > 0, z, -z)),
    "astype": _of_complex(lambda xp, z: xp.astype(z, xp.complex64)),
    "full": _of_complex(lambda xp, z: xp.full((2,), 1j, dtype=xp.complex128)),
}  # fmt: skip

FFT: dict[str, list[Case]] = {
    **{n: _of_complex(lambda xp, z, n=n: getattr(xp.fft, n)(z, norm="ortho"))
       for n in ("fft", "ifft", "fftn", "ifftn")},
    **{n: [lambda xp, v, n=n: _parts(xp, getattr(xp.fft, n)(v.f))]
       for n in ("rfft", "rfftn", "ihfft", "fftshift", "ifftshift")},
    **{n: _of_complex(lambda xp, z, n=n: getattr(xp.fft, n)(z, n=5)) for n in ("hfft", "irfft")},
    "irfftn": _of_complex(lambda xp, z: xp.fft.irfftn(z, s=(2, 5), axes=(0, 1))),
    **{n: [lambda xp, v, n=n: getattr(xp.fft, n)(7, d=0.5, dtype=xp.float64)]
       for n in ("fftfreq", "rfftfreq")},
}  # fmt: skip


# Of the extension for linear algebra; `m` is made regular, `t` has a batch.
def _regular(xp: Any, v: Any) -> Any:
    return v.m + 5.0 * xp.eye(v.columns, dtype=xp.float64)


def _positive(xp: Any, v: Any) -> Any:
    return xp.matmul(_regular(xp, v), xp.matrix_transpose(_regular(xp, v)))


def _product(xp: Any, u: Any, s: Any, vh: Any) -> list[Any]:
    return [xp.matmul(u * xp.expand_dims(s, axis=-2), vh), s]


def _upright(xp: Any, values: Any, vectors: Any) -> list[Any]:
    return [values, xp.abs(vectors)]


LINALG: dict[str, list[Case]] = {
    "cholesky": [lambda xp, v, o=o: xp.linalg.cholesky(_positive(xp, v), **o)
                 for o in ({}, {"upper": True})],
    "cross": [lambda xp, v: xp.linalg.cross(
        xp.stack([v.w, v.w * 2.0, v.w + 1.0], axis=-1), xp.stack([v.w, v.w - 3.0, v.w], axis=-1))],
    **{n: [lambda xp, v, n=n: getattr(xp.linalg, n)(_regular(xp, v))] for n in ("det", "inv")},
    "diagonal": [lambda xp, v: xp.linalg.diagonal(v.t), lambda xp, v: xp.linalg.diagonal(
        v.f, offset=1), lambda xp, v: xp.linalg.diagonal(v.f, offset=-1)],
    "matmul": [lambda xp, v: xp.linalg.matmul(v.f, v.m)],
    "matrix_norm": [lambda xp, v: xp.linalg.matrix_norm(v.t),
                    lambda xp, v: xp.linalg.matrix_norm(v.f, ord=1, keepdims=True)],
    "matrix_power": [lambda xp, v, k=k: xp.linalg.matrix_power(_regular(xp, v), k)
                     for k in (0, 3, -2)],
    "matrix_transpose": [lambda xp, v: xp.linalg.matrix_transpose(v.t)],
    "outer": [lambda xp, v: xp.linalg.outer(v.w, v.w)],
    "qr": [lambda xp, v: xp.matmul(*xp.linalg.qr(_regular(xp, v))),  # signs are free
           lambda xp, v: xp.abs(xp.linalg.qr(_regular(xp, v)).R)],
    "slogdet": [lambda xp, v: xp.linalg.slogdet(_regular(xp, v)).sign,
                lambda xp, v: xp.linalg.slogdet(_regular(xp, v)).logabsdet],
    "solve": [lambda xp, v: xp.linalg.solve(_regular(xp, v), xp.matrix_transpose(v.f)),
              lambda xp, v: xp.linalg.solve(_regular(xp, v), v.w)],
    "tensordot": [lambda xp, v: xp.linalg.tensordot(v.f, v.m, axes=1)],
    "trace": [lambda xp, v: xp.linalg.trace(v.t), lambda xp, v: xp.linalg.trace(v.m, offset=1)],
    "vecdot": [lambda xp, v: xp.linalg.vecdot(v.f, v.w)],
    "vector_norm": [lambda xp, v, k=k: xp.linalg.vector_norm(v.f, axis=1, ord=k)
                    for k in (0, 1, 2, 3, float("inf"))],
}  # fmt: skip
SPECTRAL: dict[str, list[Case]] = {
    "eigh": [lambda xp, v: _upright(xp, *xp.linalg.eigh(_positive(xp, v))),  # signs are free
             lambda xp, v: xp.linalg.eigh(_positive(xp, v)).eigenvalues],
    "eigvalsh": [lambda xp, v: xp.linalg.eigvalsh(_positive(xp, v))],
    "matrix_rank": [lambda xp, v: xp.linalg.matrix_rank(v.t, rtol=0.1)],
    "pinv": [lambda xp, v: xp.linalg.pinv(v.f)],
    "svd": [lambda xp, v: _product(xp, *xp.linalg.svd(v.t, full_matrices=False)),
            lambda xp, v: [xp.abs(xp.linalg.svd(v.f).U), xp.linalg.svd(v.f).S]],
    "svdvals": [lambda xp, v: xp.linalg.svdvals(v.t)],
}  # fmt: skip

# What is no tensor: equal as Python values.
TYPES: dict[str, list[Case]] = {
    "can_cast": [lambda xp, v: xp.can_cast(xp.int32, xp.int64),
                 lambda xp, v: [xp.can_cast(xp.float64, t) for t in (xp.complex64, xp.complex128)],
                 lambda xp, v: xp.can_cast(xp.complex64, xp.float64),
                 lambda xp, v: xp.can_cast(xp.float64, xp.float32)],
    "finfo": [lambda xp, v, t=t: limits(
        xp.finfo(getattr(xp, t)), "bits eps max min smallest_normal")
              for t in ("float32", "float64", "complex64")],
    "iinfo": [lambda xp, v, t=t: limits(xp.iinfo(getattr(xp, t)), "bits max min")
              for t in ("int8", "int64", "uint8", "uint64")],
    "isdtype": [lambda xp, v: [xp.isdtype(t, k) for t in (xp.float32, xp.int8, xp.bool) for k in (
        "bool", "integral", "signed integer", "real floating", "numeric", "complex floating",
        "unsigned integer", xp.float32, ("bool", "integral"))],
                lambda xp, v: [xp.isdtype(xp.complex64, k) for k in (
        "complex floating", "numeric", "real floating", xp.complex64, ("bool", xp.complex128))]],
    "result_type": [
        lambda xp, v: str(xp.result_type(v.i, xp.int8)).rpartition(".")[2],
        lambda xp, v: str(xp.result_type(v.f, xp.complex64)).rpartition(".")[2]],
    **{n: [lambda xp, v, n=n: getattr(xp, n)] for n in ("e", "inf", "newaxis", "pi")},
    "__array_namespace_info__": [lambda xp, v, f=f: f(xp.__array_namespace_info__()) for f in (
        lambda info: sorted(info.capabilities()), lambda info: sorted(info.dtypes()),
        lambda info: sorted(map(short, info.dtypes(kind=("integral", "complex floating")))),
        lambda info: sorted(info.default_dtypes(device=info.default_device())),
        lambda info: info.default_device() in info.devices())],
    "nan": [lambda xp, v: repr(xp.nan)],
}  # fmt: skip


def short(name: Any) -> str:
    """The name of a type without its module."""
    return str(name).rpartition(".")[2]


def limits(found: Any, names: str) -> list[float]:
    """What a type holds."""
    return [float(getattr(found, name)) for name in names.split()]


GROUPS = {
    "elementwise": ELEMENTWISE, "statistical": STATISTICAL, "manipulation": MANIPULATION,
    "sorting": SORTING,     "creation": CREATION, "linear": LINEAR, "linalg": LINALG,
    "spectral": SPECTRAL, "complex": COMPLEX, "fft": FFT,
}  # fmt: skip

# Why a name is not there.
DATA = "its shape depends on values"
NOT: dict[str, str] = {
    **dict.fromkeys(("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
                    DATA),
}  # fmt: skip


def namespace(**values: Any) -> SimpleNamespace:
    """The values of a draw by their letters."""
    return SimpleNamespace(**values)
