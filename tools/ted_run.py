"""ted-run: read a function of ted ops, run it on arrays, print or save its results.

`ted-run model.mlir` draws the arguments from a seed; `ted-run model.mlir a.npy b.npy` reads them.
`--engine=interpreter` evaluates the ops point by point, `--engine=cpu` compiles them, and
`--engine=both` compares the two.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ted.errors import ExecutionError
from ted.tools.command_line import Parser, guarded, seed, show, write
from ted.tools.inputs import parse, read

if TYPE_CHECKING:
    from ted.ir.equations import Tensor
    from ted.mlir import ir

ENGINES = ("interpreter", "cpu", "both")


def _parser() -> Parser:
    parser = Parser("ted-run", description=(__doc__ or "").splitlines()[0], allow_abbrev=False)
    parser.add_argument("input", help="file with the function, or - for stdin")
    parser.add_argument("arrays", nargs="*", help="arguments as .npy files")
    parser.add_argument("--entry", help="the function to run, if there are several")
    parser.add_argument("--pass-pipeline", help="passes to run first")
    parser.add_argument("--engine", choices=ENGINES, default="interpreter")
    parser.add_argument("--seed", type=seed, default=0, help="of the arguments that are drawn")
    parser.add_argument("-o", dest="output", help="file for the results, in the format of .npz")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit code."""
    return guarded("ted-run", lambda: _main(argv), is_process=argv is None)


def _main(argv: Sequence[str] | None) -> int:
    flags = _parser().parse_args(argv)
    results = _run(flags)
    if flags.output:
        write(flags.output, _archive(results))
        return 0
    for position, result in enumerate(results):
        show(f"result {position}: {result.dtype}{list(result.shape)}\n{result}")
    return 0


def _archive(results: Sequence[Any]) -> bytes:
    import io

    import numpy as np

    archive = io.BytesIO()  # given a name, numpy would add an ending to it
    np.savez(archive, *results)
    return archive.getvalue()


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
    from ted.ir.pass_driver import run_pipeline

    module = parse(read(path), path, make_context(threading=False))
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
    import numpy as np

    if tensor.dtype.is_float:
        return np.asarray(random.normal(size=tensor.shape)).astype(tensor.dtype.dtype)
    return random.integers(0, 2, size=tensor.shape).astype(tensor.dtype.dtype)


def _loaded(path: str) -> Any:
    import numpy as np

    try:
        with open(path, "rb") as file:
            is_array = file.read(6) == b"\x93NUMPY"
        if is_array:
            # Mapped, numpy compares what a header says with the size of the file.
            with np.errstate(over="ignore"):  # of that size: an error follows, with the reason
                return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
        reason = "another kind of file"
    except Exception as error:  # numpy raises anything for strange headers: tokenizer's errors, too
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    raise ExecutionError(f"arguments: must be .npy files, got '{path}': {reason}")


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
