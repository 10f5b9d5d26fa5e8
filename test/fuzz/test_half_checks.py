"""A share of the programs on f16 and bf16, and that a wrong rounding is found."""

from __future__ import annotations

import pytest

from fuzz.oracles import answer
from fuzz.test_campaign import clean
from support.in_process import compile_here
from ted.math import half_casts
from ted.math.arithmetic import Num

BLOCK = 30


@pytest.mark.slow
def test_a_few_programs_agree_with_the_interpreter():
    assert clean("half", 0, 6).counts["within bounds"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(6, 186, BLOCK))
def test_many_programs_agree_with_the_interpreter(first: int):
    clean("half", first, BLOCK)


def test_a_wrong_rounding_is_found(monkeypatch: pytest.MonkeyPatch):
    def far(x: Num) -> Num:
        return half_casts.to_bf16_bits(x) + 8

    compile_here(monkeypatch)
    monkeypatch.setattr("ted.math.ted_expand_half_casts.to_bf16_bits", far)
    assert any(answer(("half", seed, True)).kind == "wrong" for seed in range(20, 24))
