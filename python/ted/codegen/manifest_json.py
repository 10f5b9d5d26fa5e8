"""Manifest <-> JSON text: what a bundle holds and what lies in the cache on disk.

Before: Manifest(...)      After: '{"version": 1, "name": ..., "steps": [{"kind": "launch", ...}]}'
"""

from __future__ import annotations

import base64
import json
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ted.codegen.manifest import (
    VERSION,
    Copy,
    Launch,
    Linear,
    Loop,
    Manifest,
    Pointer,
    Scalar,
    TensorMap,
)
from ted.codegen.manifest_rules import validate
from ted.errors import CompileError

# The classes of which a field may hold several: their JSON says which.
_KINDS = {
    "launch": Launch, "copy": Copy, "loop": Loop,
    "pointer": Pointer, "scalar": Scalar, "tensormap": TensorMap, "linear": Linear,
}  # fmt: skip
_KIND_OF = {cls: kind for kind, cls in _KINDS.items()}
_NUMBERS = range(-(2**63), 2**63)


def dumps(manifest: Manifest) -> str:
    """A manifest as JSON text."""
    return json.dumps(_encode(manifest), separators=(",", ":"))


def loads(text: str) -> Manifest:
    """The manifest of a JSON text, checked.

    Raises: CompileError for text of another version, or that is no valid manifest.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of too many digits
        raise CompileError(f"manifest: expected JSON, got {error}") from None
    if not isinstance(data, dict) or data.get("version") != VERSION:
        got = data.get("version") if isinstance(data, dict) else type(data).__name__
        raise CompileError(
            f"manifest: this ted reads version {VERSION}, got {got}; save the program again"
        )
    try:
        manifest = _decode(Manifest, data, "manifest")
    except (ValueError, RecursionError) as error:
        raise CompileError(f"manifest: a field is missing or malformed: {error}") from None
    validate(manifest)
    return manifest


def _encode(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if is_dataclass(value):
        kind = _KIND_OF.get(type(value))
        own = {f.name: _encode(getattr(value, f.name)) for f in fields(value)}
        return own if kind is None else {"kind": kind, **own}
    if isinstance(value, tuple | list):
        return [_encode(v) for v in value]
    return value


def _decode(kind: Any, value: Any, place: str) -> Any:
    """A JSON value as one of an annotated type.

    Raises: ValueError with the place.
    """
    if is_dataclass(kind):
        return _object(kind, value, place)
    if isinstance(kind, UnionType):
        return _one_of(get_args(kind), value, place)
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind), value, place)
    if kind is bytes and isinstance(value, str):
        return base64.b64decode(value, validate=True)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if type(value) is kind and (kind is not int or value in _NUMBERS):
        return value
    raise ValueError(f"{place} must be of type {getattr(kind, '__name__', kind)}, got {value!r}")


def _object(kind: Any, value: Any, place: str) -> Any:
    known = _types(kind)
    given = dict(value) if isinstance(value, dict) else {}
    if kind in _KIND_OF and given.pop("kind", None) != _KIND_OF[kind]:
        raise ValueError(f"{place} must be a {_KIND_OF[kind]}, got {value!r}")
    needed = {f.name for f in fields(kind) if f.default is MISSING}
    if not needed <= set(given) <= set(known):
        raise ValueError(f"{place} must have fields of {[*known]}, got {[*given]}")
    return kind(**{name: _decode(known[name], v, f"{place}.{name}") for name, v in given.items()})


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, localns={"bytes": bytes})  # a class may have a field of that name


def _one_of(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    if isinstance(value, dict):
        kinds = tuple(k for k in kinds if is_dataclass(k) and _KIND_OF[k] == value.get("kind"))
    reasons = []
    for kind in kinds:
        try:
            return _decode(kind, value, place)
        except ValueError as error:  # noqa: PERF203 (of two or three)
            reasons.append(str(error))
    raise ValueError(" or ".join(reasons) or f"{place} is of no known kind, got {value!r}")


def _tuple(kinds: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{place} must be a list, got {value!r}")
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        raise ValueError(f"{place} must have {len(kinds)} elements, got {value!r}")
    return tuple(
        _decode(kind, v, f"{place}[{k}]")
        for k, (kind, v) in enumerate(zip(kinds, value, strict=True))
    )
