"""Reproducers: a module and the pipeline that failed on it, in one file that `ted-opt` runs again.

The format is MLIR's: a resource section at the end of the module's text holds the pipeline. MLIR's
Python binding cannot read that section, so it is text to this module.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ted.errors import PassFailed

_SECTION = """
{{-#
  external_resources: {{
    mlir_reproducer: {{
      pipeline: "{pipeline}",
      disable_threading: true,
      verify_each: true
    }}
  }}
#-}}
"""
_FOUND = re.compile(r'\{-#.*?mlir_reproducer:.*?pipeline: "((?:[^"\\]|\\.)*)".*?#-\}', re.DOTALL)


def reproducer_text(module_text: str, pipeline: str) -> str:
    """The module followed by the pipeline to run on it."""
    escaped = pipeline.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f"// run with: ted-opt --run-reproducer\n{module_text}{_SECTION.format(pipeline=escaped)}"
    )


def write_reproducer(path: str | Path, module_text: str, pipeline: str) -> str:
    """Write a reproducer and return the command line that runs it.

    Raises: PassFailed for a file that cannot be written.
    """
    try:
        Path(path).write_text(reproducer_text(module_text, pipeline), encoding="utf-8")
    except OSError as error:
        reason = f"got '{path}': {error.strerror}"
        raise PassFailed(f"reproducer: must be a writable file, {reason}") from None
    return command_line(path)


def command_line(path: str | Path) -> str:
    """What to type to run a reproducer."""
    return f"ted-opt {shlex.quote(str(path))} --run-reproducer"


def split_reproducer(text: str) -> tuple[str, str | None]:
    """The module's text with the section blanked out, and the pipeline if there was one."""
    found = _FOUND.search(text)
    if found is None:
        return text, None
    blank = "\n" * found.group().count("\n")
    pipeline = found.group(1).replace('\\"', '"').replace("\\\\", "\\")
    return text[: found.start()] + blank + text[found.end() :], pipeline
