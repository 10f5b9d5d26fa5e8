"""Programs of linalg, tensor and scf as people and tools write them, in f64; by name."""

from __future__ import annotations

_ID = "affine_map<(i, j) -> (i, j)>"

PROGRAMS: dict[str, str] = {
    "matmul on top of a bias": """
func.func @main(%a: tensor<3x4xf64>, %b: tensor<4x2xf64>, %c: tensor<2xf64>) -> tensor<3x2xf64> {
  %e = tensor.empty() : tensor<3x2xf64>
  %o = linalg.broadcast ins(%c : tensor<2xf64>) outs(%e : tensor<3x2xf64>) dimensions = [0]
  %0 = linalg.matmul ins(%a, %b : tensor<3x4xf64>, tensor<4x2xf64>)
      outs(%o : tensor<3x2xf64>) -> tensor<3x2xf64>
  %1 = math.tanh %0 : tensor<3x2xf64>
  return %1 : tensor<3x2xf64>
}""",
    "strided convolution of a padded image": """
func.func @main(%x: tensor<1x2x5x5xf64>, %w: tensor<3x2x3x3xf64>) -> tensor<1x3x3x3xf64> {
  %z = arith.constant 0.0 : f64
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %z : f64
  } : tensor<1x2x5x5xf64> to tensor<1x2x7x7xf64>
  %e = tensor.empty() : tensor<1x3x3x3xf64>
  %o = linalg.fill ins(%z : f64) outs(%e : tensor<1x3x3x3xf64>) -> tensor<1x3x3x3xf64>
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>,
      strides = dense<2> : vector<2xi64>}
    ins(%p, %w : tensor<1x2x7x7xf64>, tensor<3x2x3x3xf64>)
      outs(%o : tensor<1x3x3x3xf64>) -> tensor<1x3x3x3xf64>
  return %0 : tensor<1x3x3x3xf64>
}""",
    "sum of squares taken from a start, dims in another order": """
func.func @main(%x: tensor<3x4xf64>, %s: tensor<4xf64>) -> tensor<4xf64> {
  %0 = linalg.generic {indexing_maps = [affine_map<(r, i) -> (r, i)>, affine_map<(r, i) -> (i)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<3x4xf64>)
      outs(%s : tensor<4xf64>) {
  ^bb0(%a: f64, %t: f64):
    %q = arith.mulf %a, %a : f64
    %d = arith.subf %t, %q : f64
    linalg.yield %d : f64
  } -> tensor<4xf64>
  return %0 : tensor<4xf64>
}""",
    "maximum by select, and where it is": """
func.func @main(%x: tensor<3x4xf64>) -> (tensor<3xf64>, tensor<3xi32>) {
  %low = arith.constant 0xFFF0000000000000 : f64
  %c = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3xf64>
  %f = tensor.empty() : tensor<3xi32>
  %s = linalg.fill ins(%low : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %z = linalg.fill ins(%c : i32) outs(%f : tensor<3xi32>) -> tensor<3xi32>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (i)>,
      affine_map<(i, r) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x4xf64>) outs(%s, %z : tensor<3xf64>, tensor<3xi32>) {
  ^bb0(%a: f64, %t: f64, %n: i32):
    %k = linalg.index 1 : index
    %m = arith.index_cast %k : index to i32
    %g = arith.cmpf ogt, %a, %t : f64
    %v = arith.select %g, %a, %t : f64
    %p = arith.select %g, %m, %n : i32
    linalg.yield %v, %p : f64, i32
  } -> (tensor<3xf64>, tensor<3xi32>)
  return %0#0, %0#1 : tensor<3xf64>, tensor<3xi32>
}""",
    "a decayed sum, which is no combiner": """
func.func @main(%x: tensor<3x4xf64>, %s: tensor<3xf64>) -> tensor<3xf64> {
  %h = arith.constant 0.5 : f64
  %0 = linalg.generic {indexing_maps = [affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x4xf64>)
      outs(%s : tensor<3xf64>) {
  ^bb0(%a: f64, %t: f64):
    %q = arith.mulf %t, %h : f64
    %d = arith.addf %q, %a : f64
    linalg.yield %d : f64
  } -> tensor<3xf64>
  return %0 : tensor<3xf64>
}""",
    "two totals that read each other over two dims": """
func.func @main(%x: tensor<2x3xf64>, %s: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %0:2 = linalg.generic {indexing_maps = [affine_map<(q, r) -> (q, r)>, affine_map<(q, r) -> ()>,
      affine_map<(q, r) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<2x3xf64>) outs(%s, %s : tensor<f64>, tensor<f64>) {
  ^bb0(%a: f64, %t: f64, %u: f64):
    %p = arith.mulf %a, %u : f64
    %v = arith.addf %t, %p : f64
    %w = math.sin %v : f64
    linalg.yield %v, %w : f64, f64
  } -> (tensor<f64>, tensor<f64>)
  return %0#0, %0#1 : tensor<f64>, tensor<f64>
}""",
    "slices in and out, with strides and without a dim": """
func.func @main(%x: tensor<4x6xf64>, %y: tensor<2x5xf64>) -> (tensor<3xf64>, tensor<2x5xf64>) {
  %0 = tensor.extract_slice %x[1, 1] [1, 3] [1, 2] : tensor<4x6xf64> to tensor<3xf64>
  %1 = arith.mulf %0, %0 : tensor<3xf64>
  %2 = tensor.insert_slice %1 into %y[1, 0] [1, 3] [1, 2] : tensor<3xf64> into tensor<2x5xf64>
  return %1, %2 : tensor<3xf64>, tensor<2x5xf64>
}""",
    "a diagonal, reshaped, joined and repeated": """
func.func @main(%x: tensor<4x4xf64>) -> tensor<2x4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<4x4xf64>) outs(%e : tensor<4xf64>) {
  ^bb0(%a: f64, %o: f64):
    linalg.yield %a : f64
  } -> tensor<4xf64>
  %m = tensor.expand_shape %d [[0, 1]] output_shape [2, 2] : tensor<4xf64> into tensor<2x2xf64>
  %c = tensor.concat dim(1) %m, %m : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x4xf64>
  %f = tensor.collapse_shape %c [[0, 1]] : tensor<2x4xf64> into tensor<8xf64>
  %g = tensor.expand_shape %f [[0, 1]] output_shape [2, 4] : tensor<8xf64> into tensor<2x4xf64>
  %q = arith.mulf %g, %c : tensor<2x4xf64>
  return %q : tensor<2x4xf64>
}""",
    "a gather by data": """
func.func @main(%x: tensor<5x2xf64>, %n: tensor<3xi64>) -> tensor<3x2xf64> {
  %e = tensor.empty() : tensor<3x2xf64>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%n : tensor<3xi64>)
      outs(%e : tensor<3x2xf64>) {
  ^bb0(%k: i64, %o: f64):
    %p = arith.index_cast %k : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %x[%p, %j] : tensor<5x2xf64>
    %w = arith.mulf %v, %v : f64
    linalg.yield %w : f64
  } -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}""",
    "a loop over steps with a tensor and a scalar": """
func.func @main(%x: tensor<3xf64>, %s: f64) -> (tensor<3xf64>, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.5 : f64
  %0:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%h = %x, %t = %s) -> (tensor<3xf64>, f64) {
    %b = tensor.splat %t : tensor<3xf64>
    %m = arith.mulf %h, %b : tensor<3xf64>
    %n = math.sin %m : tensor<3xf64>
    %k = arith.index_cast %i : index to i64
    %f = arith.sitofp %k : i64 to f64
    %u = arith.addf %t, %f : f64
    %v = arith.divf %u, %one : f64
    scf.yield %n, %v : tensor<3xf64>, f64
  }
  return %0#0, %0#1 : tensor<3xf64>, f64
}""",
    "a loop that fills rows": """
func.func @main(%x: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<3x2xf64>
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%o = %e) -> (tensor<3x2xf64>) {
    %r = tensor.extract_slice %x[%i, 0] [1, 2] [1, 1] : tensor<3x2xf64> to tensor<2xf64>
    %q = math.exp %r : tensor<2xf64>
    %n = tensor.insert_slice %q into %o[%i, 0] [1, 2] [1, 1] : tensor<2xf64> into tensor<3x2xf64>
    scf.yield %n : tensor<3x2xf64>
  }
  return %0 : tensor<3x2xf64>
}""",
    "a branch on data": """
func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %a = tensor.extract %x[%c0] : tensor<3xf64>
  %g = arith.cmpf olt, %a, %z : f64
  %0 = scf.if %g -> (tensor<3xf64>) {
    %y = math.exp %x : tensor<3xf64>
    scf.yield %y : tensor<3xf64>
  } else {
    %y = arith.mulf %x, %x : tensor<3xf64>
    scf.yield %y : tensor<3xf64>
  }
  return %0 : tensor<3xf64>
}""",
    "a counted while": """
func.func @main(%x: tensor<2xf64>) -> (tensor<2xf64>, i64) {
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c7 = arith.constant 7 : i64
  %0:2 = scf.while (%i = %c1, %h = %x) : (i64, tensor<2xf64>) -> (i64, tensor<2xf64>) {
    %g = arith.cmpi slt, %i, %c7 : i64
    scf.condition(%g) %i, %h : i64, tensor<2xf64>
  } do {
  ^bb0(%i: i64, %h: tensor<2xf64>):
    %n = arith.addi %i, %c2 : i64
    %m = math.sin %h : tensor<2xf64>
    scf.yield %n, %m : i64, tensor<2xf64>
  }
  return %0#1, %0#0 : tensor<2xf64>, i64
}""",
    "a call of a function with a block of indices": """
func.func private @ramp(%s: f64) -> tensor<2x3xf64> {
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %n = arith.addi %i, %j : index
    %k = arith.index_cast %n : index to i64
    %f = arith.sitofp %k : i64 to f64
    %v = arith.mulf %f, %s : f64
    tensor.yield %v : f64
  } : tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
func.func @main(%s: f64) -> (tensor<2x3xf64>, tensor<3xf64>) {
  %0 = func.call @ramp(%s) : (f64) -> tensor<2x3xf64>
  %v = tensor.from_elements %s, %s, %s : tensor<3xf64>
  %c1 = arith.constant 1 : index
  %k = arith.constant 2.0 : f64
  %w = tensor.insert %k into %v[%c1] : tensor<3xf64>
  return %0, %w : tensor<2x3xf64>, tensor<3xf64>
}""",
    "floats compared, clamped and rounded": f"""
func.func @main(%x: tensor<2x4xf64>, %y: tensor<2x4xf64>) -> tensor<2x4xf64> {{
  %e = tensor.empty() : tensor<2x4xf64>
  %0 = linalg.generic {{indexing_maps = [{_ID}, {_ID}, {_ID}],
      iterator_types = ["parallel", "parallel"]}} ins(%x, %y : tensor<2x4xf64>, tensor<2x4xf64>)
      outs(%e : tensor<2x4xf64>) {{
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.maxnumf %a, %b : f64
    %n = arith.minnumf %a, %b : f64
    %c = math.copysign %m, %n : f64
    %r = math.round %b : f64
    %q = arith.mulf %c, %r : f64
    %u = arith.cmpf ult, %a, %b : f64
    %s = arith.select %u, %q, %a : f64
    linalg.yield %s : f64
  }} -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}}""",
}

