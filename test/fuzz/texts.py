"""A program as Python text: a function of one library, or a script that shows a failure.

Before: Program(...)      After: def program(v0, v1): v2 = ted.exp(v0); return v2,
"""

from __future__ import annotations

from fuzz.programs import Program, Step, Written
from fuzz.rows.table import TABLE

INDENT = "    "


def function_text(program: Program, library: str, name: str = "program") -> str:
    """The definition of a function of a library; raises KeyError where a row lacks the library."""
    return "\n".join(_function(program, library, name, 0))


def _function(program: Program, library: str, name: str, depth: int) -> list[str]:
    first = len(program.inputs)
    values = [f"{'abcdefgh'[depth]}{k}" for k in range(first + len(program.steps))]
    lines = [f"def {name}({', '.join(values[:first])}):"]
    for number, step in enumerate(program.steps, first):
        lines += [INDENT + line for line in step_lines(step, library, values, number, depth)]
    results = ", ".join(values[r] for r in program.results)
    single = depth > 0 and len(program.results) == 1
    return [*lines, f"{INDENT}return {results if single else f'({results},)'}"]


def step_lines(
    step: Step, library: str, values: list[str], number: int, depth: int = 0
) -> list[str]:
    """The lines that compute one value, e.g. `a3 = ted.exp(a0)`."""
    lines: list[str] = []
    template = TABLE[step.row].texts[library]
    fields = {"all": ", ".join(values[a] for a in step.args)}
    for name, value in step.fields:
        if isinstance(value, Written):
            template = template.replace(f"{{{name}}}", value.written(library))
        else:
            fields[name] = value
    if step.body is not None:
        fields["f"] = f"function{depth}_{number}"
        lines += _function(step.body, library, fields["f"], depth + 1)
    operands = dict(zip("xyzw", (values[a] for a in step.args), strict=False))
    return [*lines, f"{values[number]} = {template.format(**operands, **fields)}"]
