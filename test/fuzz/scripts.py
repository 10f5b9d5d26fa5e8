"""A failing case as a program that needs ted and numpy only: it prints what ted gives and should.

What should come out is written into it, as torch computed it.
"""

from __future__ import annotations

from fuzz.answers import Useless, answers, heads_of
from fuzz.cases import Case, Wanted
from fuzz.programs import Input, numpy_type
from fuzz.texts import function_text

Names = dict[Wanted, str]


def script(case: Case, label: str) -> str:
    """The text of the program."""
    heads = heads_of(case)
    inputs = [*case.program.inputs, *(h for _, h in heads)]
    lines = [f"# {label}, seed {case.seed}, target {case.target}, {case.relation or 'no relation'}"]
    lines += ["import ml_dtypes  # noqa: F401, names bfloat16", "import numpy as np"]
    lines += ["from numpy import inf, nan  # noqa: F401", ""]
    lines += ["import ted", "", "", function_text(case.program, "ted"), "", ""]
    lines += [_placeholder(k, i) for k, i in enumerate(inputs)]
    names = _results(case, heads, lines)
    wanted = ", ".join(names[w] for w in case.wanted)
    every = ", ".join(f"x{k}" for k in range(len(inputs)))
    lines += [f"outputs = [{wanted}]"]
    if case.donate:
        lines += ["kinds = [(t.shape, t.dtype) for t in outputs]"]
        lines += [f"donated = [x for x in [{every}] if (x.shape, x.dtype) in kinds][:1]"]
    donate = ", donate=donated" * case.donate
    lines += [f"f = ted.compile([{every}], outputs, target={case.target!r}{donate})"]
    lines += ["arrays = [", *(f"    {_array(i)}," for i in inputs), "]"]
    lines += ["for found in f(*arrays):", "    print(found)"]
    return "\n".join([*lines, *_comments(case, heads)]) + "\n"


def _placeholder(k: int, i: Input) -> str:
    return f"x{k} = ted.placeholder({i.shape}, {i.dtype!r}, name='x{k}')"


def _array(i: Input) -> str:
    array = i.array()
    numbers = array.astype("float64") if numpy_type(i.dtype).kind in "fV" else array
    return f"np.array({numbers.tolist()}, {i.dtype!r}).reshape({i.shape})"


def _results(case: Case, heads: list[tuple[Wanted, Input]], lines: list[str]) -> Names:
    """Lines that make values and gradients; what each wanted one is called."""
    inputs, values = len(case.program.inputs), len(case.program.results)
    lines += [f"values = program({', '.join(f'x{k}' for k in range(inputs))})"]
    names = {("value", k): f"values[{k}]" for k in range(values)}
    floats = [k for k, i in enumerate(case.program.inputs) if "float" in i.dtype]
    numbers = {name: inputs + k for k, (name, _) in enumerate(heads)}
    for order in range(1, case.order + 1):
        kind = "value" if order == 1 else "d1"
        chosen = [n for n in numbers if n[0] == kind]
        of = ", ".join(names[n] for n in chosen)
        wrt = ", ".join(f"x{k}" for k in floats)
        by = ", ".join(f"x{numbers[n]}" for n in chosen)
        lines += [f"d{order} = ted.differentiate([{of}], [{wrt}], [{by}])"]
        names |= {(f"d{order}", k): f"d{order}[{p}]" for p, k in enumerate(floats)}
    return names


def _comments(case: Case, heads: list[tuple[Wanted, Input]]) -> list[str]:
    try:
        return [f"# torch: {answer.value.tolist()}" for answer in answers(case, heads)]
    except (Useless, RuntimeError):
        return []
