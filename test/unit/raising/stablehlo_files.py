"""StableHLO's own test data on `ted.from_mlir`: each file's results against those it expects.

    PYTHONPATH=test python -m unit.raising.stablehlo_files CHECKOUT
        [--sample 200] [--out rows.jsonl] [--seconds 60] [part of a name ...]

reads `stablehlo/testdata` and `stablehlo/tests/interpret` of a checkout of StableHLO, and prints
how many functions are right, are refused by name and why, are wrong, end with another error, or
with their process; `--out` keeps a row for each and goes on from what is there.  What a file gives
by a call of `@inputs` becomes arguments, what it checks becomes results.  Integers are compared
exactly, floats with three units in the last place of the element, or 64 of the greatest one
(`near`): sums are in another order, or with the 1e-3 of a check that says `almost`.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import random
import re
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import ted
from ted.errors import FrontendError, TedError, VerifyError
from ted.ir.dtypes import BY_MLIR
from ted.mlir import ir
from ted.mlir.attributes import symbol
from ted.mlir.dense_elements import numbers_of
from ted.mlir.queries import symbol_name
from ted.raising.complexes import constant_of, is_complex
from ted.raising.modules import parsed

FOLDERS = ("stablehlo/testdata", "stablehlo/tests/interpret")
KINDS = ("right", "near", "refused", "unread", "unchecked", "wrong", "error", "late", "crash")
_CONST = re.compile(
    r"check\.expect_(almost_)?eq_const\s+(%[\w#]+)\s*,\s*(dense<.*?>)\s*:\s*"
    r"(tensor<[^\n]*>)", re.DOTALL,
)  # fmt: skip
_QUOTED = re.compile(
    r'"check\.expect_(almost_)?eq_const"\((%[\w#]+)\)\s*<\{.*?value = (dense<.*?>)\s*:\s*'
    r"(tensor<[^,}]*?>)(?:,[^}]*)?\}>[^\n]*"
)
_PAIR = re.compile(r"check\.expect_(almost_)?(?:eq|close)\s+(%[\w#]+)\s*,\s*(%[\w#]+)[^\n]*?: "
                   r"(tensor<[^\n]*>)")  # fmt: skip


def generic(text: str) -> str:
    """A text in which the ops of the dialect `check`, which the binding has not, are generic."""
    count = iter(range(10**6))

    def constant(found: re.Match[str]) -> str:
        almost, name, value, kind = found.groups()
        own = f"%wanted{next(count)}"
        check = f'"check.expect_{almost or ""}eq"({name}, {own}) : ({kind}, {kind}) -> ()'
        return f"{own} = stablehlo.constant {value} : {kind}\n{check}"

    def pair(found: re.Match[str]) -> str:
        almost, one, other, kind = found.groups()
        return f'"check.expect_{almost or ""}eq"({one}, {other}) : ({kind}, {kind}) -> ()'

    return _PAIR.sub(pair, _CONST.sub(constant, _QUOTED.sub(constant, text)))


# ------------------------------------------------------------------ a module as a test


class Case:
    """A function of a module that gives what it would check, of what it would read."""

    def __init__(self, module: ir.Module, function: ir.Operation) -> None:
        self.module = module
        self.name = symbol_name(function)
        (self.block,) = function.regions[0].blocks
        self.arrays: list[Any] = []
        checks = [op.operation for op in self.block.operations if is_check(op.operation)]
        pairs = [self._pair(op) for op in checks]
        self.rough = ["almost" in op.get_asm(large_elements_limit=1) for op in checks]
        for op in checks:
            if not op.results:
                op.erase()
        *_, last = [op.operation for op in self.block.operations]
        self.wanted = [array for _, array in pairs]
        given = [one for one, _ in pairs]
        results = [value.type for value in given]
        ir.Operation.create("func.return", [], given, loc=last.location, ip=ir.InsertionPoint(last))
        last.erase()
        self._read_arguments()
        arguments = [a.type for a in self.block.arguments]
        kind = ir.FunctionType.get(arguments, results, module.context)
        function.attributes["function_type"] = ir.TypeAttr.get(kind, module.context)
        for name in ("arg_attrs", "res_attrs"):
            if name in function.attributes:
                del function.attributes[name]

    def _pair(self, op: ir.Operation) -> tuple[ir.Value, Any]:
        """What is checked, and the numbers that it should be."""
        one, other = op.operands
        known = [self.numbers(v) for v in (one, other)]
        return (other, known[0]) if known[1] is None else (one, known[1])

    def numbers(self, value: ir.Value) -> Any:
        """The numbers of a constant, or of what a function of constants gives; else None."""
        if isinstance(value.owner, ir.Block):
            return None
        op = value.owner.operation
        if op.name == "stablehlo.constant":
            return array_of(op)
        if op.name == "func.call" and symbol(op, "callee") in ("inputs", "expected"):
            return self.called(op)[ir.OpResult(value).result_number]
        return None

    def called(self, op: ir.Operation) -> list[Any]:
        """The constants that a function gives."""
        (callee,) = (
            top.operation
            for top in self.module.body.operations
            if symbol_name(top.operation) == symbol(op, "callee")
        )
        *_, last = callee.regions[0].blocks[0].operations
        return [array_of(v.owner.operation) for v in last.operation.operands]

    def _read_arguments(self) -> None:
        for op in [op.operation for op in self.block.operations]:
            if op.name == "func.call" and symbol(op, "callee") == "inputs":
                for result, array in zip(op.results, self.called(op), strict=True):
                    argument = self.block.add_argument(result.type, op.location)
                    result.replace_all_uses_with(argument)
                    self.arrays.append(array)
                op.erase()


def is_check(op: ir.Operation) -> bool:
    """Whether an op compares two tensors."""
    if op.name == "stablehlo.custom_call":
        return "check." in str(op.attributes["call_target_name"])
    return op.name in ("check.expect_eq", "check.expect_almost_eq")


def array_of(op: ir.Operation) -> Any:
    """The numbers of a constant."""
    if is_complex(op.results[0].type):
        return constant_of(op)
    kind = ir.RankedTensorType(op.results[0].type)
    if str(kind.element_type) not in BY_MLIR:
        return np.zeros(kind.shape)  # the function is refused
    numbers = numbers_of(op.attributes["value"])
    dtype = BY_MLIR[str(kind.element_type)].dtype
    return np.broadcast_to(numbers, kind.shape) if numbers.size else np.empty(kind.shape, dtype)


def cases(text: str) -> Iterator[tuple[str, Any]]:
    """Each checked function of a text as a case, or the error that its module is."""
    for position, part in enumerate(text.split("// -----")):
        if "func.func" not in part:
            continue
        try:
            module = parsed(generic(part))
        except FrontendError as error:
            yield str(position), error
            continue
        with module.context:
            tops = [op.operation for op in module.body.operations]
            found = [op for op in tops if op.name == "func.func" and op.regions[0].blocks]
            checked = [op for op in found if any(map(is_check_of, op.regions[0].blocks[0]))]
            for op in checked:
                yield f"{position}.{symbol_name(op)}", (module, op)
            if not checked:
                yield str(position), module


def is_check_of(op: Any) -> bool:
    """The same for a view of an op."""
    return is_check(op.operation)


# ------------------------------------------------------------------ what it comes to


def distance(found: Any, wanted: Any, rough: bool = False) -> str:
    """How near numbers are, in a word, and where they are not."""
    if found.shape != wanted.shape or found.dtype.kind != wanted.dtype.kind:
        return f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind in "biu":
        return "right" if np.array_equal(found, wanted) else f"{found} for {wanted}"
    if wanted.dtype.kind == "c":
        pairs = ((found.real, wanted.real), (found.imag, wanted.imag))
        words = [distance(*pair, rough) for pair in pairs]
        return max(words, key=lambda word: (word != "right") + (word not in ("right", "near")))
    eps = float(ml_dtypes.finfo(wanted.dtype).eps)
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.where(same, 0, np.abs(a - b))
        if np.all(same | (apart <= 3 * eps * np.abs(b))):
            return "right"
        greatest = np.max(np.abs(b), initial=0, where=np.isfinite(b))
        room = 1e-3 * np.maximum(1, np.abs(b)) if rough else 64 * eps * greatest
        if np.all(same | (apart <= room)):
            return "near"
        worst = np.unravel_index(np.argmax(np.where(np.isnan(apart), np.inf, apart)), apart.shape)
    return f"{found[worst]} for {wanted[worst]} at {[int(k) for k in worst]}"


def outcome(given: Any) -> tuple[str, str]:
    """What a function comes to, in a word, and why."""
    try:
        if isinstance(given, FrontendError):
            return "unread", given.message
        if isinstance(given, ir.Module):
            ted.from_mlir(given)
            return "unchecked", ""
        module, function = given
        with module.context:
            case = Case(module, function)
        raised = ted.from_mlir(module, case.name)
        results = ted.function(lambda *arrays: raised(*arrays))(*case.arrays)
        listed = results if isinstance(results, tuple) else (results,)
        rows = zip(listed, case.wanted, case.rough, strict=True)
        words = [distance(np.asarray(one), other, rough) for one, other, rough in rows]
    except (FrontendError, VerifyError) as error:
        return "refused", error.message
    except TedError as error:
        return "error", f"{type(error).__name__}: {error}"
    except Exception as error:  # which is a defect
        return "error", f"{type(error).__name__}: {error}"
    bad = [word for word in words if word not in ("right", "near")]
    return ("wrong", bad[0]) if bad else ("near" if "near" in words else "right", "")


def serve(pipe: Connection) -> None:
    """A child: for each path the rows of its functions, then None."""
    while (path := pipe.recv()) is not None:
        for name, given in cases(Path(path).read_text()):
            pipe.send((name, *outcome(given)))
        pipe.send(None)


def rows_of(path: Path, child: Child, seconds: float) -> Iterator[tuple[str, str, str]]:
    """What the functions of a file come to."""
    child.pipe.send(str(path))
    while child.pipe.poll(seconds):
        try:
            row = child.pipe.recv()
        except EOFError:
            child.restart()
            yield "", "crash", ""
            return
        if row is None:
            return
        yield row
    child.restart()
    yield "", "late", f"more than {seconds} s"


class Child:
    """A process that serves; another one where it has ended."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other,), daemon=False)
        self.process.start()
        other.close()

    def restart(self) -> None:
        """End the process and begin a new one."""
        self.process.kill()
        self.process.join()
        self.__init__()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    files = [f for where in FOLDERS for f in sorted((options.checkout / where).rglob("*.mlir"))]
    chosen = [f for f in files if not options.names or any(n in f.name for n in options.names)]
    if options.sample:
        chosen = random.Random(0).sample(chosen, min(options.sample, len(chosen)))
    rows: list[dict[str, Any]] = []
    if options.out and options.out.exists():
        rows = list(map(json.loads, options.out.open()))
    done, child = {row["file"] for row in rows}, Child()
    for path in chosen:
        name = str(path.relative_to(options.checkout))
        if name in done:
            continue
        start = time.perf_counter()
        found = [(*row,) for row in rows_of(path, child, options.seconds)]
        each = (time.perf_counter() - start) / max(1, len(found))
        new = [{"file": name, "function": f, "kind": k, "why": w, "s": each} for f, k, w in found]
        rows += new
        if options.out:
            with options.out.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in new)
        for row in new:
            if row["kind"] not in ("right", "near", "refused", "unread", "unchecked"):
                print(name, row["function"], row["kind"], row["why"][:200], flush=True)
    child.pipe.send(None)
    report(rows)


def report(rows: list[dict[str, Any]]) -> None:
    """Print the numbers, and why programs are refused."""
    kinds = collections.Counter(row["kind"] for row in rows)
    print({kind: kinds[kind] for kind in KINDS if kinds[kind]})
    reasons = collections.Counter(
        (row["kind"], re.sub(r"[\d.]+", "#", row["why"])[:150])
        for row in rows
        if row["kind"] in ("refused", "unread")
    )
    for (kind, reason), count in reasons.most_common():
        print(f"{count:6} {kind}: {reason}")


if __name__ == "__main__":
    main()
