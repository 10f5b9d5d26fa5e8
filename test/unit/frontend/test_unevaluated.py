"""What Python asks of tensors and scalars, and what they answer while they have no value."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.frontend.unevaluated import OUTSIDE, wrong_operand
from unit.frontend.tracing import run

X = ted.placeholder((3,), "float64", name="x")


def asked_of_an_element(question: Callable[[Any], Any]) -> Any:
    """The answer of an element inside an index lambda."""
    answers = []
    ted.compute((3,), lambda i: answers.append(question(X[i])) or X[i])
    return answers[0]


def asked_of_a_tensor(question: Callable[[Any], Any]) -> Any:
    return question(X)


ASKED = {"Tensor(x: float64[3])": asked_of_a_tensor, "Scalar(x[i]: float64)": asked_of_an_element}

NO_VALUE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "int": (int, f'write ted.cast(x, "int64"), or {OUTSIDE}'),
    "float": (float, 'write ted.sin for math.sin, ted.cast(x, "float64") for float(x), or '
              + OUTSIDE),
    "complex": (complex, "compute real and imaginary parts by themselves"),
    "round": (round, "write ted.round(x)"),
    "floor": (math.floor, "write ted.floor(x)"),
    "ceil": (math.ceil, "write ted.ceil(x)"),
    "trunc": (math.trunc, "write ted.trunc(x)"),
    "array": (np.asarray, "an array beside a tensor is a tensor, and ted.constant(array)[i] reads "
              "one at an index; its numbers are what ted.function(f)(*arrays) returns, if f makes "
              f"it: {OUTSIDE}"),
    "format": (lambda x: f"{x:.2f}", "print what a compiled function returns"),
}  # fmt: skip


@pytest.mark.parametrize("shown", ASKED)
@pytest.mark.parametrize("name", NO_VALUE)
def test_a_value_is_refused_with_what_to_write_instead(name: str, shown: str) -> None:
    question, advice = NO_VALUE[name]
    with pytest.raises(FrontendError) as caught:
        ASKED[shown](question)
    assert caught.value.message == (
        f"{name}: an expression has no value while it is being written, got {shown}; {advice}"
    )
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


@pytest.mark.parametrize("shown", ASKED)
def test_a_condition_is_chosen_by_and_not_asked(shown: str) -> None:
    with pytest.raises(FrontendError, match=r"no truth value while .* choose with ted\.where"):
        ASKED[shown](lambda x: 0 if x > 0 else 1)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("shown", ASKED)
def test_a_copy_would_be_no_part_of_the_program(shown: str, duplicate: Callable[..., Any]) -> None:
    with pytest.raises(FrontendError) as caught:
        ASKED[shown](duplicate)
    assert caught.value.message.startswith(f"copy: {shown} is part of a program, and a copy would")


@pytest.mark.parametrize(("shown", "kind"), list(zip(ASKED, ("tensor", "scalar"), strict=True)))
def test_a_missing_attribute_names_the_function_of_that_name(shown: str, kind: str) -> None:
    asked = ASKED[shown]
    for name, way in (("one_hot", "write ted.one_hot(x)"), ("nonsense", "its value exists")):
        with pytest.raises(AttributeError, match=f"a {kind} of ted has no attribute '{name}'; "):
            asked(operator.attrgetter(name))
        with pytest.raises(AttributeError) as caught:
            asked(operator.attrgetter(name))
        assert way in str(caught.value)
        assert not asked(lambda x, name=name: hasattr(x, name))


@pytest.mark.parametrize("shown", ASKED)
def test_text_without_a_format_is_that_of_the_expression(shown: str) -> None:
    assert ASKED[shown](lambda x: (f"{x}", str(x))) == (shown, shown)


def test_divmod_is_quotient_and_remainder() -> None:
    x = np.array([5.5, -5.5, 7.0])
    for found, expected in zip(run(lambda x: divmod(x, 2.0), x), divmod(x, 2), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("value", "shown", "is_array"),
    [
        ("x", "str", False), (None, "NoneType", False), ([1.0], "list", True),
        ((1, 2), "tuple", True), (np.zeros(2), "numpy.ndarray", True),
    ],
)  # fmt: skip
def test_an_operand_that_is_no_number_is_named_and_arrays_have_a_way_in(
    value: object, shown: str, is_array: bool
) -> None:
    with pytest.raises(FrontendError) as caught:
        wrong_operand("add", value)
    element = "; an array is read by ted.constant(array)[i], with one index for each of its dims"
    way = element if is_array else ""
    assert caught.value.message == (
        f"add: operands must be tensors, scalars or Python numbers, got {shown}{way}"
    )
    for left, right in () if is_array else ((X, value), (value, X)):
        with pytest.raises(FrontendError, match=f"operands must be tensors, .*, got {shown}"):
            operator.add(left, right)
