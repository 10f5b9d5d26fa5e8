"""`cp.async.bulk`: bulk and tensor copies."""

from __future__ import annotations

from ted.testing.ptx.building import Builder
from ted.testing.ptx.forms import Form, Step


def bulk_copy(form: Form, k: Builder) -> Step:
    """`cp.async.bulk` in its forms."""
    raise form.unknown("a copy")
