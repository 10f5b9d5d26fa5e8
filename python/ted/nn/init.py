"""Initial values of parameters, `ted.nn.init`: tensors of a key and a shape.

Names of `jax.nn.initializers` and `torch.nn.init` mean what they mean there: `glorot_normal`,
`he_normal` and `lecun_normal` are cut off at two deviations, `xavier_normal` and `kaiming_normal`
are not.  Fans are counted from a weight that ends with (inputs, outputs), as in `nn.dense` and in
convolutions with channels last; `in_axis=1, out_axis=0` is for `nn.linear` and channels first.

Sources: Glorot and Bengio 2010; He et al. 2015, equations 10 and 14; LeCun et al. 1998, section
4.6; Saxe et al. 2013 (orthogonal); Zagoruyko and Komodakis 2017 (dirac); Klambauer et al. 2017.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import ted
from ted import random
from ted.frontend import checks
from ted.frontend.keywords import accepting
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import FLOAT64
from ted.nn.arguments import above_zero, named, one_of, wide_type

__all__ = [
    "calculate_gain", "constant", "dirac", "eye", "glorot_normal", "glorot_uniform", "he_normal",
    "he_uniform", "identity", "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform",
    "normal", "ones", "orthogonal", "truncated_normal", "uniform", "variance_scaling",
    "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip

_CUT = 0.87962566103423978  # the deviation of a standard normal number between -2 and 2


# ------------------------------------------------------------------ without fans


def constant(key: Any, shape: checks.Shape, value: Any = 0.0, dtype: Any = "float32") -> Tensor:
    """One number everywhere; the key is not used and may be None.

    Raises: FrontendError for no shape, an unknown type, or a number that it does not hold.
    """
    del key
    return ted.full(shape, value, dtype)


def zeros(key: Any, shape: checks.Shape, dtype: Any = "float32") -> Tensor:
    """Zeros; the key is not used and may be None.

    Raises: FrontendError for no shape, or an unknown type.
    """
    return constant(key, shape, 0, dtype)


def ones(key: Any, shape: checks.Shape, dtype: Any = "float32") -> Tensor:
    """Ones; the key is not used and may be None.

    Raises: FrontendError for no shape, or an unknown type.
    """
    return constant(key, shape, 1, dtype)


def uniform(
    key: Any, shape: checks.Shape, dtype: Any = "float32", minval: Any = 0.0, maxval: Any = 1.0
) -> Tensor:
    """Numbers of [minval, maxval), each as likely as another.

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    return random.uniform(key, shape, dtype, minval, maxval)


def normal(
    key: Any, shape: checks.Shape, dtype: Any = "float32", mean: Any = 0.0, stddev: Any = 1.0
) -> Tensor:
    """Normal numbers with a mean and a deviation.

    Raises: FrontendError for what is no key, shape, or type of floats.
    """
    return _moved(random.normal(key, shape, dtype), mean, stddev)


def truncated_normal(
    key: Any, shape: checks.Shape, dtype: Any = "float32", mean: Any = 0.0, stddev: Any = 1.0,
    lower: float = -2.0, upper: float = 2.0,
) -> Tensor:  # fmt: skip
    """Normal numbers, of which those outside of [lower, upper] are drawn again.

    The deviation of the result is smaller than `stddev`, by 0.8796 for the usual ends.
    Units: `lower` and `upper` count deviations from the mean.
    Raises: FrontendError for what is no key, shape, or type of floats, or ends in the wrong order.
    """
    return _moved(random.truncated_normal(key, lower, upper, shape, dtype), mean, stddev)


def _moved(x: Tensor, mean: Any, stddev: Any) -> Tensor:
    return x * stddev + mean


# ------------------------------------------------------------------ by fans


def calculate_gain(nonlinearity: str, slope: float | None = None) -> float:
    """What a deviation is multiplied by to keep variances through an activation, as in torch.

    `slope` is that of "leaky_relu" left of 0, 0.01 unless said.
    Raises: FrontendError for another activation, or a slope that is no number.
    """
    left = 0.01 if slope is None else checks.number(slope, "calculate_gain: slope")
    leaky = math.sqrt(2 / (1 + left**2))
    gains = {
        "linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "leaky_relu": leaky,
        "selu": 0.75, **{f"conv{n}d": 1.0 for n in (1, 2, 3)},
        **{f"conv_transpose{n}d": 1.0 for n in (1, 2, 3)},
    }  # fmt: skip
    return gains[one_of(nonlinearity, tuple(gains), "calculate_gain: nonlinearity")]


