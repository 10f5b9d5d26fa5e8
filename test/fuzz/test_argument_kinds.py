"""Arguments of another kind end in a value or in a message that names the function."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
import ted
from fuzz.argument_kinds import KINDS, attempt, places
from fuzz.public_calls import Call, calls, functions
from sweeps import swept

# What has been wrong by more than one way, and what other functions are made of.
FAST = (
    "arange", "asarray", "block", "concatenate", "digamma", "fft.fft2", "full", "gradient", "mean",
    "nn.conv2d", "nn.cross_entropy", "nn.init.ones", "nn.rnn", "pad", "quantile", "random.beta",
    "random.normal", "reciprocal", "scatter", "sum", "Tensor.flatten", "tree.flatten", "where",
)  # fmt: skip


def test_every_public_function_has_a_right_call() -> None:
    assert set(calls()) == set(functions())


@swept("name", sorted(functions()), FAST)
def test_a_right_call_is_right(name: str) -> None:
    call = calls()[name]
    args, options = call.made()
    call.function(*args, **options)


@swept("name", sorted(functions()), FAST)
def test_an_argument_of_another_kind_is_a_value_or_a_message(name: str) -> None:
    faults = [
        f"{place} of {kind}: {fault}"
        for place in places()
        if place.name == name
        for kind in KINDS
        if (fault := attempt(place, kind))
    ]
    assert not faults, "\n".join(faults)


def test_what_is_no_message_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(x: object, axis: int = 0) -> object:
        return x.shape[axis]  # type: ignore[attr-defined]

    monkeypatch.setattr("fuzz.argument_kinds.calls", lambda: {"odd": Call("odd", odd, ("x",), {})})
    monkeypatch.setattr("fuzz.argument_kinds.places", lambda: [])
    from fuzz.argument_kinds import Place

    assert "AttributeError" in (attempt(Place("odd", 0), "a text") or "")
    assert "IndexError" in (attempt(Place("odd", "axis"), "an integer") or "")
    assert attempt(Place("odd", 0), "a tensor") is None


def test_a_message_that_names_no_function_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call("odd", lambda x: ted.sum(x), ("x",), {})
    monkeypatch.setattr("fuzz.argument_kinds.calls", lambda: {"odd": call})
    from fuzz.argument_kinds import Place

    assert "nameless: sum" in (attempt(Place("odd", 0), "a text") or "")
