// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-block-rows{grain=1000})' | filecheck %s

#j = affine_map<(j) -> (j)>

// Rows whose sums are work for several threads come in blocks, each with a total of its own; the
// blocks are apart, the rows of one are not.
// CHECK-LABEL: func.func @blocks
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[S:arg2]]
// CHECK: %[[TOTALS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<6x16xf32>
// CHECK: scf.for %[[U:[a-z0-9]+]] = %c0{{.*}} to %c6
// CHECK: %[[FIRST:.*]] = arith.muli %[[U]], %c22
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c22
// CHECK: %[[LAST:.*]] = arith.minsi %[[END]], %c131
// CHECK: %[[MINE:.*]] = memref.subview %[[TOTALS]][%[[U]], 0] [1, 16] [1, 1] : memref<6x16xf32> to memref<16xf32
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[MINE]]
// CHECK: scf.for %[[I:[a-z0-9]+]] = %[[FIRST]] to %[[LAST]]
// CHECK: linalg.exp
// CHECK: linalg.generic {{.*}} outs(%[[MINE]] :
// CHECK-NOT: ted.total
// CHECK: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: {{^}}      }{{$}}
// CHECK-NEXT: } {ted.parallel}
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]} ins(%[[TOTALS]] : memref<6x16xf32>) outs(%[[S]] :
// CHECK: return
func.func @blocks(%x: memref<131x16xf32>, %y: memref<131x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c131 = arith.constant 131 : index
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%s : memref<16xf32>)
  scf.for %i = %c0 to %c131 step %c1 {
    %p = memref.subview %x[%i, 0] [1, 16] [1, 1] : memref<131x16xf32> to memref<16xf32, strided<[1], offset: ?>>
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<131x16xf32> to memref<16xf32, strided<[1], offset: ?>>
    linalg.exp ins(%p : memref<16xf32, strided<[1], offset: ?>>) outs(%q : memref<16xf32, strided<[1], offset: ?>>)
    linalg.generic {indexing_maps = [#j, #j], iterator_types = ["parallel"], ted.total}
        ins(%q : memref<16xf32, strided<[1], offset: ?>>) outs(%s : memref<16xf32>) {
    ^bb0(%a: f32, %t: f32):
      %u = arith.addf %t, %a : f32
      linalg.yield %u : f32
    }
  } {ted.total = 1 : index}
  return
}

// A loop whose rows are short is no longer apart once it adds to a total.
// CHECK-LABEL: func.func @short
// CHECK-NOT: ted.parallel
// CHECK: return
func.func @short(%y: memref<4x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%s : memref<16xf32>)
  scf.for %i = %c0 to %c4 step %c1 {
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<4x16xf32> to memref<16xf32, strided<[1], offset: ?>>
    linalg.exp ins(%q : memref<16xf32, strided<[1], offset: ?>>) outs(%q : memref<16xf32, strided<[1], offset: ?>>)
    linalg.generic {indexing_maps = [#j, #j], iterator_types = ["parallel"], ted.total}
        ins(%q : memref<16xf32, strided<[1], offset: ?>>) outs(%s : memref<16xf32>) {
    ^bb0(%a: f32, %t: f32):
      %u = arith.addf %t, %a : f32
      linalg.yield %u : f32
    }
  } {ted.total = 1 : index}
  return
}

// A loop without totals stays as it is.
// CHECK-LABEL: func.func @apart
// CHECK: linalg.exp
// CHECK-NEXT: } {ted.parallel}
func.func @apart(%y: memref<131x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c131 = arith.constant 131 : index
  scf.for %i = %c0 to %c131 step %c1 {
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<131x16xf32> to memref<16xf32, strided<[1], offset: ?>>
    linalg.exp ins(%q : memref<16xf32, strided<[1], offset: ?>>) outs(%q : memref<16xf32, strided<[1], offset: ?>>)
  } {ted.parallel}
  return
}

// Two totals, one of which does not say so: the rows stay in their order.
// CHECK-LABEL: func.func @unknown
// CHECK: scf.for %{{.*}} to %c131
// CHECK-NOT: scf.for
// CHECK-NOT: ted.
// CHECK: return
func.func @unknown(%y: memref<131x16xf32>, %s: memref<16xf32>, %r: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c131 = arith.constant 131 : index
  scf.for %i = %c0 to %c131 step %c1 {
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<131x16xf32> to memref<16xf32, strided<[1], offset: ?>>
    linalg.exp ins(%q : memref<16xf32, strided<[1], offset: ?>>) outs(%q : memref<16xf32, strided<[1], offset: ?>>)
    linalg.generic {indexing_maps = [#j, #j], iterator_types = ["parallel"], ted.total}
        ins(%q : memref<16xf32, strided<[1], offset: ?>>) outs(%s : memref<16xf32>) {
    ^bb0(%a: f32, %t: f32):
      %u = arith.addf %t, %a : f32
      linalg.yield %u : f32
    }
    linalg.generic {indexing_maps = [#j, #j], iterator_types = ["parallel"]}
        ins(%q : memref<16xf32, strided<[1], offset: ?>>) outs(%r : memref<16xf32>) {
    ^bb0(%a: f32, %t: f32):
      %u = arith.addf %t, %a : f32
      linalg.yield %u : f32
    }
  } {ted.total = 2 : index}
  return
}
