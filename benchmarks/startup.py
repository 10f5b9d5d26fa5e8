"""How fast `ted-opt --help` starts, against a bare import of the MLIR binding.

    python benchmarks/startup.py [--runs 15]

The two run in turn, each in a process of its own; user and system time of the child count.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

from timing import environment, spread

# What the binding costs before anything of ted exists; the second name is the tool itself.
BARE = "import torch_mlir.ir"
TOOL = "import sys; sys.argv = ['ted-opt', '--help']; from ted.tools.ted_opt import main; main()"


def seconds(program: str) -> float:
    """CPU seconds of a Python process that runs the program."""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"startup: {program!r} failed")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the times and their ratio; the aim is a ratio of at most 2."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    seconds(BARE), seconds(TOOL)
    pairs = [(seconds(TOOL), seconds(BARE)) for _ in range(options.runs)]
    print(environment("torch-mlir"))
    for name, times in zip(
        ("ted-opt --help", "bare import"), zip(*pairs, strict=True), strict=True
    ):
        print(f"{name:16} {statistics.median(times) * 1e3:7.0f} ms")
    print(f"{'ratio':16} {spread([tool / bare for tool, bare in pairs])}")


if __name__ == "__main__":
    main()
