"""Conditions of the user end where they belong: in the guard of a read, or in the domain.

RUN: %python %s | filecheck %s
"""

import ted
from ted import nn

a = ted.placeholder((8,), name="a")
s = ted.reduce_axis(8)


def show(title, tensor):
    """The module of a tensor with its maps and sets in place."""
    print(title, ted.module(tensor).operation.get_asm(use_local_scope=True))


# CHECK-LABEL: shifted
# CHECK: guards = [affine_set<(d0) : (d0 - 1 >= 0)>]
# CHECK-SAME: reads = [affine_map<(d0) -> (d0 - 1)>]
show("shifted", ted.compute((8,), lambda i: ted.where(i > 0, a[i - 1], 0)))

# CHECK-LABEL: cumulative
# CHECK: domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>
show("cumulative", ted.compute((8,), lambda i: ted.sum(a[s], axis=s, where=s <= i)))

# CHECK-LABEL: padded
# CHECK: combiner = "set"
# CHECK-SAME: extents = array<i64: 8>
# CHECK-SAME: write = affine_map<(d0) -> (d0 + 2)>
# CHECK-SAME: tensor<12xf32>
show("padded", ted.pad(a, 2))

# CHECK-LABEL: joined
# CHECK: %[[FIRST:.*]] = "ted.compute"
# CHECK: write = affine_map<(d0) -> (d0)>
# CHECK: "ted.compute"(%{{.*}}, %[[FIRST]])
# CHECK: write = affine_map<(d0) -> (d0 + 8)>
show("joined", ted.concatenate([a, a]))

# CHECK-LABEL: window
# CHECK: combiner = "max"
# CHECK-SAME: domain = affine_set<(d0, d1, d2, d3, d4, d5) : (d1 * 2 + d4 - 1 >= 0, d2 * 2 +
x = ted.placeholder((1, 8, 8, 2), name="x")
show("window", nn.max_pool2d(x, 3, 2, 1))