def variance_scaling(
    key: Any, shape: checks.Shape, dtype: Any = "float32", scale: float = 1.0,
    mode: str = "fan_in", distribution: str = "truncated_normal", in_axis: Any = -2,
    out_axis: Any = -1, batch_axis: Any = (),
) -> Tensor:  # fmt: skip
    """Numbers with mean 0 and the variance scale / fan.

    `mode` says which fan: "fan_in", "fan_out", "fan_avg" or "fan_geo_avg"; `distribution` is
    "truncated_normal", "normal" or "uniform".  Dims that are neither inputs nor outputs are those
    of a window and count in both fans, but for `batch_axis`, which holds many weights.
    Raises: FrontendError for what is no key, shape, or type of floats, dims that do not exist, a
    scale that is not positive, or another mode or distribution.
    """
    what = "variance_scaling"
    row, extents = checks.float_type(dtype, what), _extents(shape, what)
    scale = checks.number(
        scale, f"{what}: scale", "must be a positive number", lambda s: 0 < s < math.inf
    )
    inputs, outputs = _fans(extents, in_axis, out_axis, batch_axis, what)
    fans = {
        "fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2,
        "fan_geo_avg": math.sqrt(inputs * outputs),
    }  # fmt: skip
    fan = fans[one_of(mode, tuple(fans), f"{what}: mode")]
    one_of(distribution, ("truncated_normal", "normal", "uniform"), f"{what}: distribution")
    deviation = math.sqrt(scale / fan) if fan else 0.0  # of a fan of 0 there is no element
    if distribution == "normal":
        return random.normal(key, extents, row) * deviation
    if distribution == "uniform":
        return random.uniform(key, extents, row, -1.0, 1.0) * (math.sqrt(3) * deviation)
    return random.truncated_normal(key, -2.0, 2.0, extents, row) * (deviation / _CUT)


def _scaled(name: str, scale: float, mode: str, distribution: str, doc: str) -> Callable[..., Any]:
    """A function of a key, a shape, a type and the axes of `variance_scaling`."""

    def function(
        key: Any, shape: checks.Shape, dtype: Any = "float32", in_axis: Any = -2,
        out_axis: Any = -1, batch_axis: Any = (),
    ) -> Tensor:  # fmt: skip
        axes = (in_axis, out_axis, batch_axis)
        return variance_scaling(key, shape, dtype, scale, mode, distribution, *axes)

    function.__doc__ = f"{doc}; other options as in `variance_scaling`.\n\n    {_SAYS}"
    return named(function, name)


_SAYS = "Raises: FrontendError for what is no key, shape, or type of floats, or no such axes."
glorot_uniform, glorot_normal, he_uniform, he_normal, lecun_uniform, lecun_normal = (
    _scaled(f"{name}_{ending}", scale, mode, distribution, f"{words} of variance {text}")
    for name, scale, mode, text in (
        ("glorot", 1.0, "fan_avg", "2 / (fan_in + fan_out)"),
        ("he", 2.0, "fan_in", "2 / fan_in"),
        ("lecun", 1.0, "fan_in", "1 / fan_in"),
    )
    for ending, distribution, words in (
        ("uniform", "uniform", "Uniform numbers around 0"),
        ("normal", "truncated_normal", "Normal numbers within two deviations,"),
    )
)


def _by_gain(
    name: str, distribution: str, key: Any, shape: checks.Shape, dtype: Any, gain: float,
    mode: str, axes: tuple[Any, Any],
) -> Tensor:  # fmt: skip
    gain = above_zero(gain, f"{name}: gain")
    return variance_scaling(key, shape, dtype, gain * gain, mode, distribution, *axes)


def _xavier(name: str, distribution: str, says: str) -> Callable[..., Any]:
    def function(
        key: Any, shape: checks.Shape, dtype: Any = "float32", gain: float = 1.0,
        in_axis: Any = -2, out_axis: Any = -1,
    ) -> Tensor:  # fmt: skip
        axes = in_axis, out_axis
        return _by_gain(name, distribution, key, shape, dtype, gain, "fan_avg", axes)

    function.__doc__ = f"{says}.\n\n    {_SAYS_KEY}, or a gain that is not > 0."
    return named(function, name)


def _kaiming(name: str, distribution: str, says: str) -> Callable[..., Any]:
    def function(
        key: Any, shape: checks.Shape, dtype: Any = "float32", mode: str = "fan_in",
        nonlinearity: str = "relu", slope: float | None = None, in_axis: Any = -2,
        out_axis: Any = -1,
    ) -> Tensor:  # fmt: skip
        gain, axes = calculate_gain(nonlinearity, slope), (in_axis, out_axis)
        return _by_gain(name, distribution, key, shape, dtype, gain, mode, axes)

    function.__doc__ = (
        f"{says} and the gain of `calculate_gain`.\n\n    {_SAYS_KEY}, another mode or activation."
    )
    return named(function, name)


_UNIFORM, _NORMAL = "Uniform numbers of [-a, a) with a =", "Normal numbers with the deviation"
_SAYS_KEY = "Raises: FrontendError for what is no key, shape, or type of floats"
xavier_uniform = _xavier(
    "xavier_uniform", "uniform", f"{_UNIFORM} gain sqrt(6 / (fan_in + fan_out))"
)
xavier_normal = _xavier("xavier_normal", "normal", f"{_NORMAL} gain sqrt(2 / (fan_in + fan_out))")
kaiming_uniform = _kaiming("kaiming_uniform", "uniform", f"{_UNIFORM} gain sqrt(3 / fan)")
kaiming_normal = _kaiming("kaiming_normal", "normal", f"{_NORMAL} gain / sqrt(fan)")


