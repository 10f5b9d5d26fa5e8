// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-spread-operands)' | filecheck %s

#all = affine_map<(n, h, g, c) -> (n, h, g, c)>
#joined = affine_map<(n, h, g, c) -> (n, h, g * 4 + c)>
#group = affine_map<(n, h, g, c) -> (n, g)>
#channel = affine_map<(n, h, g, c) -> (g * 4 + c)>

// CHECK: #[[COUNT:.*]] = affine_map<(d0, d1) -> (d0 * 72 + d1)>

// A number for each group is copied to all channels of it; then groups and channels are one dim.
// CHECK-LABEL: func.func @groups
// CHECK: %[[S:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2x8x4xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : memref<2x8xf32>) outs(%[[S]] : memref<2x8x4xf32>)
// CHECK: %[[SPREAD:.*]] = memref.collapse_shape %[[S]] {{\[\[}}0], [1, 2]] : memref<2x8x4xf32> into memref<2x32xf32>
// CHECK: %[[Y:.*]] = memref.collapse_shape %arg3 {{\[\[}}0], [1], [2, 3]] : memref<2x99x8x4xf32> into memref<2x99x32xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %[[SPREAD]], %arg2 : memref<2x99x32xf32>, memref<2x32xf32>, memref<32xf32>) outs(%[[Y]] : memref<2x99x32xf32>)
func.func @groups(%x: memref<2x99x32xf32>, %mean: memref<2x8xf32>, %w: memref<32xf32>, %y: memref<2x99x8x4xf32>) {
  linalg.generic {indexing_maps = [#joined, #group, #channel, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %mean, %w : memref<2x99x32xf32>, memref<2x8xf32>, memref<32xf32>) outs(%y : memref<2x99x8x4xf32>) {
  ^bb0(%a: f32, %m: f32, %s: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %s : f32
    linalg.yield %p : f32
  }
  return
}

// A sum over a group has a total for each channel first; `%c` says how many there are.
// CHECK-LABEL: func.func @totals
// CHECK: %[[T:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2x8x4xf32>
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[T]] : memref<2x8x4xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%arg0, %{{.*}} : memref<2x99x32xf32>, memref<32xi8>) outs(%{{.*}} : memref<2x32xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[T]] : memref<2x8x4xf32>) outs(%arg2 : memref<2x8xf32>)
// CHECK: arith.addf %out, %in
func.func @totals(%x: memref<2x99x32xf32>, %c: memref<4xi8>, %t: memref<2x8xf32>) {
  linalg.generic {indexing_maps = [#joined, affine_map<(n, h, g, c) -> (c)>, #group], iterator_types = ["parallel", "reduction", "parallel", "reduction"]}
      ins(%x, %c : memref<2x99x32xf32>, memref<4xi8>) outs(%t : memref<2x8xf32>) {
  ^bb0(%a: f32, %k: i8, %o: f32):
    %s = arith.subf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}

// Two totals, one of which is joined in no known way; a copy that is read too seldom; channels that
// do not fill a register; rows that lie along another dim, those of a sum whose total would go along the channels, too.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @apart(%x: memref<2x99x32xf32>, %c: memref<4xi8>, %t: memref<2x8xf32>, %y: memref<2x4x8x4xf32>, %u: memref<2x99x3x4xf32>,
                 %few: memref<2x3xf32>, %z: memref<2x8x4x99xf32>, %w: memref<8x4xf32>) {
  linalg.generic {indexing_maps = [#joined, affine_map<(n, h, g, c) -> (c)>, #group], iterator_types = ["parallel", "reduction", "parallel", "reduction"]}
      ins(%x, %c : memref<2x99x32xf32>, memref<4xi8>) outs(%t : memref<2x8xf32>) {
  ^bb0(%a: f32, %k: i8, %o: f32):
    %s = arith.addf %o, %a : f32
    %p = arith.mulf %s, %a : f32
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#group, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%t : memref<2x8xf32>) outs(%y : memref<2x4x8x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#group, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%few : memref<2x3xf32>) outs(%u : memref<2x99x3x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#group, affine_map<(n, h, g, c) -> (n, g, c, h)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%t : memref<2x8xf32>) outs(%z : memref<2x8x4x99xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(g, n, h, c) -> (n, g, c, h)>, affine_map<(g, n, h, c) -> (n, g)>, affine_map<(g, n, h, c) -> (g, c)>],
                  iterator_types = ["parallel", "reduction", "reduction", "parallel"]}
      ins(%z, %t : memref<2x8x4x99xf32>, memref<2x8xf32>) outs(%w : memref<8x4xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %p = arith.mulf %a, %m : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

#rows = affine_map<(r, c) -> (r, c)>
#columns = affine_map<(r, c) -> (c)>

// Eight rows of nine columns go together, as nine registers of totals.
// CHECK-LABEL: func.func @rows_of_few_columns
// CHECK: %[[T:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8x9xf32>
// CHECK: memref.expand_shape %arg0 {{\[\[}}0, 1], [2]] output_shape [2500, 8, 9] : memref<20000x9xf32> into memref<2500x8x9xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : memref<2500x72xf32>) outs(%{{.*}} : memref<72xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[T]] : memref<8x9xf32>) outs(%arg1 : memref<9xf32>)
// CHECK-NOT: linalg.generic
func.func @rows_of_few_columns(%x: memref<20000x9xf32>, %t: memref<9xf32>) {
  linalg.generic {indexing_maps = [#rows, #columns], iterator_types = ["reduction", "parallel"]} ins(%x : memref<20000x9xf32>) outs(%t : memref<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}

// The last of 1003 rows is left over: nothing near six divides them.
// CHECK-LABEL: func.func @rows_left_over
// CHECK: memref.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] output_shape [167, 6, 12] : memref<1002x12xf32> into memref<167x6x12xf32>
// CHECK: linalg.generic {{.*}} ins(%arg1 : memref<12xf32>) outs(%{{.*}} : memref<6x12xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%{{.*}}, %{{.*}} : memref<167x72xf32>, memref<72xf32>) outs(%{{.*}} : memref<72xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<6x12xf32>) outs(%arg2 : memref<12xf32>)
// CHECK: %[[REST:.*]] = memref.subview %arg0[1002, 0] [1, 12] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[REST]], %arg1 : {{.*}}) outs(%arg2 : memref<12xf32>)
func.func @rows_left_over(%x: memref<1003x12xf32>, %w: memref<12xf32>, %t: memref<12xf32>) {
  linalg.generic {indexing_maps = [#rows, #columns, #columns], iterator_types = ["reduction", "parallel"]} ins(%x, %w : memref<1003x12xf32>, memref<12xf32>) outs(%t : memref<12xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.maximumf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// A subscript that counts rows and columns counts those of rows of rows.
// CHECK-LABEL: func.func @rows_by_their_number
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[COUNT]], #{{.*}}], iterator_types = ["reduction", "parallel"]} ins(%{{.*}}, %arg1 : memref<2500x72xf32>, memref<180000xf32>) outs(%{{.*}} : memref<72xf32>)
func.func @rows_by_their_number(%x: memref<20000x9xf32>, %y: memref<180000xf32>, %t: memref<9xf32>) {
  linalg.generic {indexing_maps = [#rows, affine_map<(r, c) -> (r * 9 + c)>, #columns], iterator_types = ["reduction", "parallel"]} ins(%x, %y : memref<20000x9xf32>, memref<180000xf32>) outs(%t : memref<9xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// A number for each row would be copied to all columns; few rows gain nothing; turned rows do not lie in memory.
// CHECK-LABEL: func.func @rows_apart
// CHECK-NOT: memref.expand_shape
// CHECK: return
func.func @rows_apart(%x: memref<20000x9xf32>, %v: memref<20000xf32>, %t: memref<9xf32>, %few: memref<50x9xf32>, %turned: memref<9x20000xf32>) {
  linalg.generic {indexing_maps = [#rows, affine_map<(r, c) -> (r)>, #columns], iterator_types = ["reduction", "parallel"]} ins(%x, %v : memref<20000x9xf32>, memref<20000xf32>) outs(%t : memref<9xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#rows, #columns], iterator_types = ["reduction", "parallel"]} ins(%few : memref<50x9xf32>) outs(%t : memref<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (c, r)>, #columns], iterator_types = ["reduction", "parallel"]} ins(%turned : memref<9x20000xf32>) outs(%t : memref<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}

// Of many columns four rows go together, innermost; what is read by row alone does not matter.
// CHECK-LABEL: func.func @rows_of_many_columns
// CHECK: %[[X:.*]] = memref.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] output_shape [50, 4, 100] : memref<200x100xf32> into memref<50x4x100xf32>
// CHECK: %[[V:.*]] = memref.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [50, 4] : memref<200xf32> into memref<50x4xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "reduction"]} ins(%[[X]], %[[V]] : {{.*}}) outs(%arg2 : memref<100xf32>)
// CHECK: %[[REST:.*]] = memref.subview %arg0[200, 0] [3, 100] [1, 1]
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[REST]], %{{.*}} : {{.*}}) outs(%arg2 : memref<100xf32>)
func.func @rows_of_many_columns(%x: memref<203x100xf32>, %v: memref<203xf32>, %t: memref<100xf32>) {
  linalg.generic {indexing_maps = [#rows, affine_map<(r, c) -> (r)>, #columns], iterator_types = ["reduction", "parallel"]} ins(%x, %v : memref<203x100xf32>, memref<203xf32>) outs(%t : memref<100xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.divf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// A diagonal is a matrix of which both subscripts are split.
// CHECK-LABEL: func.func @rows_and_a_diagonal
// CHECK: memref.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [200, 50, 4]
// CHECK: memref.expand_shape %{{.*}} {{\[\[}}0, 1], [2], [3]] output_shape [50, 4, 50, 4]
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "reduction"]} {{.*}} outs(%arg2 : memref<100xf32>)
func.func @rows_and_a_diagonal(%x: memref<200x100xf32>, %d: memref<200x200xf32>, %t: memref<100xf32>) {
  linalg.generic {indexing_maps = [#rows, affine_map<(r, c) -> (r, r)>, #columns], iterator_types = ["reduction", "parallel"]} ins(%x, %d : memref<200x100xf32>, memref<200x200xf32>) outs(%t : memref<100xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.divf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Few rows of many columns, and rows that are read beside each other.
// CHECK-LABEL: func.func @rows_of_many_columns_apart
// CHECK-NOT: memref.expand_shape
// CHECK: return
func.func @rows_of_many_columns_apart(%few: memref<31x100xf32>, %more: memref<202x100xf32>, %like: memref<200xf32>, %t: memref<100xf32>) {
  linalg.generic {indexing_maps = [#rows, #columns], iterator_types = ["reduction", "parallel"]} ins(%few : memref<31x100xf32>) outs(%t : memref<100xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r + 2, c)>, affine_map<(r, c) -> (r)>, #columns], iterator_types = ["reduction", "parallel"]} ins(%more, %like : memref<202x100xf32>, memref<200xf32>) outs(%t : memref<100xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}
