"""Every pass on every module of the IR tests: a result or a message, also where it does not belong.

The modules are of all levels, from equations to LLVM, so most are not what a pass expects. Each
pass meets every sixth module, others than its neighbours.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fuzz.isolation import End, isolated
from fuzz.pieces import modules, preload
from ted.ir.passes import available
from ted.tools import ted_opt

SHARE = 6
NEEDED = {"ted-limit-memory": "=bytes=1000", "ted-specialise-sizes": "=values=3,4"}


@pytest.mark.slow
@pytest.mark.parametrize(("number", "name"), list(enumerate(name for name, _ in available())))
def test_a_pass_gives_a_result_or_a_message(number: int, name: str, tmp_path: Path) -> None:
    preload()
    paths: list[Path] = []
    for text in modules()[number % SHARE :: SHARE]:
        paths.append(tmp_path / f"{len(paths)}.mlir")
        paths[-1].write_text(text, encoding="utf-8")

    flag = f"--{name}{NEEDED.get(name, '')}"

    def end(paths: list[Path]) -> End:
        return isolated(
            lambda: max(ted_opt.main([str(p), flag, "-o", os.devnull]) for p in paths),
            tmp_path,
        )

    together = end(paths)
    if together.fault:  # of which one, if it is one alone
        ends = [(end([path]), path.read_text(encoding="utf-8")) for path in paths]
        wrong = [(one, text) for one, text in ends if one.fault] or [(together, "all of them")]
        assert not wrong, "\n".join(f"{e.fault}: {e.text[-300:]}\n{text}" for e, text in wrong[:3])
