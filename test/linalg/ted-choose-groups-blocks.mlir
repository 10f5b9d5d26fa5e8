// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-groups{cpu=avx2})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-groups{cpu=avx512_amx})' | filecheck %s --check-prefix=MATRIX

// Which equations have loops over blocks, and every reason for which one has none.
// (test/unit/linalg/test_kernel_strategies.py asks for the reasons by the names of the functions.)

#all5 = affine_set<(i, j, k, l, m) : (0 == 0)>
#in384 = affine_set<(i, j, k, l, m) : (j + l - 1 >= 0, 384 - j - l >= 0)>
#in4096 = affine_set<(i, j, k, l, m) : (j + l - 1 >= 0, 4096 - j - l >= 0)>
#in16 = affine_set<(i, j, k, l, m) : (j + l - 1 >= 0, 16 - j - l >= 0)>
#in_images = affine_set<(i, j, k, l, m) : (i + l - 1 >= 0, 384 - i - l >= 0)>
#all3 = affine_set<(i, j, k) : (0 == 0)>
#all2 = affine_set<(i, j) : (0 == 0)>
#window = affine_map<(i, j, k, l, m) -> (i, j + l - 1, m)>
#lmk5 = affine_map<(i, j, k, l, m) -> (l, m, k)>
#ijk5 = affine_map<(i, j, k, l, m) -> (i, j, k)>
#images = affine_map<(i, j, k, l, m) -> (i + l - 1, j, m)>
#ik3 = affine_map<(i, j, k) -> (i, k)>
#kj3 = affine_map<(i, j, k) -> (k, j)>
#ij3 = affine_map<(i, j, k) -> (i, j)>
#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>

// Eight images of 193 KiB each, padded: the second cache holds one.
// CHECK-LABEL: func.func @padding(
// CHECK: ted.group = {name = "padded_blocks", size = 1 : i64}
func.func @padding(%x: tensor<8x384x128xf32>, %w: tensor<3x128x32xf32>) -> tensor<8x384x32xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8x384x32xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8x384x32xf32>) -> tensor<8x384x32xf32>
  %r = "ted.compute"(%x, %w, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 384, 32, 3, 128>, iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"], domain = #all5,
    reads = [#window, #lmk5], guards = [#in384, #all5], write = #ijk5, combiner = "add"
  } : (tensor<8x384x128xf32>, tensor<3x128x32xf32>, tensor<8x384x32xf32>) -> tensor<8x384x32xf32>
  return %r : tensor<8x384x32xf32>
}

// Seven threads are fewer than eight.
// CHECK-LABEL: func.func @seven_images(
// CHECK: ted.group = {name = "alone"}
func.func @seven_images(%x: tensor<7x384x128xf32>, %w: tensor<3x128x32xf32>) -> tensor<7x384x32xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<7x384x32xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<7x384x32xf32>) -> tensor<7x384x32xf32>
  %r = "ted.compute"(%x, %w, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 7, 384, 32, 3, 128>, iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"], domain = #all5,
    reads = [#window, #lmk5], guards = [#in384, #all5], write = #ijk5, combiner = "add"
  } : (tensor<7x384x128xf32>, tensor<3x128x32xf32>, tensor<7x384x32xf32>) -> tensor<7x384x32xf32>
  return %r : tensor<7x384x32xf32>
}

// The second cache holds no image.
// CHECK-LABEL: func.func @large_images(
// CHECK: ted.group = {name = "alone"}
func.func @large_images(%x: tensor<8x4096x128xf32>, %w: tensor<3x128x32xf32>) -> tensor<8x4096x32xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8x4096x32xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8x4096x32xf32>) -> tensor<8x4096x32xf32>
  %r = "ted.compute"(%x, %w, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 4096, 32, 3, 128>, iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"], domain = #all5,
    reads = [#window, #lmk5], guards = [#in4096, #all5], write = #ijk5, combiner = "add"
  } : (tensor<8x4096x128xf32>, tensor<3x128x32xf32>, tensor<8x4096x32xf32>) -> tensor<8x4096x32xf32>
  return %r : tensor<8x4096x32xf32>
}

