"""A right call of every public function and method, by its name.

The functions are those that the modules list, so a new one without a call fails: the first of
`CALLS` that it takes, or its line in `public_calls.txt`, or, of an operator, in
`docs/coverage_rows.txt`. A call is a text over the names of `values`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ted
from docs.coverage_page import CALLS, arrays
from docs.coverage_page import ROWS as OPERATORS
from ted.errors import TedError

MODULES = (
    "", "nn", "nn.init", "linalg", "special", "fft", "random", "testing", "tree", "cache",
)  # fmt: skip
_LINES = (Path(__file__).parent / "public_calls.txt").read_text().splitlines()
ROWS = {name: rest for name, *rest in (line.split(" : ", 1) for line in _LINES)}
MORE_CALLS = ("key, (3,)", "key, (3, 3)", "")
# What has no arguments, or does to the process what a test cannot undo.
LEFT = ("cache.clear", "cache.info", "get_num_threads", "testing.emulated_gpu")
METHOD = "Tensor."
GIVEN = "<given>"  # the file of the functions that calls give


@dataclass(frozen=True)
class Call:
    """A function and the texts of its arguments."""

    name: str
    function: Callable[..., Any]
    args: tuple[str, ...]
    options: dict[str, str]

    @property
    def short(self) -> str:
        """The name without modules."""
        return self.name.rpartition(".")[2]

    def made(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments, made anew."""
        given = values()

        def make(text: str) -> Any:
            return eval(compile(text, GIVEN, "eval"), given)

        return list(map(make, self.args)), {k: make(text) for k, text in self.options.items()}


@functools.cache
def folder() -> str:
    """A folder for what calls write."""
    return tempfile.mkdtemp(prefix="ted-kinds-")


@functools.cache
def values() -> dict[str, Any]:
    """What the texts may name: tensors, an array, a key, a file, a folder, a module's text."""
    found: dict[str, Any] = {
        name: ted.placeholder(value.shape, str(value.dtype), name=name)
        for name, value in arrays().items()
    }
    file = Path(folder()) / "nest.safetensors"
    if not file.exists():
        ted.save(file, [np.ones(3)])
    text = str(ted.module(found["x"] * 2))
    return {
        **found, "ted": ted, "np": np, "A": np.linspace(0.2, 0.8, 4), "key": ted.random.key(0),
        "file": str(file), "folder": str(Path(folder()) / "exported"), "text": text,
    }  # fmt: skip


def functions() -> dict[str, Callable[..., Any]]:
    """Every public function by its name, and the methods of tensors."""
    found: dict[str, Callable[..., Any]] = {}
    for home in MODULES:
        module = functools.reduce(getattr, filter(None, home.split(".")), ted)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                found[f"{home}.{name}".lstrip(".")] = value
    for name in dir(ted.Tensor):
        if not name.startswith("_") and inspect.isfunction(getattr(ted.Tensor, name)):
            found[METHOD + name] = getattr(ted.Tensor, name)
    return {name: value for name, value in sorted(found.items()) if name not in LEFT}


@functools.cache
def calls() -> dict[str, Call]:
    """A right call of each.

    Raises: LookupError for a function without one.
    """
    return {name: _call(name, function) for name, function in functions().items()}


def _call(name: str, function: Callable[..., Any]) -> Call:
    plain = name.removeprefix(METHOD)
    known = ROWS.get(plain) or OPERATORS.get(plain, ())[:1]
    if known:
        return _parsed(name, function, known[0])
    why: Exception | None = None
    for text in (*CALLS, *MORE_CALLS):
        call = _parsed(name, function, text)
        args, options = call.made()
        try:
            function(*args, **options)
        except (TedError, TypeError, ValueError, AttributeError) as error:
            why = error
            continue
        return call
    raise LookupError(f"{name}: a right call is a line in public_calls.txt, {why}")


def _parsed(name: str, function: Callable[..., Any], text: str) -> Call:
    tree = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(tree, ast.Call)
    options = {str(word.arg): ast.unparse(word.value) for word in tree.keywords}
    return Call(name, function, tuple(map(ast.unparse, tree.args)), options)
