// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-rows{cpu=avx2})' | filecheck %s

// Every reason for which an operation is in no group; what is written is obeyed by ted-fuse-rows.
// (test/unit/linalg/test_row_strategies.py asks for the reasons by the names of the functions.)

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>
#first = affine_map<(i, j) -> (0, j)>
#row = affine_map<(i, j) -> (i, 0)>
#k = affine_map<(k) -> (k)>

// A fill, a sum and what divides by it.
// CHECK-LABEL: func.func @group
// CHECK: linalg.fill {ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
func.func @group(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8x8xf32> {
  %c = arith.constant 0.0 : f32
  %f = linalg.fill ins(%c : f32) outs(%v : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#i, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %x : tensor<8xf32>, tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %u = arith.addf %a0, %a2 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// The last group has the first number.
// CHECK-LABEL: func.func @two_groups
// CHECK: ted.group = {depth = 1 : i64, group = 2 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 2 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
func.func @two_groups(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%v : tensor<8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#i, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %x : tensor<8xf32>, tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %u = arith.addf %a0, %a2 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  %t = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%v : tensor<8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %q = linalg.generic {indexing_maps = [#i, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%t, %x : tensor<8xf32>, tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %u = arith.addf %a0, %a2 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %q, %r : tensor<8x8xf32>, tensor<8x8xf32>
}

// No loop over rows for what is computed at the same points.
// CHECK-LABEL: func.func @maps_alone
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @maps_alone(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8x8xf32> {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Tiles of what is read across rows have no rows.
// CHECK-LABEL: func.func @read_across_rows
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @read_across_rows(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8x8xf32> {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// A sum over rows has none.
// CHECK-LABEL: func.func @column_sum
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @column_sum(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8xf32> {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%p : tensor<8x8xf32>) outs(%v : tensor<8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A vector ends no group.
// CHECK-LABEL: func.func @vector
// CHECK: ted.group = {name = "alone"}
func.func @vector(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [#k, #k], iterator_types = ["parallel"]}
      ins(%v : tensor<8xf32>) outs(%v : tensor<8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A claimed contraction has loops of its own.
// CHECK-LABEL: func.func @claimed
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @claimed(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8x8xf32> {
  %p = linalg.generic {ted.contraction, indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%v : tensor<8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#i, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %x : tensor<8xf32>, tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %u = arith.addf %a0, %a2 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// What is wanted before the group ends stays outside.
// CHECK-LABEL: func.func @used_between
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @used_between(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8x8xf32> {
  %p = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%v : tensor<8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %c = linalg.generic {indexing_maps = [#i, #j], iterator_types = ["reduction", "parallel"]}
      ins(%p : tensor<8xf32>) outs(%v : tensor<8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a1, %a0 : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#i, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %c : tensor<8xf32>, tensor<8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %u = arith.addf %a0, %a2 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// One row that all read is no row of their own.
// CHECK-LABEL: func.func @other_rows
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @other_rows(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8x8xf32> {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [#first, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// A loop takes in what one member starts from, not two.
// CHECK-LABEL: func.func @several_starts
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
func.func @several_starts(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  %a = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%p : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [#row, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x8xf32>) outs(%p : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r, %a : tensor<8x8xf32>, tensor<8x8xf32>
}

// What is wanted as it is stays outside of the loop that goes on from it.
// CHECK-LABEL: func.func @kept_start
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
func.func @kept_start(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%v : tensor<8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<8xf32>) outs(%p : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %p, %r : tensor<8x8xf32>, tensor<8x8xf32>
}

// The transform dialect fuses what has a single result.
// CHECK-LABEL: func.func @two_results
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @two_results(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %p:2 = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%y, %y : tensor<8x8xf32>, tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %u = arith.addf %a0, %a2 : f32
    linalg.yield %u, %u : f32, f32
  } -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p#0 : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r, %p#1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// Nothing before it, nothing to share.
// CHECK-LABEL: func.func @unrelated
// CHECK: ted.group = {name = "alone"}
func.func @unrelated(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8x8xf32> {
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// A fill ends no group: zeros around a tensor, and what a contraction starts from.
// CHECK-LABEL: func.func @padding
// CHECK: linalg.fill {ted.group = {name = "alone"}}
// CHECK: linalg.fill {ted.group = {name = "alone"}}
// CHECK: linalg.generic {{.*}} attrs = {ted.contraction, ted.group = {name = "alone"}}
func.func @padding(%x: tensor<8x384x128xf32>, %w: tensor<3x128x32xf32>) -> tensor<8x384x32xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x386x128xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x386x128xf32>) -> tensor<8x386x128xf32>
  %p = tensor.insert_slice %x into %z[0, 1, 0] [8, 384, 128] [1, 1, 1] : tensor<8x384x128xf32> into tensor<8x386x128xf32>
  %s = tensor.empty() : tensor<8x384x32xf32>
  %f = linalg.fill ins(%c : f32) outs(%s : tensor<8x384x32xf32>) -> tensor<8x384x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, i, k, r, j) -> (n, i + k, r)>, affine_map<(n, i, k, r, j) -> (k, r, j)>, affine_map<(n, i, k, r, j) -> (n, i, j)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "parallel"]}
      ins(%p, %w : tensor<8x386x128xf32>, tensor<3x128x32xf32>) outs(%f : tensor<8x384x32xf32>) attrs = {ted.contraction} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %u = arith.addf %o, %m : f32
    linalg.yield %u : f32
  } -> tensor<8x384x32xf32>
  return %r : tensor<8x384x32xf32>
}
