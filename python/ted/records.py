"""Dataclasses that cost little to define: a method is written when it is first looked up.

Before: `@dataclass(frozen=True) class A: x: int`      After: the same class and the same methods

`dataclasses.dataclass` writes and compiles six functions a class, 0.3 ms on the way to the first
result, where of 360 classes half are never made and two are ever compared: a seventh of the time.
Fields, `replace`, `fields` and whatever else asks `dataclasses` are of that module.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

# By its name, the text of a method of the fields that count, of `self` and of `other`.
_TEXTS = {
    "__eq__": """def __eq__(self, other):
        same = other.__class__ is self.__class__
        return ({self}) == ({other}) if same else NotImplemented""",
    "__hash__": "def __hash__(self): return hash(({self}))",
}
_MISSING = dataclasses.MISSING


class _Late:
    """A method that takes its own place in the class when it is asked for, by any thread."""

    def __init__(self, cls: type, name: str, write: Callable[[type], Any]) -> None:
        self._cls, self._name, self._write = cls, name, write

    def __get__(self, instance: object | None, owner: type) -> Any:
        method = self._write(self._cls)
        method.__qualname__ = f"{self._cls.__qualname__}.{self._name}"
        setattr(self._cls, self._name, method)
        return method if instance is None else method.__get__(instance, owner)


def _made(cls: type, name: str, text: str, **known: Any) -> Any:
    known["__name__"] = cls.__module__  # whoever looks for the user's line knows it by that
    exec(text, known)  # the text is made of names of fields
    return known[name]


def _initialiser(cls: type, sets: str) -> Any:
    """`__init__`, where the text `sets` gives one field, `name`, its `value`."""
    known: dict[str, Any] = {"_missing": _MISSING, "_set": object.__setattr__}
    arguments, lines = ["self"], ["pass"]
    for f in dataclasses.fields(cls):
        value, default = f.name, f"_of_{f.name}"
        if f.default_factory is not _MISSING:
            known[default], call = f.default_factory, f"{default}()"
            value = f"{call} if {f.name} is _missing else {f.name}" if f.init else call
            default = "_missing"
        elif f.default is not _MISSING:
            known[default] = f.default
        else:
            default = ""
        if f.init:
            arguments.append(f"{f.name}={default}" if default else f.name)
        if f.init or f.default_factory is not _MISSING:
            lines.append(sets.format(name=f.name, value=value))
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    text = f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines)
    return _made(cls, "__init__", text, **known)


def _compared(cls: type, text: str, name: str) -> Any:
    """`__eq__` or `__hash__` of the fields that count."""
    names = [f.name for f in dataclasses.fields(cls) if f.compare]
    of = {each: "".join(f"{each}.{name}," for name in names) for each in ("self", "other")}
    return _made(cls, name, text.format_map(of))


def _shown(cls: type) -> Any:
    """`__repr__`, also of what holds itself."""
    shown = ", ".join(f"{f.name}={{self.{f.name}!r}}" for f in dataclasses.fields(cls) if f.repr)
    text = f"def __repr__(self): return self.__class__.__qualname__ + f'({shown})'"
    return reprlib.recursive_repr()(_made(cls, "__repr__", text))


def _not_set(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _not_deleted(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _define(cls: type, frozen: bool, eq: bool, repr: bool) -> type:
    sets = "_set(self, {name!r}, {value})" if frozen else "self.{name} = {value}"
    late: dict[str, Callable[[type], Any]] = {"__init__": partial(_initialiser, sets=sets)}
    if repr:
        late["__repr__"] = _shown
    if eq:
        late |= {name: partial(_compared, text=text, name=name) for name, text in _TEXTS.items()}
    methods: dict[str, Any] = {name: _Late(cls, name, write) for name, write in late.items()}
    if frozen:
        methods |= {"__setattr__": _not_set, "__delattr__": _not_deleted}
    elif eq:
        methods["__hash__"] = None  # it changes
    for name, method in methods.items():
        if cls.__dict__.get(name) is None:  # as Python sets `__hash__` beside an `__eq__`
            setattr(cls, name, method)
    return dataclasses.dataclass(init=False, repr=False, eq=False)(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True):
        """The class as a dataclass."""
        define = partial(_define, frozen=frozen, eq=eq, repr=repr)
        return define if cls is None else define(cls)
