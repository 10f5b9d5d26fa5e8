"""Run compiled programs between pages without access: one command over a corpus, by kind.

    python test/fuzz/guard_pages.py [--operators] [--first 0] [--count 50]

Every argument, result and temporary of machine code lies against a page that no access survives,
first at its end, then at its start; what alignment leaves free is filled and checked. The corpus is
the operators of `numeric/operators.py` with their gradients, and the random programs. Each is
compiled here, where workers stay, and runs in a child process, so that a death is a finding. Exit
status 1 if there was one.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ted
from fuzz.half_programs import Generator
from numeric.operators import OPERATORS
from support.random_programs import random_program
from ted import _runtime
from ted.frontend.tensors import wrap

OFF, AT_END, AT_START = 0, 1, 2
SECONDS = 900  # of a program, on a busy machine


@contextmanager
def guarded(mode: int) -> Iterator[None]:
    """Buffers that are made meanwhile lie against a page without access."""
    old = _runtime.memory_set_guard(mode)
    try:
        yield
    finally:
        _runtime.memory_set_guard(old)


def in_guarded_memory(array: Any) -> Any:
    """A copy of an array in a buffer of the runtime."""
    array = np.asarray(array, order="C")
    memory: Any = _runtime.Buffer(array.nbytes)
    copy = np.ndarray(array.shape, array.dtype, memory)
    copy[...] = array
    return copy


Call = tuple[Any, Sequence[Any]]  # a compiled program, and its arrays


def compiled(inputs: Sequence[Any], outputs: Sequence[Any], arrays: Sequence[Any]) -> Call:
    """A program that a child can call."""
    return ted.compile(list(inputs), list(outputs)), arrays


def call_guarded(calls: Sequence[Call]) -> None:
    """Call in both modes; results are those of memory without guards, bit for bit."""
    for function, arrays in calls:
        wanted = [np.array(r) for r in function(*arrays)]
        for mode in (AT_END, AT_START):
            with guarded(mode):
                found = function(*map(in_guarded_memory, arrays))
            for want, got in zip(wanted, found, strict=True):
                assert got.tobytes() == want.tobytes(), f"mode {mode} changes a result"
            del found, got


# ------------------------------------------------------------------ the corpus


def operator_calls(name: str) -> list[Call]:
    """An operator and its first gradients, in f32."""
    operator = next(o for o in OPERATORS if o.name == name)
    arrays = [_in_f32(a) for a in operator.arrays()]
    inputs = [ted.placeholder(a.shape, a.dtype.name, name=f"x{k}") for k, a in enumerate(arrays)]
    result = operator.ours(*inputs)
    forward = compiled(inputs, [result], arrays)
    wanted = [x for x in inputs if x.dtype == "float32"]
    if not wanted or result.dtype != "float32":
        return [forward]
    head = ted.placeholder(result.shape, "float32", name="head")
    gradients = ted.differentiate(result, wanted, head=head)
    given = [*arrays, np.ones(head.shape, np.float32)]
    return [forward, compiled([*inputs, head], gradients, given)]


def _in_f32(array: Any) -> Any:
    return array.astype(np.float32) if array.dtype == np.float64 else array


def random_calls(seed: int) -> list[Call]:
    """A random system in f64, and a random program on f16 or bf16."""
    program = random_program(seed)
    inputs, outputs = (list(map(wrap, t)) for t in (program.system.inputs, program.system.outputs))
    half = Generator(seed, is_exact=seed % 2 == 0).program()
    return [
        compiled(inputs, outputs, program.arrays),
        compiled(half.inputs, [v.tensor for v in half.outputs], half.arrays),
    ]


# ------------------------------------------------------------------ many


def died(run: Callable[[Any], None], what: Any) -> str:
    """What became of a run in a child process; empty if all is well."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        faulthandler.disable()  # a death is an outcome here, which needs no traceback of pytest
        signal.alarm(SECONDS)
        try:
            run(what)
        except BaseException:
            os.write(writer, traceback.format_exc().encode()[-8000:])
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return text if code == 0 else f"died, status {code}"


def outcome(calls_of: Callable[[Any], Sequence[Call]], what: Any) -> str:
    """What became of the calls of an operator or a seed; empty if all is well."""
    try:
        calls = calls_of(what)
    except Exception:
        return traceback.format_exc()[-8000:]
    return died(call_guarded, calls)


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", action="store_true", help="every operator")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=50, help="how many seeds")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count)
    work: list[tuple[Callable[[Any], Sequence[Call]], Any]] = [(random_calls, s) for s in seeds]
    work += [(operator_calls, o.name) for o in OPERATORS] if options.operators else []
    found = {what: fault for calls_of, what in work if (fault := outcome(calls_of, what))}
    for what, fault in found.items():
        print(f"{what}: {fault}")
    print(f"{len(work)} programs in both modes, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
