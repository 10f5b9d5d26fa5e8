"""Every name of the array API standard against `array-api-strict`, as function and as method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import ted
from array_api import cases
from unit.frontend.tracing import compiled, placeholders, run

strict.set_array_api_strict_flags(api_version="2024.12")
TYPE_NAMES = ("bool", "float32", "float64", "int8", "int16", "int32", "int64")
TYPE_NAMES += ("uint8", "uint16", "uint32", "uint64", "complex64", "complex128")
# What is no function of the standard: flags and classes of the package itself.
OF_THE_PACKAGE = {name for name in strict.__all__ if "flags" in name.lower() or name == "Device"}
OF_THE_PACKAGE |= {"__array_api_version__", "__version__", "linalg", "fft"}
EXCEPT = {"isin", "broadcast_shapes"}  # of 2025.12


def drawn(seed: int, rows: int, columns: int) -> dict[str, Any]:
    """Values of every kind, of random numbers with ties, zeros of both signs and halves."""
    random = np.random.default_rng(seed)
    shape = (rows, columns)

    def floats(*extents: int) -> Any:
        return random.choice([-2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.0, 1.75], extents)

    return {
        "f": floats(*shape), "g": floats(*shape), "w": floats(columns),
        "p": random.random(shape) + 0.1, "u": random.uniform(-0.99, 0.99, shape),
        "i": random.integers(-9, 9, shape),
        "j": random.choice([-3, -2, -1, 1, 2, 5], shape), "b": random.random(shape) < 0.5,
        "c": random.random(shape) < 0.5, "m": floats(columns, columns),
        "t": floats(2, rows, columns), "k": random.integers(0, 5, columns),
    }  # fmt: skip


def several(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (list, tuple)) else [found]


def evaluated(xp: Any, group: dict[str, list[cases.Case]], values: Any) -> list[Any]:
    """All results of a group, one after the other."""
    found: list[Any] = []
    for expressions in group.values():
        for case in expressions:
            found += several(case(xp, values))
    return found


def labels(group: dict[str, list[cases.Case]], values: Any) -> Iterator[str]:
    for name, expressions in group.items():
        for number, case in enumerate(expressions):
            yield from [f"{name} {number}"] * len(several(case(strict, values)))


def with_extents(values: dict[str, Any], rows: int, columns: int) -> Any:
    table = np.arange(3.0)
    return cases.namespace(**values, rows=rows, columns=columns, numpy=table)


# Where a zero may have the other sign than numpy's: of equals either one, of remainders that of
# the dividend, and totals begin with 0.0.
ANY_ZERO = {"max", "min", "maximum", "minimum", "floor_divide", "remainder"}
ANY_ZERO |= {"cumulative_sum", "clip", "matmul", "tensordot", "vecdot"}
SHAPES = [(2, 3), (3, 1)]
LINEAR_ALGEBRA = ("linalg", "spectral")
ROUNDED = (*LINEAR_ALGEBRA, "complex", "fft")  # sums in orders of their own, functions of several
EXTENSIONS = (*LINEAR_ALGEBRA, "fft")


def check(group_name: str, shape: tuple[int, int], seed: int, evaluate: Any) -> None:
    group, values = cases.GROUPS[group_name], drawn(seed, *shape)
    arrays = {k: strict.asarray(v) for k, v in values.items()}
    with np.errstate(all="ignore"):
        known = with_extents(arrays, *shape)
        expected = evaluated(strict, group, known)
        names = list(labels(group, known))

    def program(*inputs: Any) -> list[Any]:
        return evaluated(ted, group, with_extents(dict(zip(values, inputs, strict=True)), *shape))

    found = evaluate(program, *values.values())
    for name, mine, other in zip(names, found, expected, strict=True):
        other = np.asarray(other)
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape), name
        far = 1e-12 if group_name in ROUNDED else 2e-14
        np.testing.assert_allclose(mine, other, rtol=far, atol=far / 20, err_msg=name)
        has_zeros = group_name not in ("complex", "fft") and name.split()[0] not in ANY_ZERO
        if mine.dtype.kind == "f" and has_zeros:
            zeros = other == 0
            np.testing.assert_array_equal(np.signbit(mine[zeros]), np.signbit(other[zeros]), name)


@pytest.mark.fast(6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("group", [group for group in cases.GROUPS if group != "spectral"])
def test_functions_agree_with_the_standard(group: str, shape: tuple[int, int]) -> None:
    check(group, shape, 1, run)


@pytest.mark.slow
def test_iterations_agree_with_the_standard() -> None:
    check("spectral", SHAPES[0], 1, compiled)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("group", cases.GROUPS)
def test_machine_code_agrees_with_the_standard(group: str, seed: int) -> None:
    check(group, (4, 5), seed, compiled)


@pytest.mark.parametrize("name", cases.TYPES)
def test_types_and_constants_agree_with_the_standard(name: str) -> None:
    values = drawn(0, 2, 3)
    mine = dict(zip(values, placeholders(*values.values()), strict=True))
    other = {k: strict.asarray(v) for k, v in values.items()}
    for case in cases.TYPES[name]:
        assert case(ted, cases.namespace(**mine)) == case(strict, cases.namespace(**other))


class Methods:
    """A module whose functions are methods where tensors have one of that name."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        function = getattr(ted, name)
        own = getattr(ted.Tensor, name, None)
        if not callable(function) or not callable(own):  # the parts of a number are attributes
            return function

        def call(x: Any, *args: Any, **options: Any) -> Any:
            if not isinstance(x, ted.Tensor):
                return function(x, *args, **options)
            self.used.add(name)
            return getattr(x, name)(*args, **options)

        return call


@pytest.mark.parametrize("group", ["elementwise", "statistical", "manipulation", "linear"])
def test_methods_are_the_functions(group: str) -> None:
    values = drawn(0, 2, 3)
    inputs = placeholders(*values.values())
    known = with_extents(dict(zip(values, inputs, strict=True)), 2, 3)
    methods = Methods()
    made = [str(ted.module(evaluated(xp, cases.GROUPS[group], known))) for xp in (ted, methods)]
    assert made[0] == made[1]
    lists_first = {"broadcast_arrays", "concat", "stack", "where", "astype", "real"}
    assert set(cases.GROUPS[group]) - methods.used <= lists_first


def test_every_name_has_a_case_or_a_reason() -> None:
    names = set(strict.__all__) - OF_THE_PACKAGE - EXCEPT
    groups = [group for word, group in cases.GROUPS.items() if word not in EXTENSIONS]
    here = set[str]().union(*groups, cases.TYPES, TYPE_NAMES)
    assert names - here - set(cases.NOT) == set()
    assert here - names == set(), "a case is of a name of the standard"
    assert [n for n in cases.NOT if hasattr(ted, n)] == [], "what is there is checked"
    assert all(str(getattr(ted, n)) == n for n in TYPE_NAMES)


def test_every_name_of_linear_algebra_has_a_case() -> None:
    assert set(strict.linalg.__all__) == set(cases.LINALG) | set(cases.SPECTRAL)


def test_every_name_of_fourier_transforms_has_a_case() -> None:
    assert set(strict.fft.__all__) == set(cases.FFT)


def test_a_tensor_says_where_its_functions_are() -> None:
    x = ted.placeholder((2,))
    assert x.__array_namespace__() is ted
    assert x.__array_namespace__("2024.12") is ted
    with pytest.raises(ted.errors.FrontendError, match="versions of the standard are"):
        x.__array_namespace__("2019.01")
