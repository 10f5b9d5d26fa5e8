"""How deep brackets and signs of MLIR text are nested.

MLIR's parser recurses and would end the process; text with more levels than any program has is
refused before it is parsed.
"""

from __future__ import annotations

import re

from ted.errors import PassFailed

MAX_DEPTH = 500
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|(?P<signs>(?:-\s*){500})|->|[<>]=|[(\[{<]|[)\]}>]'
)


def check_nesting(text: str) -> None:
    """Refuse text whose brackets or signs are nested too deep to be parsed.

    Raises: PassFailed with the line.
    """
    if sum(map(text.count, "([{<-")) <= MAX_DEPTH:
        return
    depth = 0
    for token in _TOKEN.finditer(text):
        bracket = token.group()
        if bracket in "([{<":
            depth += 1
        elif bracket in ")]}>":
            depth = max(depth - 1, 0)
        if depth > MAX_DEPTH or token["signs"]:
            line = text.count("\n", 0, token.start()) + 1
            raise PassFailed(
                f"input: brackets and signs nest at most {MAX_DEPTH} deep, got more in line {line}"
            )