INTEGERS = """
func.func @main(%x: tensor<9xi32>, %y: tensor<9xi32>, %b: tensor<9xi1>)
    -> (tensor<9xi32>, tensor<9xi32>, tensor<9xi32>, tensor<9xi32>, tensor<9xi1>, tensor<9xi32>) {
  %q = arith.divsi %x, %y : tensor<9xi32>
  %r = arith.remsi %x, %y : tensor<9xi32>
  %c = arith.ceildivsi %x, %y : tensor<9xi32>
  %s = arith.extsi %b : tensor<9xi1> to tensor<9xi32>
  %t = arith.trunci %x : tensor<9xi32> to tensor<9xi1>
  %v = arith.addi %t, %b : tensor<9xi1>
  %u = arith.divui %x, %y : tensor<9xi32>
  return %q, %r, %c, %s, %v, %u : tensor<9xi32>, tensor<9xi32>,
      tensor<9xi32>, tensor<9xi32>, tensor<9xi1>, tensor<9xi32>
}"""

COUNTER = """
func.func @main(%x: tensor<2xf64>) -> (tensor<2xf64>, KIND) {
  %a = arith.constant FIRST : KIND
  %b = arith.constant STEP : KIND
  %c = arith.constant END : KIND
  %0:2 = scf.while (%i = %a, %h = %x) : (KIND, tensor<2xf64>) -> (KIND, tensor<2xf64>) {
    %g = arith.cmpi PREDICATE, %i, %c : KIND
    scf.condition(%g) %i, %h : KIND, tensor<2xf64>
  } do {
  ^bb0(%i: KIND, %h: tensor<2xf64>):
    %n = arith.addi %i, %b : KIND
    %m = arith.addf %h, %h : tensor<2xf64>
    scf.yield %n, %m : KIND, tensor<2xf64>
  }
  return %0#1, %0#0 : tensor<2xf64>, KIND
}"""

