"""Every pass on every module of the IR tests: a result or a message, also where it does not belong.

The modules are of all levels, from equations to LLVM, so most are not what a pass expects. Each
pass meets every sixth module, others than its neighbours.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fuzz.isolation import isolated
from fuzz.pieces import modules, preload
from ted.ir.passes import available
from ted.tools import ted_opt

SHARE = 6


@pytest.mark.slow
@pytest.mark.parametrize(("number", "name"), list(enumerate(name for name, _ in available())))
def test_a_pass_gives_a_result_or_a_message(number: int, name: str, tmp_path: Path) -> None:
    preload()
    path, wrong = tmp_path / "in.mlir", []
    for text in modules()[number % SHARE :: SHARE]:
        path.write_text(text, encoding="utf-8")
        outcome = isolated(
            lambda: ted_opt.main([str(path), f"--{name}", "-o", os.devnull]), tmp_path
        )
        if outcome.fault:
            wrong.append(f"{outcome.fault}: {outcome.text[-300:]}\n{text}")
    assert not wrong, "\n".join(wrong[:3])
