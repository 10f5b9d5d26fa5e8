"""Which equations are sums of products of two operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import ted
from ted import nn
from ted.linalg.contraction_forms import is_contraction
from ted.testing.tracing import interpreted
from unit.linalg.subdomains import kept_subdomains, subdomain_of


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with kept_subdomains():
        yield


def is_one(
    body: str, reads: str = "i, k; k, j", iterators: str = "ppr", combiner: str = "add",
    kinds: tuple[str, str] = ("f32", "f32"), guards: tuple[str, ...] = (),
) -> bool:  # fmt: skip
    """Whether an equation over i, j, k is a contraction."""
    extents = (9, 9, 9)[: len(iterators)]
    write = ((9, 9), "i, j")
    accesses = [((9, 9), subscripts) for subscripts in reads.split("; ")]
    end = f'\n"ted.yield"(%r) : ({kinds[0]}) -> ()'
    return is_contraction(
        subdomain_of(write, accesses, extents, iterators, body + end, kinds, combiner=combiner,
                 guards=guards)
    )  # fmt: skip


PRODUCT = "%r = arith.mulf %a, %b : f32"


def test_a_product_with_a_sum_and_dims_of_its_own_for_each_factor_is_one() -> None:
    assert is_one(PRODUCT)
    assert is_one("%r = arith.mulf %b, %a : f32", "k, j; i, k")
    assert is_one("%r = arith.muli %a, %b : i32", kinds=("i32", "i32"))
    wide = "%p = arith.extf %a : f16 to f32\n%q = arith.extf %b : f16 to f32\n"
    assert is_one(wide + "%r = arith.mulf %p, %q : f32", kinds=("f32", "f16"))


@pytest.mark.parametrize(
    ("body", "reads"),
    [(PRODUCT, "i, k; i, k"), (PRODUCT, "i, j; k, j"), (PRODUCT, "i, 0; 0, j"),
     (PRODUCT, "k, k; k, j"), ("%r = arith.addf %a, %b : f32", "i, k; k, j"),
     ("%r = arith.mulf %a, %a : f32", "i, k; k, j"),
     ("%e = math.exp %a : f32\n%r = arith.mulf %e, %b : f32", "i, k; k, j"),
     ("%p = arith.mulf %a, %b : f32\n%r = arith.mulf %p, %c : f32", "i, k; k, j; i, j")],
)  # fmt: skip
def test_other_products_and_dims_are_none(body: str, reads: str) -> None:
    assert not is_one(body, reads)


def test_what_is_not_summed_or_not_there_is_none() -> None:
    assert not is_one(PRODUCT, combiner="max")
    assert not is_one(PRODUCT, "i, 0; 0, j", "pp")
    assert not is_one(PRODUCT, guards=("i - 9 >= 0",))
    assert is_one(PRODUCT, guards=("i - 8 >= 0",))


READS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "flip": (ted.flip, np.flip),
    **{mode: (partial(ted.pad, pad_width=1, mode=mode), partial(np.pad, pad_width=1, mode=mode))
       for mode in ("reflect", "edge", "wrap")},
    "clipped": (lambda x: ted.compute(x.shape, lambda i, j: x[i, ted.minimum(j + 2, 8)]),
                lambda a: a[:, np.minimum(np.arange(9) + 2, 8)]),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
def test_windows_over_what_is_laid_out_anew_are_contractions(name: str) -> None:
    (anew, oracle), padding = READS[name], 2
    x, w = ted.placeholder((8, 9), "float64"), ted.placeholder((4, 1, 3, 5), "float64")
    y = nn.conv2d(anew(x)[None, None], w, padding=padding, layout="NCHW")
    f = ted.compile([x, w], [y, *ted.differentiate(ted.sum(y * y), [x, w])])
    assert "laid out anew is over" not in f.explain()
    assert re.search(r"conv2d, ted.compute .*: contraction", f.explain())
    draw = np.random.default_rng(3)
    a, b = draw.normal(size=(8, 9)), draw.normal(size=(4, 1, 3, 5))
    windows = sliding_window_view(np.pad(oracle(a), padding), (3, 5))
    found, dx, dw = f(a, b)
    expected = np.einsum("hwrs,oirs->iohw", windows, b)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dw, 2 * np.einsum("hwrs,iohw->oirs", windows, expected), rtol=1e-12)
    # y is linear in x: along dx, the square of y grows by dx * dx.
    moved = np.einsum(
        "hwrs,oirs->iohw", sliding_window_view(np.pad(oracle(dx), padding), (3, 5)), b
    )
    np.testing.assert_allclose(2 * np.sum(expected * moved), np.sum(dx * dx), rtol=1e-12)


@pytest.mark.parametrize(
    ("size", "layout", "dense"),
    [(3, "NCHW", [1, 1, 0]), (3, "NHWC", [0] * 3), (5, "NCHW", [1] * 3), (7, "NHWC", [1] * 3)],
)  # fmt: skip
def test_wide_and_scattered_borders_of_a_window_in_each_channel_are_zeros(
    size: int, layout: str, dense: list[int]
) -> None:
    last = layout == "NHWC"
    x = ted.placeholder((2, 12, 12, 5) if last else (2, 5, 12, 12), "float64")
    w = ted.placeholder((size, size, 5, 1) if last else (5, 1, size, size), "float64")
    y = nn.depthwise_conv2d(x, w, padding=size // 2, layout=layout)
    results = [y, *ted.differentiate(ted.sum(y * y), [x, w])]
    f = ted.compile([x, w], results)
    said = f.explain().partition("\n\n")[0]  # of forms, before what is said of rows
    forms = re.findall(r"ted.compute .*: (\w+)", said)
    assert [form == "contraction" for form in forms] == dense
    draw = np.random.default_rng(3)
    a, b = (draw.normal(size=t.shape) for t in (x, w))
    for found, expected in zip(f(a, b), interpreted([x, w], results)(a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_the_other_factor_is_turned_round_where_that_makes_both_dense() -> None:
    c, x, j = ted.placeholder((23,)), ted.placeholder((12, 7)), ted.reduce_axis(12)
    y = ted.compute((12, 7), lambda i, k: ted.sum(c[i - j + 11] * x[j, k], axis=j))
    f = ted.compile([c, x], y)
    assert ": contraction" in f.explain().partition("\n")[0]
    draw = np.random.default_rng(3)
    a, b = (draw.integers(-9, 9, t.shape).astype(np.float32) for t in (c, x))
    toeplitz = a[np.subtract.outer(np.arange(12), np.arange(12)) + 11]
    np.testing.assert_array_equal(f(a, b), toeplitz @ b)
