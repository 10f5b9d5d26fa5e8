"""Calls of a module's own functions are expanded in place, so that a kernel is one list.

A function's parameters and results are the caller's `.param` variables.  PTX passes them through
memory of the thread, and so does the interpreter: they become local variables.
"""

from __future__ import annotations

from dataclasses import replace

from ptx_emulator.errors import UnknownInstruction
from ptx_emulator.scopes import resolved_operand
from ptx_emulator.syntax import Function, Group, Instruction, Module, Name, Operand

STOPPING = frozenset({"__assertfail", "__assert_fail", "abort"})
END = "%end"


def inlined(module: Module, name: str) -> Function:
    """A copy of an entry whose calls of other functions are replaced by their bodies.

    Raises: UnknownInstruction for recursion, calls through a register, unknown functions.
    """
    if name not in module.kernels:
        known = ", ".join(module.kernels)
        raise UnknownInstruction(f"ptx: a kernel of the module ({known}), got {name}")
    source = module.functions[name]
    return _Expansion(module).expand(source, ())


class _Expansion:
    """Counts the copies of functions, so that each has names of its own."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.copies = 0

    def expand(self, source: Function, callers: tuple[str, ...]) -> Function:
        """The function with all calls in it expanded."""
        if source.name in callers:
            raise UnknownInstruction(f"ptx: calls without recursion, got {source.name}")
        result = replace(
            source, instructions=[], labels={}, registers=dict(source.registers),
            variables=dict(source.variables), tables=dict(source.tables),
        )  # fmt: skip
        at: dict[int, list[str]] = {}
        for label, position in source.labels.items():
            at.setdefault(position, []).append(label)
        for position, one in enumerate(source.instructions):
            for label in at.get(position, ()):
                result.labels[label] = len(result.instructions)
            if one.parts[0] == "call":
                self.call(result, one, (*callers, source.name))
            else:
                result.instructions.append(one)
        for label in at.get(len(source.instructions), ()):
            result.labels[label] = len(result.instructions)
        return result

    def call(self, result: Function, one: Instruction, callers: tuple[str, ...]) -> None:
        """Append the body of the called function."""
        groups = [o for o in one.operands if isinstance(o, Group)]
        names = [o.name for o in one.operands if isinstance(o, Name)]
        callee = self.module.functions.get(names[0]) if names else None
        if names and names[0] in STOPPING:
            stop = replace(one, opcode="trap", parts=("trap",), operands=())
            result.instructions.append(stop)
            return
        if callee is None or not callee.instructions or one.guard is not None:
            raise UnknownInstruction(
                f"ptx: an unguarded call of a function with a body, got `{one.text}` "
                f"(line {one.line})"
            )
        body = self.expand(callee, callers)
        first = isinstance(one.operands[0], Group)
        returned: tuple[Operand, ...] = groups[0].items if first else ()
        given = groups[1 if first else 0].items if len(groups) > first else ()
        self.copies += 1
        suffix = f"@@{self.copies}"
        renamed = {
            v.name: o.name
            for v, o in zip([*body.results, *body.parameters], [*returned, *given], strict=True)
            if isinstance(o, Name)
        }
        self.append(result, body, renamed, suffix)

    def append(
        self, result: Function, body: Function, renamed: dict[str, str], suffix: str
    ) -> None:
        """Copy a body under names of its own; returning is a branch to its end."""

        def own(name: str) -> str:
            if name in renamed:
                return renamed[name]
            stem = name.rstrip("0123456789")
            if stem in body.registers:
                return f"{stem}{suffix}.{name[len(stem) :]}"
            known = name in body.registers or name in body.variables or name in body.labels
            return f"{name}{suffix}" if known or name == END or name in body.tables else name

        for name, kind in body.registers.items():
            # A family `%r.` of registers stays one: its numbers come last.
            result.registers[f"{name}{suffix}." if name.endswith(".") else own(name)] = kind
        for name, variable in body.variables.items():
            result.variables[own(name)] = replace(variable, name=own(name))
        for name, targets in body.tables.items():
            result.tables[own(name)] = [own(t) for t in targets]
        start = len(result.instructions)
        for label, position in body.labels.items():
            result.labels[own(label)] = start + position
        for one in body.instructions:
            guard = one.guard and own(one.guard)
            if one.parts[0] == "ret":
                one = replace(one, opcode="bra", parts=("bra",), operands=(Name(END),))
            operands = tuple(resolved_operand(o, own) for o in one.operands)
            result.instructions.append(replace(one, guard=guard, operands=operands))
        result.labels[own(END)] = len(result.instructions)
