"""What a fork must find: locks that are free in the child, and values that are made anew.

Only the thread that forks goes on in the child, so a lock that another one held there would be held
for ever. `Lock` becomes free in the child unless that thread itself holds it; what it guards must
be usable between any two lines, or have a function that makes it anew in the child (`in_child`).
`cached_property` takes no lock at all, as the one of the standard library does before Python 3.12,
for as long as the value is computed, and one for all objects of a class.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_Value = TypeVar("_Value")


_PROCESS = os.getpid()  # that imported this module


def is_forked() -> bool:
    """Whether this process was forked from one that had imported this module."""
    return os.getpid() != _PROCESS


class Lock:
    """A lock that one thread holds, any number of times; use it in a `with` block."""

    def __init__(self) -> None:
        self._free()
        _locks.add(self)

    def _free(self) -> None:
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._depth = 0

    def __enter__(self) -> Lock:
        self._lock.acquire()
        self._owner = threading.get_ident()
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
        self._lock.release()


class cached_property(Generic[_Value]):
    """An attribute that is computed when it is first asked for; two threads may both compute it."""

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[_Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...

    def __get__(self, instance: object | None, owner: type) -> cached_property[_Value] | _Value:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.name, self.function(instance))


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_functions: list[Callable[[], None]] = []


def in_child(function: Callable[[], None]) -> Callable[[], None]:
    """Call a function in every child of a fork, after its locks became free."""
    _functions.append(function)
    return function


def _after_fork() -> None:
    for lock in _locks:
        if lock._owner != threading.get_ident():
            lock._free()
    for function in _functions:
        function()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
