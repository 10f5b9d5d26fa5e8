"""Integers with and without sign: every operation on the ends of each type, as NumPy has it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from sweeps import swept
from ted.ir.constants import frozen
from ted.ir.dtypes import BOOL, ELEMENT_TYPES, INT64, SIGNED, UNSIGNED, named, promote, with_sign_of
from ted.ir.from_ops import from_module
from ted.ir.to_ops import to_module
from ted.testing import emulated_gpu, interpret
from ted.testing.tracing import interpreted
from unit.frontend.tracing import run

INTEGERS = [t.name for t in (*UNSIGNED, *SIGNED)]

Function = Callable[..., Any]
# Row: ted's function, and NumPy's on the same arrays.
BINARY: dict[str, tuple[Function, Function]] = {
    "add": (lambda x, y: x + y, np.add),
    "subtract": (lambda x, y: x - y, np.subtract),
    "multiply": (lambda x, y: x * y, np.multiply),
    "floor_divide": (lambda x, y: x // y, np.floor_divide),
    "remainder": (lambda x, y: x % y, np.remainder),
    "fmod": (ted.fmod, np.fmod),
    "power": (lambda x, y: x ** ted.maximum(y, 0), lambda x, y: x ** np.maximum(y, 0)),
    "power_of_a_constant": (
        lambda x, y: ted.power(3, ted.maximum(y, 0)),
        lambda x, y: np.full_like(y, 3) ** np.maximum(y, 0),
    ),
    "maximum": (ted.maximum, np.maximum),
    "minimum": (ted.minimum, np.minimum),
    "less": (lambda x, y: x < y, np.less),
    "less_equal": (lambda x, y: x <= y, np.less_equal),
    "equal": (lambda x, y: x == y, np.equal),
    "and": (lambda x, y: x & y, np.bitwise_and),
    "or": (lambda x, y: x | y, np.bitwise_or),
    "xor": (lambda x, y: x ^ y, np.bitwise_xor),
    "left_shift": (lambda x, y: x << y, np.left_shift),
    "right_shift": (lambda x, y: x >> y, np.right_shift),
    "scatter": (
        lambda x, y: ted.scatter(3, ted.constant([1, 0, 1, 2, 1, 0, 2, 2]), x, combine="max"),
        lambda x, y: np.array([x[[1, 5]].max(), x[[0, 2, 4]].max(), x[[3, 6, 7]].max()]),
    ),
}
UNARY: dict[str, tuple[Function, Function]] = {
    "negative": (lambda x: -x, np.negative),
    "absolute": (ted.abs, np.absolute),
    "invert": (lambda x: ~x, np.invert),
    "sign": (ted.sign, np.sign),
    "square": (lambda x: x**2, np.square),
    "power_of_20": (lambda x: x**20, lambda x: x**20),
    "clip": (lambda x: ted.clip(x, 2, 9), lambda x: np.clip(x, 2, 9)),
    "half": (lambda x: x // 2, lambda x: x // 2),
    "image": (lambda x: ted.cast(x, "float32") / 255, lambda x: x.astype("f4") / np.float32(255)),
    "true_divide": (lambda x: x / 4, lambda x: x.astype("f4") / np.float32(4)),
    "double": (lambda x: ted.cast(x, "float64"), lambda x: x.astype("f8")),
    "from_float": (lambda x: ted.cast(ted.cast(x % 97, "float32") + 0.75, x.dtype),
                   lambda x: ((x % 97).astype("f4") + np.float32(0.75)).astype(x.dtype)),
    "to_bool": (lambda x: ted.cast(x, "bool"), lambda x: x.astype(bool)),
    **{f"to_{name}": (lambda x, name=name: ted.cast(x, name), lambda x, name=name: x.astype(name))
       for name in INTEGERS},
    "max": (ted.max, np.max),
    "min": (ted.min, np.min),
    "argmax": (ted.argmax, np.argmax),
    "argmin": (lambda x: ted.argmin(x.reshape((2, 4)), axis=1),
               lambda x: np.argmin(x.reshape(2, 4), axis=1)),
    "sort": (ted.sort, np.sort),
    "argsort": (lambda x: ted.argsort(x, stable=True), lambda x: np.argsort(x, stable=True)),
    "sum": (ted.sum, np.sum),
    "sum_as": (lambda x: ted.sum(x, dtype=x.dtype), lambda x: np.sum(x, dtype=x.dtype)),
    "prod": (ted.prod, np.prod),
    "cumsum": (lambda x: ted.cumsum(x, 0), np.cumsum),
    "cumprod_as": (lambda x: ted.cumprod(x, 0, dtype=x.dtype),
                   lambda x: np.cumprod(x, dtype=x.dtype)),
    "matmul": (lambda x: x.reshape((2, 4)) @ x.reshape((4, 2)),
               lambda x: x.reshape(2, 4) @ x.reshape(4, 2)),
    "taken": (lambda x: ted.constant(np.arange(7.0))[x % 7], lambda x: np.arange(7.0)[x % 7]),
    "captured": (lambda x: x + np.array([7, 0, 1, 2, 3, 4, 5, 6], x.dtype),
                 lambda x: x + np.array([7, 0, 1, 2, 3, 4, 5, 6], x.dtype)),
    "filled": (lambda x: ted.full((2,), np.iinfo(x.dtype.name).max, x.dtype),
               lambda x: np.full(2, np.iinfo(x.dtype).max, x.dtype)),
}  # fmt: skip


def _ends(dtype: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    x = [least, most, most - 1, most // 2 + 1, 1, 0, 7, least + 1 if least else 200]
    y = [most, most, 2, 3, 0, 5, 200 if most > 127 else 100, max(least, -1)]
    return np.array(x, dtype), np.array(y, dtype)


def _program(dtype: str) -> tuple[dict[str, np.ndarray[Any, Any]], list[Any], list[Any]]:
    """What NumPy has, and the inputs and outputs of one program."""
    x, y = (ted.placeholder((8,), dtype, name=name) for name in "xy")
    a, b = _ends(dtype)
    with np.errstate(all="ignore"):
        wanted = {name: np.asarray(f(a, b)) for name, (_, f) in BINARY.items()}
        wanted |= {name: np.asarray(f(a)) for name, (_, f) in UNARY.items()}
    outputs = [f(x, y) for f, _ in BINARY.values()] + [f(x) for f, _ in UNARY.values()]
    return wanted, [x, y], outputs


@swept("dtype", INTEGERS, ("uint8", "uint64"))
def test_every_operation_on_the_ends_of_a_type_is_numpys(dtype: str) -> None:
    wanted, inputs, outputs = _program(dtype)
    compiled = ted.compile(inputs, outputs)(*_ends(dtype))
    defined = interpret(ted.module(outputs), _ends(dtype))
    for name, output, one, other in zip(wanted, outputs, compiled, defined, strict=True):
        for found in (one, other):
            assert found.dtype == wanted[name].dtype == output.dtype, name
            np.testing.assert_array_equal(found, wanted[name], name)


@swept("dtype", INTEGERS, ("uint16",))
def test_every_operation_on_the_ends_of_a_type_is_numpys_on_a_gpu(dtype: str) -> None:
    wanted, inputs, outputs = _program(dtype)
    with emulated_gpu():
        f = ted.compile(inputs, outputs, target="cuda")
        found = [result.numpy() for result in f(*map(ted.cuda.asarray, _ends(dtype)))]
    for name, result in zip(wanted, found, strict=True):
        assert result.dtype == wanted[name].dtype, name
        np.testing.assert_array_equal(result, wanted[name], name)


def test_two_types_meet_in_numpys_but_for_floats_beside_integers() -> None:
    whole = [t for t in ELEMENT_TYPES if not t.is_float]
    for a in whole:
        for b in whole:
            assert promote(a, b) == promote(b, a)
            assert promote(a, b).name == np.result_type(a.name, b.name).name
    assert {promote(t, BOOL) for t in (*SIGNED, *UNSIGNED)} == {*SIGNED, *UNSIGNED}
    assert all(with_sign_of(with_sign_of(t, INT64), t) == t for t in (*SIGNED, *UNSIGNED))


@pytest.mark.parametrize("dtype", ELEMENT_TYPES, ids=str)
def test_a_type_is_one_for_numpy(dtype: Any) -> None:
    x = ted.placeholder((2,), dtype)
    assert np.zeros(3, x.dtype).dtype == x.dtype.dtype == np.dtype(x.dtype)
    assert ted.placeholder((2,), x.dtype.dtype).dtype == dtype


@pytest.mark.parametrize("name", INTEGERS)
def test_the_limits_and_the_kind_of_a_type_are_numpys(name: str) -> None:
    limits, kind = ted.iinfo(name), {"u": "unsigned", "i": "signed"}[np.dtype(name).kind]
    assert (limits.min, limits.max) == (np.iinfo(name).min, np.iinfo(name).max)
    assert ted.iinfo(np.dtype(name).type) == limits == ted.iinfo(np.zeros(1, name))
    for asked in ("unsigned integer", "signed integer", "integral"):
        assert ted.isdtype(name, asked) == (asked in (f"{kind} integer", "integral"))


@pytest.mark.parametrize("name", ["uint8", "int64"])
def test_numbers_outside_of_a_type_compare_as_they_are(name: str) -> None:
    limits = np.iinfo(name)
    x, ends = ted.placeholder((2,), name, name="x"), np.array([limits.min, limits.max], name)
    asked = [
        (compare, number)
        for compare in (
            operator.lt,
            operator.le,
            operator.gt,
            operator.ge,
            operator.eq,
            operator.ne,
        )
        for number in (limits.min - 1, limits.max + 1, -(2**70))
    ]
    results = [y for f, number in asked for y in (f(x, number), f(number, x))]
    wanted = [y for f, number in asked for y in (f(ends, number), f(number, ends))]
    np.testing.assert_array_equal(interpreted([x], results)(ends), wanted)


def test_what_a_sum_is_of() -> None:
    for name, wanted in {"uint8": "uint64", "bool": "int64", "int16": "int64", "int32": "int64",
                         "uint64": "uint64", "float16": "float16"}.items():  # fmt: skip
        x = ted.placeholder((2, 2), name)
        found = [ted.sum(x), ted.prod(x, 0), ted.cumsum(x, 0), ted.cumprod(x, 1)]
        assert {y.dtype.name for y in found} == {wanted}
        assert ted.sum(x, dtype="int32").dtype.name == ted.cumsum(x, 0, dtype="int32").dtype.name
        if name != "bool":
            assert (x @ x).dtype.name == ted.einsum("ij,jk->ik", x, x).dtype.name == name
    element = ted.compute((2,), lambda i: ted.sum(x[i, r := ted.reduce_axis(2)], axis=r))
    assert element.dtype == x.dtype


X = ted.placeholder((3,), "uint8", name="x")
REFUSED: dict[str, tuple[Function, str]] = {
    "negative": (lambda: X - (-1), "sub: the constant must fit the type uint8, got -1; uint8 holds "
                 "0 to 255"),
    "large": (lambda: X + 256, "got 256; uint8 holds 0 to 255"),
    "array": (lambda: ted.constant([1, -1], "uint8"), "uint8 must hold the values, got -1"),
    "mixed bits": (lambda: ted.cast(X, "uint64") & ted.cast(X, "int64"),
                   "operands must be bools (comparisons in parentheses) or integers, got float64"),
    "name": (lambda: ted.cast(X, "uint128"), "dtype must be one of float64, float32, "),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_type_does_not_hold_is_refused(case: str) -> None:
    function, message = REFUSED[case]
    with pytest.raises(ted.errors.FrontendError) as caught:
        function()
    assert message in str(caught.value)
    assert "test_integer_types.py:" in str(caught.value)


def test_images_and_labels_have_no_gradient_and_lead_to_one() -> None:
    def loss(w: Any, image: Any, label: Any) -> Any:
        return ted.nn.cross_entropy((image / 255) @ w, label)

    image = np.array([[0, 255, 128], [7, 1, 254]], np.uint8)
    label = np.array([1, 0], np.int16)
    w = np.arange(6.0, dtype="f4").reshape(3, 2) / 7
    value, dw = ted.value_and_grad(loss)(w, image, label)
    same, exact = ted.value_and_grad(loss)(w, image.astype("f4"), label.astype("i8"))
    assert value == same
    np.testing.assert_array_equal(dw, exact)


def test_arrays_of_every_type_pass_in_and_out_where_they_are() -> None:
    torch = pytest.importorskip("torch")
    x, s = ted.placeholder((2,), "uint8", name="x"), ted.placeholder((), "uint32", name="s")
    f = ted.compile([x, s], [x + 1, x * s])
    out = [torch.empty(2, dtype=torch.uint8), np.empty(2, np.uint32)]
    f(torch.tensor([255, 3], dtype=torch.uint8), 2**31, out=out)
    assert out[0].tolist() == [0, 4]
    assert out[1].tolist() == [2**31, 2**31]
    with pytest.raises(ted.errors.ExecutionError, match="uint32 does not hold -1"):
        f(np.zeros(2, np.uint8), -1)


def test_programs_of_unsigned_tensors_survive_text() -> None:
    x, y = ted.placeholder((4,), "uint8", name="x"), ted.placeholder((4,), "uint16", name="y")
    table = ted.constant(np.array([200, 3, 255], np.uint8))
    parts = [x // 3 + table[ted.cast(y, "int64") % 3], ted.cast(x, "uint16") % y, x < 7, ted.max(y),
             ted.cast(ted.cast(x, "float32"), "uint8"), ted.cast(x, "int32") >> 1, ted.argmin(x),
             ted.full((2,), 255, "uint8")]  # fmt: skip
    module = ted.module(parts)
    text = str(module)
    assert "tensor<4xui8>" in text
    assert text == str(to_module(from_module(to_module(from_module(module)))))


def test_negative_powers_of_integers_are_cut_off() -> None:
    base, exponent = np.array([2, -1, -1, 1, 0, -3]), np.array([-1, -3, -2, -1, -1, -1])
    (found,) = run(lambda x, y: [x**y], base, exponent)
    assert found.tolist() == [0, -1, 1, 1, 0, 0]


def test_operations_on_known_integers_wrap_as_those_on_data_do() -> None:
    least, one, most = (ted.full((2,), k, "int8") for k in (-128, -1, 127))
    found = interpreted([], [most - one < 0, least // one > 0, -least > 0,
                             ted.cast(most * most, "int32"), ted.abs(least)])()  # fmt: skip
    assert [f[0] for f in found] == [True, False, False, 1, -128]


def test_what_two_integers_have_in_common_is_known_of_1_and_0() -> None:
    x = ted.placeholder((3,), "uint8")
    given = np.array([0, 255, 6], np.uint8)
    found = interpreted([x], [ted.gcd(x, 1), ted.gcd(0, x), ted.lcm(x, 1), ted.lcm(x, 0)])(given)
    for got, wanted in zip(found, ([1, 1, 1], given, given, [0, 0, 0]), strict=True):
        np.testing.assert_array_equal(got, wanted)


# base, exponents that the type of the base rounds
ROUNDED = [
    ("bfloat16", [257, 258, -257, 511, 1001]), ("float16", [2049, 2050, -2049, 4097, 8191]),
    ("float32", [2**24 + 1, 2**24 + 2, -(2**24) - 1, 2**31 - 1, -(2**31)]),
    ("float64", [2**53 + 1, -(2**53) - 1, 2**62 + 2, 2**63 - 1, -(2**63)]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "exponents"), ROUNDED)
def test_a_power_has_the_sign_of_an_exponent_that_no_float_holds(
    name: str, exponents: list[int]
) -> None:
    base = np.array([-1.0, 1.0, -0.0, -np.inf]).astype(named(name).dtype)
    x = ted.placeholder((4,), name)
    n = ted.placeholder((5,), "int64")
    y = x[:, None] ** n
    (slope,) = ted.differentiate(ted.sum(y[:2]), [x])
    powers = [x**k for k in exponents]
    found, slopes, *known = interpreted([x, n], [y, slope, *powers])(base, np.array(exponents))
    odd = [k % 2 == 1 for k in exponents]
    units = np.array([np.where(odd, -1, 1), np.ones(5)])
    np.testing.assert_array_equal(found[:2], units)
    ends = np.array([[0 if (k > 0) == (b == 0) else np.inf for k in exponents] for b in (0, 1)])
    np.testing.assert_array_equal(np.abs(found[2:]), ends)
    np.testing.assert_array_equal(np.signbit(found[2:]), [odd, odd])
    np.testing.assert_array_equal(np.stack(known, 1), found)
    wanted = [sum(k * b ** ((k - 1) % 2) for k in exponents) for b in (-1, 1)]
    np.testing.assert_allclose(slopes[:2].astype("f8"), wanted, rtol=0.02)


def test_a_known_array_without_elements_has_a_range() -> None:
    assert frozen(np.zeros((0, 2)), INT64).range == (0, 0)
