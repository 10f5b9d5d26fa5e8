// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-groups{cpu=avx2})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-groups{gpu=true})' | filecheck %s --check-prefix=GPU

// Which equations share a loop over rows, and every reason for which one does not.
// (test/unit/linalg/test_kernel_strategies.py asks for the reasons by the names of the functions.)

#all2 = affine_set<(i, j) : (0 == 0)>
#all3 = affine_set<(i, j, k) : (0 == 0)>
#all1 = affine_set<(i) : (0 == 0)>
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#ijk3 = affine_map<(i, j, k) -> (i, j, k)>
#ij3 = affine_map<(i, j, k) -> (i, j)>
#jik3 = affine_map<(i, j, k) -> (j, i, k)>
#ji = affine_map<(i, j) -> (j, i)>
#i1 = affine_map<(i) -> (i)>
#ik3 = affine_map<(i, j, k) -> (i, k)>
#kj3 = affine_map<(i, j, k) -> (k, j)>
#j = affine_map<(i, j) -> (j)>
#first = affine_map<(i, j) -> (0, j)>
#none = affine_map<(i, j) -> ()>

// A sum and what divides by it.
// CHECK-LABEL: func.func @group(
// GPU-LABEL: func.func @group(
// GPU-COUNT-2: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
func.func @group(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%x, %s, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// The last group has the first number.
// CHECK-LABEL: func.func @two_groups(
// CHECK: ted.group = {depth = 1 : i64, group = 2 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 2 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
func.func @two_groups(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%x, %s, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = "ted.compute"(%x, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "max"
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %q = "ted.compute"(%x, %t, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %q, %r : tensor<8x8xf32>, tensor<8x8xf32>
}

// What is computed at the same points has the same rows, too, and needs no loop over them.
// CHECK-LABEL: func.func @maps(
// CHECK: ted.group = {group = 1 : i64, name = "common_points"}
// CHECK: ted.group = {group = 1 : i64, name = "common_points"}
func.func @maps(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "ted.compute"(%p, %e) ({
  ^bb0(%a: f32):
    %u = math.tanh %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// All dims but one are common, so that something is left in the loop.
// CHECK-LABEL: func.func @rows_of_two_dims(
// CHECK: ted.group = {depth = 2 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 2 : i64, group = 1 : i64, name = "common_rows"}
func.func @rows_of_two_dims(%x: tensor<4x5x6xf32>) -> tensor<4x5x6xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<4x5xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<4x5xf32>) -> tensor<4x5xf32>
  %e = tensor.empty() : tensor<4x5x6xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4, 5, 6>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ijk3], guards = [#all3], write = #ij3, combiner = "add"
  } : (tensor<4x5x6xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %r = "ted.compute"(%x, %s, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 4, 5, 6>, iterators = ["parallel", "parallel", "parallel"], domain = #all3,
    reads = [#ijk3, #ij3], guards = [#all3, #all3], write = #ijk3, combiner = "set"
  } : (tensor<4x5x6xf32>, tensor<4x5xf32>, tensor<4x5x6xf32>) -> tensor<4x5x6xf32>
  return %r : tensor<4x5x6xf32>
}

// A dim of one element is no row.
// CHECK-LABEL: func.func @unit_dims(
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
func.func @unit_dims(%x: tensor<1x8x8xf32>) -> tensor<8x1x8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8x1xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8x1xf32>) -> tensor<8x1xf32>
  %e = tensor.empty() : tensor<8x1x8xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 1, 8>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#jik3], guards = [#all3], write = #ij3, combiner = "add"
  } : (tensor<1x8x8xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  %r = "ted.compute"(%x, %s, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 1, 8>, iterators = ["parallel", "parallel", "parallel"], domain = #all3,
    reads = [#jik3, #ij3], guards = [#all3, #all3], write = #ijk3, combiner = "set"
  } : (tensor<1x8x8xf32>, tensor<8x1xf32>, tensor<8x1x8xf32>) -> tensor<8x1x8xf32>
  return %r : tensor<8x1x8xf32>
}

// What goes on in the memory of another one is computed at its rows.
// CHECK-LABEL: func.func @goes_on(
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
func.func @goes_on(%x: tensor<8x8xf32>, %d: tensor<8x8xf32>) -> tensor<8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%d, %s) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// Tiles of what is read across rows have no rows.
// CHECK-LABEL: func.func @read_across_rows(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @read_across_rows(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "ted.compute"(%p, %e) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ji], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// A sum over rows that no loop makes or reads is alone.
// CHECK-LABEL: func.func @column_sum(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @column_sum(%x: tensor<32x8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<32x8xf32>
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 32, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  %r = "ted.compute"(%p, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ji], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<32x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A sum over rows that a group makes advances in its loop.
// CHECK-LABEL: func.func @total(
// CHECK-COUNT-2: ted.group = {depth = 1 : i64, group = 1 : i64, name = "common_rows"}
// CHECK: ted.group = {group = 1 : i64, name = "column_sums"}
// GPU-LABEL: func.func @total(
// GPU: ted.group = {name = "alone"}
func.func @total(%x: tensor<32x8xf32>) -> (tensor<32x8xf32>, tensor<8xf32>) {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<32xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<32xf32>) -> tensor<32xf32>
  %e = tensor.empty() : tensor<32x8xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 32, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<32x8xf32>, tensor<32xf32>) -> tensor<32xf32>
  %r = "ted.compute"(%x, %s, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 32, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<32x8xf32>, tensor<32xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  %y_e = tensor.empty() : tensor<8xf32>
  %y = linalg.fill ins(%z_c : f32) outs(%y_e : tensor<8xf32>) -> tensor<8xf32>
  %t = "ted.compute"(%r, %y) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ji], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<32x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r, %t : tensor<32x8xf32>, tensor<8xf32>
}

// A vector ends no group.
// CHECK-LABEL: func.func @vector(
// CHECK: ted.group = {name = "alone"}
func.func @vector(%v: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = "ted.compute"(%v, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A contraction has loops of its own.
// CHECK-LABEL: func.func @contraction(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @contraction(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %p = "ted.compute"(%x, %w, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8, 8>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ik3, #kj3], guards = [#all3, #all3], write = #ij3, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "ted.compute"(%p, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// What is wanted before the group ends stays outside.
// CHECK-LABEL: func.func @used_between(
// CHECK-COUNT-3: ted.group = {name = "alone"}
func.func @used_between(%x: tensor<32x8xf32>) -> tensor<32x8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<32xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<32xf32>) -> tensor<32xf32>
  %y_c = arith.constant 0.0 : f32
  %y_e = tensor.empty() : tensor<8xf32>
  %y = linalg.fill ins(%y_c : f32) outs(%y_e : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<32x8xf32>
  %p = "ted.compute"(%x, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 32, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<32x8xf32>, tensor<32xf32>) -> tensor<32xf32>
  %c = "ted.compute"(%x, %p, %y) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.addf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ji, #j], guards = [#all2, #all2], write = #i, combiner = "add"
  } : (tensor<32x8xf32>, tensor<32xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%p, %c, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.addf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 32, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#i, #j], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<32xf32>, tensor<8xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  return %r : tensor<32x8xf32>
}

// One row that all read is no row of their own.
// CHECK-LABEL: func.func @other_rows(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @other_rows(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "ted.compute"(%p, %x, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.addf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#first, #ij], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Nor are the first rows of more.
// CHECK-LABEL: func.func @fewer_rows(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @fewer_rows(%x: tensor<9x8xf32>) -> tensor<8x8xf32> {
  %d = tensor.empty() : tensor<9x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %p = "ted.compute"(%x, %d) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 9, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %r = "ted.compute"(%p, %e) ({
  ^bb0(%a: f32):
    %u = math.tanh %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<9x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Rows that data chooses are any rows.
// CHECK-LABEL: func.func @read_at_data(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @read_at_data(%x: tensor<8x8xf32>, %at: tensor<8xi64>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "ted.compute"(%at, %p, %e) ({
  ^bb0(%a: i64, %b: f32):
    %yes = arith.constant true
    %i = arith.index_cast %a : i64 to index
    %j = "ted.index"() {dim = 1 : i64} : () -> index
    %u = "ted.load"(%p, %yes, %i, %j) {mode = "clip"} : (tensor<8x8xf32>, i1, index, index) -> f32
    %v = arith.addf %u, %b : f32
    "ted.yield"(%v) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#i, #ij], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8xi64>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// What two go on from is copied, for both.
// CHECK-LABEL: func.func @several_starts(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @several_starts(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = "ted.compute"(%x, %p) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "ted.compute"(%q, %p) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r, %q : tensor<8x8xf32>, tensor<8x8xf32>
}

// So is what a sum starts from that the caller gives.
// CHECK-LABEL: func.func @given_start(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @given_start(%x: tensor<8x8xf32>, %v: tensor<8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %s = "ted.compute"(%x, %v) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%x, %s, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Results of one equation go together.
// CHECK-LABEL: func.func @two_results(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @two_results(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xi64>) {
  %z_c = arith.constant 0xFF800000 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %n_c = arith.constant 0 : i64
  %n_e = tensor.empty() : tensor<8xi64>
  %n = linalg.fill ins(%n_c : i64) outs(%n_e : tensor<8xi64>) -> tensor<8xi64>
  %e = tensor.empty() : tensor<8x8xf32>
  %p:2 = "ted.compute"(%x, %z, %n) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "argmax"
  } : (tensor<8x8xf32>, tensor<8xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xi64>)
  %r = "ted.compute"(%x, %p#0, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r, %p#1 : tensor<8x8xf32>, tensor<8xi64>
}

// Nothing is computed: all is zero.
// CHECK-LABEL: func.func @no_points(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @no_points(%x: tensor<8x0xf32>) -> tensor<8x8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 0>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x0xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%s, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#i], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// A condition is tested once, in front of all rows.
// CHECK-LABEL: func.func @tested(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @tested(%x: tensor<8x8xf32>, %p: tensor<i1>) -> tensor<8x8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %s = "ted.compute"(%x, %p, %z) ({
  ^bb0(%a: f32, %b: i1):
    %zero = arith.constant 0.0 : f32
    %c = math.exp %a : f32
    %u = arith.select %b, %c, %zero : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij, #none], guards = [#all2, #all2], write = #i, combiner = "add"
  } : (tensor<8x8xf32>, tensor<i1>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%x, %s, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Nothing before it, nothing to share.
// CHECK-LABEL: func.func @unrelated(
// CHECK: ted.group = {name = "alone"}
func.func @unrelated(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %r = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
