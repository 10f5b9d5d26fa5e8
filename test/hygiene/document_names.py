"""Names of Python in documents: spans in backticks, and whether the sources have what they name.

A document is text, so most spans are something else: operations, flags, formulas. What counts is a
path of a file, a call of one name, a dotted name that begins with `ted`, with one of its packages
or with a class, and a word of several words, with underscores or capitals.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from hygiene.statements import statements
from ted.forking import cached_property

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w./-]*\w\.(?:py|mlir|md|toml|txt|c|h)")
_CALL = re.compile(r"([A-Za-z_][\w.]*)\([^()]*\)")
_COMPOUND = re.compile(r"[a-z]\w*_\w+|(?:[A-Z][a-z0-9]+){2,}")
_OPERATION = re.compile(r"(?<![\w.])[a-z]+\.\w+")
_WORD = re.compile(r"[A-Za-z_]\w+")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")


def spans(text: str) -> list[str]:
    """What stands in backticks, outside of fenced blocks."""
    return _SPAN.findall(_FENCED.sub("", text))


class Names:
    """The names that the sources of a checkout define, and the words of all its files."""

    def __init__(self, root: Path, files: Iterable[Path]) -> None:
        self.root = root
        self.files = [path.relative_to(root).as_posix() for path in files]
        sources = ("python/", "dialects/", "tools/", "ptx-emulator/src/", "examples/")
        own = (name for name in self.files if name.startswith(sources))
        self.python = [root / name for name in own if name.endswith((".py", ".pyi"))]
        self._found: dict[Path, set[str]] = {}

    def missing(self, span: str) -> bool:
        """Whether a span names something of Python that is not there."""
        if _PATH.fullmatch(span):
            return not self._is_file(span)
        call = _CALL.fullmatch(span)
        if call and "." not in call[1]:
            return call[1] not in self._defined and not hasattr(builtins, call[1])
        name = call[1] if call else span
        if _DOTTED.fullmatch(name):
            return not self._is_dotted(name)
        return bool(_COMPOUND.fullmatch(name)) and name not in self._words

    def _is_file(self, path: str) -> bool:
        return any(name == path or name.endswith(f"/{path.lstrip('./')}") for name in self.files)

    def _is_dotted(self, name: str) -> bool:
        first, *rest = name.split(".")
        if first in self._members:
            return rest[0] in self._of_class(first)
        if first == "ted" or first in self._packages:
            whole = name if first == "ted" else f"ted.{name}"
            return self._is_module_or_in_one(whole) or name in self._operations
        return not _COMPOUND.fullmatch(first) or first in self._words

    def _is_module_or_in_one(self, name: str) -> bool:
        """Whether a module has the name, or a module defines or exports its last parts."""
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            path = self._modules.get(".".join(parts[:end]))
            if path is not None:
                rest = parts[end:]
                return not rest or rest[0] in self._names_in(path)
        return False

    def _names_in(self, path: Path) -> set[str]:
        """What a module defines, imports, or lists as a text, as lazy packages do."""
        if path not in self._found:
            self._found[path] = self._read_names(path)
        return self._found[path]

    def _read_names(self, path: Path) -> set[str]:
        tree = ast.parse(path.read_text())
        texts = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant))
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        imported = {alias.asname or alias.name for node in froms for alias in node.names}
        wholes = [self._modules[str(n.module)] for n in froms if n.names[0].name == "*"]
        return {
            *_bound(tree), *imported, *(text for text in texts if isinstance(text, str)),
            *(name for whole in wholes for name in self._names_in(whole)),
        }  # fmt: skip

    @cached_property
    def _modules(self) -> dict[str, Path]:
        found = {}
        folders = {"python/ted": "ted", "dialects": "ted.dialects", "tools": "ted.tools"}
        for folder, package in folders.items():
            for path in sorted((self.root / folder).rglob("*.py*")):  # a stub after its module
                if path.suffix in (".py", ".pyi"):
                    parts = path.relative_to(self.root / folder).with_suffix("").parts
                    name = ".".join((package, *parts)).removesuffix(".__init__")
                    found[name] = path
        return found

    @cached_property
    def _packages(self) -> set[str]:
        """The packages of ted; `torch.nn` is a name of torch's, not of `ted.torch`."""
        own = {name.split(".")[1] for name in self._modules if "." in name}
        return own - {"torch", "jax", "onnx"}

    @cached_property
    def _operations(self) -> set[str]:
        """Names of operations and attributes of ted and of MLIR: `linalg` and `gpu` are both."""
        return {found for text in self._texts for found in _OPERATION.findall(text)}

    @cached_property
    def _words(self) -> set[str]:
        stems = {Path(name).stem for name in self.files}
        return stems.union(*(_WORD.findall(text) for text in self._texts))

    @cached_property
    def _texts(self) -> list[str]:
        """The sources, but for these tests, which have names that are nowhere."""
        kept = (".py", ".pyi", ".mlir", ".toml", ".c", ".h", "Makefile", "CMakeLists.txt")
        names = [n for n in self.files if n.endswith(kept) and not n.endswith("document_names.py")]
        return [(self.root / name).read_text() for name in names]

    @cached_property
    def _members(self) -> dict[str, set[str]]:
        """Classes -> what their bodies define, with names of their bases as `base <name>`."""
        found: dict[str, set[str]] = defaultdict(set)
        for node in self._nodes:
            if isinstance(node, ast.ClassDef):
                found[node.name].update(_bound(node))
                found[node.name].update(f"base {ast.unparse(base)}" for base in node.bases)
        return dict(found)

    def _of_class(self, name: str) -> set[str]:
        own = self._members.get(name, set())
        bases = (m.removeprefix("base ").partition("[")[0] for m in own if m.startswith("base "))
        return own.union(*(self._of_class(b) for b in bases if b != name))

    @cached_property
    def _defined(self) -> set[str]:
        """Functions and classes, and parameters: documents call functions of users by those."""
        functions = (node for node in self._nodes if isinstance(node, ast.FunctionDef))
        parameters = {a.arg for f in functions for a in (*f.args.args, *f.args.kwonlyargs)}
        return parameters | {node.name for node in self._nodes}

    @cached_property
    def _nodes(self) -> list[ast.FunctionDef | ast.ClassDef]:
        """The functions and classes of all files, those inside of others too."""
        trees = [ast.parse(path.read_text()) for path in self.python]
        nodes = (node for tree in trees for node in statements(tree))
        return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _bound(owner: ast.Module | ast.ClassDef) -> set[str]:
    """Names that a body defines or assigns, and attributes that methods assign to `self`."""
    found = {node.name for node in owner.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(owner):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found