// The second cache holds all of it.
// CHECK-LABEL: func.func @small_padding(
// CHECK: ted.group = {name = "alone"}
func.func @small_padding(%x: tensor<8x16x128xf32>, %w: tensor<3x128x32xf32>) -> tensor<8x16x32xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8x16x32xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %r = "ted.compute"(%x, %w, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 16, 32, 3, 128>, iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"], domain = #all5,
    reads = [#window, #lmk5], guards = [#in16, #all5], write = #ijk5, combiner = "add"
  } : (tensor<8x16x128xf32>, tensor<3x128x32xf32>, tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  return %r : tensor<8x16x32xf32>
}

// Two read the padding, which is made once.
// CHECK-LABEL: func.func @padded_twice(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
func.func @padded_twice(%x: tensor<8x384x128xf32>, %w: tensor<3x128x32xf32>, %v: tensor<3x128x32xf32>)
    -> (tensor<8x384x32xf32>, tensor<8x384x32xf32>) {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8x384x32xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8x384x32xf32>) -> tensor<8x384x32xf32>
  %r = "ted.compute"(%x, %w, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 384, 32, 3, 128>, iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"], domain = #all5,
    reads = [#window, #lmk5], guards = [#in384, #all5], write = #ijk5, combiner = "add"
  } : (tensor<8x384x128xf32>, tensor<3x128x32xf32>, tensor<8x384x32xf32>) -> tensor<8x384x32xf32>
  %q = "ted.compute"(%x, %v, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 384, 32, 3, 128>, iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"], domain = #all5,
    reads = [#window, #lmk5], guards = [#in384, #all5], write = #ijk5, combiner = "add"
  } : (tensor<8x384x128xf32>, tensor<3x128x32xf32>, tensor<8x384x32xf32>) -> tensor<8x384x32xf32>
  return %r, %q : tensor<8x384x32xf32>, tensor<8x384x32xf32>
}

// Each image is read for three results.
// CHECK-LABEL: func.func @window_of_images(
// CHECK: ted.group = {name = "alone"}
func.func @window_of_images(%x: tensor<384x64x8xf32>, %w: tensor<3x8x32xf32>) -> tensor<384x64x32xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<384x64x32xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<384x64x32xf32>) -> tensor<384x64x32xf32>
  %r = "ted.compute"(%x, %w, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 384, 64, 32, 3, 8>, iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"], domain = #all5,
    reads = [#images, #lmk5], guards = [#in_images, #all5], write = #ijk5, combiner = "add"
  } : (tensor<384x64x8xf32>, tensor<3x8x32xf32>, tensor<384x64x32xf32>) -> tensor<384x64x32xf32>
  return %r : tensor<384x64x32xf32>
}

// Totals of 640 KiB, of which the second cache holds no half: four blocks of 320 x 128.
// CHECK-LABEL: func.func @totals(
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
// MATRIX-LABEL: func.func @totals(
// MATRIX: ted.group = {name = "alone"}
// MATRIX: ted.group = {columns = 128 : i64, name = "totals_in_blocks", rows = 320 : i64}
func.func @totals(%x: tensor<640x8xf32>, %y: tensor<8x256xf32>, %v: tensor<256xf32>) -> tensor<640x256xbf16> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<640x256xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<640x256xf32>) -> tensor<640x256xf32>
  %e = tensor.empty() : tensor<640x256xbf16>
  %t = "ted.compute"(%x, %y, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 640, 256, 8>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ik3, #kj3], guards = [#all3, #all3], write = #ij3, combiner = "add"
  } : (tensor<640x8xf32>, tensor<8x256xf32>, tensor<640x256xf32>) -> tensor<640x256xf32>
  %r = "ted.compute"(%t, %v, %e) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    %u = arith.truncf %s : f32 to bf16
    "ted.yield"(%u) : (bf16) -> ()
  }) {
    extents = array<i64: 640, 256>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #j], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<640x256xf32>, tensor<256xf32>, tensor<640x256xbf16>) -> tensor<640x256xbf16>
  return %r : tensor<640x256xbf16>
}

