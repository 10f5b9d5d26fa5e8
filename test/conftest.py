"""Settings that all tests share: hypothesis without deadlines, since machines differ in speed."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("ted", deadline=None, print_blob=True)
settings.load_profile("ted")
