"""Manifest <-> JSON text: what a bundle holds and what lies in the cache on disk.

Before: Manifest(...)      After: '{"version": 1, "name": ..., "steps": [{"kind": "launch", ...}]}'
"""

from __future__ import annotations

import base64
import json
from dataclasses import fields, is_dataclass
from typing import Any

from ted.codegen.manifest import (
    VERSION,
    ArraySpec,
    Buffer,
    Check,
    Constant,
    Copy,
    Kernel,
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
# The class of each element of a field of Manifest.
_PARTS = {
    "inputs": ArraySpec, "outputs": ArraySpec, "kernels": Kernel, "buffers": Buffer,
    "constants": Constant, "checks": Check,
}  # fmt: skip


def dumps(manifest: Manifest) -> str:
    """A manifest as JSON text."""
    return json.dumps(_encode(manifest), separators=(",", ":"))


def loads(text: str) -> Manifest:
    """The manifest of a JSON text, checked.

    Raises: CompileError for text of another version, or that is no valid manifest.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise CompileError(f"manifest: expected JSON, got {error}") from None
    if not isinstance(data, dict) or data.get("version") != VERSION:
        got = data.get("version") if isinstance(data, dict) else type(data).__name__
        raise CompileError(
            f"manifest: this ted reads version {VERSION}, got {got}; save the program again"
        )
    try:
        made = {name: _part(name, value) for name, value in data.items()}
        manifest = Manifest(**made)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
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


def _part(name: str, value: Any) -> Any:
    if name not in _PARTS:
        return _decode(value)
    cls = _PARTS[name]
    return tuple(cls(**{key: _field(key, v) for key, v in part.items()}) for part in value)


def _field(key: str, value: Any) -> Any:
    return base64.b64decode(value, validate=True) if key == "data" else _decode(value)


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(v) for v in value)
    if isinstance(value, dict):
        rest = {key: _decode(v) for key, v in value.items() if key != "kind"}
        return _KINDS[value["kind"]](**rest)
    return value
