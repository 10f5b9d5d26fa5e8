"""Settings that all tests share.

All processes of one run share a cache of machine code, which begins empty and goes with the run.
Each test derives its programs itself: others may do so with a part of ted replaced, as mutants do.
Hypothesis has no deadlines, since machines differ in speed. What collecting thousands of tests and
importing the oracles leaves lives as long as the process, so the garbage collector need not walk
it again and again. The tests of a file share a context of MLIR, as the programs of a worker do.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from hypothesis import settings

from support.emulated_cpu import ROW, emulate
from sweeps import mark_cases, of_other_shares
from ted import dialects

settings.register_profile("ted", deadline=None, print_blob=True)
settings.load_profile("ted")


_CACHE = pytest.StashKey[str]()
# Cycles of a unit of work: with 1 every program that has loops is cut up for threads.
GRAIN = "TED_TEST_GRAIN"
FAST = "fast(n): of the cases of this test n, evenly spread, are fast tests; the others are slow"
SHARE = "TED_TEST_SHARE"  # k/n: of the slow tests only share k of n


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", FAST)
    if not hasattr(config, "workerinput"):
        config.stash[_CACHE] = os.environ["TED_CACHE_DIR"] = tempfile.mkdtemp(prefix="ted-cache-")

    if ROW in os.environ:
        emulate(os.environ[ROW])

    if GRAIN in os.environ:
        from ted.api import host, options

        options.host_cpu = lambda: host.host_cpu().with_grain(int(os.environ[GRAIN]))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _CACHE in config.stash:
        shutil.rmtree(config.stash[_CACHE], ignore_errors=True)


_KEYED = ("ted.api.derived", "ted.api.programs")


def pytest_runtest_setup() -> None:
    """Keys of what is derived hold the name of the test and of the process."""
    for name in _KEYED:
        module: Any = sys.modules.get(name)
        if module is not None and not hasattr(module, "all_toolchain"):
            module.all_toolchain = module.toolchain
            module.toolchain = lambda whole=module.toolchain: (*_test(), *whole())


def _test() -> tuple[str, str]:
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0], str(os.getpid())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Cases that are slow; what is not of the wanted share of slow tests goes, see `sweeps`."""
    mark_cases(items)
    others = of_other_shares(items, os.environ.get(SHARE, "0/1"))
    config.hook.pytest_deselected(items=others)
    left = set(others)
    items[:] = [item for item in items if item not in left]


@pytest.fixture(autouse=True, scope="module")
def nothing_to_walk() -> None:
    """What was collected, and what earlier files left, is no longer walked."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def one_context() -> Iterator[None]:
    """Sessions enter the file's context: a new one takes 8 ms, and 2 MB that MLIR does not free."""
    with mock.patch.object(dialects, "_kept", [dialects.make_context()]):
        yield


@pytest.fixture
def float64_in_jax() -> Iterator[None]:
    """JAX computes in 64 bits in this test; a setting of the process would change other tests."""
    import jax

    with jax.enable_x64(True):
        yield
