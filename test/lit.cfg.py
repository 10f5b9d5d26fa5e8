"""How lit runs the `.mlir` tests: RUN lines see `ted-opt` and `filecheck` of this environment."""

import os
import sys
from pathlib import Path

# lit executes this file with its two objects in scope.
config = globals()["config"]
lit_config = globals()["lit_config"]

config.name = "ted"
sys.path.insert(0, os.path.dirname(__file__))
from support.run_lines import RunLines  # noqa: E402

config.test_format = RunLines(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["unit", "numeric", "fuzz", "hygiene", "inputs", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = str(Path(__file__).resolve().parents[1] / "build" / "lit")

scripts = os.path.dirname(sys.executable)
config.environment["PATH"] = os.pathsep.join([scripts, config.environment["PATH"]])
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%inputs", os.path.join(config.test_source_root, "inputs")))
