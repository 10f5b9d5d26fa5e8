"""ted-opt: read MLIR, run a pipeline of ted's and MLIR's passes, print the result.

Nothing heavy is imported before the flags are parsed, so that `--help` and `--list-passes` answer
at once. Every failure is a diagnostic on stderr and exit code 1.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ted.errors import PassFailed, TedError
from ted.tools.command_line import guarded, show, write
from ted.tools.inputs import parse, read
from ted.tools.ted_opt_flags import parse_flags

if TYPE_CHECKING:
    from ted.mlir import ir
    from ted.tools.diagnostics import Diagnostics
    from ted.tools.observers import Timer

_SPLIT = re.compile(r"^// -----\s*\n", re.MULTILINE)


def main(argv: list[str] | None = None) -> int:
    """Run the tool; returns the exit code."""
    return guarded("ted-opt", lambda: _main(argv), is_process=argv is None)


def _main(argv: list[str] | None) -> int:
    flags = parse_flags(argv)
    if flags.list_passes or flags.version or flags.show_dialects:
        return _list_passes() if flags.list_passes else _show(flags.version)
    output, ok = _process_pieces(flags, read(flags.input))
    if ok or flags.verify_diagnostics:
        write(flags.output, b"" if flags.verify_diagnostics else output)
    return 0 if ok else 1


def _list_passes() -> int:
    from ted.ir.passes import available

    for name, row in available():
        show(f"{name:28} {row.summary}")
    return 0


def _show(version: bool) -> int:
    """The versions, or the dialects."""
    from importlib import metadata

    from ted.dialects import make_context
    from ted.mlir import binding_version, dialect_names

    if version:
        show(f"ted {metadata.version('ted')}\n{binding_version()}")
    else:
        show("Available Dialects: " + ",".join(dialect_names(make_context())))
    return 0


# ---- one input -----------------------------------------------------------------------------------


def _split(source: str) -> list[str]:
    """The pieces of an input, padded with empty lines so that line numbers stay right."""
    pieces: list[str] = []
    start = 0
    for found in [*_SPLIT.finditer(source), None]:
        end = len(source) if found is None else found.start()
        pieces.append("\n" * source.count("\n", 0, start) + source[start:end])
        start = 0 if found is None else found.end()
    return pieces


def _process_pieces(flags: argparse.Namespace, source: str | bytes) -> tuple[bytes, bool]:
    is_text = isinstance(source, str)  # bytecode has no lines to split at
    pieces = _split(source) if is_text and flags.split_input_file else [source]
    results = [Run(flags, piece).process() for piece in pieces]
    separator = b"// -----\n"
    return separator.join(text for text, _ in results), all(ok for _, ok in results)


@dataclass
class Run:
    """The work on one piece of the input."""

    flags: argparse.Namespace
    source: str | bytes
    timer: Timer | None = None
    closing: str = ""

    def process(self) -> tuple[bytes, bool]:
        """Parse, run, print; returns the output and whether all went well."""
        from ted.tools.diagnostics import Diagnostics, unmet

        diagnostics = Diagnostics(self.flags.input)
        output = b""
        try:
            output = self._transform(diagnostics)
        except TedError as error:
            if self.flags.mlir_print_stacktrace_on_diagnostic:
                traceback.print_exc()
            if not diagnostics.has_error or not isinstance(error, PassFailed):
                # A diagnostic has its place at the front, a Python error of ours at the end.
                message = error.message
                diagnostics.add("error", message, error.location)
        if self.timer is not None:
            self.timer.print(sys.stderr)
        if self.flags.verify_diagnostics:
            wrong = unmet(diagnostics, self._lines())
            for line in wrong:
                print(line, file=sys.stderr)
            return b"", not wrong
        diagnostics.print(self._lines(), sys.stderr)
        sys.stderr.write(self.closing)
        return output, not diagnostics.has_error

    def _transform(self, diagnostics: Diagnostics) -> bytes:
        from ted.dialects import make_context
        from ted.mlir import load_foreign_dialects

        context = make_context(threading=False)
        load_foreign_dialects(context)
        context.allow_unregistered_dialects = self.flags.allow_unregistered_dialect
        diagnostics.attach(context)
        if self.flags.irdl_file:
            _load_irdl(self.flags.irdl_file, context)
        module, pipeline = self._parse(context)
        if pipeline is not None:
            self._run(module, pipeline, diagnostics)
        if self.flags.verify_roundtrip:
            _check_roundtrip(module, context)
        if self.flags.emit_bytecode:
            return _bytecode(module)
        if self.flags.ted_irdl_form:
            from ted.dialects.irdl import irdl_form

            return (irdl_form(module).rstrip("\n") + "\n").encode()
        return (self._text(module).rstrip("\n") + "\n").encode()

    def _lines(self) -> str:
        """The text that diagnostics point into; bytecode has none."""
        return self.source if isinstance(self.source, str) else ""

    def _parse(self, context: ir.Context) -> tuple[Any, str | None]:
        started = time.perf_counter()
        flags, text, pipeline = self.flags, self.source, self._pipeline()
        if flags.run_reproducer:
            from ted.ir.reproducer import split_reproducer

            text, pipeline = split_reproducer(self._lines())
            if pipeline is None:
                raise PassFailed("reproducer: must hold a mlir_reproducer section, got none")
        parsed = parse(
            text,
            flags.input,
            context,
            is_module=not flags.no_implicit_module,
            in_file=text is self.source and not flags.split_input_file,
        )
        if flags.mlir_timing:
            from ted.tools.observers import Timer

            self.timer = Timer([("Parser", time.perf_counter() - started)])
        return parsed, pipeline

    def _pipeline(self) -> str | None:
        if self.flags.passes:
            return f"builtin.module({','.join(self.flags.passes)})"
        return self.flags.pass_pipeline

    def _run(self, module: Any, pipeline: str, diagnostics: Diagnostics) -> None:
        from ted.ir.pass_driver import run_pipeline
        from ted.ir.pipeline_text import parse_pipeline
        from ted.ir.remarks import collected
        from ted.mlir import ir

        if not isinstance(module, ir.Module):
            raise PassFailed(f"pipeline: runs on a module, got {module.operation.name}")
        if self.flags.dump_pass_pipeline:
            print(f"Pass Manager with 1 passes:\n{parse_pipeline(pipeline)}\n", file=sys.stderr)
        self._check_printed(module, pipeline)
        before = self._before_text(module, pipeline)
        observers = self._observers()
        with collected() as remarks:
            try:
                run_pipeline(
                    module, pipeline, verify_each=self.flags.verify_each, observers=observers
                )
            except TedError:
                self._reproduce(before, pipeline)
                raise
            finally:
                for one in remarks:
                    diagnostics.add("remark", one.message, one.location)
                for line in self._verdicts(observers):
                    diagnostics.add("remark", line, None)

    def _check_printed(self, module: Any, pipeline: str) -> None:
        """What is printed around passes that are named is printed: they are in the pipeline."""
        from ted.ir.pass_driver import plan
        from ted.ir.pipeline_text import parse_pipeline

        for flag in ("mlir_print_ir_before", "mlir_print_ir_after"):
            names = list(filter(None, getattr(self.flags, flag).split(",")))
            steps = plan(parse_pipeline(pipeline), module.context, one_by_one=True) if names else []
            known = {step.name for step in steps}
            for name in names:
                if name not in known:
                    option = flag.replace("_", "-")
                    raise PassFailed(f"--{option}: names passes of the pipeline, got '{name}'")

    def _observers(self) -> list[Any]:
        from ted.tools.observers import IRPrinter

        flags = self.flags
        printer = IRPrinter(
            sys.stderr,
            self._text,
            before_all=flags.mlir_print_ir_before_all,
            after_all=flags.mlir_print_ir_after_all,
            before_names=frozenset(filter(None, flags.mlir_print_ir_before.split(","))),
            after_names=frozenset(filter(None, flags.mlir_print_ir_after.split(","))),
            after_change=flags.mlir_print_ir_after_change,
            after_failure=flags.mlir_print_ir_after_failure,
        )
        observers: list[Any] = [printer] if printer.is_needed else []
        if flags.ted_validate:
            from ted.testing.validation import Validator

            observers.append(Validator())
        return observers if self.timer is None else [*observers, self.timer]

    def _verdicts(self, observers: list[Any]) -> list[str]:
        """What was validated, and what was not."""
        if not self.flags.ted_validate:
            return []
        from ted.testing.validation import Validator

        return [line for o in observers if isinstance(o, Validator) for line in o.summary()]

    def _before_text(self, module: ir.Module, pipeline: str) -> str:
        flags = self.flags
        if not (flags.mlir_generate_reproducer or flags.mlir_pass_pipeline_crash_reproducer):
            return ""
        from ted.ir.reproducer import write_reproducer
        from ted.mlir import text_of

        text = text_of(module, enable_debug_info=True)
        if flags.mlir_generate_reproducer:
            write_reproducer(flags.mlir_generate_reproducer, text, pipeline)
        return text

    def _reproduce(self, before: str, pipeline: str) -> None:
        path = self.flags.mlir_pass_pipeline_crash_reproducer
        if not path:
            return
        from ted.ir.reproducer import write_reproducer

        command = write_reproducer(path, before, pipeline)
        self.closing = f"ted-opt: note: to reproduce, run: {command}\n"

    def _text(self, module: Any) -> str:
        from ted.mlir import text_of

        flags = self.flags
        return text_of(
            module,
            enable_debug_info=flags.mlir_print_debuginfo,
            print_generic_op_form=flags.mlir_print_op_generic,
            use_local_scope=flags.mlir_print_local_scope,
            use_name_loc_as_prefix=flags.mlir_use_nameloc_as_prefix,
            large_elements_limit=flags.mlir_elide_elementsattrs_if_larger,
        )


# ---- small parts ---------------------------------------------------------------------------------


def _load_irdl(path: str, context: ir.Context) -> None:
    from ted.mlir import ir, irdl

    source = read(path)  # a missing file gets its own message
    try:
        irdl.load_dialects(  # pyright: ignore[reportAttributeAccessIssue]
            parse(source, path, context)
        )
    except (PassFailed, ir.MLIRError):
        raise TedError(f"irdl-file: must hold dialect definitions, got '{path}'") from None


def _check_roundtrip(module: Any, context: ir.Context) -> None:
    from ted.mlir import ir

    for generic in (False, True):
        options = {"enable_debug_info": True, "print_generic_op_form": generic}
        first = module.operation.get_asm(**options)
        second = ir.Module.parse(first, context).operation.get_asm(**options)
        if first != second:
            raise PassFailed("roundtrip: printed IR must parse to the same IR, got a difference")


def _bytecode(module: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


if __name__ == "__main__":
    sys.exit(main())
