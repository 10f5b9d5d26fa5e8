"""Attributes of the wrong type: errors that name the operation, the rule and what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ted.errors import VerifyError
from ted.mlir import arith, ir, make_context
from ted.mlir.attributes import choice, pairs, positions, string, symbol


@pytest.fixture
def op() -> Iterator[ir.Operation]:
    with make_context(), ir.Location.file("model.py", 41, 0):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            found = arith.ConstantOp(ir.IndexType.get(), 7).operation
        for name, text in GIVEN.items():
            found.attributes[name] = ir.Attribute.parse(text)
        yield found


GIVEN = {
    "text": '"even"',
    "symbol": "@f",
    "numbers": "array<i64: 2, 0>",
    "short": "array<i32: 2, 0>",
    "pairs": "[array<i64: 0, 2>, array<i64: 1, 3>]",
    "triple": "[array<i64: 0, 1, 2>]",
    "half": "[array<i32: 0, 1>]",
    "negative": "[array<i64: -1, 2>]",
}


def test_what_fits_is_read(op: ir.Operation) -> None:
    assert symbol(op, "symbol") == "f"
    assert (string(op, "text", "other"), string(op, "none", "other")) == ("even", "other")
    assert choice(op, "text", ("first", "even")) == "even"
    assert choice(op, "none", ("first", "even")) == "first"
    assert positions(op, "numbers") == [2, 0]
    assert (pairs(op, "pairs", 4), pairs(op, "none", 4)) == ([(0, 2), (1, 3)], [])


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (lambda op: symbol(op, "text"), 'text must name a function, got "even"'),
        (lambda op: string(op, "numbers", ""), "numbers must be a string, got array<i64: 2, 0>"),
        (
            lambda op: choice(op, "text", ("first", "last")),
            'text must be one of "first", "last", got "even"',
        ),
        (lambda op: positions(op, "short"), "short must be numbers as in `array<i64: 0, 1>`, got"),
        (lambda op: positions(op, "text"), "text must be numbers as in `array<i64: 0, 1>`, got"),
        (lambda op: pairs(op, "numbers", 4), "numbers must be a list of pairs, got"),
        (lambda op: pairs(op, "half", 4), "half must be numbers as in `array<i64: 0, 1>`, got"),
        (
            lambda op: pairs(op, "triple", 4),
            "triple must list pairs of arguments in [0, 4), got",
        ),
        (lambda op: pairs(op, "pairs", 3), "pairs must list pairs of arguments in [0, 3), got"),
        (
            lambda op: pairs(op, "negative", 3),
            "negative must list pairs of arguments in [0, 3), got [-1, 2]",
        ),
    ],
)
def test_what_does_not_is_an_error(
    op: ir.Operation, read: Callable[[ir.Operation], object], error: str
) -> None:
    with pytest.raises(VerifyError) as caught:
        read(op)
    assert str(caught.value).startswith(f"arith.constant: {error}")
    assert str(caught.value).endswith("(model.py:41)")
