"""All deliberate faults that a fixed table of operators makes in one module.

A mutant is one edit of the text: a span and what replaces it. Documentation, annotations,
decorators, imports and what messages say are left alone. Its key is made of the function, the
operator, the text and how often that came before, so edits elsewhere in the file do not change it.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Edit: TypeAlias = "tuple[str, str | ast.AST]"  # operator, what stands there instead

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_METHODS = {"union": "intersect", "intersect": "union", "startswith": "endswith"}
_WORDS = {
    "max": "min", "min": "max", "argmax": "argmin", "add": "sub", "mul": "add", "set": "add",
    "lt": "le", "le": "lt", "eq": "ne", "ne": "eq", "and": "or", "or": "and", "sub": "add",
    "round": "floor", "floor": "round", "ceil": "floor", "sin": "cos", "cos": "sin",
    "sinh": "cosh", "cosh": "sinh", "floordiv": "mod", "mod": "floordiv", "clip": "drop",
    "parallel": "reduction", "reduction": "parallel",
}  # fmt: skip
_WITHOUT = {"sorted": "list", "reversed": "list", "set": "list", "abs": "int", "bool": "int"}
_TYPES = ("dict", "list", "tuple", "set", "frozenset", "Callable", "Mapping", "Sequence")


@dataclass(frozen=True)
class Mutant:
    """One fault: the span [start, end) of a module's bytes, and the text that replaces it."""

    module: str
    function: str
    line: int
    end_line: int
    operator: str
    start: int
    end: int
    before: str
    after: str
    key: str

    @property
    def runs_at_import(self) -> bool:
        """Whether the text is in the body of the module or of a class."""
        last = self.function.rpartition(".")[2].lstrip("_")
        return last == "" or last[0].isupper() or last[0] == "<"

    def text(self, source: bytes) -> str:
        """The module with the fault in it."""
        return (source[: self.start] + self.after.encode() + source[self.end :]).decode()


def mutants_of(module: str, path: Path) -> list[Mutant]:
    """Every fault that the operators make in the file, in the order of the text."""
    source = path.read_bytes()
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    found: dict[tuple[int, int, str], Mutant] = {}
    seen = Counter[str]()
    for node, function in _places(ast.parse(source), "<module>"):
        for place, operator, new in _edits(node):
            start = offsets[place.lineno - 1] + place.col_offset
            end = offsets[place.end_lineno - 1] + place.end_col_offset
            before = source[start:end].decode()
            after = new if isinstance(new, str) else _written(new)
            name = f"{module}:{function}:{operator}:{before}->{after}"
            seen[name] += 1
            key = hashlib.sha256(f"{name}#{seen[name]}".encode()).hexdigest()[:12]
            mutant = Mutant(module, function, place.lineno, place.end_lineno, operator, start, end,
                            before, after, key)  # fmt: skip
            found.setdefault((start, end, after), mutant)
    return sorted(found.values(), key=lambda m: (m.start, m.end, m.operator, m.after))


def _written(node: ast.AST) -> str:
    """In parentheses, but for what only brackets may hold."""
    if isinstance(node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.elts):
        return ast.unparse(ast.Subscript(ast.Name("_"), node))[2:-1]
    return f"({ast.unparse(node)})"


# ---- where ---------------------------------------------------------------------------------------


def _places(node: ast.AST, function: str) -> Iterator[tuple[Any, str]]:
    """Statements and expressions that may change, each with the name of what they are in."""
    if isinstance(node, ast.expr | ast.stmt):
        yield node, function
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = node.name if function == "<module>" else f"{function}.{node.name}"
    for child in _children(node):
        yield from _places(child, function)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Raise):
        return
    if isinstance(node, ast.Subscript) and _name(node.value) in _TYPES:
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    skipped: list[Any] = []
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
        skipped += node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
    if isinstance(node, ast.FunctionDef):
        skipped += [*node.decorator_list, node.returns]
    if isinstance(node, ast.ClassDef):
        skipped += [*node.decorator_list, *node.bases]
    if isinstance(node, ast.arg | ast.AnnAssign):
        skipped.append(node.annotation)
    if isinstance(node, ast.Assign | ast.AnnAssign) and _is_declaration(node):
        return
    if isinstance(node, ast.Assert):
        skipped.append(node.msg)
    yield from (child for child in ast.iter_child_nodes(node) if child not in skipped)


