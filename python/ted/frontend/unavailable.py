"""Names of the language that this version does not have yet; each says so when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ted.frontend.locations import fail


def _unavailable(name: str, instead: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **options: Any) -> NoReturn:
        fail(f"{name}: not available in this version; {instead}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Not available in this version; {instead}."
    return function


scan = _unavailable("scan", "unroll a short recurrence in Python")
scatter = _unavailable("scatter", "gather by comparing an index with the data instead")
jvp = _unavailable("jvp", "use ted.vjp or ted.grad")
hvp = _unavailable("hvp", "differentiate the gradient again")
jacobian = _unavailable("jacobian", "differentiate with a head for each row")
vmap = _unavailable("vmap", "write the batch dim in the expression")
custom_vjp = _unavailable(
    "custom_vjp", "write the expression so that its gradient is the one meant"
)
checkpoint = _unavailable("checkpoint", "call the function as it is")
size = _unavailable("size", "pass Python integers as extents")
