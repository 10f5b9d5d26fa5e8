// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-rows{cpu=avx2})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-rows{maps=false cpu=avx2})' | filecheck %s --check-prefix=SUMS
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-rows{cpu=avx512_amx})' | filecheck %s --check-prefix=MATRIX

// Every reason for which an operation is in no group; what is written is obeyed by ted-fuse-rows.
// (test/unit/linalg/test_row_strategies.py asks for the reasons by the names of the functions.)

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>
#first = affine_map<(i, j) -> (0, j)>
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

// Without maps, no loop over rows for what is computed at the same points.
// CHECK-LABEL: func.func @maps_alone
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// SUMS-LABEL: func.func @maps_alone
// SUMS: ted.group = {name = "alone"}
// SUMS: ted.group = {name = "alone"}
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

// A sum over rows has none: on a CPU, a loop over them takes it in on memory, where it can.
// CHECK-LABEL: func.func @column_sum
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "column_sums"}
// SUMS-LABEL: func.func @column_sum
// SUMS: ted.group = {name = "alone"}
// SUMS: ted.group = {name = "alone"}
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
// CHECK: ted.group = {name = "column_sums"}
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
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x8xf32>) outs(%p : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %u = arith.addf %a0, %a1 : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  return %r, %a : tensor<8x8xf32>, tensor<8x8xf32>
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

// Eight images of 193 KiB each, padded: the second cache holds one.
// CHECK-LABEL: func.func @padding
// CHECK: linalg.generic {{.*}} attrs = {ted.contraction, ted.group = {name = "padded_blocks", size = 1 : i64}}
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

// Totals of 640 KiB, of which the second cache holds no half: four blocks of 320 x 128.
// CHECK-LABEL: func.func @totals
// CHECK: attrs = {ted.group = {name = "alone"}}
// MATRIX-LABEL: func.func @totals
// MATRIX: attrs = {ted.contraction, ted.group = {name = "alone"}}
// MATRIX: attrs = {ted.group = {columns = 128 : i64, name = "totals_in_blocks", rows = 320 : i64}}
func.func @totals(%x: tensor<640x8xf32>, %y: tensor<8x256xf32>, %v: tensor<256xf32>) -> tensor<640x256xbf16> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<640x256xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<640x256xf32>) -> tensor<640x256xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<640x8xf32>, tensor<8x256xf32>) outs(%f : tensor<640x256xf32>) attrs = {ted.contraction} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %u = arith.addf %o, %m : f32
    linalg.yield %u : f32
  } -> tensor<640x256xf32>
  %s = tensor.empty() : tensor<640x256xbf16>
  %r = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%t, %v : tensor<640x256xf32>, tensor<256xf32>) outs(%s : tensor<640x256xbf16>) {
  ^bb0(%a: f32, %b: f32, %o: bf16):
    %m = arith.addf %a, %b : f32
    %u = arith.truncf %m : f32 to bf16
    linalg.yield %u : bf16
  } -> tensor<640x256xbf16>
  return %r : tensor<640x256xbf16>
}
