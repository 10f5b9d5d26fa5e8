// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-collapse-dims)' | filecheck %s

#id = affine_map<(c, h, w) -> (c, h, w)>
#scale = affine_map<(c, h, w) -> (c)>
#row = affine_map<(c, h, w) -> (w)>

// The planes of a channel are one loop; the scale tells channels apart.
// CHECK-LABEL: func.func @planes
// CHECK-DAG: %[[X:.*]] = memref.collapse_shape %arg0 {{\[\[}}0], [1, 2]] : memref<8x56x56xf32> into memref<8x3136xf32>
// CHECK-DAG: %[[Y:.*]] = memref.collapse_shape %arg2 {{\[\[}}0], [1, 2]] : memref<8x56x56xf32> into memref<8x3136xf32>
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK-SAME: ins(%[[X]], %arg1 : memref<8x3136xf32>, memref<8xf32>) outs(%[[Y]] : memref<8x3136xf32>)
func.func @planes(%x: memref<8x56x56xf32>, %s: memref<8xf32>, %y: memref<8x56x56xf32>) {
  linalg.generic {indexing_maps = [#id, #scale, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %s : memref<8x56x56xf32>, memref<8xf32>) outs(%y : memref<8x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  }
  return
}

// A total of everything is one loop; a scalar is in no memory.
// CHECK-LABEL: func.func @total
// CHECK: %[[ALL:.*]] = memref.collapse_shape %{{.*}} {{\[\[}}0, 1]] : memref<8x3136xf32> into memref<25088xf32>
// CHECK: iterator_types = ["reduction"]} ins(%[[ALL]], %arg1 : memref<25088xf32>, f32) outs(%arg2 : memref<f32>)
func.func @total(%x: memref<8x56x56xf32>, %s: f32, %y: memref<f32>) {
  linalg.generic {indexing_maps = [#id, affine_map<(c, h, w) -> ()>, affine_map<(c, h, w) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%x, %s : memref<8x56x56xf32>, f32) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %o : f32
    linalg.yield %q : f32
  }
  return
}

// Gaps, another order, dims that are summed beside ones that are not, and numbers of loops stay.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: memref.collapse_shape
// CHECK: return
func.func @apart(%x: memref<8x56x56xf32, strided<[4096, 64, 1]>>, %t: memref<56x56x8xf32>, %r: memref<56xf32>, %m: memref<56x56xf32>,
                 %y: memref<8x56x56xf32>, %n: memref<8x56x56xindex>) {
  linalg.generic {indexing_maps = [affine_map<(c, h, w) -> (c, h, w)>, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %r : memref<8x56x56xf32, strided<[4096, 64, 1]>>, memref<56xf32>) outs(%y : memref<8x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [affine_map<(c, h, w) -> (w, h, c)>, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : memref<56x56x8xf32>) outs(%y : memref<8x56x56xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(h, w) -> (h, w)>, affine_map<(h, w) -> (h)>], iterator_types = ["parallel", "reduction"]}
      ins(%m : memref<56x56xf32>) outs(%r : memref<56xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %a, %o : f32
    linalg.yield %q : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel"]} outs(%n : memref<8x56x56xindex>) {
  ^bb0(%o: index):
    %w = linalg.index 2 : index
    linalg.yield %w : index
  }
  return
}

// What claims a layout keeps its dims.
// CHECK-LABEL: func.func @claimed
// CHECK-NOT: memref.collapse_shape
func.func @claimed(%x: memref<8x56xf32>, %y: memref<8x56xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x56xf32>) outs(%y : memref<8x56xf32>) attrs = {ted.strategy = {name = "loops"}} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
