"""Arguments of another kind: a text, a list, a function where a tensor is meant, and the converse.

    make fuzz ORACLE=kinds COUNT=3000

A seed is one argument of one public function, in turn: of its right call (`public_calls.py`), a
part of a list there, or a keyword that the call leaves out. Each of `KINDS` takes its place. The
result must be a value or a TedError whose text names the function, within `SECONDS` of computing;
anything else that comes out is a fault, as are warnings.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import io
import os
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import ted
from fuzz.outcomes import Outcome
from fuzz.public_calls import GIVEN, METHOD, Call, calls, folder
from ted.errors import TedError

SECONDS = 5.0
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _tensor(shape: tuple[Any, ...], dtype: str = "float64") -> Any:
    return ted.placeholder(shape, dtype, name="other")


def _endless() -> list[Any]:
    found: list[Any] = [1.0]
    found.append(found)
    return found


KINDS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "a text": lambda: "text",
    "an empty text": lambda: "",
    "bytes": lambda: b"bytes",
    "a bool": lambda: True,
    "zero": lambda: 0,
    "an integer": lambda: 3,
    "a negative integer": lambda: -7,
    "a large integer": lambda: 2**40,
    "a huge integer": lambda: 10**400,
    "a float": lambda: 2.5,
    "NaN": lambda: float("nan"),
    "an infinity": lambda: float("-inf"),
    "a complex number": lambda: 1 + 2j,
    "a float of NumPy": lambda: np.float32(1.5),
    "an integer of NumPy": lambda: np.int8(2),
    "a list": lambda: [1, 2],
    "an empty list": list,
    "a ragged list": lambda: [[1.0, 2.0], [3.0]],
    "a list of texts": lambda: ["a", "b"],
    "a list of None": lambda: [None, None],
    "a list of tensors": lambda: [_tensor((3, 4)), _tensor((2,))],
    "a list in itself": _endless,
    "a tuple of floats": lambda: (0.5, 1.5),
    "a tuple of huge integers": lambda: (10**30, 10**30),
    "a dict": lambda: {"a": 1},
    "a set": lambda: {1, 2},
    "a range": lambda: range(3),
    "a slice": lambda: slice(1, 2),
    "dots": lambda: ...,
    "a generator": lambda: (n for n in (1, 2)),
    "a function": lambda: lambda *args: None,
    "a function that fails to fit": lambda: lambda: 1,
    "a builtin function": lambda: len,
    "a module": lambda: np,
    "a class": lambda: float,
    "a class of tensors": lambda: ted.Tensor,
    "an object": object,
    "an exception": lambda: ValueError("x"),
    "an element type": lambda: ted.float32,
    "a type of NumPy": lambda: np.dtype("int16"),
    "an array of objects": lambda: np.array([None, "a"], object),
    "an array of texts": lambda: np.array(["a", "b"]),
    "an array of times": lambda: np.array(["2020-01-01"], "datetime64[D]"),
    "an array of records": lambda: np.zeros(2, [("a", "f4")]),
    "an array of complex numbers": lambda: np.ones((3, 4), complex),
    "an array of long doubles": lambda: np.ones(3, np.longdouble),
    "an empty array": lambda: np.zeros((0,)),
    "an array of rank 0": lambda: np.array(1.0),
    "an array of integers": lambda: np.array([1, 0, 2]),
    "a tensor": lambda: _tensor((3, 4)),
    "a tensor of rank 0": lambda: _tensor(()),
    "a tensor of rank 6": lambda: _tensor((1, 2, 1, 2, 1, 2)),
    "a tensor of bools": lambda: _tensor((3, 4), "bool"),
    "a tensor of small integers": lambda: _tensor((2,), "int8"),
    "a tensor of wide unsigned integers": lambda: _tensor((3,), "uint64"),
    "a tensor of half floats": lambda: _tensor((3, 4), "bfloat16"),
    "a tensor without elements": lambda: _tensor((0, 4)),
    "a tensor of a symbolic size": lambda: _tensor((ted.size("n"), 4)),
    "a complex tensor": lambda: ted.complex(_tensor((3, 4)), _tensor((3, 4))),
    "a symbolic size": lambda: ted.size("n"),
    "an index": lambda: ted.reduce_axis(3),
    "a compiled function": lambda: ted.function(lambda a: a),
    "a key": lambda: ted.random.key(0),
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """An argument of a call: its position or its keyword, and which part of a list there."""

    name: str
    argument: int | str
    part: int | None = None

    def __str__(self) -> str:
        part = "" if self.part is None else f"[{self.part}]"
        return f"{self.name}({self.argument}{part})"


@functools.cache
def places() -> list[Place]:
    """Every argument of every public function."""
    return [place for call in calls().values() for place in _places(call)]


def _places(call: Call) -> Iterator[Place]:
    texts: dict[int | str, str] = {**dict(enumerate(call.args)), **call.options}
    if call.name.startswith(METHOD):
        del texts[0]
    for argument, text in texts.items():
        yield Place(call.name, argument)
        tree = ast.parse(text, mode="eval").body
        if isinstance(tree, (ast.List, ast.Tuple)) and tree.elts:
            yield Place(call.name, argument, len(tree.elts) - 1)
    given = len(call.args)
    parameters = inspect.signature(call.function).parameters
    for position, (name, parameter) in enumerate(parameters.items()):
        is_given = position < given or name in call.options
        if not is_given and parameter.kind not in VARIADIC:
            yield Place(call.name, name)


def attempt(place: Place, kind: str) -> str | None:
    """What is wrong with how a call with another kind of argument ends; None where nothing is."""
    call = calls()[place.name]
    args, options = call.made()
    given: Any = args if isinstance(place.argument, int) else options
    value = KINDS[kind]()
    if place.part is not None:
        old = list(given[place.argument])
        value = type(given[place.argument])([*old[: place.part], value, *old[place.part + 1 :]])
    given[place.argument] = value
    with _limited(), _beside():
        try:
            call.function(*args, **options)
        except TedError as error:
            return _nameless(call, error)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            # What a function of the user raises is the user's.
            if where.filename == GIVEN or where.name == "called":
                return None
            file = where.filename.rpartition("/ted/")[2]
            return f"{type(error).__name__}: {str(error)[:100]} at {file}:{where.lineno}"
    return None


@contextlib.contextmanager
def _beside() -> Iterator[None]:
    """In a folder for what calls write, without what they print, with warnings as errors."""
    before = os.getcwd()
    os.chdir(folder())
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("error")
        try:
            yield
        finally:
            os.chdir(before)


def _nameless(call: Call, error: TedError) -> str | None:
    """What is wrong with a message that does not say which function was called wrongly.

    Of what a given function does the place is in that.
    """
    if error.location is not None and error.location.file == GIVEN:
        return None
    functions = call.function, getattr(ted, call.short, call.function)
    names = {call.short, *(inspect.unwrap(f).__name__ for f in functions)}
    words = "|".join(map(re.escape, names))
    is_said = re.search(rf"\b({words})\b", error.message)
    return None if is_said else f"nameless: {error.message}"


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Seconds of computing, after which the call ends in a TimeoutError."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"more than {SECONDS} s of computing")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def check_argument(seed: int) -> Outcome:
    """One argument of a function by every kind; after the last one the first again."""
    every = places()
    place = every[seed % len(every)]
    faults = [f"{place} of {kind}: {fault}" for kind in KINDS if (fault := attempt(place, kind))]
    if faults:
        return Outcome("error", f"{place.name}: {len(faults)} kinds", "\n".join(faults))
    return Outcome("ok", counts={"calls": len(KINDS)})