STACK = """
func.func @main(%x: tensor<4x3xf64>) -> tensor<4x3xf64> {
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %0:2 = scf.while (%i = %zero, %o = %x) : (i64, tensor<4x3xf64>) -> (i64, tensor<4x3xf64>) {
    %g = arith.cmpi slt, %i, %four : i64
    scf.condition(%g) %i, %o : i64, tensor<4x3xf64>
  } do {
  ^bb0(%i: i64, %o: tensor<4x3xf64>):
    %n = arith.addi %i, %one : i64
    %k = arith.index_cast %i : i64 to index
    %back = arith.subi %c3, %k : index
    %q = tensor.extract_slice %o[%back, 0] [1, 3] [1, 1] : tensor<4x3xf64> to tensor<3xf64>
    %r = arith.addf %q, %q : tensor<3xf64>
    %w = tensor.insert_slice %r into %o[%k, 0] [1, 3] [1, 1]
      : tensor<3xf64> into tensor<4x3xf64>
    scf.yield %n, %w : i64, tensor<4x3xf64>
  }
  return %0#1 : tensor<4x3xf64>
}"""

BITS = """
func.func @main(%a: tensor<4xi1>, %b: tensor<4xi1>)
    -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi64>) {
  %0 = arith.cmpi slt, %a, %b : tensor<4xi1>
  %1 = arith.cmpi sle, %a, %b : tensor<4xi1>
  %2 = arith.cmpi sgt, %a, %b : tensor<4xi1>
  %3 = arith.cmpi sge, %a, %b : tensor<4xi1>
  %4 = arith.index_cast %a : tensor<4xi1> to tensor<4xindex>
  %5 = arith.index_cast %4 : tensor<4xindex> to tensor<4xi64>
  return %0, %1, %2, %3, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi64>
}"""
