"""Exponentials of kernels against longer arithmetic, in units in the last place."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import ted
from ptx_emulator import float_arithmetic
from unit.gpu.cuda_programs import manifest_of, run

# Function -> its arguments; units in the last place that it may be wrong by where the instructions
# give the nearest number, and where they err as much as they may.
FUNCTIONS = {
    "exp": ((-104, 89), 1.0, 5.0),
    "exp2": ((-150, 128), 1.0, 5.0),
    "tanh": ((-11, 11), 2.0, 4.0),
    "erf": ((-5, 5), 2.0, 2.0),
}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-45, -1e-45, 88.7, -103.9, 127.9)


def program(name, count):
    x = ted.placeholder((count,), name="x")
    return x, getattr(ted, name)(x)


def references(name, x):
    """The function in long arithmetic."""
    call = {"exp2": lambda v: mpmath.power(2, v)}.get(name) or getattr(mpmath, name)
    return np.array([float(call(float(v))) for v in x], np.float64)


def errors(got, exact):
    """Distance in units in the last place of f32, those of subnormal numbers included."""
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return np.abs(got.astype(np.float64) - exact) / unit


@pytest.mark.fast(1)
@pytest.mark.parametrize("side", [-1, 0, 1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_small_however_the_hardware_rounds(name, side, monkeypatch):
    """`ex2` may be wrong by 2**-22 of its result, `rcp` by one unit in the last place."""
    table = float_arithmetic._UNARY
    exact_ex2, exact_rcp = table["ex2"], table["rcp"]
    monkeypatch.setitem(
        table, "ex2", lambda v: (exact_ex2(v) * np.float64(1 + side * 2.0**-22)).astype(np.float32)
    )
    monkeypatch.setitem(
        table, "rcp", lambda v: (exact_rcp(v) * np.float64(1 - side * 2.0**-23)).astype(np.float32)
    )
    (low, high), *limits = FUNCTIONS[name]
    most = limits[abs(side)]
    rng = np.random.default_rng(0)
    near = np.ldexp(rng.uniform(-1, 1, 210), rng.integers(-40, 1, 210))
    x = np.concatenate([rng.uniform(low, high, 2500), rng.uniform(-1, 1, 500), near])
    # A program of its own for each side, since what was translated is kept.
    x = x.astype(np.float32)[: 3201 + side]
    tensor, y = program(name, len(x))
    (got,) = run([tensor], [y], [x])
    with np.errstate(all="ignore"):
        exact = references(name, x)
    finite = np.abs(exact) < np.finfo(np.float32).max
    found = errors(got[finite], exact[finite])
    worst = int(np.argmax(found))
    assert found[worst] <= most, f"{found[worst]:.2f} at {x[finite][worst]!r}"
    assert np.isinf(got[~finite]).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_zeros_infinities_and_nan(name):
    x = np.array(SPECIAL, np.float32)
    tensor, y = program(name, len(x))
    (got,) = run([tensor], [y], [x])
    with np.errstate(all="ignore"):
        exact = references(name, x).astype(np.float32)
    np.testing.assert_allclose(got, exact, rtol=4e-7, atol=2e-45)
    odd = name in ("tanh", "erf")
    zeros = exact == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), odd & np.signbit(x[zeros]))


def test_an_exponential_is_few_instructions():
    tensor, y = program("exp", 4096)
    text = manifest_of([tensor], [y]).ptx
    assert text.count("ex2.approx.ftz.f32") == text.count("min.f32") > 0
    assert text.count("fma.rn.f32") == 3 * text.count("ex2.approx.ftz.f32")


def test_doubles_need_no_unit_of_floats():
    x = ted.placeholder((64,), "float64", name="x")
    values = np.linspace(-700, 700, 64)
    (got,) = run([x], [ted.exp(x)], [values])
    np.testing.assert_allclose(got, np.exp(values), rtol=1e-15)
