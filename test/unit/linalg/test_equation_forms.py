"""Compiled equations of every form against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from unit.linalg.equation_text import DTYPES, compute, evaluate, fill, module_text, tensor_type

YIELD_A = '"ted.yield"(%a) : (f32) -> ()'
PRODUCT = '%p = arith.mulf %a, %b : f32\n"ted.yield"(%p) : (f32) -> ()'


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def run(arguments, body, shape, kind="f32", out=None):
    """Evaluate a program whose only result is %y."""
    names = [(n, tensor_type(a.shape, k)) for n, a, k in arguments]
    y = np.full(shape, 99, np.float32) if out is None else out
    text = module_text(names, body, [("y", tensor_type(shape, kind))])
    return evaluate(text, [a for _, a, _ in arguments], [y])[0]


@pytest.mark.parametrize(
    ("left", "right", "a", "b"),
    [("i, k", "k, j", (5, 7), (7, 6)), ("k, i", "k, j", (7, 5), (7, 6)),
     ("i, k", "j, k", (5, 7), (6, 7)), ("k, i", "j, k", (7, 5), (6, 7))],
)  # fmt: skip
def test_matrix_product_in_every_layout(left, right, a, b):
    x, y = random(*a), random(*b)
    out = tensor_type((5, 6))
    body = fill("z", (5, 6)) + compute(
        "y", [("A", tensor_type(a), left), ("B", tensor_type(b), right)], [("z", out)],
        (5, 6, 7), "ppr", "i, j", PRODUCT, "add",
    )  # fmt: skip
    expected = (x if left == "i, k" else x.T) @ (y if right == "k, j" else y.T)
    np.testing.assert_allclose(run([("A", x, "f32"), ("B", y, "f32")], body, (5, 6)), expected,
                               rtol=1e-5, atol=1e-5)  # fmt: skip


def test_batched_product():
    x, y = random(3, 5, 7), random(3, 7, 6)
    body = fill("z", (3, 5, 6)) + compute(
        "y", [("A", tensor_type(x.shape), "i, j, l"), ("B", tensor_type(y.shape), "i, l, k")],
        [("z", tensor_type((3, 5, 6)))], (3, 5, 6, 7), "pppr", "i, j, k", PRODUCT, "add",
    )  # fmt: skip
    got = run([("A", x, "f32"), ("B", y, "f32")], body, (3, 5, 6))
    np.testing.assert_allclose(got, x @ y, rtol=1e-5, atol=1e-5)


def test_padded_convolution_by_guard():
    x, w = random(2, 9, 4), random(3, 4, 8)
    body = fill("z", (2, 9, 8)) + compute(
        "y", [("A", tensor_type(x.shape), "i, j + l - 1, m"),
              ("B", tensor_type(w.shape), "l, m, k")],
        [("z", tensor_type((2, 9, 8)))], (2, 9, 8, 3, 4), "ppprr", "i, j, k", PRODUCT, "add",
        guards=["j + l - 1 >= 0, 9 - j - l >= 0"],
    )  # fmt: skip
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0)))
    expected = sum(padded[:, r : r + 9] @ w[r] for r in range(3))
    got = run([("A", x, "f32"), ("B", w, "f32")], body, (2, 9, 8))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_transposed_convolution_by_domain():
    g, w = random(2, 7, 8), random(3, 4, 8)
    body = fill("z", (2, 9, 4)) + compute(
        "y", [("A", tensor_type(g.shape), "i, j - l, m"), ("B", tensor_type(w.shape), "l, k, m")],
        [("z", tensor_type((2, 9, 4)))], (2, 9, 4, 3, 8), "ppprr", "i, j, k", PRODUCT, "add",
        domain="j - l >= 0, 6 - j + l >= 0",
    )  # fmt: skip
    expected = np.zeros((2, 9, 4), np.float32)
    for r in range(3):
        expected[:, r : r + 7] += g @ w[r].T
    got = run([("A", g, "f32"), ("B", w, "f32")], body, (2, 9, 4))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_stencil_with_guards():
    x = random(8, 40)
    body = "%e = tensor.empty() : tensor<8x40xf32>\n" + compute(
        "y", [("A", tensor_type(x.shape), "i - 1, j"), ("A", tensor_type(x.shape), "i, j + 1")],
        [("e", tensor_type(x.shape))], (8, 40), "pp", "i, j",
        '%p = arith.addf %a, %b : f32\n"ted.yield"(%p) : (f32) -> ()',
        guards=["i - 1 >= 0", "38 - j >= 0"],
    )  # fmt: skip
    expected = np.zeros_like(x)
    expected[1:] += x[:-1]
    expected[:, :-1] += x[:, 1:]
    np.testing.assert_allclose(run([("A", x, "f32")], body, x.shape), expected, rtol=1e-6)


def test_triangular_sum():
    x = random(9, 9)
    body = fill("z", (9,)) + compute(
        "y", [("A", tensor_type(x.shape), "i, j")], [("z", tensor_type((9,)))], (9, 9), "pr", "i",
        YIELD_A, "add", domain="i - j >= 0",
    )  # fmt: skip
    got = run([("A", x, "f32")], body, (9,))
    np.testing.assert_allclose(got, np.tril(x).sum(1), rtol=1e-5)


def test_divisions_and_remainders_in_subscripts():
    x = random(4, 5)
    body = "%e = tensor.empty() : tensor<20xf32>\n" + compute(
        "y", [("A", tensor_type(x.shape), "i floordiv 5, i mod 5")], [("e", tensor_type((20,)))],
        (20,), "p", "i", YIELD_A,
    )  # fmt: skip
    np.testing.assert_array_equal(run([("A", x, "f32")], body, (20,)), x.ravel())


def test_strided_write_keeps_the_other_elements():
    x = random(3, 4)
    body = fill("z", (3, 9), "5.0") + compute(
        "y", [("A", tensor_type(x.shape), "i, j")], [("z", tensor_type((3, 9)))], (3, 4), "pp",
        "i, 2 * j + 1", YIELD_A,
    )  # fmt: skip
    expected = np.full((3, 9), 5, np.float32)
    expected[:, 1::2] = x
    np.testing.assert_array_equal(run([("A", x, "f32")], body, (3, 9)), expected)


def test_diagonal_write():
    x = random(6)
    body = fill("z", (6, 6)) + compute(
        "y", [("A", tensor_type(x.shape), "i")], [("z", tensor_type((6, 6)))], (6,), "p",
        "i, i", YIELD_A,
    )  # fmt: skip
    np.testing.assert_array_equal(run([("A", x, "f32")], body, (6, 6)), np.diag(x))


def test_reversed_write_and_read():
    x = random(3, 6)
    body = "%e = tensor.empty() : tensor<3x6xf32>\n" + compute(
        "y", [("A", tensor_type(x.shape), "i, j")], [("e", tensor_type((3, 6)))], (3, 6), "pp",
        "2 - i, 5 - j", YIELD_A,
    )  # fmt: skip
    np.testing.assert_array_equal(run([("A", x, "f32")], body, (3, 6)), x[::-1, ::-1])


def test_colliding_affine_scatter_adds():
    x = random(5, 3)
    body = fill("z", (7,)) + compute(
        "y", [("A", tensor_type(x.shape), "i, j")], [("z", tensor_type((7,)))], (5, 3), "rr",
        "i + j", YIELD_A, "add",
    )  # fmt: skip
    expected = np.zeros(7, np.float32)
    for i in range(5):
        expected[i : i + 3] += x[i]
    np.testing.assert_allclose(run([("A", x, "f32")], body, (7,)), expected, rtol=1e-5)


def test_scatter_at_data_adds():
    x, where = random(6, 4), np.array([2, 0, 2, 1, 0, 2], np.int64)
    body = fill("z", (3, 4)) + compute(
        "y", [("A", tensor_type(x.shape), "j, i"), ("I", tensor_type((6,), "i64"), "j")],
        [("z", tensor_type((3, 4)))], (4, 6), "pr", "s0, i",
        '%s = arith.index_cast %b : i64 to index\n"ted.yield"(%a, %s) : (f32, index) -> ()',
        "add", symbols="[s0]", extra=', mode = "drop"',
    )  # fmt: skip
    expected = np.zeros((3, 4), np.float32)
    np.add.at(expected, where, x)
    got = run([("A", x, "f32"), ("I", where, "i64")], body, (3, 4))
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_gather_at_data():
    x, where = random(5, 4), np.array([2, 0, 4, -1], np.int64)
    body = "%e = tensor.empty() : tensor<4x4xf32>\n" + compute(
        "y", [("I", tensor_type((4,), "i64"), "i")], [("e", tensor_type((4, 4)))], (4, 4), "pp",
        "i, j",
        """%s = arith.index_cast %a : i64 to index
        %j = "ted.index"() {dim = 1 : i64} : () -> index
        %t = arith.constant true
        %v = "ted.load"(%A, %t, %s, %j) {mode = "drop"} : (tensor<5x4xf32>, i1, index, index) -> f32
        "ted.yield"(%v) : (f32) -> ()""",
    )  # fmt: skip
    expected = np.where(where[:, None] >= 0, x[where], 0)
    got = run([("A", x, "f32"), ("I", where, "i64")], body, (4, 4))
    np.testing.assert_array_equal(got, expected)


ARG_CASES = {
    "ties": [[1, 3, 3, 2]], "nan_first": [[1, np.nan, 5, np.nan]],
    "all_minus_infinity": [[-np.inf] * 4], "ordinary": [[4, 1, 9, 2], [3, 8, 1, 1]],
}  # fmt: skip


@pytest.mark.parametrize("points", [4, 40], ids=["short", "long"])
@pytest.mark.parametrize("case", ARG_CASES)
@pytest.mark.parametrize("domain", ["0 == 0", "j - 1 >= 0"])
def test_argmax(case, domain, points):
    x = np.array(ARG_CASES[case], np.float32)
    x = np.pad(x, ((0, 0), (0, points - 4)), constant_values=-np.inf)
    rows = len(x)
    body = (
        fill("v", (rows,), "0xFF800000") + fill("p", (rows,), "-1", "i64")
        + compute("y:2", [("A", tensor_type(x.shape), "i, j")],
                  [("v", tensor_type((rows,))), ("p", tensor_type((rows,), "i64"))],
                  x.shape, "pr", "i", YIELD_A, "argmax", domain=domain)
    )  # fmt: skip
    t = [tensor_type((rows,)), tensor_type((rows,), "i64")]
    text = module_text([("A", tensor_type(x.shape))], body, [("y#0", t[0]), ("y#1", t[1])])
    value, place = evaluate(text, [x], [np.zeros(rows, np.float32), np.zeros(rows, np.int64)])
    start = 0 if domain == "0 == 0" else 1
    np.testing.assert_array_equal(place, np.argmax(x[:, start:], 1) + start)
    np.testing.assert_array_equal(value, np.max(x[:, start:], 1))


@pytest.mark.parametrize("points", [4, 40], ids=["short", "long"])
def test_argmin_keeps_an_init_that_is_not_beaten(points):
    x = np.full((3, points), 5, np.int32)
    x[1, 2] = 3
    x[2, 1] = 4
    body = fill("v", (3,), "4", "i32") + fill("p", (3,), "77", "i64") + compute(
        "y:2", [("A", tensor_type(x.shape, "i32"), "i, j")],
        [("v", tensor_type((3,), "i32")), ("p", tensor_type((3,), "i64"))],
        x.shape, "pr", "i", '"ted.yield"(%a) : (i32) -> ()', "argmin",
    )  # fmt: skip
    t = [tensor_type((3,), "i32"), tensor_type((3,), "i64")]
    text = module_text([("A", tensor_type(x.shape, "i32"))], body, [("y#0", t[0]), ("y#1", t[1])])
    outputs = [np.zeros(3, np.int32), np.zeros(3, np.int64)]
    value, place = evaluate(text, [x], outputs, after="ted")  # equations have no such init
    np.testing.assert_array_equal(value, [4, 3, 4])
    np.testing.assert_array_equal(place, [77, 2, 77])


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_sums_accumulate_wider(kind):
    from unit.linalg.equation_text import DTYPES

    x = np.ones((2, 4096), np.float32).astype(DTYPES[kind])
    body = fill("z", (2,), "0.0", kind) + compute(
        "y", [("A", tensor_type(x.shape, kind), "i, j")], [("z", tensor_type((2,), kind))],
        x.shape, "pr", "i", f'"ted.yield"(%a) : ({kind}) -> ()', "add",
    )  # fmt: skip
    got = run([("A", x, kind)], body, (2,), kind, np.zeros(2, DTYPES[kind]))
    np.testing.assert_array_equal(got.astype(np.float32), [4096, 4096])


def test_bytes_wrap():
    x = np.full((2, 100), 7, np.int8)
    body = fill("z", (2,), "0", "i8") + compute(
        "y", [("A", tensor_type(x.shape, "i8"), "i, j")], [("z", tensor_type((2,), "i8"))],
        x.shape, "pr", "i", '"ted.yield"(%a) : (i8) -> ()', "add",
    )  # fmt: skip
    got = run([("A", x, "i8")], body, (2,), "i8", np.zeros(2, np.int8))
    np.testing.assert_array_equal(got, x.sum(1, dtype=np.int8))


@pytest.mark.parametrize(
    ("combiner", "expected"), [("add", [True, False]), ("mul", [False, False])]
)
def test_booleans_combine_as_logic(combiner, expected):
    x = np.array([[True, False, True], [False, False, False]])
    start = "false" if combiner == "add" else "true"
    body = fill("z", (2,), start, "i1") + compute(
        "y", [("A", tensor_type(x.shape, "i1"), "i, j")], [("z", tensor_type((2,), "i1"))],
        x.shape, "pr", "i", '"ted.yield"(%a) : (i1) -> ()', combiner,
    )  # fmt: skip
    got = run([("A", x, "i1")], body, (2,), "i1", np.zeros(2, bool))
    np.testing.assert_array_equal(got, expected)


def test_zero_extents_give_the_init():
    x = np.zeros((3, 0), np.float32)
    body = fill("z", (3,), "2.0") + compute(
        "y", [("A", tensor_type(x.shape), "i, j")], [("z", tensor_type((3,)))], (3, 0), "pr", "i",
        YIELD_A, "add",
    )  # fmt: skip
    np.testing.assert_array_equal(run([("A", x, "f32")], body, (3,)), [2, 2, 2])


def test_rank_zero():
    x = random(7)
    body = fill("z", ()) + compute(
        "y", [("A", tensor_type(x.shape), "i")], [("z", tensor_type(()))], (7,), "r", "",
        YIELD_A, "add",
    )  # fmt: skip
    got = run([("A", x, "f32")], body, ())
    np.testing.assert_allclose(got, x.sum(), rtol=1e-5)


@pytest.mark.parametrize("kind", ["f32", "f64", "i8"])
@pytest.mark.parametrize("shape", [(16, 16), (37, 50), (130, 200)])
def test_transposed_read(shape, kind):
    x = np.random.default_rng(0).integers(-50, 50, shape).astype(DTYPES[kind])
    t = tensor_type(shape[::-1], kind)
    body = f"%e = tensor.empty() : {t}\n" + compute(
        "y", [("A", tensor_type(shape, kind), "j, i")], [("e", t)], shape[::-1], "pp", "i, j",
        f'"ted.yield"(%a) : ({kind}) -> ()',
    )  # fmt: skip
    got = run([("A", x, kind)], body, shape[::-1], kind, np.zeros(shape[::-1], x.dtype))
    np.testing.assert_array_equal(got, x.T)


def test_permuted_read_with_other_operands():
    x, b = random(3, 20, 40), random(40)
    out = (3, 40, 20)
    body = "%e = tensor.empty() : tensor<3x40x20xf32>\n" + compute(
        "y", [("A", tensor_type(x.shape), "i, k, j"), ("B", tensor_type(b.shape), "j")],
        [("e", tensor_type(out))], out, "ppp", "i, j, k", PRODUCT,
    )  # fmt: skip
    got = run([("A", x, "f32"), ("B", b, "f32")], body, out)
    np.testing.assert_array_equal(got, x.transpose(0, 2, 1) * b[:, None])


def test_unit_window_max_with_padding_domain():
    x = random(2, 9, 9, 4)
    out = (2, 5, 5, 4)
    body = fill("z", out, "0xFF800000") + compute(
        "y", [("A", tensor_type(x.shape), "i, 2 * j + m - 1, 2 * k + n - 1, l")],
        [("z", tensor_type(out))], (*out, 3, 3), "pppprr", "i, j, k, l", YIELD_A, "max",
        domain="2 * j + m - 1 >= 0, 9 - 2 * j - m >= 0, 2 * k + n - 1 >= 0, 9 - 2 * k - n >= 0",
    )  # fmt: skip
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    windows = [padded[:, r : r + 9 : 2, s : s + 9 : 2] for r in range(3) for s in range(3)]
    np.testing.assert_array_equal(run([("A", x, "f32")], body, out), np.max(windows, 0))


def test_remainders_in_a_domain_split_into_residue_classes():
    x, w = random(7, 4), random(3, 4, 5)
    body = fill("z", (15, 5)) + compute(
        "y", [("A", tensor_type(x.shape), "(i - k) floordiv 2, l"),
              ("B", tensor_type(w.shape), "k, l, j")],
        [("z", tensor_type((15, 5)))], (15, 5, 3, 4), "pprr", "i, j", PRODUCT, "add",
        domain="(i + k) mod 2 == 0, i - k >= 0, 13 - i + k >= 0",
    )  # fmt: skip
    expected = np.zeros((15, 5), np.float32)
    for r in range(3):
        expected[r : r + 13 : 2] += x @ w[r]
    got = run([("A", x, "f32"), ("B", w, "f32")], body, (15, 5))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("start", ["fill", "argument"])
def test_a_map_that_adds_to_what_is_there_keeps_it(start):
    x, y0 = random(6), random(6)
    t = tensor_type((6,))
    init = fill("z", (6,), "3.0") if start == "fill" else ""
    name = "z" if start == "fill" else "B"
    body = init + compute("y", [("A", t, "i")], [(name, t)], (6,), "p", "i", YIELD_A, "add")
    got = run([("A", x, "f32"), ("B", y0, "f32")], body, (6,))
    np.testing.assert_allclose(got, x + (3 if start == "fill" else y0), rtol=1e-6)
