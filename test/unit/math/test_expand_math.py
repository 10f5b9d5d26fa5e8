"""Expanded functions against correctly rounded references, in units in the last place."""

from __future__ import annotations

import math
import re
from pathlib import Path

import mpmath
import numpy as np
import pytest

from unit.linalg.equation_text import compute, evaluate, module_text, tensor_type

TYPES = {"f32": np.float32, "f64": np.float64}
# Function -> (numpy reference or None, range of ordinary arguments in f32, in f64).
FUNCTIONS = {
    "exp": (np.exp, (-110, 95), (-750, 715)),
    "exp2": (np.exp2, (-155, 130), (-1080, 1030)),
    "expm1": (np.expm1, (-30, 90), (-50, 712)),
    "log": (np.log, (0, 100), (0, 100)),
    "log2": (np.log2, (0, 100), (0, 100)),
    "log10": (np.log10, (0, 100), (0, 100)),
    "log1p": (np.log1p, (-1, 100), (-1, 100)),
    "tanh": (np.tanh, (-11, 11), (-25, 25)),
    "erf": (None, (-5, 5), (-7, 7)),
    "erfc": (None, (-6, 11), (-6, 28)),
    "sin": (np.sin, (-1e4, 1e4), (-1e4, 1e4)),
    "cos": (np.cos, (-1e4, 1e4), (-1e4, 1e4)),
    "tan": (np.tan, (-1e4, 1e4), (-1e4, 1e4)),
    "asin": (np.arcsin, (-1, 1), (-1, 1)),
    "acos": (np.arccos, (-1, 1), (-1, 1)),
    "atan": (np.arctan, (-50, 50), (-50, 50)),
    "sinh": (np.sinh, (-90, 90), (-711, 711)),
    "cosh": (np.cosh, (-90, 90), (-711, 711)),
    "asinh": (np.arcsinh, (-100, 100), (-100, 100)),
    "acosh": (np.arccosh, (1, 100), (1, 100)),
    "atanh": (np.arctanh, (-1, 1), (-1, 1)),
    "cbrt": (np.cbrt, (-100, 100), (-100, 100)),
}
OF_EVERY_SIZE = ("log", "log2", "log10", "cbrt", "atan", "asinh", "acosh")
LIMITS = {"f32": 3.0, "f64": 4.0}  # of functions without a row below
DOCUMENT = Path(__file__).parents[3] / "docs" / "accuracy.md"
# Function -> its largest errors in f32 and f64, as users read them.
BOUNDS = {
    name: {"f32": float(narrow), "f64": float(wide)}
    for name, narrow, wide in re.findall(
        r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|$", DOCUMENT.read_text(), re.M
    )
}


def apply(name: str, kind: str, *arguments: np.ndarray) -> np.ndarray:
    shape = arguments[0].shape
    t = tensor_type(shape, kind)
    letters = ", ".join(f"%{c}" for c in "ab"[: len(arguments)])
    name = name if "." in name else f"math.{name}"
    body = f'%p = {name} {letters} : {kind}\n"ted.yield"(%p) : ({kind}) -> ()'
    names = [("A", t), ("B", t)][: len(arguments)]
    text = module_text(
        names,
        f"%e = tensor.empty() : {t}\n"
        + compute("y", [(n, t, "i") for n, t in names], [("e", t)], shape, "p", "i", body),
        [("y", t)],
    )
    return evaluate(text, list(arguments), [np.zeros(shape, TYPES[kind])])[0]


def arguments_of(name: str, kind: str) -> np.ndarray:
    _, *ranges = FUNCTIONS[name]
    low, high = ranges[0 if kind == "f32" else 1]
    rng = np.random.default_rng(0)
    near_zero = np.ldexp(rng.uniform(-1, 1, 2000), rng.integers(-60, 3, 2000))
    dense = np.concatenate([rng.uniform(low, high, 20000), near_zero])
    dense = dense[(dense > low) & (dense < high)]
    if name in OF_EVERY_SIZE:
        scales = rng.integers(-148, 127, 4000) if kind == "f32" else rng.integers(-1070, 1020, 4000)
        dense = np.concatenate([dense, np.ldexp(rng.uniform(0.5, 1, 4000), scales)])
    return dense.astype(TYPES[kind])


