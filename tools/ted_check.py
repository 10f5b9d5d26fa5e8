"""ted-check: check the derivatives of the functions in a Python file against numbers.

The file lists what to check, with arrays to check it on:

    CHECK = [
        (loss, (weights, inputs)),               # ted's derivatives of a function of tensors
        (layer, layer_backward, (x,)),           # a hand-written VJP, see ted.testing.check_vjp
    ]

Every function is checked in double and in single precision, by forward and by reverse mode, what
is hand-written by reverse mode alone.  WRONG is a derivative that differs from the numbers, FAILED
what could not be compared, such as a function that raises.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ted.errors import FrontendError, TedError
from ted.tools.command_line import Parser, guarded, seed, show

MODES, TYPES = ("fwd", "rev"), ("float64", "float32")


def _parser() -> Parser:
    parser = Parser("ted-check", description=(__doc__ or "").splitlines()[0], allow_abbrev=False)
    parser.add_argument("file", help="Python file with a list CHECK of (function, arguments)")
    parser.add_argument("--order", type=int, default=2, help="highest order, 2 by default")
    parser.add_argument("--modes", type=_some_of(MODES), default=MODES, help="fwd,rev")
    parser.add_argument("--types", type=_some_of(TYPES), default=TYPES, help="float64,float32")
    parser.add_argument("--seed", type=seed, default=0, help="of cotangents and directions")
    return parser


def _some_of(known: Sequence[str]) -> Any:
    def words(text: str) -> tuple[str, ...]:
        found = tuple(text.split(","))
        if not set(found) <= set(known):
            raise argparse.ArgumentTypeError(f"must be some of {','.join(known)}, got '{text}'")
        return found

    return words


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit code: 1 when a derivative is wrong, or fails."""
    return guarded("ted-check", lambda: _main(argv), is_process=argv is None)


def _main(argv: Sequence[str] | None) -> int:
    flags = _parser().parse_args(argv)
    if flags.order < 1:
        raise FrontendError(f"order: must be at least 1, got {flags.order}")
    module = _loaded(flags.file)
    entries = _entries(module, flags.file)
    rows = [row for entry in entries for row in _checked(entry, flags)]
    _print(rows)
    for name in _unlisted(module, entries):
        print(f"ted-check: note: {name} is not in CHECK", file=sys.stderr)
    errors = {f"{row.name}, {row.dtype}: {row.error}": row for row in rows if row.error}
    for message in errors:
        print(f"ted-check: error: {message}", file=sys.stderr)
    return 1 if errors else 0


# ------------------------------------------------------------------ the user's file


@dataclass(frozen=True)
class Entry:
    """One element of CHECK."""

    function: Any
    backward: Any | None
    args: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)


def _loaded(path: str) -> ModuleType:
    """The file as a module; its directory can be imported from, as when it is run.

    Raises: FrontendError when the file is missing or fails.
    """
    if not Path(path).is_file():
        raise FrontendError(f"input: must be a Python file, got '{path}'")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise FrontendError(f"input: must be a Python file, got '{path}'")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(path).resolve().parent))
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a user's file may raise
        kind = type(error).__name__
        raise FrontendError(
            f"input: must be a Python file that runs, got {kind} in '{path}': {error}"
        ) from error
    return module


def _entries(module: ModuleType, path: str) -> list[Entry]:
    listed = getattr(module, "CHECK", None)
    if not isinstance(listed, (list, tuple)) or not listed:
        raise FrontendError(
            f"input: must have a list CHECK of (function, arguments), got none in '{path}'"
        )
    return [_entry(one, position) for position, one in enumerate(listed)]


def _entry(given: Any, position: int) -> Entry:
    parts: tuple[Any, ...] = given if isinstance(given, tuple) else ()
    if len(parts) in (2, 3) and all(map(callable, parts[:-1])):
        args = parts[-1] if isinstance(parts[-1], (list, tuple)) else (parts[-1],)
        return Entry(parts[0], parts[1] if len(parts) == 3 else None, tuple(args))
    raise FrontendError(
        f"CHECK[{position}]: must be (function, arguments) or (function, backward, arguments), "
        f"got {given!r}"
    )


def _unlisted(module: ModuleType, entries: Sequence[Entry]) -> list[str]:
    """The functions of ted in the file that CHECK does not mention."""
    from ted.api.functions import Function

    listed = {id(e.function) for e in entries}
    found = {k: v for k, v in vars(module).items() if isinstance(v, Function)}
    return [name for name, value in found.items() if id(value) not in listed]


# ------------------------------------------------------------------ checking


@dataclass(frozen=True)
class Row:
    """The outcome of one check."""

    name: str
    dtype: str
    order: int
    modes: str
    result: str = "ok"
    error: str = ""


def _checked(entry: Entry, flags: argparse.Namespace) -> Iterator[Row]:
    """A row for each type and mode, and one for both modes together, which adds their identity."""
    modes = flags.modes if entry.backward is None else ("rev",)
    for dtype in flags.types:
        for mode in modes:
            yield _row(entry, dtype, (mode,), flags)
        if len(modes) > 1:
            yield _row(entry, dtype, modes, flags)


def _row(entry: Entry, dtype: str, modes: tuple[str, ...], flags: argparse.Namespace) -> Row:
    from ted.testing.gradients import WrongDerivative

    name = entry.name if entry.backward is None else f"{entry.name} (written by hand)"
    what = (name, dtype, flags.order, "+".join(modes))
    try:
        _check(entry, dtype, modes, flags)
    except TedError as failure:
        wrong = isinstance(failure, WrongDerivative)
        return Row(*what, "WRONG" if wrong else "FAILED", str(failure))
    except Exception as failure:  # a user's function may raise anything
        return Row(*what, "FAILED", f"{type(failure).__name__}: {failure}")
    return Row(*what)


def _check(entry: Entry, dtype: str, modes: tuple[str, ...], flags: argparse.Namespace) -> None:
    import numpy as np

    from ted.frontend.trees import flatten, unflatten
    from ted.testing import check_grads
    from ted.testing.differences import is_float
    from ted.testing.gradients import paired
    from ted.testing.tracing import traced

    function, backward = entry.function, entry.backward
    function = function if backward is None else paired(function, backward)
    leaves, tree = flatten(list(entry.args))
    arrays = [np.asarray(leaf) for _, leaf in leaves]
    arrays = [a.astype(dtype) if is_float(a) else a for a in arrays]
    outputs, inputs = traced(function, unflatten(tree, iter(arrays)), arrays, what="ted-check")
    check_grads((outputs, inputs), arrays, flags.order, modes, flags.seed)


def _print(rows: Sequence[Row]) -> None:
    titles = ("function", "type", "orders", "modes", "result")
    table = [(r.name, r.dtype, _orders(r.order), r.modes, r.result) for r in rows]
    widths = [max(len(line[k]) for line in (titles, *table)) for k in range(len(titles))]
    for line in (titles, *table):
        show("  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)).rstrip())
    sys.stdout.flush()  # the table stands before what is wrong


def _orders(last: int) -> str:
    return f"1-{last}" if last > 1 else "1"


if __name__ == "__main__":
    sys.exit(main())
