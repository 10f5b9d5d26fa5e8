"""Complex tensors against numpy, and their gradients against torch."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.errors import DerivativeError, FrontendError
from unit.frontend.complex_runs import interpreted

RANDOM = np.random.default_rng(5)


def drawn(*shape: int) -> Any:
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


Z, W, X = drawn(3, 4), drawn(3, 4), RANDOM.normal(size=(3, 4))
ROW = np.array([1, 2j, -0.5, 0])


def check(found: Any, expected: Any, far: float = 4e-15) -> None:
    """Equal in type, shape and, relative to the largest, in values."""
    for mine, other in zip(found, map(np.asarray, expected), strict=True):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape), other
        most = np.abs(other).max(initial=1.0)
        np.testing.assert_allclose(mine, other, rtol=far, atol=far * most)


def operators(xp: Any, z: Any, w: Any, x: Any) -> list[Any]:
    return [
        z + w, z - w, z * w, z / w, z + x, x + z, z - x, x - z, z * x, x * z, z / x, x / z,
        z + 1j, 1j - z, 2 * z, z / 2, 1 / z, x * 1j, x - 1j, 1j / x, x * ROW, ROW - z,
        z**3, z**0, z**-2, z**0.5, z**w, abs(x) ** z, -z, +z, abs(z), z == w, z != w, z == x,
        z == z.real, z @ w.T, x @ z.T, z.T @ x, z.real, z.imag, x.real, x.imag, z.T,
        z[1], z[:, ::2], z[..., None], z.reshape(4, 3), z.transpose((1, 0)), z.sum(), z.mean(0),
        z.conj(), z.sum(axis=1), xp.sum(z, axis=1), z.prod(axis=1), z.prod(), z.cumsum(axis=0),
        z.cumprod(axis=1), z.var(), z.std(axis=0), z.any(axis=0), z.all(), z.squeeze(),
    ]  # fmt: skip


def functions(xp: Any, z: Any, w: Any, x: Any) -> list[Any]:
    return [
        xp.concat([z, x]), xp.stack([z, w], axis=1), xp.where(x > 0, z, x), xp.where(x > 0, 1j, x),
        xp.einsum("ij,kj->ik", z, w), xp.einsum("ij,ij,kj->k", z, w, x), xp.outer(z[0], w[0]),
        xp.tensordot(z, w.T, 1), xp.tensordot(z, x, axes=((1,), (1,))), xp.vecdot(z, w),
        xp.vecdot(x, w), xp.vecdot(z, x),
        xp.roll(z, 1), xp.flip(z, axis=0), xp.tile(z, (2, 1)), xp.expand_dims(z, axis=0),
        xp.broadcast_to(z, (2, 3, 4)), xp.moveaxis(z, 0, 1), xp.take(z, np.array([2, 0]), axis=0),
        xp.tril(z), xp.trace(z @ w.T), xp.cumulative_sum(z, axis=1), xp.diff(z),
        *xp.unstack(z), *xp.broadcast_arrays(z[0], x > 0), *xp.meshgrid(x[0], z[1]),
        xp.zeros(2, dtype="complex64"),
        xp.full((2,), 1 - 2j, dtype=complex), xp.ones_like(z), xp.full_like(z, 1j),
        xp.eye(2, dtype=complex),
        xp.asarray(ROW), xp.asarray(z), xp.astype(z, np.complex64), xp.astype(x, xp.complex128),
        xp.count_nonzero(xp.asarray(ROW)), xp.isnan(z), xp.isfinite(z), xp.isinf(z),
        xp.square(z), xp.reciprocal(z), xp.real(z), xp.imag(x), xp.conj(x), xp.round(z, 1),
        xp.asarray([[z[0, 0], 1], [x[0, 0], 2j]]), xp.asarray([z[0], x[0]]),
        xp.asarray([x[0, 0], 1j]), xp.block([[x, z], [z, x]]), xp.rot90(z),
        xp.diag(z[0]), xp.diag(z), xp.diagflat(z), xp.kron(z, x), xp.matvec(z, w[0]),
        xp.vecmat(z[:, 0], w), xp.vdot(z, x), xp.vdot(x, z), xp.resize(z, (5, 3)),
    ]  # fmt: skip


ELEMENTWISE = (
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sign",
)  # fmt: skip


@pytest.mark.parametrize("program", [operators, functions])
def test_expressions_are_those_of_numpy(program: Any) -> None:
    found = interpreted(lambda *values: program(ted, *values), Z, W, X)
    check(found, program(np, Z, W, X), 3e-14)


def test_functions_are_those_of_numpy_near_their_branches_and_far_out() -> None:
    parts = [0.0, -0.0, 1e-9, 0.3, -0.7, 1.5, -2.5, 20.0, -40.0]
    points = np.array(
        [complex(x, y) for x in parts for y in parts] + [1 + 1e-9j, 1 - 1e-9, 1j - 1e-8]
    )
    for scale in (1.0, 1e-5):
        z = points * scale
        found = interpreted(lambda z: [getattr(ted, name)(z) for name in ELEMENTWISE], z)
        with np.errstate(all="ignore"):
            expected = [getattr(np, name)(z) for name in ELEMENTWISE]
        near = abs(z) < 0.5  # where numpy's log1p loses the real part
        size = np.log1p(z.real * (2 + z.real) + z.imag**2) / 2
        expected[ELEMENTWISE.index("log1p")].real[near] = size[near]
        for name, mine, other in zip(ELEMENTWISE, found, expected, strict=True):
            known = np.isfinite(other)
            mine, other = mine[known], other[known]
            far = np.abs(mine - other) / np.maximum(np.abs(other), 1e-300)
            assert far.max() < 2e-14, (name, z[known][far.argmax()], far.max())


def test_what_overflows_on_the_real_axis_stays_there() -> None:
    z = np.array([complex(x, y) for x in (np.inf, -np.inf, 1000, np.nan) for y in (0.0, -0.0)])
    names = ("exp", "expm1", "sinh", "cosh")
    found = interpreted(lambda z: [getattr(ted, name)(z) for name in names], z)
    with np.errstate(all="ignore"):
        for name, mine in zip(names, found, strict=True):
            other = getattr(np, name)(z)  # whose expm1 makes NaN of 0 times infinity
            np.testing.assert_array_equal(mine.real, other.real, name)
            assert not mine.imag.any(), name


def test_quotients_and_sizes_do_not_overflow() -> None:
    z = np.array([1e200 + 1e200j, 1e-200 - 1e-200j, 3 - 4j])
    check(interpreted(lambda z: [z / z, 1 / z, abs(z)], z), [z / z, 1 / z, abs(z)])


def test_powers_of_zero() -> None:
    zero, exponents = np.zeros(3, complex), np.array([0, 1 + 1j, 2])
    check([interpreted(lambda z, w: z**w, zero, exponents)], [np.array([1, 0, 0], complex)])


def test_elements_in_index_lambdas_are_complex() -> None:
    r = ted.reduce_axis(4, name="r")

    def program(z: Any, x: Any) -> list[Any]:
        row = ted.compute((3,), lambda i: ted.sum(z[i, r] * x[i, r] * 1j, axis=r))
        return [row, ted.compute((3,), lambda i: abs(z[i, 0]) + (2 - z[i, 1]).imag)]

    found = interpreted(program, Z, X)
    check(found, [(Z * X * 1j).sum(1), abs(Z[:, 0]) - Z[:, 1].imag])


def test_numpy_and_lists_of_numbers_go_with_complex_tensors() -> None:
    found = interpreted(
        lambda z, x: [np.sin(z), ROW + x, [1j, 2, 3, 4] * x, np.angle(z), np.complex64(1j) * z],
        Z,
        X,
    )
    check(found, [np.sin(Z), ROW + X, np.array([1j, 2, 3, 4]) * X, np.angle(Z), 1j * Z])


def test_arguments_may_have_names() -> None:
    found = interpreted(
        lambda z, x: [ted.add(b=x, a=z), ted.matmul(a=z, b=x.T), ted.exp(x=z), ted.sum(a=z, dim=0),
                      ted.where(condition=x > 0, b=x, a=z), ted.pad(z, 1, value=1j)], Z, X,
    )  # fmt: skip
    padded = np.pad(Z, 1, constant_values=1j)
    check(found, [Z + X, Z @ X.T, np.exp(Z), Z.sum(0), np.where(X > 0, Z, X), padded])


def test_types_of_results() -> None:
    single, double = (ted.placeholder((2,), t) for t in ("float32", "float64"))
    z = ted.complex(single, 1)
    assert (z.dtype, ted.complex(double).dtype) == (ted.complex64, ted.complex128)
    assert (z * double).dtype == (z * np.ones(2)).dtype == ted.complex128
    assert (z * 1j).dtype == (ted.placeholder((2,), "int64") * 1j).dtype == ted.complex64
    assert ted.complex(ted.placeholder((2,), "float16"), 0).real.dtype == ted.float32
    assert np.zeros(2, z.dtype).dtype == np.complex64
    assert (z.shape, z.ndim, z.size, len(z), len(list(z))) == ((2,), 1, 2, 2, 2)


@pytest.mark.parametrize("number", [0.1 + 0.2j, 0.1, 1e300j])
def test_numbers_keep_their_digits(number: Any) -> None:
    found = interpreted(lambda x: [ted.asarray(number, dtype="complex128"), x], X)[0]
    assert (found.dtype, found.item()) == (np.complex128, number)


# ------------------------------------------------------------------ derivatives


def powers(xp: Any, z: Any) -> list[Any]:
    return [z**3, z**-2, z ** (0.5 + 1j), 1 / z, abs(z) * z, xp.angle(z) * z]


GROUPS: list[Any] = [
    ("log", "sqrt", "sin"), ELEMENTWISE[6:11], ELEMENTWISE[:6], powers,
    ELEMENTWISE[11:15], ELEMENTWISE[15:19],
]  # fmt: skip


@pytest.mark.fast(1)
@pytest.mark.parametrize("group", GROUPS, ids=["log", "sqrt", "exp", "powers", "tanh", "atan"])
def test_gradients_of_functions_and_their_derivatives_are_those_of_torch(group: Any) -> None:
    z = np.array([0.4 - 0.7j, -1.3 + 0.2j, -0.8 - 0.5j, 2.5 + 1j, 1 + 1j, 0.6 + 0j, 1e-3 + 0.9j])
    v = drawn(len(z))

    def total(xp: Any, z: Any) -> Any:
        values = group(xp, z) if callable(group) else [getattr(xp, name)(z) for name in group]
        return sum((k + 1) * (f.real + 2 * f.imag).sum() for k, f in enumerate(values))

    def both(z: Any, v: Any) -> Any:
        return ted.jvp(ted.grad(lambda z: total(ted, z)), (z,), (v,))

    x = torch.tensor(z, requires_grad=True)
    (first,) = torch.autograd.grad(total(torch, x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, torch.tensor(v))
    found = interpreted(both, z, v)
    for mine, other in zip(found, (first.detach(), second), strict=True):
        np.testing.assert_allclose(mine, other.numpy(), rtol=1e-10)


def test_slopes_on_the_axes_are_those_of_the_side_of_the_zero() -> None:
    z = np.array([-4 + 0j, complex(-4, -0.0), 4j, -4j, 4 + 0j])
    found = interpreted(ted.grad(lambda z: ted.sum(ted.sqrt(z).real)), z)
    np.testing.assert_allclose(found, (1 / (2 * np.sqrt(z))).conj(), rtol=1e-15)


def test_sizes_and_signs_have_gradient_zero_at_zero() -> None:
    z = np.array([0j, 3 - 4j])
    found = interpreted(ted.grad(lambda z: ted.sum(abs(z))), z)
    np.testing.assert_allclose(found, [0, 0.6 - 0.8j])
    assert np.isfinite(interpreted(ted.grad(lambda z: ted.sum(ted.sign(z).real)), z)).all()


# ------------------------------------------------------------------ refusals

REFUSED: dict[str, tuple[Any, str]] = {
    "order": (lambda z: ted.max(z), "max: .* got a complex one; complex numbers have no order"),
    "less": (lambda z: z < 1, "less: .* have no order; compare ted.abs, ted.real or ted.imag"),
    "greater": (lambda z: z > 1, "greater: .* have no order"),
    "beside": (lambda z: z.real < z, "less: .* have no order"),
    "sort": (lambda z: z.sort(), "sort: .* have no order"),
    "floor": (lambda z: z // 2, "floor_divide: takes real tensors, got a complex one; give it"),
    "bits": (lambda z: z & 1, "bitwise_and: takes real tensors"),
    "nn": (lambda z: ted.nn.relu(z), "relu: takes real tensors, got a complex one; give it"),
    "special": (lambda z: ted.special.erf(z), "erf: takes real tensors"),
    "linalg": (lambda z: ted.linalg.solve(z, z), "solve: takes real tensors"),
    "keyword": (lambda z: ted.linalg.solve(a=np.eye(2), b=z), "solve: takes real tensors"),
    "numpy": (lambda z: np.fft.fft(z), "got np.fft.fft; write ted.fft.fft"),
    "number": (float, "float: an expression has no value"),
    "astype": (lambda z: z.astype("float32"), "astype: the imaginary part of a complex tensor wo"),
    "total": (lambda z: ted.sum(z, dtype="float64"), "sum: the imaginary part .* would be lost"),
    "filled": (lambda z: ted.full(2, 1j, "float64"), "full: the imaginary part .* would be lost"),
    "truth": (bool, "a condition on values has no truth value"),
    "condition": (lambda z: ted.where(z, 1, 2), "where: the condition must be of bools, got a com"),
    "subscript": (lambda z: z.real[z], "must be an integer, got Complex"),
    "set": (lambda z: z.__setitem__(0, 1), "no element of it can be set; write"),
    "vectorize": (lambda z: ted.vectorize(lambda x: x)(z), "takes real tensors, got a complex one"),
    "twice": (lambda z: ted.complex(z, 1), "complex: takes real tensors, got a complex one"),
    "shapes": (lambda z: z + np.ones(3), "extents must be equal or 1 to broadcast"),
    "parts": (lambda z: ted.complex(z.real, "1"), "operands must be tensors, scalars or Python"),
    "text": (lambda z: z + "a", "add: operands must be tensors"),
    "input": (lambda z: ted.placeholder((2,), "complex64", "z"), "a complex tensor is made of two"),
    "output": (lambda z: ted.compile([z.real, z.imag], z), "got Complex; give .real and .imag"),
    "one of": (lambda z: ted.compile([z.real, z.imag], [z]), "got Complex; give .real and .imag"),
    "program": (lambda z: ted.compile([z], [z.real]), "got Complex; give .real and .imag"),
    "printed": (lambda z: ted.print("{}", z), "print: takes tensors one by one"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_complex_numbers_have_not_is_refused(case: str) -> None:
    program, message = REFUSED[case]
    z = ted.complex(ted.placeholder((2,), name="x"), ted.placeholder((2,), name="y"))
    with pytest.raises(FrontendError, match=message) as caught:
        program(z)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_attributes_that_are_not_there_are_attribute_errors() -> None:
    z = ted.complex(ted.placeholder((2,)), 0)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = z.nonsense
    with pytest.raises(AttributeError, match=r"has set, add, got 'mul'; write z.at\[i\].set"):
        z.at[0].mul(2)


def test_every_function_takes_or_refuses_complex_tensors() -> None:
    z = ted.complex(ted.placeholder((2, 2)), ted.placeholder((2, 2)))
    for home in (ted.frontend, ted.nn, ted.special):
        for name in home.__all__:
            function = getattr(home, name)
            if name in ("print", "check", "at") or not callable(function):
                continue
            if not isinstance(function, type):
                with contextlib.suppress(TypeError, ted.errors.TedError):
                    function(z)  # an AttributeError goes on


@pytest.mark.parametrize(
    ("derive", "message"),
    [
        (lambda z: ted.grad(lambda z: ted.sum(z))(z), "grad: the function must return a real sca"),
        (lambda z: ted.grad(lambda z: abs(z))(z), "must return a scalar"),
        (lambda z: ted.grad(lambda c: abs(c))(2j), "got the constant 2j as argument 0"),
        (lambda z: ted.differentiate(ted.complex(ted.placeholder(()), 0)), "give .real and .imag"),
    ],
)
def test_derivatives_of_complex_results_are_refused(derive: Any, message: str) -> None:
    with pytest.raises(DerivativeError, match=message):
        derive(Z[0])


def test_names_are_no_types() -> None:
    i = ted.reduce_axis(3, name="complex")
    x = ted.placeholder((3,), "float32", name="complex")
    y = ted.compute((3,), lambda k: x[k] + 0 * ted.sum(x[i], axis=i), name="complex64")
    assert (y.name, x.name, str(ted.size("complex"))) == ("complex64", "complex", "complex")
    assert ted.eye(2, "complex64").dtype == ted.zeros(2, "complex64").dtype == ted.complex64
    assert ted.isdtype(ted.float32, ("complex64", "numeric"))
    assert ted.result_type(x, ted.complex64) == ted.complex64


def test_complex_constants_have_names() -> None:
    some = ted.constant(Z, name="z"), ted.constant(1j, "complex64", "z"), ted.full(2, 1j, name="z")
    for made in (*some, ted.constant([1, 2], "complex64", name="z")):
        assert made.real.name == made.imag.name == "z"
    assert [z.dtype.name for z in some] == ["complex128", "complex64", "complex64"]
    assert ted.constant(Z, "bool").dtype == ted.bool
    found = interpreted(
        lambda x: [ted.constant(Z, name="z") * x, x[0, :2] * ted.constant([1j, 2])], X
    )
    check(found, [Z * X, X[0, :2] * [1j, 2]])


def test_types_may_be_arguments() -> None:
    kinds = {"z": ted.complex64, "x": np.dtype("complex128")}
    found = ted.function(lambda x, first, kinds: x.astype(first) + x.astype(kinds["z"]))
    check([found(X, ted.complex64, kinds)], [2 * X.astype(np.complex64)], 1e-7)


def test_quotients_of_infinite_numbers_are_those_of_numpy() -> None:
    ends = [0.5, -3.0, np.inf, -np.inf, np.nan]
    w = np.array([complex(x, y) for x in ends for y in (*ends, 0.0)])
    far = [1.0, 1 - 2j, complex(2, np.inf)]

    def program(w: Any) -> list[Any]:
        return [z / w for z in far] + [w / 2j, w / (np.inf * 1j)]

    with np.errstate(all="ignore"):
        for mine, other in zip(interpreted(program, w), program(w), strict=True):
            np.testing.assert_allclose(mine, other, rtol=4e-15)
    slopes = interpreted(ted.grad(lambda w: ted.sum((1 / w).real)), w[[2, 12, 17]])
    np.testing.assert_array_equal(slopes, 0)
    assert np.isnan(interpreted(lambda z: z / 0j, Z)).all()


def test_exponents_may_be_infinite_or_nan() -> None:
    least, most, none = interpreted(lambda z: [z**end for end in (-np.inf, np.inf, np.nan)], Z)
    inside = np.abs(Z) < 1
    for found, vanishes in ((least, ~inside), (most, inside)):
        np.testing.assert_array_equal(found[vanishes], 0)
        assert np.isnan(found[~vanishes]).all()
    assert np.isnan(none).all()
    with pytest.raises(FrontendError, match="float64"):
        interpreted(lambda z: z ** (10**400), Z)


def test_functions_of_infinite_numbers_are_those_of_numpy() -> None:
    ends = (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan)
    z = np.array([complex(x, y) for x in ends for y in ends])
    one = np.isinf(z.real) != np.isinf(z.imag)
    others = ("sinh", "cosh", "asin", "acos", "acosh", "asinh", "atan", "atanh")
    cases = {"exp": z, "sqrt": z, "tanh": z[np.isinf(z.real)], "sign": z[~np.isinf(z)]}
    cases |= dict.fromkeys(others, z[one & ~np.isnan(z)])
    cases |= dict.fromkeys(("acos", "acosh"), z[~np.isnan(z) | np.isinf(z.imag)])
    found = interpreted(lambda *w: [getattr(ted, n)(v) for n, v in zip(cases, w, strict=True)],
                        *cases.values())  # fmt: skip
    with np.errstate(all="ignore"):
        for (name, w), mine in zip(cases.items(), found, strict=True):
            wanted = getattr(np, name)(w)
            for part in ("real", "imag"):
                other = getattr(wanted, part)
                np.testing.assert_allclose(getattr(mine, part), other, rtol=4e-15, err_msg=name)
