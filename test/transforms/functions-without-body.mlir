// Functions that are only declared have no equations, and no function may call itself.
// RUN: ted-opt %s --ted-check-bounds --ted-simplify --ted-fuse-pointwise --ted-report-gradient | filecheck %s
// RUN: sed 's/@declared(%%A) : /@twice(%%A) : /' %s | not ted-opt - --ted-report-gradient 2>&1 | filecheck %s --check-prefix=SELF

// CHECK: gradient report of @twice
// CHECK-NEXT: 0 equations
// CHECK: func.func private @declared
// SELF: error: ted-report-gradient: functions must not call themselves, got @twice
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

func.func @twice(%A: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @declared(%A) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
