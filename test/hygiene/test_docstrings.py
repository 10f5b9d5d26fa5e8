"""Docstrings say which errors a function raises.

The rule: a public function or method that raises an error itself, or by a private function of its
module or a shared check of arguments, names the class after `Raises:`, or a base of it that says as
much. It may name more, which it passes on, as long as there are such classes.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from hygiene.raised_errors import NEVER_SEEN, Function, Sources

ROOT = Path(__file__).resolve().parents[2]
SAYS_NOTHING = {"TedError", "Exception", "BaseException"}  # unless just this is raised
SECTION = re.compile(r"Raises:(.*?)(?=\n\s*\n|\n\s*[A-Z][a-z]+:|\Z)", re.DOTALL)
LIKE_A_CLASS = re.compile(r"\A\s*(\w+)|\b([A-Z]\w+(?:Error|Failed))\b")  # what must be one


@cache
def sources() -> Sources:
    return Sources(ROOT / "python" / "ted", ROOT / "dialects")


def said(known: Sources, function: Function) -> set[str]:
    """The classes of errors that a docstring names after `Raises:`."""
    words = {word for section in SECTION.findall(function.doc) for word in section.split()}
    return {word.strip(".,;:") for word in words} & known.errors.keys()


def unsaid(known: Sources, function: Function) -> set[str]:
    """The classes that a function raises and neither names nor covers by a base."""
    named = said(known, function)
    return {
        name
        for name in known.raised(function)
        if name not in named and not known.errors[name] & (named - SAYS_NOTHING)
    }


def test_every_public_function_names_the_errors_that_it_raises() -> None:
    known = sources()
    found = [
        f"{function}: `Raises:` names {', '.join(sorted(missing))}"
        for function in known.functions
        if function.is_public and (missing := unsaid(known, function))
    ]
    assert not found, "\n".join(found)


def test_every_error_that_a_docstring_names_is_a_class_of_errors() -> None:
    known = sources()
    found = [
        f"{function}: a class of errors after `Raises:`, got {word}"
        for function in known.functions
        for section in SECTION.findall(function.doc)
        for word in map("".join, LIKE_A_CLASS.findall(section))
        if word not in known.errors
    ]
    assert not found, "\n".join(found)


# ------------------------------------------------------------------ the rule on small programs

ERRORS = """
from typing import NoReturn

class TedError(Exception):
    pass

class Broken(TedError):
    pass

class VeryBroken(Broken):
    pass

def fail(text: str) -> NoReturn:
    '''Raises: VeryBroken.'''
    raise VeryBroken(text)
"""


def raised(text: str, folder: Path, name: str = "f") -> set[str]:
    """What a function of a module raises that stands beside `ERRORS`."""
    (folder / "errors.py").write_text(ERRORS)
    (folder / "module.py").write_text(text)
    known = Sources(folder)
    (function,) = (f for f in known.functions if f.name == name)
    return known.raised(function)


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ("raise Broken", {"Broken"}),
        ("raise Broken(1) from None", {"Broken"}),
        ("raise ValueError", {"ValueError"}),
        ("raise _made()", {"Broken"}),
        ("fail('no')", {"VeryBroken"}),
        ("errors.fail('no')", {"VeryBroken"}),
        ("_helper()", {"KeyError"}),
        ("map(_helper, [])", {"KeyError"}),
        ("_Class(1)", {"IndexError"}),
        ("_Class(1).run()", {"IndexError", "TypeError"}),
        ("public()", set()),
        ("if isinstance(x, Broken): raise x", {"Broken"}),
        ("try: raise VeryBroken\n    except Broken: pass", set()),
        ("try: raise Broken\n    except VeryBroken: pass", {"Broken"}),
        ("try: raise Broken\n    except Broken: raise", {"Broken"}),
        ("try: raise Broken\n    except Broken: raise KeyError from None", {"KeyError"}),
        ("try: pass\n    except Broken: pass\n    else: raise Broken", {"Broken"}),
        ("try: raise Broken\n    except: pass", set()),
        ("with suppress(Broken): raise VeryBroken", set()),
        ("def inner(): raise Broken\n    return inner", {"Broken"}),
        ("raise AssertionError", set()),
    ],
)
def test_what_a_function_raises(body: str, errors: set[str], tmp_path: Path) -> None:
    helpers = (
        "def _made() -> Broken: return Broken()\n"
        "def _helper(): _again()\n"
        "def _again():\n    _helper()\n    raise KeyError\n"
        "def public(): raise OSError\n"
        "class _Class:\n"
        "    def __init__(self, n): raise IndexError\n"
        "    def run(self): raise TypeError\n"
    )
    assert raised(f"def f(x):\n    {body}\n{helpers}", tmp_path) == errors


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("from ted.frontend import checks\ndef f(x): checks.flag(x)", {"VeryBroken"}),
        ("from ted.frontend.checks import flag\ndef f(x): flag(x)", {"VeryBroken"}),
        ("from ted.frontend.others import flag\ndef f(x): flag(x)", set()),
        ("from ted.frontend import checks\ndef f(x): x.flag()", set()),
    ],
)
def test_a_shared_check_of_arguments_counts(text: str, errors: set[str], tmp_path: Path) -> None:
    folder = tmp_path / "ted" / "frontend"
    folder.mkdir(parents=True)
    for name in ("checks", "others"):
        (folder / f"{name}.py").write_text("def flag(x):\n    fail('no')\n")
    assert raised(text, tmp_path) == errors


def test_an_error_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="a class of errors that can be read, got raise x"):
        raised("def f(x): raise x", tmp_path)


@pytest.mark.parametrize(
    ("doc", "missing"),
    [
        ("Nothing.", {"VeryBroken"}),
        ("Raises: VeryBroken when it is.", set()),
        ("Raises: KeyError for a key; VeryBroken.", set()),
        ("Raises: Broken, its base.", set()),
        ("Raises: TedError, which says nothing.", {"VeryBroken"}),
        ("Mentions VeryBroken elsewhere.", {"VeryBroken"}),
        ("Raises: KeyError.\n\n    VeryBroken is in another paragraph.", {"VeryBroken"}),
    ],
)
def test_what_a_docstring_leaves_unsaid(doc: str, missing: set[str], tmp_path: Path) -> None:
    (tmp_path / "errors.py").write_text(ERRORS)
    (tmp_path / "module.py").write_text(f'def f():\n    """{doc}"""\n    raise VeryBroken\n')
    known = Sources(tmp_path)
    (function,) = (f for f in known.functions if f.name == "f")
    assert unsaid(known, function) == missing


def test_every_exception_to_the_rule_is_used() -> None:
    text = "".join(path.read_text() for path in (ROOT / "python" / "ted").rglob("*.py"))
    assert [what for what in NEVER_SEEN if f"raise {what}" not in text] == []
