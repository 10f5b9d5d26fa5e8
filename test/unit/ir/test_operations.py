"""The table of operations: arities, kinds and weights that others rely on."""

from __future__ import annotations

import pytest

from ted.autodiff.rules import RULES
from ted.ir.operations import OPERATIONS


def test_arities() -> None:
    by_arity = {n: {name for name, row in OPERATIONS.items() if row.arity == n} for n in (1, 2, 3)}
    assert by_arity[3] == {"select"}
    assert {"add", "div", "pow", "atan2", "lt", "and", "bitand", "mod"} <= by_arity[2]
    assert {"neg", "not", "cast", "sqrt", "exp", "stop_gradient", "unchecked"} <= by_arity[1]
    assert sum(map(len, by_arity.values())) == len(OPERATIONS) == len(RULES)


@pytest.mark.parametrize(
    ("names", "weight"),
    [
        (("add", "sub", "mul", "neg", "abs", "maximum", "floor", "select", "lt", "and", "not"), 1),
        (("div", "fmod", "floordiv", "mod", "sqrt", "rsqrt", "cbrt"), 4),
        (("exp", "log1p", "sin", "tanh", "erf", "pow", "atan2"), 16),
        (("cast", "stop_gradient", "unchecked"), 0),
    ],
)
def test_weights(names: tuple[str, ...], weight: int) -> None:
    assert {OPERATIONS[name].weight for name in names} == {weight}


def test_kinds() -> None:
    kinds = {name: set(row.kinds) for name, row in OPERATIONS.items()}
    assert kinds["div"] == kinds["exp"] == {"float"}
    assert kinds["floordiv"] == kinds["mod"] == {"int", "index"}
    assert kinds["bitxor"] == {"int"}
    assert kinds["and"] == kinds["not"] == {"bool"}
    assert kinds["add"] == {"float", "int", "index"}
    assert kinds["lt"] == kinds["select"] == {"float", "int", "index", "bool"}
    assert kinds["unchecked"] == {"index"}
