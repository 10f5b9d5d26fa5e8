"""Settings that all tests share.

Hypothesis has no deadlines, since machines differ in speed. What collecting thousands of tests and
importing the oracles leaves lives as long as the process, so the garbage collector need not walk
it again and again.
"""

from __future__ import annotations

import gc

from hypothesis import settings

settings.register_profile("ted", deadline=None, print_blob=True)
settings.load_profile("ted")


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
