"""Settings that all tests share.

All processes of one run share a cache of machine code, which begins empty and goes with the run.
Hypothesis has no deadlines, since machines differ in speed. What collecting thousands of tests and
importing the oracles leaves lives as long as the process, so the garbage collector need not walk
it again and again.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile

import pytest
from hypothesis import settings

settings.register_profile("ted", deadline=None, print_blob=True)
settings.load_profile("ted")


_CACHE = pytest.StashKey[str]()
# Cycles of a unit of work: with 1 every program that has loops is cut up for threads.
GRAIN = "TED_TEST_GRAIN"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.stash[_CACHE] = os.environ["TED_CACHE_DIR"] = tempfile.mkdtemp(prefix="ted-cache-")

    if GRAIN in os.environ:
        from ted.api import host, options

        options.host_cpu = lambda: host.host_cpu().with_grain(int(os.environ[GRAIN]))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _CACHE in config.stash:
        shutil.rmtree(config.stash[_CACHE], ignore_errors=True)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
