"""Which errors a function of ted raises by itself, read from the sources.

`Sources.raised` follows `raise`, calls of what never returns (`fail(...)`), the checks of arguments
that modules share, and the private functions, methods and classes of the same module, however deep.
It does not follow other public names: what these raise is in their own docstrings. What a function
catches, it does not raise.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hygiene.statements import statements

# What stands behind `raise` -> why no docstring names it.
NEVER_SEEN = {
    "type(error)": "the error of another function, with a better place",
    "isl.Error": "the budget around every question to isl makes BudgetExhausted of it",
    "AssertionError": "ted's own invariant",
}
# Modules of checks: who calls one refuses its arguments as if it did so by itself.
CHECKS = ("ted.frontend.checks", "ted.frontend.checks", "ted.nn.arguments")
BUILT = ("__init__", "__post_init__")
# What the docstring of the class may say too: how it is built, and what a pass refuses.
IN_CLASS = (*BUILT, "run")


@dataclass(frozen=True, eq=False)
class Function:
    """A function or method, where it stands."""

    module: Module
    name: str
    """With its classes, as in `Tensor.reshape`."""
    node: ast.FunctionDef
    doc: str

    @property
    def is_public(self) -> bool:
        """Whether no part of its name is private, or it runs when a public name is called."""
        *classes, name = self.name.split(".")
        called = name in (*IN_CLASS, "__call__")
        return (called or not name.startswith("_")) and not any(c.startswith("_") for c in classes)

    @property
    def is_helper(self) -> bool:
        """Whether some part of its name is private, so that only its module uses it."""
        return any(
            part.startswith("_") and not part.endswith("__") for part in self.name.split(".")
        )

    def __str__(self) -> str:
        return f"{'/'.join(self.module.path.parts[-3:])}:{self.node.lineno} {self.name}"


@dataclass(eq=False)
class Module:
    """The functions and methods of one file, by their own name, and by that of their class."""

    path: Path
    functions: dict[str, list[Function]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.path.read_text())
        self.is_of_checks = ".".join(self.path.with_suffix("").parts).endswith(CHECKS)
        self.checks = {
            alias.name
            for node in statements(self.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if node.module in CHECKS or f"{node.module}.{alias.name}" in CHECKS
        }
        self._collect(self.tree, "")

    def _collect(self, owner: ast.Module | ast.ClassDef, prefix: str) -> None:
        for node in owner.body:
            if isinstance(node, ast.ClassDef):
                self._collect(node, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef) and not _is_overload(node):
                docs = (node, owner) if node.name in IN_CLASS else (node,)
                text = "\n\n".join(ast.get_docstring(n) or "" for n in docs)
                function = Function(self, prefix + node.name, node, text)
                self.functions[node.name].append(function)
                if node.name in BUILT:
                    self.functions[prefix.split(".")[-2]].append(function)


@dataclass(eq=False)
class Part:
    """What a part of a function raises itself, what it uses, and its parts that catch errors."""

    raised: set[str] = field(default_factory=set)
    helpers: set[Function] = field(default_factory=set)
    guarded: list[tuple[set[str], Part]] = field(default_factory=list)


class Sources:
    """All modules below some folders."""

    def __init__(self, *folders: Path) -> None:
        paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
        self.modules = [Module(path) for path in paths]
        self.named: dict[str, set[Function]] = defaultdict(set)
        for module in self.modules:
            for name, functions in module.functions.items():
                self.named[name].update(functions)
        self.functions = sorted(set().union(*self.named.values()), key=str)
        self.errors = _families(self.modules)
        self._parts: dict[Function, Part] = {}

    def raised(self, function: Function, outer: frozenset[Function] = frozenset()) -> set[str]:
        """The names of the classes of errors that a function raises by itself."""
        if function not in self._parts:
            self._parts[function] = self._part(function.node.body, function)
        return self._raised(self._parts[function], outer | {function})

    def _raised(self, part: Part, outer: frozenset[Function]) -> set[str]:
        found = part.raised.union(*(self.raised(h, outer) for h in part.helpers - outer))
        for caught, inner in part.guarded:
            found |= {name for name in self._raised(inner, outer) if not self.errors[name] & caught}
        return found

    def _part(self, nodes: Sequence[ast.AST], inside: Function) -> Part:
        """What matters of statements or expressions of a function."""
        part, waiting = Part(), [*nodes]
        while waiting:
            node = waiting.pop()
            caught, body = _caught(node)
            if caught:
                part.guarded.append((caught, self._part(body, inside)))
            waiting += [n for n in ast.iter_child_nodes(node) if not caught or n not in body]
            if isinstance(node, ast.Raise) and node.exc is not None:
                part.raised |= self._class_of(node.exc, inside)
            part.helpers.update(self._helpers(node, inside))
        return part

    def _class_of(self, raised: ast.expr, inside: Function) -> set[str]:
        """The class behind `raise X`, `raise X(...)`, `raise make_x(...)` or `raise found`."""
        maker = raised.func if isinstance(raised, ast.Call) else raised
        if ast.unparse(maker) in NEVER_SEEN:
            return set()
        name = _last_name(maker)
        makers = inside.module.functions[name] or self.named[name]
        texts = [name, *map(_returned, makers)]
        tests = (ast.unparse(n) for n in ast.walk(inside.node) if isinstance(n, ast.Call))
        texts += [t[t.index(", ") + 2 : -1] for t in tests if t.startswith(f"isinstance({name}, ")]
        found = self.errors.keys() & texts
        assert found, f"{inside}: a class of errors that can be read, got raise {name}"
        return found

    def _helpers(self, node: ast.AST, inside: Function) -> Iterator[Function]:
        """The functions whose errors a name brings: a private one, or one that never returns."""
        here = inside.module.functions
        if (name := _last_name(node)).startswith("_"):
            yield from (f for f in here[name] if f.is_helper)
        elif isinstance(node, ast.Call) and (name := _last_name(node.func)):
            yield from (f for f in here[name] or self.named[name] if _returned(f) == "NoReturn")
            if {
                n.id for n in ast.walk(node.func) if isinstance(n, ast.Name)
            } & inside.module.checks:
                yield from (f for f in self.named[name] if f.module.is_of_checks)
            if isinstance(node.func, ast.Attribute):  # a method of a private class, most likely
                yield from (f for f in here[name] if f.is_helper and "." in f.name)


def _families(modules: Sequence[Module]) -> dict[str, set[str]]:
    """Every class of errors, of Python and of the modules -> itself and its bases."""
    found = {
        name: {base.__name__ for base in cls.__mro__}
        for name, cls in vars(builtins).items()
        if isinstance(cls, type) and issubclass(cls, BaseException)
    }
    classes = [n for m in modules for n in statements(m.tree) if isinstance(n, ast.ClassDef)]
    for _ in range(4):  # a class may stand before its base; no family is deeper
        for node in classes:
            bases = [found[_last_name(b)] for b in node.bases if _last_name(b) in found]
            if bases:
                found[node.name] = {node.name}.union(*bases)
    return found


def _caught(node: ast.AST) -> tuple[set[str], Sequence[ast.AST]]:
    """The classes that a `try` or `with suppress(...)` keeps from the user, and where from."""
    if isinstance(node, ast.Try):
        kept = [h for h in node.handlers if not any(map(_passes_on, ast.walk(h)))]
        types = [h.type or ast.Name("BaseException") for h in kept]
    elif isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items]
        types = [c for c in calls if isinstance(c, ast.Call) and _last_name(c.func) == "suppress"]
    else:
        return set(), ()
    return {_last_name(n) for t in types for n in ast.walk(t)}, node.body


def _passes_on(node: ast.AST) -> bool:
    """Whether an error that was taken goes on, as it is or with a better place."""
    return isinstance(node, ast.Raise) and (
        node.exc is None or ast.unparse(node.exc).startswith("type(error)(")
    )


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@cache
def _returned(function: Function) -> str:
    return ast.unparse(function.node.returns) if function.node.returns else ""


def _is_overload(node: ast.FunctionDef) -> bool:
    return any(_last_name(decorator) == "overload" for decorator in node.decorator_list)
