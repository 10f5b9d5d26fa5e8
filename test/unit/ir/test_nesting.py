"""Text that is nested too deep for MLIR's parser."""

from __future__ import annotations

import pytest

from ted.errors import PassFailed
from ted.ir.nesting import MAX_DEPTH, check_nesting


def test_text_that_is_nested_too_deep_is_refused() -> None:
    check_nesting("(" * MAX_DEPTH + ")" * MAX_DEPTH)
    check_nesting("()" * (2 * MAX_DEPTH))
    check_nesting('"' + "(" * 2 * MAX_DEPTH + '"')
    check_nesting("// " + "[" * 2 * MAX_DEPTH + "\n")
    check_nesting("a -> b\n" * 2 * MAX_DEPTH)
    with pytest.raises(PassFailed, match=r"at most 500 deep, got more in line 2"):
        check_nesting("\n" + "[" * (MAX_DEPTH + 1))
    with pytest.raises(PassFailed, match="nest at most"):
        check_nesting("{" * (MAX_DEPTH + 1) + "}" * (MAX_DEPTH + 1))
    with pytest.raises(PassFailed, match="signs nest"):
        check_nesting("- " * 600 + "1")
