"""Every op that a program builds carries the user's names and line, sugar and operators included.

RUN: %python %s | filecheck %s
"""

import ted
from ted import nn

x = ted.placeholder((4, 6), name="x")
w = ted.placeholder((6, 3), name="w")
r = ted.reduce_axis(6)
y = ted.compute((4, 3), lambda i, j: ted.sum(x[i, r] * w[r, j], axis=r), name="y")
z = nn.softmax(y)

print(ted.module(z).operation.get_asm(enable_debug_info=True, use_local_scope=True))

# CHECK: func.func @main(%{{.*}}: tensor<4x6xf32> loc("x"("{{.*}}locations.py":9:0)),
# CHECK-SAME: tensor<6x3xf32> loc("w"("{{.*}}locations.py":10:0)))
# CHECK: arith.mulf {{.*}} loc("y"("{{.*}}locations.py":12:0))
# CHECK: "ted.yield"{{.*}} loc(fused<"i, j, r">["y"("{{.*}}locations.py":12:0)])
# CHECK: combiner = "add"
# CHECK-SAME: loc(fused<"i, j, r">["y"("{{.*}}locations.py":12:0)])
# CHECK: combiner = "max"
# CHECK-SAME: loc(fused<"i, j, r">["max"("{{.*}}locations.py":13:0)])
# CHECK: math.exp {{.*}} loc("exp"("{{.*}}locations.py":13:0))
# CHECK: arith.divf {{.*}} loc("div"("{{.*}}locations.py":13:0))
