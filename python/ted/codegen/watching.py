"""What a compilation is doing: seconds of its steps, a line in the log, a warning when it is long.

The logger is `ted.compile`; `TED_LOG=info` shows it without any code.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
from collections.abc import Callable
from functools import cache

LONG = 5.0  # seconds, after which a compilation says what it is doing
LEVELS = ("debug", "info", "warning", "error")
Doing = Callable[[str], object]
_log = logging.getLogger("ted.compile")


def ignored(step: str) -> None:
    """For those who do not ask."""
    del step


class Watch:
    """The steps of one compilation: called with the name of each when it begins.

    `times` gets the seconds of every step; steps of one name are added.
    """

    def __init__(self, name: str, times: dict[str, float]) -> None:
        self._name = name
        self._times = times
        self._step = ""
        self._first = self._began = time.perf_counter()
        self._over = threading.Event()

    def __call__(self, step: str) -> None:
        """The step before is over, this one begins."""
        now = time.perf_counter()
        if self._step:
            self._times[self._step] = self._times.get(self._step, 0.0) + now - self._began
        self._step, self._began = step, now

    def __enter__(self) -> Watch:
        _show_log()
        try:
            threading.Thread(target=self._warn, daemon=True, name="ted.compile").start()
        except RuntimeError:  # no thread may be started: nobody warns
            pass
        except BaseException:  # Ctrl-C while it starts
            self._over.set()
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._over.set()
        self("")
        if kind is None:
            slowest = sorted(self._times.items(), key=lambda item: -item[1])[:4]
            parts = ", ".join(f"{step} {seconds:.2f}" for step, seconds in slowest)
            _log.info("%s: %.2f s, of which %s", self._name, self._seconds(), parts)

    def _seconds(self) -> float:
        return time.perf_counter() - self._first

    def _warn(self) -> None:
        wait = LONG
        while not self._over.wait(wait):
            _log.warning(
                "%s: compiling for %.0f s, now at %s", self._name, self._seconds(), self._step
            )
            wait *= 2


@cache
def _show_log() -> None:
    """What `TED_LOG` asks for."""
    level = os.environ.get("TED_LOG", "")
    if level and level not in LEVELS:
        warnings.warn(f"TED_LOG: is one of {', '.join(LEVELS)}, got {level!r}", stacklevel=2)
    elif level:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        logger = logging.getLogger("ted")
        logger.addHandler(handler)
        logger.setLevel(level.upper())
