"""How the check of a program ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Outcome:
    """`ok`, `useless`, `declined`, `rounding`, `wrong`, `error`; who waits adds `died`, `hung`.

    `rounding` is further off than a result may be, but by as much in every type in its epsilons.
    `label` is what failures of one class have in common; `detail` is for people.
    """

    kind: str
    label: str = ""
    detail: str = ""
    seconds: float = 0.0  # of computing
    counts: Mapping[str, int] = field(default_factory=dict)  # what a campaign adds up
    values: Mapping[str, float] = field(default_factory=dict)  # whose median and worst it tells

    @property
    def failed(self) -> bool:
        """Whether it is a finding."""
        return self.kind not in ("ok", "useless", "declined", "rounding")

    @property
    def failure(self) -> tuple[str, str]:
        """The class of the failure."""
        return self.kind, self.label


# What the documents say is refused, by a part of the message.
DECLINED = ("a carry must not go through a recurrence inside of a step",)


def failure_of(error: BaseException) -> Outcome:
    """An exception as an outcome; numbers, names and places do not matter for its class."""
    text = str(error)
    if any(part in text for part in DECLINED):
        return Outcome("declined", type(error).__name__)
    plain = re.sub(r"\(<string>.*?\)|\S*\d\S*|[\[(].*?[\])]", "", text)
    plain = re.sub(r"\s+", " ", plain)
    return Outcome("error", f"{type(error).__name__}: {plain[:60]}", text[:1500])
