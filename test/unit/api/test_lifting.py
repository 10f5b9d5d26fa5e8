"""Placeholders for arguments, and the way back."""

from __future__ import annotations

import ted
from ted.api.lifting import lift, placeholder_like
from ted.ir.equations import reads


def test_lifted_arguments_are_placeholders_and_go_back() -> None:
    x = ted.placeholder((2,), "float64", name="x")
    y = x * 2.0
    lifted = lift({"a": y, "b": 3, "c": [x]})
    a, c = lifted.arguments["a"], lifted.arguments["c"][0]
    assert lifted.arguments["b"] == 3
    assert a.node.is_input
    assert c is not x
    back = lifted.lowered({"r": a, "n": 5, "s": a + c})
    assert back["r"].node is y.node
    assert back["n"] == 5
    assert {r.attr for e in back["s"].node.equations for r in reads(e)} == {y.node, x.node}
    same = placeholder_like(y)
    assert (same.shape, same.dtype, same.node.is_input, same.node.time) == (
        (2,), y.dtype, True, None,
    )  # fmt: skip
