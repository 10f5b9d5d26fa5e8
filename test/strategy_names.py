"""Which rows of the table of strategies the kernels of a function come from: it says so itself."""

from __future__ import annotations

import re
from typing import Any

# `y, linalg.generic (model.py:41): points, lanes = 4`; why no other row is indented
_LINE = re.compile(r"^\S.*: (\w+)(?:, \w+ = .*)?$")


def strategy_names(function: Any) -> list[str]:
    """The names in the order of the kernels, without what only says where a kernel starts from."""
    kernels = function.explain().split("\n\n")[-1]  # behind what shares loops over rows
    lines = [line for line in kernels.splitlines() if not line.startswith(" ")]
    found = [match[1] for line in lines if (match := _LINE.match(line))]
    assert len(found) == len(lines), lines
    return [name for name in found if name != "start"]