def reference(name: str, x: np.ndarray) -> np.ndarray:
    """The function in extended precision."""
    function, *_ = FUNCTIONS[name]
    if function is not None:
        with np.errstate(all="ignore"):
            return function(x.astype(np.longdouble))
    return np.array([float(getattr(mpmath, name)(float(v))) for v in x], np.longdouble)


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(exact).astype(got.dtype)).astype(np.longdouble)
        same = (got == exact.astype(got.dtype)) | (np.isnan(got) & np.isnan(exact))
        return np.where(same, 0, np.abs(got.astype(np.longdouble) - exact) / unit)


@pytest.mark.fast(7)
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_a_few_units_in_the_last_place(name, kind):
    x = arguments_of(name, kind)[: 3000 if FUNCTIONS[name][0] is None else None]
    errors = ulps(apply(name, kind, x), reference(name, x))
    worst = int(np.argmax(errors))
    assert errors[worst] <= BOUNDS[name][kind], f"{errors[worst]:.2f} at {x[worst]!r}"


def test_every_function_has_a_documented_error():
    assert list(BOUNDS) == list(FUNCTIONS)


@pytest.mark.fast(7)
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_arguments(name, kind):
    tiny = np.finfo(TYPES[kind]).smallest_subnormal
    numbers = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e30, -1e30, tiny, -tiny]
    x = np.array(numbers, TYPES[kind])
    got = apply(name, kind, x)
    function = FUNCTIONS[name][0]
    with np.errstate(all="ignore"):
        expected = (
            function(x) if function else np.array([getattr(math, name)(float(v)) for v in x])
        ).astype(x.dtype)
    np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(x.dtype).eps)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_waves_of_large_arguments_are_reduced_exactly(name):
    rng = np.random.default_rng(1)
    sizes = np.ldexp(rng.uniform(0.5, 1, 3000), rng.integers(10, 129, 3000)).astype(np.float32)
    multiples = (np.arange(1, 3000) * (np.pi / 2)).astype(np.float32)
    # The f32 that are closest to a multiple of pi/2, and the largest.
    hard = np.array([16367173 * 2.0**72, 3.4028235e38, 2.0**48, 2.0**47, 2.0**120], np.float32)
    x = np.concatenate([sizes, -sizes, multiples, hard])
    with mpmath.workdps(80):
        exact = [float(getattr(mpmath, name)(float(v))) for v in x]
    errors = ulps(apply(name, "f32", x), np.array(exact, np.longdouble))
    worst = int(np.argmax(errors))
    assert errors[worst] <= BOUNDS[name]["f32"], f"{errors[worst]:.2f} at {x[worst]!r}"


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_angles_of_points(kind):
    numbers = np.array(
        [0.0, 1.0, 0.4142, 0.4143, 3.0, 1e-30, 1e30, np.finfo(TYPES[kind]).max,
         np.finfo(TYPES[kind]).smallest_subnormal, np.inf, np.nan], TYPES[kind],
    )  # fmt: skip
    rng = np.random.default_rng(2)
    grid = np.concatenate([numbers, -numbers])
    special = [a.ravel() for a in np.meshgrid(grid, grid)]
    random = rng.standard_normal((2, 20000)) * np.exp(rng.standard_normal((2, 20000)) * 4)
    y, x = (
        np.concatenate([s, r]).astype(TYPES[kind]) for s, r in zip(special, random, strict=True)
    )
    with np.errstate(all="ignore"):
        exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    got = apply("atan2", kind, y, x)
    errors = ulps(got, exact)
    worst = int(np.nanargmax(np.where(np.isnan(errors), np.inf, errors)))
    assert errors[worst] <= LIMITS[kind], f"{errors[worst]:.2f} at {y[worst]!r}, {x[worst]!r}"
    zeros = exact == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(exact[zeros]))
