"""A trace is a program that nobody has compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.api import functions


def test_a_trace_and_a_module_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("compiled")

    f = ted.function(lambda x, s: ted.sin(x) * s)
    x = np.linspace(0, 1, 5)
    with monkeypatch.context() as patched:
        patched.setattr(functions, "compile_program", refused)
        patched.setattr(functions, "compile_sizes", refused)
        assert [t.shape for t in f.trace(x, 2.0).outputs] == [(5,)]
        assert "math.sin" in str(ted.module(f, x, 2.0))
        with pytest.raises(AssertionError, match="compiled"):
            f(x, 2.0)
    np.testing.assert_allclose(f(x, 2.0), np.sin(x) * 2, rtol=1e-14)


def test_what_is_traced_is_what_is_compiled() -> None:
    calls: list[int] = []

    def program(x: Any) -> Any:
        calls.append(1)
        return x + 1

    f = ted.function(program)
    x = np.zeros(3)
    f.trace(x)
    count = len(calls)
    np.testing.assert_array_equal(f(x), [1, 1, 1])
    assert len(calls) == count
    assert f.trace(x) is f.trace(x)
