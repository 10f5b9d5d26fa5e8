"""Modules that are loaded late, without looks for garbage meanwhile.

What modules make stays, and there is much of it: to look through it again and again took a tenth of
the time to a first result.
"""

from __future__ import annotations

import gc
import importlib
from typing import Any


def imported(name: str) -> Any:
    """The module of a name; Python looks for garbage again once it is loaded, if it did before."""
    looks = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        if looks:
            gc.enable()
