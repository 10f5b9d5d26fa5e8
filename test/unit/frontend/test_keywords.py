"""Keywords of other libraries: accepted where they mean one thing, else refused with ted's word."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.frontend import keywords
from unit.frontend.tracing import run

X = ted.placeholder((2, 3), "float64", name="x")
ALIKE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "dim": (lambda: ted.sum(X, dim=0, keepdim=True), lambda: ted.sum(X, axis=0, keepdims=True)),
    "initial": (lambda: ted.max(X, axis=1, initial=2.0), lambda: ted.max(X, axis=1, init=2.0)),
    "lower": (lambda: ted.clip(X, lower=0, upper=1), lambda: ted.clip(X, min=0, max=1)),
    "a_min": (lambda: ted.clip(X, a_min=0), lambda: ted.clip(X, min=0)),
    "ddof": (lambda: ted.var(X, ddof=1), lambda: ted.var(X, correction=1)),
    "value": (lambda: ted.full((2,), value=1.0), lambda: ted.full((2,), fill_value=1.0)),
    "value of a complex one": (
        lambda: ted.full_like(ted.ones(2, "complex64"), value=2).imag,
        lambda: ted.full_like(ted.ones(2, "complex64"), fill_value=2).imag,
    ),
    "dims": (lambda: ted.flip(X, dims=(0,)), lambda: ted.flip(X, axis=(0,))),
    "shifts and dims": (
        lambda: ted.roll(X, shifts=1, dims=0), lambda: ted.roll(X, shift=1, axis=0),
    ),
    "repeats": (lambda: ted.repeat(X, repeats=2, axis=0), lambda: ted.repeat(X, 2, 0)),
    "reps": (lambda: ted.tile(X, reps=(2, 1)), lambda: ted.tile(X, (2, 1))),
    "copy": (lambda: ted.astype(X, "int32", copy=False), lambda: ted.astype(X, "int32")),
    "copy of a method": (lambda: X.reshape((6,), copy=True) * X.astype("int8", copy=False)[0, 0],
                         lambda: X.reshape((6,)) * X.astype("int8")[0, 0]),
    "device": (lambda: ted.zeros((2,), device=None), lambda: ted.zeros((2,))),
    "the device": (
        lambda: ted.zeros((2,), device=ted.__array_namespace_info__().default_device()),
        lambda: ted.zeros((2,)),
    ),
    "input": (lambda: ted.exp(input=X), lambda: ted.exp(X)),
    "a method": (lambda: X.mean(dim=1), lambda: X.mean(axis=1)),
    "attn_mask": (lambda: ted.nn.attention(X, X, X, attn_mask=X @ X.T),
                  lambda: ted.nn.attention(X, X, X, mask=X @ X.T)),
    "bounds of torch": (
        lambda: ted.nn.hardtanh(ted.nn.softshrink(X, lambd=0.1), min_val=-2.0, max_val=2.0),
        lambda: ted.nn.hardtanh(ted.nn.softshrink(X, bound=0.1), least=-2.0, most=2.0),
    ),
    "input and weight": (
        lambda: ted.nn.embedding(input=np.array([1, 0]), weight=ted.nn.normalize(X, p=1.0)),
        lambda: ted.nn.embedding(table=ted.nn.normalize(X, order=1.0), ids=np.array([1, 0])),
    ),
    "input and target": (
        lambda: ted.nn.cross_entropy(input=X, target=np.array([1, 0])),
        lambda: ted.nn.cross_entropy(logits=X, labels=np.array([1, 0])),
    ),
    "input1": (lambda: ted.nn.margin_ranking_loss(input1=X, input2=X * X, target=X),
               lambda: ted.nn.margin_ranking_loss(first=X, second=X * X, target=X)),
    "dim0": (lambda: X.swapaxes(dim0=0, dim1=1), lambda: ted.swapaxes(X, 0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_the_same_program_by_another_word(name: str) -> None:
    found, expected = (str(ted.module(made())) for made in ALIKE[name])
    assert found == expected


def test_decimals_round_as_numpy_does() -> None:
    x = np.array([0.125, 2.345, -17.5, 1250.0])
    found = run(lambda t: [ted.round(t, decimals=k) for k in (1, 2, -2)] + [t.round(2)], x)
    for mine, other in zip(found, [np.round(x, k) for k in (1, 2, -2, 2)], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-15)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a device": (lambda: ted.zeros((2,), device="gpu"), "zeros: takes shape, dtype, got device="),
    "no such word": (lambda: ted.sum(X, colour=0), "sum: takes x, axis, where, init, keepdims, "
                     "dtype, got colour="),
    "of another function": (lambda: ted.exp(X, dim=0), "exp: takes x, got dim="),
    "twice": (lambda: ted.sum(X, axis=0, dim=1), "sum: axis may be given once, "
              "got it also as dim="),
    "of a method": (lambda: X.cumsum(keepdim=True), "cumsum: takes x, axis, reverse, "
                    "dtype, got keepdim="),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_the_rest_is_refused_with_the_words_of_ted(name: str) -> None:
    made, message = BAD[name]
    with pytest.raises(FrontendError, match=re.escape(message)) as caught:
        made()
    assert "test_keywords.py" in str(caught.value)


def test_idle_keywords_are_in_signatures() -> None:
    idle = {f: [*inspect.signature(f).parameters][-1] for f in (ted.eye, ted.empty_like, ted.cast)}
    assert [*idle.values()] == ["device", "device", "device"]
    assert "copy" in inspect.signature(ted.cast).parameters


def test_words_of_the_standard_are_those_of_signatures() -> None:
    assert [*inspect.signature(ted.clip).parameters] == ["x", "min", "max"]
    assert [*inspect.signature(ted.full_like).parameters][:2] == ["x", "fill_value"]


def test_every_word_of_the_table_is_one_that_some_function_takes() -> None:
    modules = (ted, ted.nn, ted.nn.init, ted.linalg)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    functions = [inspect.signature(f).parameters for f in public if inspect.isfunction(f)]
    taken = {word for parameters in functions for word in parameters}
    assert {word for words in keywords.NEAR.values() for word in words} <= taken
