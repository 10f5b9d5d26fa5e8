"""Functions that users pass in: refused before they are called, and never blamed for their own."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest

from ted.errors import FrontendError
from ted.frontend.checks import called, check_callable


class Adder:
    """An object that is called with two numbers."""

    def __call__(self, a: int, b: int) -> int:
        """a + b."""
        return a + b


def strict(a: int, /, b: int) -> int:
    return a + b


def named(a: int, *, b: int) -> int:
    return a + b


def broken(a: int, b: int) -> Any:
    return strict(a, b, 3)  # pyright: ignore[reportCallIssue]


FITTING: dict[str, Any] = {
    "lambda": lambda a, b: a + b, "object": Adder(), "bound method": Adder().__call__,
    "positional": strict, "any number": lambda *all: sum(all), "default": lambda a, b, c=0: a + b,
    "partial": functools.partial(lambda c, a, b: a + b, 0), "without a signature": max,
}  # fmt: skip


@pytest.mark.parametrize("case", FITTING)
def test_what_takes_the_arguments_is_called_with_them(case: str) -> None:
    check_callable(FITTING[case], "what")
    assert called("what", "fn(a, b)", FITTING[case], 0, 4) == 4


@pytest.mark.parametrize("wrong", [None, 3, "f", (lambda a, b: a,)])
def test_what_cannot_be_called_is_shown(wrong: Any) -> None:
    for check in (check_callable, lambda fn, what: called(what, "fn(a, b)", fn, 1, 2)):
        with pytest.raises(FrontendError) as caught:
            check(wrong, "scan: step")
        assert caught.value.message == (
            f"scan: step: takes a function of tensors, got {type(wrong).__name__} {wrong!r}"
        )
        assert caught.value.location is not None
        assert caught.value.location.file == __file__


@pytest.mark.parametrize(
    ("fn", "reason"),
    [
        (lambda a: a, "too many positional arguments"),
        (lambda a, b, c: a, "missing a required argument: 'c'"),
        (named, "too many positional arguments"),
        (Adder, "too many positional arguments"),
    ],
)
def test_parameters_that_do_not_fit_are_said_with_the_form_of_the_call(
    fn: Any, reason: str
) -> None:
    with pytest.raises(FrontendError) as caught:
        called("custom", "bwd(inputs, heads)", fn, 1, 2)
    assert caught.value.message == (
        "custom: the function is called as bwd(inputs, heads), got one that does not fit: "
        f"{reason}; it takes {inspect.signature(fn)}"
    )


def test_an_error_inside_the_function_is_its_own() -> None:
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        called("what", "fn(a, b)", broken, 1, 2)
