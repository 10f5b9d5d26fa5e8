"""`ted.associative_scan` against JAX and NumPy: nests, directions, axes, size, refusals."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import compiled, placeholders, run

RNG = np.random.default_rng(3)
pytestmark = pytest.mark.usefixtures("float64_in_jax")


def affine(a, b):
    """Of x -> d x + s, first a and then b: does not commute."""
    return {"d": b["d"] * a["d"], "s": b["d"] * a["s"] + b["s"]}


@pytest.mark.fast(1)
@pytest.mark.parametrize(("count", "reverse"), [(1, False), (2, False), (7, True), (8, False)])
def test_prefixes_are_those_of_jax(count, reverse) -> None:
    elems = {"d": RNG.normal(size=(count, 2)), "s": RNG.normal(size=(count, 2))}
    wanted = jax.lax.associative_scan(affine, elems, reverse=reverse)
    found = run(
        lambda d, s: list(ted.associative_scan(affine, {"d": d, "s": s}, reverse).values()),
        elems["d"],
        elems["s"],
    )
    for value, expected in zip(found, wanted.values(), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-13)


def test_compiled_along_an_inner_axis() -> None:
    x = RNG.normal(size=(3, 5))
    (found,) = compiled(lambda x: [ted.associative_scan(ted.maximum, x, axis=-1)], x)
    np.testing.assert_array_equal(found, np.maximum.accumulate(x, axis=1))


def test_gradients_of_two_orders_and_those_of_jax() -> None:
    d, s = RNG.normal(size=(2, 5))

    def last(d, s):
        return ted.sum(ted.associative_scan(affine, {"d": d, "s": s})["s"] ** 2)

    def last_of_jax(d, s):
        return jnp.sum(jax.lax.associative_scan(affine, {"d": d, "s": s})["s"] ** 2)

    check_grads(last, (d, s), order=2)
    for k in range(2):
        wanted = jax.grad(last_of_jax, k)(d, s)
        np.testing.assert_allclose(ted.grad(last, k)(d, s), wanted, rtol=1e-12)


def test_the_program_grows_with_the_logarithm_of_the_elements() -> None:
    def equations(count):
        (x,) = placeholders(np.zeros(count))
        text = str(ted.module(ted.associative_scan(lambda a, b: a * b, x)))
        return text.count("ted.compute")

    sizes = [equations(2**k) for k in (4, 6, 8, 10)]
    assert len({b - a for a, b in pairwise(sizes)}) == 1
    assert sizes[-1] < 100


def test_no_element_and_no_other_dim() -> None:
    for shape in ((0,), (3, 0)):
        (found,) = run(lambda x: [ted.associative_scan(lambda a, b: a + b, x)], np.zeros(shape))
        assert found.shape == shape


REFUSED = {
    "fn keeps the nest of its arguments, *, got (*, *)": lambda x: ted.associative_scan(
        lambda a, b: (a, b), x
    ),
    "fn keeps shapes and types of its arguments, float64[2] for x0_slice, got bool[2]": lambda x: (
        ted.associative_scan(lambda a, b: a < b, x)
    ),
    "elems agree on the number of elements along axis, got 5 of x0, 4 of x0_slice": lambda x: (
        ted.associative_scan(affine, {"d": x, "s": x[1:]})
    ),
    "the function is called as fn(a, b)": lambda x: ted.associative_scan(lambda a: a, x),
    "takes a function of tensors, got int 3": lambda x: ted.associative_scan(3, x),
    "elems hold a tensor at least, got none": lambda x: ted.associative_scan(affine, []),
    "reverse: must be True or False, got 'no'": lambda x: ted.associative_scan(affine, x, "no"),
    "use ted.scan": lambda x: ted.associative_scan(
        affine, ted.placeholder((ted.size("n"),), "float64")
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals_name_the_rule_and_the_values(text) -> None:
    (x,) = placeholders(np.zeros(5))
    with pytest.raises(FrontendError) as caught:
        REFUSED[text](x)
    assert text in str(caught.value)
    assert "test_associative.py" in str(caught.value)
