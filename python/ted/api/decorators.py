"""What decorates functions decorates methods, too."""

from __future__ import annotations

from types import MethodType
from typing import Any


class Decorator:
    """What stands for a function: as an attribute of a class it is bound as any function is."""

    def __get__(self: Any, instance: object, owner: type | None = None) -> Any:
        """The method of an object, which is its first argument."""
        return self if instance is None else MethodType(self, instance)
