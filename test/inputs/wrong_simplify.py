"""ted-opt with an error planted in ted-simplify: it turns sums into maxima."""

import sys

from ted.mlir import ir
from ted.tools.ted_opt import main
from ted.transforms.compute_sets import computes
from ted.transforms.ted_simplify import TedSimplify


def run(_: TedSimplify, module: ir.Module) -> None:
    for op in computes(module):
        if op.combiner_name == "add":
            op.operation.attributes["combiner"] = ir.StringAttr.get("max")


TedSimplify.run = run
sys.exit(main(sys.argv[1:]))
