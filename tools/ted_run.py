"""ted-run: read a function of ted ops, run it on arrays, print or save its results.

`ted-run model.mlir` draws the arguments from a seed; `ted-run model.mlir a.npy b.npy` reads them.
`--engine=interpreter` evaluates the ops point by point, `--engine=cpu` compiles them, and
`--engine=both` compares the two.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ted.errors import ExecutionError, PassFailed, TedError

if TYPE_CHECKING:
    from ted.ir.equations import Tensor
    from ted.mlir import ir

ENGINES = ("interpreter", "cpu", "both")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(1, f"ted-run: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("ted-run", description=(__doc__ or "").splitlines()[0], allow_abbrev=False)
    parser.add_argument("input", help="file with the function")
    parser.add_argument("arrays", nargs="*", help="arguments as .npy files")
    parser.add_argument("--entry", help="the function to run, if there are several")
    parser.add_argument("--pass-pipeline", help="passes to run first")
    parser.add_argument("--engine", choices=ENGINES, default="interpreter")
    parser.add_argument("--seed", type=int, default=0, help="of the arguments that are drawn")
    parser.add_argument("-o", dest="output", help="an .npz file for the results")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit code."""
    flags = _parser().parse_args(argv)
    try:
        results = _run(flags)
    except TedError as error:
        print(f"ted-run: error: {error}", file=sys.stderr)
        return 1
    if flags.output:
        import numpy as np

        np.savez(flags.output, *results)
        return 0
    for position, result in enumerate(results):
        print(f"result {position}: {result.dtype}{list(result.shape)}\n{result}")
    return 0


def _run(flags: argparse.Namespace) -> list[Any]:
    from ted.ir.from_ops import from_module

    module = _module(flags.input, flags.pass_pipeline)
    system = from_module(module, flags.entry)
    arrays = _arrays(flags.arrays, system.inputs, flags.seed)
    results: dict[str, list[Any]] = {}
    if flags.engine != "cpu":
        from ted.testing.interpreter import interpret

        results["interpreter"] = list(interpret(module, arrays, system.name))
    if flags.engine != "interpreter":
        from ted.api.compiling import compile_system

        results["cpu"] = list(compile_system(system)(*arrays))
    if flags.engine == "both":
        _compare(results["interpreter"], results["cpu"])
    return next(iter(results.values()))


def _module(path: str, pipeline: str | None) -> ir.Module:
    from ted.dialects import make_context
    from ted.ir.nesting import check_nesting
    from ted.ir.pass_driver import run_pipeline
    from ted.mlir import ir

    if not Path(path).is_file():
        raise TedError(f"input: must be a readable file, got '{path}'")
    check_nesting(Path(path).read_text(encoding="utf-8", errors="replace"))
    try:
        module = ir.Module.parseFile(path, make_context(threading=False))
    except ir.MLIRError as error:
        raise PassFailed(f"input: must be MLIR that parses and verifies, got {error}") from None
    if pipeline is not None:
        run_pipeline(module, pipeline)
    return module


def _arrays(paths: Sequence[str], inputs: Sequence[Tensor], seed: int) -> list[Any]:
    import numpy as np

    if not paths:
        random = np.random.default_rng(seed)
        return [_drawn(random, tensor) for tensor in inputs]
    if len(paths) != len(inputs):
        raise ExecutionError(f"arguments: one array per input, got {len(paths)} for {list(inputs)}")
    return [_loaded(path) for path in paths]


def _drawn(random: Any, tensor: Tensor) -> Any:
    if tensor.dtype.is_float:
        import ml_dtypes
        import numpy as np

        narrow = {"bfloat16": ml_dtypes.bfloat16}
        kind = narrow.get(tensor.dtype.name) or np.dtype(tensor.dtype.name)
        return np.asarray(random.normal(size=tensor.shape)).astype(kind)
    return random.integers(0, 2, size=tensor.shape).astype(tensor.dtype.name)


def _loaded(path: str) -> Any:
    import numpy as np

    try:
        return np.load(path)
    except (OSError, ValueError) as error:
        raise ExecutionError(f"arguments: must be .npy files, got '{path}': {error}") from None


def _compare(expected: Sequence[Any], got: Sequence[Any]) -> None:
    import numpy as np

    for position, (one, other) in enumerate(zip(expected, got, strict=True)):
        exact = np.asarray(one, dtype="float64")
        gap = np.abs(exact - np.asarray(other, dtype="float64")).max(initial=0)
        scale = max(np.abs(exact).max(initial=0), 1.0)
        if not gap <= 1e-5 * scale:
            raise ExecutionError(f"result {position}: engines must agree, got a gap of {gap}")


if __name__ == "__main__":
    sys.exit(main())
