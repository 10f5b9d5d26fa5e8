"""The names that `import ted` promises exist where its table says."""

from __future__ import annotations

import pytest

import ted


@pytest.mark.parametrize("name", ted.__all__)
def test_a_public_name_resolves(name: str) -> None:
    assert name == "newaxis" or getattr(ted, name) is not None
    assert name in dir(ted)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'ted' has no attribute 'nonsense'"):
        _ = ted.nonsense
