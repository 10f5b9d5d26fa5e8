"""Constructors of scalar expressions: exact simplifications against values, and walks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ted
from ted.ir.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT8,
    INT32,
    INT64,
    UINT8,
    DType,
)
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import (
    FALSE,
    TRUE,
    add,
    apply,
    as_extent,
    cast,
    compare,
    const,
    dim,
    dims_used,
    div,
    floordiv,
    index,
    is_const,
    is_trusted,
    iter_weighted,
    land,
    lnot,
    load,
    loads,
    lor,
    mod,
    mul,
    neg,
    number,
    reads_data,
    rebuild,
    replace_nodes,
    replace_tensors,
    rewrite,
    select,
    sub,
    substitute,
    unchecked,
    weight,
)
from unit.ir.scalar_values import OPERATIONS, value

i, j = dim(0), dim(1)
X, Y = Tensor("x", (9,), FLOAT64), Tensor("y", (9,), FLOAT64)
N = Tensor("n", (9,), INT64)
x, y = load(X, [i]), load(Y, [i])
ZERO, ONE = const(0.0, FLOAT64), const(1.0, FLOAT64)
P, Q = compare("lt", i, j), compare("eq", i, index(2))
NUMBERS = [index(n) for n in (-3, -1, 0, 1, 2)]
ATOMS = [i, j, neg(i), *NUMBERS]
POINTS = [(a, b) for a in (-2, 0, 2, 3) for b in (-1, 2, 3)]
TWO = ["add", "sub", "mul", "maximum", "minimum", "lt", "le", "eq", "ne"]


@pytest.mark.parametrize("name", TWO)
def test_simplified_integers_have_the_same_values(name: str) -> None:
    for a, b in itertools.product(ATOMS, repeat=2):
        made = apply(name, a, b)
        for point in POINTS:
            expected = OPERATIONS[name](value(a, point), value(b, point))
            assert value(made, point) == expected
            if made.dtype == INDEX:
                again = value(apply(name, made, neg(a)), point)
                assert again == OPERATIONS[name](expected, -value(a, point))
    assert apply(name, index(5), index(2)).op == "const"


@pytest.mark.parametrize("name", ["floordiv", "mod"])
def test_simplified_divisions_have_the_same_values(name: str) -> None:
    for a, divisor in itertools.product(ATOMS, (-3, 1, 2, 5)):
        made = apply(name, a, index(divisor))
        for point in POINTS:
            number = value(a, point)
            assert value(made, point) == (
                number // divisor if name == "floordiv" else number % divisor
            )
    assert floordiv(i, index(1)) is i
    assert mod(i, index(1)) is index(0)
    assert floordiv(index(-7), index(2)) is index(-4)
    assert mod(index(-7), index(2)) is index(1)
    assert floordiv(index(1), index(0)).op == "floordiv"
    assert mod(index(1), index(0)).op == "mod"


def test_logic_has_the_truth_of_its_parts() -> None:
    atoms = [P, Q, lnot(P), TRUE, FALSE]
    for a, b in itertools.product(atoms, repeat=2):
        for point in POINTS:
            va, vb = value(a, point), value(b, point)
            assert value(land(a, b), point) == (va and vb)
            assert value(lor(a, b), point) == (va or vb)
            assert value(select(a, i, j), point) == (point[0] if va else point[1])
            assert value(select(a, select(a, i, j), select(b, i, j)), point) == (
                point[0] if va or vb else point[1]
            )
    assert land(P, TRUE) is P is land(TRUE, P) is lor(P, FALSE) is lor(FALSE, P)
    assert land(P, P) is P is lor(P, P) is lnot(lnot(P))
    assert (land(P, FALSE), lor(P, TRUE), lnot(TRUE)) == (FALSE, TRUE, FALSE)


def test_choices_are_as_short_as_their_condition_allows() -> None:
    assert select(TRUE, i, j) is i
    assert select(FALSE, i, j) is j
    assert select(P, i, i) is i
    assert select(lnot(P), i, j) is select(P, j, i)
    assert select(P, select(P, i, j), j) is select(P, i, j)
    assert select(P, i, select(P, i, j)) is select(P, i, j)
    assert select(P, i, select(Q, i, j)).args[2] is select(Q, i, j)


def test_sums_and_products_of_floats_are_kept_unless_that_is_exact() -> None:
    assert add(x, ZERO) is x is add(ZERO, x) is sub(x, ZERO) is mul(x, ONE) is mul(ONE, x)
    assert div(x, ONE) is x
    assert neg(neg(x)) is x
    assert sub(ZERO, x) is neg(x) is mul(const(-1.0, FLOAT64), x) is mul(x, const(-1.0, FLOAT64))
    assert add(x, neg(y)) is sub(x, y) is add(neg(y), x)
    assert sub(x, neg(y)) is add(x, y)
    assert mul(x, ZERO).op == "mul"  # NaN and infinity
    assert sub(x, x).op == "sub"
    assert mul(i, index(0)) is index(0)
    assert sub(i, i) is index(0)
    assert add(const(2.0, FLOAT64), const(3.0, FLOAT64)) is const(5.0, FLOAT64)
    for a, b in ((0.5, 1.0), (1.0, 0.5), (65.0, 1.0), (1.0, -65.0)):
        assert add(const(a, FLOAT64), const(b, FLOAT64)).op == "add"
    assert add(const(64.0, FLOAT64), const(-64.0, FLOAT64)) is ZERO
    assert sub(const(-1.0, FLOAT64), ONE) is const(-2.0, FLOAT64)
    assert sub(const(0.5, FLOAT64), ONE).op == "sub"
    assert mul(const(2.0, FLOAT64), const(3.0, FLOAT64)).op == "mul"
    assert apply("maximum", x, x) is x
    assert apply("maximum", ZERO, ONE).op == "maximum"
    assert add(neg(x), neg(y)) is sub(neg(x), y)


def test_equal_expressions_are_one_object_and_zeros_of_other_sign_are_not() -> None:
    assert add(i, j) is add(i, j)
    assert const(0.0, FLOAT64) is not const(-0.0, FLOAT64)
    assert const(1.0, FLOAT64) is not const(1.0, FLOAT32)
    assert load(X, [i]) is not load(Tensor("x", (9,), FLOAT64), [i])
    assert const(1, FLOAT64).attr == 1.0
    assert isinstance(const(1, FLOAT64).attr, float)
    assert const(2, BOOL) is TRUE


def test_conversions_of_constants_are_made_where_they_are_exact() -> None:
    assert cast(x, FLOAT64) is x
    assert cast(index(3), INT64) is const(3, INT64)
    assert cast(const(3, INT64), FLOAT64) is const(3.0, FLOAT64)
    assert cast(const(1.5, FLOAT64), INT64).op == "cast"
    assert cast(const(1.5, FLOAT64), FLOAT32) is const(1.5, FLOAT32)
    assert number(4, FLOAT64) is const(4.0, FLOAT64)


def test_types_are_checked() -> None:
    with pytest.raises(AssertionError, match="add: one type"):
        add(x, cast(x, FLOAT32))
    with pytest.raises(AssertionError, match="sqrt: 1 arguments, got 2"):
        apply("sqrt", x, x)
    with pytest.raises(AssertionError, match="sqrt: not defined on index"):
        apply("sqrt", i)
    with pytest.raises(AssertionError, match="rank 1"):
        load(X, [i, j])
    with pytest.raises(AssertionError, match="non-index subscript"):
        load(X, [x])
    assert compare("lt", x, y).dtype == BOOL
    assert select(P, x, y).dtype == FLOAT64


@pytest.mark.parametrize("name", ["lt", "le", "eq", "ne"])
def test_integers_of_64_bits_that_are_indices_compare_as_indices(name: str) -> None:
    wide, five = cast(i, INT64), const(5, INT64)
    assert compare(name, wide, five) is compare(name, i, index(5))
    assert compare(name, five, wide) is compare(name, index(5), i)
    assert compare(name, wide, cast(j, INT64)) is compare(name, i, j)
    n = load(N, [i])
    assert compare(name, n, wide).args == (n, wide)
    assert compare(name, cast(i, INT32), const(5, INT32)).args[0].dtype == INT32  # it may wrap
    assert compare(name, cast(x, INT64), five).args[1] is five


def test_indices_of_sizes_are_extents_again() -> None:
    n, m = ted.size("n"), ted.size("m")
    for extent in (5, n, n + 2, 3 * n - m, n * m, n // 2, (n + 1) // 3 * m, 3 * n // 2):
        assert as_extent(index(extent)) == extent
    assert as_extent(sub(index(n), index(m))) == n - m
    assert as_extent(neg(index(n))) == -n
    assert as_extent(mod(index(n), index(4))) == n % 4
    assert as_extent(add(index(n), i)) is None
    assert as_extent(mod(index(n), index(m))) is None
    assert as_extent(floordiv(index(n), index(-2))) == -n // 2
    assert as_extent(const(2, INT64)) is None
    assert number(n, FLOAT64).op == "cast"


def test_trust_ends_at_what_is_read_outside_of_it() -> None:
    at = cast(load(N, [i]), INDEX)
    assert is_trusted(unchecked(at))
    assert is_trusted(add(unchecked(at), i))
    assert not is_trusted(at)
    assert not is_trusted(add(unchecked(at), at))
    assert not is_trusted(i)
    assert unchecked(i) is i
    assert unchecked(index(3)) is index(3)
    assert unchecked(unchecked(at)) is unchecked(at)


def test_walks_meet_arguments_first_and_each_node_once() -> None:
    total = add(mul(x, y), x)
    order = postorder(total, y)
    assert order == (i, x, y, mul(x, y), total)
    assert loads(total, load(N, [i])) == [x, y, load(N, [i])]
    inside = load(X, [cast(load(N, [j]), INDEX)])
    assert loads(inside) == [load(N, [j]), inside]
    assert dims_used(inside, i) == {0, 1}
    assert dims_used(ONE) == set()
    assert reads_data(inside)
    assert not reads_data(add(i, j), ONE)


def test_rewriting_makes_new_nodes_only_where_something_changes() -> None:
    total = add(mul(x, y), cast(i, FLOAT64))
    assert rewrite([total], lambda node, args: None) == [total]
    assert substitute([total], [j, i]) == [add(mul(load(X, [j]), load(Y, [j])), cast(j, FLOAT64))]
    assert replace_tensors([total], {X: Y}) == [add(mul(y, y), cast(i, FLOAT64))]
    assert rebuild(total, total.args) is total
    assert rebuild(cast(i, FLOAT64), [j]) is cast(j, FLOAT64)
    assert rebuild(x, [j]) is load(X, [j])
    assert rebuild(mul(x, y), [x, ONE]) is x


def test_whole_parts_are_replaced_outermost_first() -> None:
    product = mul(x, y)
    assert replace_nodes(add(product, x), {product: ONE, x: y}) is add(ONE, y)
    assert replace_nodes(product, {product: x}) is x
    assert replace_nodes(apply("exp", product), {x: y}) is apply("exp", mul(y, y))


def test_weights_count_work_on_data_once() -> None:
    product = mul(x, y)
    assert weight(add(product, product)) == 2
    assert weight(add(product, x), product) == 2
    assert weight(load(X, [add(i, mul(j, index(2)))])) == 0
    assert weight(select(P, x, y)) == weight(select(land(P, Q), x, y))
    late = compare("lt", x, y)
    assert weight(select(land(late, P), x, y)) == weight(select(P, x, y)) + weight(late) + 1
    assert weight(late) == 1
    assert weight(P) == 0
    assert [n for n, _ in iter_weighted(add(product, x))] == [product, add(product, x)]


def test_constants_are_told_by_their_value() -> None:
    assert is_const(ONE)
    assert is_const(ONE, 1)
    assert not is_const(ONE, 2)
    assert not is_const(x)
    assert isinstance(ONE, Expr)


FOLDED = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide,
    "mod": np.remainder, "maximum": np.maximum, "minimum": np.minimum, "bitand": np.bitwise_and,
    "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "shiftleft": np.left_shift,
    "shiftright": np.right_shift,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [INT8, UINT8])
def test_constants_of_integers_are_folded_as_numpy_computes_all_pairs(dtype: DType) -> None:
    least, most = dtype.range
    numbers = np.array([*range(least, least + 9), *range(-9, 10), *range(most - 9, most + 1)])
    numbers = np.unique(numbers[(numbers >= least) & (numbers <= most)]).astype(dtype.dtype)
    assert const(int(most) + 1, dtype).attr == least
    for name, function in FOLDED.items():
        for a, b in itertools.product(numbers, numbers):
            if (b == 0 and name in ("floordiv", "mod")) or ("shift" in name and not 0 <= b < 8):
                continue
            folded = apply(name, const(int(a), dtype), const(int(b), dtype))
            with np.errstate(over="ignore"):
                assert folded is const(int(function(a, b)), dtype), (name, a, b)
    assert neg(const(least, dtype)) is const(least, dtype)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT16, BFLOAT16])
def test_constants_of_floats_are_compared_and_converted_as_their_type_has_them(
    dtype: DType,
) -> None:
    whole = 2 ** (dtype.mantissa + 1)
    assert cast(cast(const(whole + 1, INT64), dtype), INT64).op == "cast"  # floats are not folded
    assert cast(const(whole + 1, dtype), FLOAT64) is const(float(whole), FLOAT64)
    assert compare("eq", const(whole + 1, dtype), const(whole, dtype)) is TRUE
    assert cast(const(1e300, dtype), FLOAT64) is const(float("inf"), FLOAT64)
