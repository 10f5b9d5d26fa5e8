"""The stage `loops` shows what is left of equations: loops whose bounds are exact, triangles too.

RUN: %python %s | filecheck %s
"""

import ted

A, b = ted.placeholder((6, 6), name="A"), ted.placeholder((6,), name="b")
r = ted.reduce_axis(6, name="r")
y = ted.compute((6,), lambda i: ted.sum(A[i, r] * b[r], axis=r, where=r <= i), name="y")
print(ted.compile([A, b], y).ir("loops"))

# CHECK: #[[NEXT:.*]] = affine_map<(d0) -> (d0 + 1)>
# CHECK: func.func private @[[KERNEL:kernel_[0-9a-f]+]]({{.*}} %[[A:arg1]]: memref<6x6xf32>
# CHECK: scf.for %[[I:[a-z0-9]+]] = %c0 to %c6
# CHECK: scf.for %[[ROW:[a-z0-9]+]] = %c0 to %c6
# CHECK: %[[END:.*]] = affine.apply #[[NEXT]](%[[ROW]])
# CHECK: scf.for %[[R:[a-z0-9]+]] = %c0 to %[[END]] {{.*}} iter_args
# CHECK: memref.load %[[A]][%[[ROW]], %[[R]]]
# CHECK-NOT: linalg.
# CHECK: func.func @main(%[[MATRIX:[a-z0-9]+]]: memref<6x6xf32>
# CHECK: call @[[KERNEL]]({{.*}}, %[[MATRIX]], {{.*}})
# CHECK: return
