"""`size`: extents that are known only when a function is called."""

from __future__ import annotations

from ted.domain.sizes import Size, Symbol, symbolic
from ted.frontend import checks
from ted.frontend.locations import fail


def size(name: str, min: int = 1, multiple_of: int = 1) -> Size:
    """A symbolic extent: `n` in `ted.placeholder((n, 2 * n + 1))`.

    Sizes of one name that promise the same are one size. They add, subtract, multiply, and divide
    by constants; what is promised (`min`, `multiple_of`) is what comparisons and proofs rest on,
    and is checked when a compiled function is called.

    Raises: FrontendError for a name that is no identifier, a negative `min`, or a `multiple_of`
    below 1.
    """
    if not isinstance(name, str) or not name.isidentifier():
        fail(f"size: the name must be an identifier, got {name!r}")
    least = checks.integer(min, f"size {name}: min")
    step = checks.integer(multiple_of, f"size {name}: multiple_of")
    if least < 0 or step < 1:
        fail(
            f"size {name}: min must be at least 0 and multiple_of at least 1, "
            f"got min={least}, multiple_of={step}"
        )
    return symbolic(Symbol(name, least, step))
