"""A maximum and the index of it as one operation, where they are of the same points."""

from __future__ import annotations

import math
from dataclasses import replace

from ted.ir.dtypes import (
    INT64,
)  # fmt: skip
from ted.ir.equations import (
    Tensor,
)  # fmt: skip
from ted.ir.saved_values import saved_arguments
from ted.ir.scalar import (
    compare,
    dim,
    load,
)  # fmt: skip
from unit.autodiff.systems import defined
from unit.transforms.recurrences import equation, given

i, j, r = dim(0), dim(1), dim(2)


X, A, B = given("x", 4), given("a", 4, 3), given("b", 3, 5)


def test_a_maximum_and_its_index_are_one_operation() -> None:
    body = load(A, [i, j])
    search = equation((4, 3), body, "argmax", 1)
    y = defined("y", (4,), equation((4, 3), body, "max", 1), fill=-math.inf)
    arg = Tensor("arg", (4,), INT64, -1, (search,))
    assert saved_arguments([y, arg]) == {y: arg}
    started = replace(y, fill=0.0)
    assert saved_arguments([started, arg]) == {}
    assert saved_arguments([y, replace(arg, fill=0)]) == {}
    least = defined("y", (4,), equation((4, 3), body, "min", 1), fill=math.inf)
    assert saved_arguments([least, arg]) == {}
    part = equation((4, 3), body, "argmax", 1, compare("lt", j, i))
    assert saved_arguments([y, replace(arg, equations=(part,))]) == {}
    assert saved_arguments([y, arg, replace(arg, name="again")]) == {y: arg}
    assert saved_arguments([replace(y, time=0), arg]) == {}