# ------------------------------------------------------------------ of structure


def orthogonal(
    key: Any, shape: checks.Shape, dtype: Any = "float32", scale: float = 1.0,
    column_axis: int = -1,
) -> Tensor:  # fmt: skip
    """A random orthogonal matrix times `scale`: the q of a matrix of normal numbers.

    The dims but `column_axis` are the rows; of a matrix that is not square the rows or the columns
    are orthonormal, whichever are fewer.
    Raises: FrontendError for what is no key or type of floats, a shape of fewer than 2 dims.
    """
    row, extents = checks.float_type(dtype, "orthogonal"), _extents(shape, "orthogonal")
    if len(extents) < 2:
        fail(f"orthogonal: a shape of at least 2 dims is needed, got {extents}")
    axis = checks.axis_of(column_axis, len(extents), "orthogonal")
    columns, others = extents[axis], extents[:axis] + extents[axis + 1 :]
    rows = math.prod(others)
    if not rows * columns:
        return ted.zeros(extents, row)
    drawn = random.normal(key, (max(rows, columns), min(rows, columns)), row)
    q, _ = ted.linalg.qr(ted.cast(drawn, wide_type(row)))
    q = ted.cast((q if rows >= columns else ted.transpose(q)) * scale, row)
    return ted.moveaxis(ted.reshape(q, (*others, columns)), -1, axis)


def identity(key: Any, shape: checks.Shape, dtype: Any = "float32", scale: float = 1.0) -> Tensor:
    """`scale` on the diagonal of the last two dims, else 0; the key is not used and may be None.

    Raises: FrontendError for a shape of fewer than 2 dims, or an unknown type.
    """
    del key
    row, extents = checks.dtype_of(dtype, "identity"), _extents(shape, "identity")
    if len(extents) < 2:
        fail(f"identity: a shape of at least 2 dims is needed, got {extents}")
    one, zero = ted.cast(scale, row), ted.cast(0, row)
    return ted.compute(extents, lambda *i: ted.where(i[-2] == i[-1], one, zero), name="identity")


eye = identity


def dirac(
    key: Any, shape: checks.Shape, dtype: Any = "float32", groups: int = 1, in_axis: int = -2,
    out_axis: int = -1,
) -> Tensor:  # fmt: skip
    """The weight of a convolution that gives its input: 1 in the middle of a window, from an input
    to the output of the same number in each group; the key is not used and may be None.

    Raises: FrontendError for a shape of fewer than 3 dims, or groups that do not divide outputs.
    """
    del key
    row, extents = checks.dtype_of(dtype, "dirac"), _extents(shape, "dirac")
    if len(extents) < 3:
        fail(f"dirac: a shape of at least 3 dims is needed, got {extents}")
    source = checks.axis_of(in_axis, len(extents), "dirac")
    target = checks.axis_of(out_axis, len(extents), "dirac")
    number = checks.integer(groups, "dirac: groups")
    if number < 1 or extents[target] % number:
        fail(f"dirac: groups must divide the extent {extents[target]} of outputs, got {groups}")
    of_a_group = extents[target] // number or 1
    one, zero = ted.cast(1, row), ted.cast(0, row)

    def element(*i: Any) -> Any:
        window = [k for k in range(len(extents)) if k not in (source, target)]
        tests = [i[k] == extents[k] // 2 for k in window]
        inside = functools.reduce(lambda a, b: a & b, tests, i[source] == i[target] % of_a_group)
        return ted.where(inside, one, zero)

    return ted.compute(extents, element, name="dirac")


# ------------------------------------------------------------------ arguments


def _extents(shape: Any, what: str) -> tuple[int, ...]:
    extents = checks.shape_of(shape, FLOAT64, f"{what}: shape")
    return tuple(checks.integer(n, f"{what}: extent") for n in extents)


def _fans(
    extents: tuple[int, ...], inputs: Any, outputs: Any, batch: Any, what: str
) -> tuple[float, float]:
    rank = len(extents)
    if rank < 2:
        fail(f"{what}: fans need inputs and outputs, 2 dims at least, got shape {extents}")
    named = [checks.axes_of(axes, rank, f"{what}: {word}") for axes, word in (
        (inputs, "in_axis"), (outputs, "out_axis"), (batch, "batch_axis"))]  # fmt: skip
    if len({axis for axes in named for axis in axes}) < sum(map(len, named)):
        fail(f"{what}: an axis is one of inputs, outputs or batch, got {named}")
    window = [n for axis, n in enumerate(extents) if not any(axis in axes for axes in named)]
    field = math.prod(window)
    read, written, _ = (math.prod(extents[axis] for axis in axes) for axes in named)
    return float(read * field), float(written * field)


for _name in __all__:  # other libraries' keywords are accepted, as in `ted.nn`
    globals()[_name] = accepting(globals()[_name], __name__, _name)
