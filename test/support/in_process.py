"""Compiling in the process of the test, for tests that replace a part of the compiler."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from ted.codegen import requests
from ted.codegen.watching import Doing
from ted.codegen.worker import answer


class Here:
    """Workers that are this process."""

    def prepare(self) -> None:
        """Nothing: it runs."""

    def request(self, message: dict[str, Any], timeout: float, doing: Doing) -> dict[str, Any]:
        """What a worker would answer."""
        del timeout
        return json.loads(json.dumps(answer(json.loads(json.dumps(message)), doing)))


@contextmanager
def compiling_here() -> Iterator[None]:
    """Compile in this process, and everything anew."""
    with (
        mock.patch.object(requests, "_workers", Here()),
        mock.patch.dict(os.environ, TED_CACHE_DIR=""),
    ):
        yield


def compile_here(patch: pytest.MonkeyPatch) -> None:
    """Compile in this process until the patch is undone, and everything anew."""
    patch.setattr(requests, "_workers", Here())
    patch.setenv("TED_CACHE_DIR", "")
