// Work on memrefs becomes kernels; each uses memory and loop counters of the host only.
// RUN: ted-opt %s --ted-map-to-gpu | filecheck %s

// CHECK-LABEL: func.func @element_wise
// CHECK: gpu.launch blocks(%[[B:arg[0-9]+]], {{.*}}) in ({{.*}} = %c2, {{.*}}) threads(%[[T:arg[0-9]+]], {{.*}}) in (%{{.*}} = %c256
// CHECK: %[[BASE:.*]] = arith.muli %[[B]], %{{.*}} : index
// CHECK: %[[I:.*]] = arith.addi %[[BASE]], %[[T]] : index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[I]], %{{.*}} : index
// CHECK: scf.if %[[IN]]
// CHECK: memref.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<6x50xf32>
// CHECK: math.exp
// CHECK: memref.store
// CHECK-NOT: linalg
func.func @element_wise(%a: memref<6x50xf32>, %b: memref<6x50xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : memref<6x50xf32>) outs(%b : memref<6x50xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  }
  return
}
