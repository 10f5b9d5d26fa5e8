"""What is said of calls with subnormal operands, which take processors long.

Before: the processor's flag behind a call      After: a line in the log, once
"""

from __future__ import annotations

SUBNORMAL = "subnormal operands"
WAY_OUT = 'subnormals="flush" takes them for zeros (docs/accuracy.md)'


class SubnormalNotice:
    """What the first such call of a function calls; `places` are the kernels, if they are known.

    Who asked for `subnormals` in so many words is not told.
    """

    def __init__(self, name: str, subnormals: str | None) -> None:
        self.name = name
        self.met = False
        self._is_asked_for = subnormals == "keep"
        self.places: set[str] = set()

    def __call__(self) -> None:
        """Say it, once."""
        is_said, self.met = self.met or self._is_asked_for, True
        if is_said:
            return
        import logging  # which most calls never need

        logging.getLogger("ted.subnormals").warning(
            "%s: a call met %s, which take processors long; f.profile(...) names the kernels, %s",
            self.name, SUBNORMAL, WAY_OUT,
        )  # fmt: skip

    def explained(self) -> str:
        """A paragraph, or nothing where no call met any."""
        if not self.met and not self.places:
            return ""
        where = ", ".join(sorted(self.places)) or "kernels that f.profile(...) names"
        return f"{SUBNORMAL}: met by {where}; {WAY_OUT}"