// Totals lie where the result does.
// MATRIX-LABEL: func.func @totals_of_the_type(
// MATRIX: ted.group = {name = "alone"}
// MATRIX: ted.group = {name = "alone"}
func.func @totals_of_the_type(%x: tensor<640x8xf32>, %y: tensor<8x256xf32>, %v: tensor<256xf32>)
    -> tensor<640x256xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<640x256xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<640x256xf32>) -> tensor<640x256xf32>
  %e = tensor.empty() : tensor<640x256xf32>
  %t = "ted.compute"(%x, %y, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 640, 256, 8>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ik3, #kj3], guards = [#all3, #all3], write = #ij3, combiner = "add"
  } : (tensor<640x8xf32>, tensor<8x256xf32>, tensor<640x256xf32>) -> tensor<640x256xf32>
  %r = "ted.compute"(%t, %v, %e) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    "ted.yield"(%s) : (f32) -> ()
  }) {
    extents = array<i64: 640, 256>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #j], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<640x256xf32>, tensor<256xf32>, tensor<640x256xf32>) -> tensor<640x256xf32>
  return %r : tensor<640x256xf32>
}

// Somebody else wants the totals.
// MATRIX-LABEL: func.func @totals_that_stay(
// MATRIX: ted.group = {name = "alone"}
// MATRIX: ted.group = {name = "alone"}
func.func @totals_that_stay(%x: tensor<640x8xf32>, %y: tensor<8x256xf32>, %v: tensor<256xf32>)
    -> (tensor<640x256xbf16>, tensor<640x256xf32>) {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<640x256xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<640x256xf32>) -> tensor<640x256xf32>
  %e = tensor.empty() : tensor<640x256xbf16>
  %t = "ted.compute"(%x, %y, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 640, 256, 8>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ik3, #kj3], guards = [#all3, #all3], write = #ij3, combiner = "add"
  } : (tensor<640x8xf32>, tensor<8x256xf32>, tensor<640x256xf32>) -> tensor<640x256xf32>
  %r = "ted.compute"(%t, %v, %e) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    %u = arith.truncf %s : f32 to bf16
    "ted.yield"(%u) : (bf16) -> ()
  }) {
    extents = array<i64: 640, 256>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #j], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<640x256xf32>, tensor<256xf32>, tensor<640x256xbf16>) -> tensor<640x256xbf16>
  return %r, %t : tensor<640x256xbf16>, tensor<640x256xf32>
}

// The second cache holds them.
// MATRIX-LABEL: func.func @small_totals(
// MATRIX: ted.group = {name = "alone"}
// MATRIX: ted.group = {name = "alone"}
func.func @small_totals(%x: tensor<512x8xf32>, %y: tensor<8x256xf32>, %v: tensor<256xf32>)
    -> tensor<512x256xbf16> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<512x256xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<512x256xf32>) -> tensor<512x256xf32>
  %e = tensor.empty() : tensor<512x256xbf16>
  %t = "ted.compute"(%x, %y, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 512, 256, 8>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ik3, #kj3], guards = [#all3, #all3], write = #ij3, combiner = "add"
  } : (tensor<512x8xf32>, tensor<8x256xf32>, tensor<512x256xf32>) -> tensor<512x256xf32>
  %r = "ted.compute"(%t, %v, %e) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    %u = arith.truncf %s : f32 to bf16
    "ted.yield"(%u) : (bf16) -> ()
  }) {
    extents = array<i64: 512, 256>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #j], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<512x256xf32>, tensor<256xf32>, tensor<512x256xbf16>) -> tensor<512x256xbf16>
  return %r : tensor<512x256xbf16>
}

// Equal parts of 509 x 521 are single ones.
// MATRIX-LABEL: func.func @odd_totals(
// MATRIX: ted.group = {name = "alone"}
// MATRIX: ted.group = {name = "alone"}
func.func @odd_totals(%x: tensor<509x8xf32>, %y: tensor<8x521xf32>, %v: tensor<521xf32>)
    -> tensor<509x521xbf16> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<509x521xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<509x521xf32>) -> tensor<509x521xf32>
  %e = tensor.empty() : tensor<509x521xbf16>
  %t = "ted.compute"(%x, %y, %z) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 509, 521, 8>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ik3, #kj3], guards = [#all3, #all3], write = #ij3, combiner = "add"
  } : (tensor<509x8xf32>, tensor<8x521xf32>, tensor<509x521xf32>) -> tensor<509x521xf32>
  %r = "ted.compute"(%t, %v, %e) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    %u = arith.truncf %s : f32 to bf16
    "ted.yield"(%u) : (bf16) -> ()
  }) {
    extents = array<i64: 509, 521>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #j], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<509x521xf32>, tensor<521xf32>, tensor<509x521xbf16>) -> tensor<509x521xbf16>
  return %r : tensor<509x521xbf16>
}
