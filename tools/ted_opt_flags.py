"""The command line of ted-opt: MLIR's flags, and one flag per pass of ted or of MLIR."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ted.ir.passes import available
from ted.tools.command_line import Parser

_DESCRIPTION = "Run passes of ted and of MLIR on MLIR text."
_EPILOG = "Any other --name[=options] is a pass of MLIR; flags of passes run in the order given."

# Flag -> help, for the flags that are just on or off.
_SWITCHES = {
    "split-input-file": "process the pieces between `// -----` lines one by one",
    "verify-diagnostics": "check `expected-error {{...}}` comments instead of printing errors",
    "verify-roundtrip": "print, parse and print again, and compare",
    "no-implicit-module": "the input must be one top-level operation",
    "allow-unregistered-dialect": "accept operations of unknown dialects",
    "ted-validate": "evaluate functions around each pass on tensors, at points of a prime field, "
    "and derivatives on dual numbers; remarks say what was validated",
    "ted-irdl-form": "write what mlir-opt reads with --irdl-file=ted.irdl.mlir",
    "list-passes": "list the passes of ted and exit",
    "show-dialects": "list the dialects and exit",
    "dump-pass-pipeline": "print the pipeline to stderr before it runs",
    "run-reproducer": "run the pipeline that is stored in the input",
    "emit-bytecode": "write bytecode, not text",
    "mlir-print-ir-before-all": "print the IR before each pass",
    "mlir-print-ir-after-all": "print the IR after each pass",
    "mlir-print-ir-after-change": "print the IR after each pass that changed it",
    "mlir-print-ir-after-failure": "print the IR after the pass that failed",
    "mlir-print-ir-module-scope": "always on: whole modules are printed",
    "mlir-print-debuginfo": "print locations",
    "mlir-print-op-generic": "print all operations in generic form",
    "mlir-print-local-scope": "print attributes in place, without aliases",
    "mlir-use-nameloc-as-prefix": "name values after their locations",
    "mlir-timing": "print the time of each pass to stderr",
    "mlir-disable-threading": "always on: MLIR runs on one thread",
    "mlir-print-stacktrace-on-diagnostic": "print the Python traceback of a failing pass",
}


def build_parser() -> argparse.ArgumentParser:
    """The parser; passes of ted are added from the registry, which imports none of them."""
    parser = Parser("ted-opt", description=_DESCRIPTION, epilog=_EPILOG, allow_abbrev=False)
    parser.add_argument("input", nargs="?", default="-", help="input file, or - for stdin")
    parser.add_argument("-o", dest="output", default="-", help="output file, or - for stdout")
    parser.add_argument("--pass-pipeline", help="pipeline text, e.g. builtin.module(cse,ted-x)")
    parser.add_argument("--verify-each", type=_truth, default=True, help="verify after each pass")
    parser.add_argument("--irdl-file", help="load the dialects that an IRDL file defines")
    parser.add_argument("--mlir-print-ir-before", default="", help="passes, with commas between")
    parser.add_argument("--mlir-print-ir-after", default="", help="passes, with commas between")
    parser.add_argument(
        "--mlir-elide-elementsattrs-if-larger", type=_limit, help="elide large constants"
    )
    parser.add_argument(
        "--mlir-pass-pipeline-crash-reproducer", help="where to write a reproducer if a pass fails"
    )
    parser.add_argument("--mlir-generate-reproducer", help="where to write a reproducer, always")
    parser.add_argument("--version", action="store_true", help="print versions and exit")
    for name, text in _SWITCHES.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    _add_passes(parser)
    return parser


def _add_passes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("passes of ted")
    for name, row in available():
        group.add_argument(f"--{name}", nargs="?", metavar="OPTIONS", help=row.summary)


def _limit(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"must be a number of elements, got '{text}'")
    return int(text)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "0", "1"):
        raise argparse.ArgumentTypeError(f"must be true or false, got '{text}'")
    return text.lower() in ("true", "1")


def parse_flags(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line; `passes` holds the flags of passes as pipeline text, in order."""
    parser = build_parser()
    known = set(parser._option_string_actions).difference(f"--{name}" for name, _ in available())
    passes: list[str] = []
    rest: list[str] = []
    for word in sys.argv[1:] if argv is None else argv:
        flag, _, options = word.partition("=")
        if flag in known:
            rest.append(word)
        elif f"-{flag}" in known:  # LLVM tools take one dash as well
            rest.append(f"-{word}")
        elif word.startswith("-") and len(word) > 1:
            name = flag.lstrip("-")
            passes.append(f"{name}{{{options}}}" if options else name)
        else:
            rest.append(word)
    flags = parser.parse_args(rest)
    flags.passes = passes
    if passes and flags.pass_pipeline is not None:
        parser.error("--pass-pipeline and flags of passes exclude each other")
    return flags
