"""Arrays in programs: small ones are literals of the IR, large ones the last arguments.

RUN: %python %s | filecheck %s
RUN: %python %s literal | ted-opt - --ted-simplify --ted-fuse-pointwise | filecheck %s --check-prefix=READ
"""  # noqa: E501

import sys

import numpy as np

import ted

x = ted.placeholder((3,), "float64", name="x")
coefficients = np.array([0.5, -0.0, np.inf])


def show(title, tensor):
    """The module of a tensor with its maps and sets in place."""
    print(title, ted.module(tensor).operation.get_asm(use_local_scope=True))


if sys.argv[1:]:
    # READ: arith.constant dense<[5.000000e-01, -0.000000e+00, 0x7FF0000000000000]>
    print(ted.module(ted.sin(x) * coefficients))
    sys.exit()

# CHECK-LABEL: literal
# CHECK: func.func @main(%[[X:.*]]: tensor<3xf64>)
# CHECK: %[[C:.*]] = arith.constant dense<[5.000000e-01, -0.000000e+00, 0x7FF0000000000000]>
# CHECK: "ted.compute"(%[[X]], %[[C]], %{{.*}})
show("literal", x * coefficients)

# One number everywhere is a fill, and equal arrays are one constant.
# CHECK-LABEL: filled
# CHECK-NOT: dense
# CHECK: arith.constant 2.000000e+00 : f64
show("filled", x * np.full(3, 2.0))

# CHECK-LABEL: twice
# CHECK: arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
# CHECK-NOT: dense
show("twice", ted.sin(x * np.arange(1.0, 4.0)) + np.arange(1.0, 4.0))

# CHECK-LABEL: large
# CHECK: func.func @main(%[[X:.*]]: tensor<3xf64>, %[[W:.*]]: tensor<3x100xf64>)
# CHECK-NOT: dense
# CHECK: "ted.compute"(%[[X]], %[[W]], %{{.*}})
show("large", x @ np.arange(300.0).reshape(3, 100))

# An index in an array is known to be inside: nothing is checked when the program runs.
# CHECK-LABEL: subscripts
# CHECK: arith.constant dense<[2, 0, 1]> : tensor<3xi64>
# CHECK: "ted.load"
# CHECK-SAME: mode = "unchecked"
show("subscripts", x[np.array([-1, 0, 1])])