def _is_declaration(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether this says what is public, or names a type."""
    if isinstance(node, ast.AnnAssign):
        return _name(node.annotation) == "TypeAlias"
    return any(_name(target).startswith("__") for target in node.targets)


def _name(node: ast.AST) -> str:
    return getattr(node, "id", getattr(node, "attr", ""))


# ---- what ----------------------------------------------------------------------------------------


def _edits(node: Any) -> Iterator[tuple[Any, str, str | ast.AST]]:
    for operator, new in _EDITS.get(type(node), lambda _: ())(node):
        yield node, operator, new
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test, "condition", ast.UnaryOp(ast.Not(), node.test)


def _compare(node: ast.Compare) -> Iterator[Edit]:
    for at, op in enumerate(node.ops):
        for new in _COMPARISONS[type(op)]:
            ops = [*node.ops[:at], new(), *node.ops[at + 1 :]]
            yield "comparison", ast.Compare(node.left, ops, node.comparators)


def _binary(node: ast.BinOp) -> Iterator[Edit]:
    of_types = isinstance(node.op, ast.BitOr) and _name(node.left)[:1].isupper()
    for new in () if of_types else _ARITHMETIC.get(type(node.op), ()):
        yield "arithmetic", ast.BinOp(node.left, new(), node.right)


def _unary(node: ast.UnaryOp) -> Iterator[Edit]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield "sign or not", node.operand


def _boolean(node: ast.BoolOp) -> Iterator[Edit]:
    swapped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "and/or", ast.BoolOp(swapped, node.values)
    for at in range(len(node.values)):
        rest = [*node.values[:at], *node.values[at + 1 :]]
        yield "term left out", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _constant(node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int | float):
        yield "constant", ast.Constant(value + 1)
        yield "constant", ast.Constant(value - 1)
    elif value in _WORDS:
        yield "word", ast.Constant(_WORDS[value])


def _call(node: ast.Call) -> Iterator[Edit]:
    for at, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            rest = [*node.keywords[:at], *node.keywords[at + 1 :]]
            yield "keyword left out", ast.Call(node.func, node.args, rest)
    for at in range(len(node.args) - 1):
        a, b = node.args[at : at + 2]
        starred = isinstance(a, ast.Starred) or isinstance(b, ast.Starred)
        if not starred and ast.dump(a) != ast.dump(b):
            args = [*node.args[:at], b, a, *node.args[at + 2 :]]
            yield "arguments swapped", ast.Call(node.func, args, node.keywords)
    function, name = node.func, _name(node.func)
    if isinstance(function, ast.Name) and name in _CALLS:
        yield "call", ast.Call(ast.Name(_CALLS[name]), node.args, node.keywords)
    if isinstance(function, ast.Attribute) and name in _METHODS:
        other = ast.Attribute(function.value, _METHODS[name])
        yield "call", ast.Call(other, node.args, node.keywords)
    if isinstance(function, ast.Name) and name in _WITHOUT and len(node.args) == 1:
        yield "call left out", ast.Call(ast.Name(_WITHOUT[name]), node.args, [])


def _collection(node: Any) -> Iterator[Edit]:
    if isinstance(getattr(node, "ctx", None), ast.Store) or len(node.elts) < 2:
        return
    for at in range(len(node.elts)):
        elts = [*node.elts[:at], *node.elts[at + 1 :]]
        yield "element left out", ast.Set(elts) if isinstance(node, ast.Set) else type(node)(elts)


def _dictionary(node: ast.Dict) -> Iterator[Edit]:
    for at in range(len(node.keys)):
        keys, values = list(node.keys), list(node.values)
        del keys[at], values[at]
        yield "row left out", ast.Dict(keys, values)


def _comprehension(node: Any) -> Iterator[Edit]:
    for at, part in enumerate(node.generators):
        for which in range(len(part.ifs)):
            without = [*part.ifs[:which], *part.ifs[which + 1 :]]
            negated = [*without, ast.UnaryOp(ast.Not(), part.ifs[which])]
            for name, ifs in (("filter left out", without), ("condition", negated)):
                new = ast.comprehension(part.target, part.iter, ifs, part.is_async)
                generators = [*node.generators[:at], new, *node.generators[at + 1 :]]
                fields = {f: getattr(node, f) for f in node._fields if f != "generators"}
                yield name, type(node)(**fields, generators=generators)


def _statement(node: Any) -> Iterator[Edit]:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        yield "statement left out", "pass"


def _assignment(node: ast.Assign) -> Iterator[Edit]:
    if not any(isinstance(t, ast.Name | ast.Tuple) for t in node.targets):
        yield "statement left out", "pass"


def _return(node: ast.Return) -> Iterator[Edit]:
    if node.value is not None and not (
        isinstance(node.value, ast.Constant) and node.value.value is None
    ):
        yield "return of None", "return None"


_EDITS: dict[type[ast.AST], Callable[[Any], Iterator[Edit]]] = {
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Constant: _constant,
    ast.Call: _call,
    ast.Tuple: _collection,
    ast.List: _collection,
    ast.Set: _collection,
    ast.Dict: _dictionary,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Expr: _statement,
    ast.AugAssign: _statement,
    ast.Raise: _statement,
    ast.Assert: _statement,
    ast.Delete: _statement,
    ast.Assign: _assignment,
    ast.Return: _return,
    ast.Break: lambda _: iter([("break/continue", "continue")]),
    ast.Continue: lambda _: iter([("break/continue", "break")]),
}
