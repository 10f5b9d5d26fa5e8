// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-fuse-rows{cpu=avx512})' | filecheck %s

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#ji = affine_map<(i, j) -> (j, i)>
#rows = {name = "common_rows", group = 1}

// CHECK-LABEL: func.func @centred_rows
// CHECK: scf.forall (%{{.*}}) in (8)
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @centred_rows(%x: tensor<8x32xf32>, %s: tensor<8xf32>, %y: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %sum = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x32xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<8x32xf32>, tensor<8xf32>) outs(%y : tensor<8x32xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %u = arith.subf %a, %m : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// The reader wants all rows of the producer at once.
// CHECK-LABEL: func.func @read_across_rows
// CHECK-NOT: scf.forall
// CHECK: return
func.func @read_across_rows(%x: tensor<8x8xf32>, %e: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.mulf %a, %a : f32
    linalg.yield %u : f32
  } -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Values at the same points need no loop over rows to meet, but those at other points of a row do.
// CHECK-LABEL: func.func @maps_alone
// CHECK-NOT: scf.forall
// CHECK: return
func.func @maps_alone(%x: tensor<8x32xf32>, %e: tensor<8x32xf32>, %y: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x32xf32>) outs(%y : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.mulf %a, %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @first_of_a_row
// CHECK: scf.forall
func.func @first_of_a_row(%x: tensor<8x32xf32>, %e: tensor<8x32xf32>, %y: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, 0)>, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %x : tensor<8x32xf32>, tensor<8x32xf32>) outs(%y : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %u = arith.mulf %a, %b : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// Two groups with equal members: fusing another one removes none of them.
// CHECK-LABEL: func.func @equal_members
// CHECK: scf.forall
// CHECK: math.exp
// CHECK: scf.forall
// CHECK: math.exp
// CHECK: scf.forall
// CHECK: math.log
// CHECK: return
func.func @equal_members(%x: tensor<8x32xf32>, %s: tensor<8xf32>, %e: tensor<8x32xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.exp %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %q = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.exp %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<8x32xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %m = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%q : tensor<8x32xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.mulf %t, %a : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %v = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.log %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %w = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%v : tensor<8x32xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %r, %m, %w : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A producer that calls stays, and its copy in the loop starts in another tensor.
// CHECK-LABEL: func.func @producer_that_calls
// CHECK: %[[STAYS:.*]] = tensor.empty() {ted.buffer = 0 : i64} : tensor<64xf32>
// CHECK: linalg.generic {{.*}} outs(%[[STAYS]] : tensor<64xf32>)
// CHECK: %[[LOOP:.*]] = tensor.empty() {ted.buffer = 1 : i64} : tensor<64xf32>
// CHECK: scf.forall (%{{.*}}) in (64) shared_outs(%{{.*}} = %[[LOOP]])
// CHECK: func.call @report
// CHECK: arith.addf
func.func private @report(i64)
func.func @producer_that_calls(%a: tensor<64x128xf32>, %n: tensor<64xi64>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() {ted.buffer = 0 : i64} : tensor<64xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%n : tensor<64xi64>) outs(%e : tensor<64xf32>) {
  ^bb0(%in: i64, %out: f32):
    func.call @report(%in) : (i64) -> ()
    linalg.yield %zero : f32
  } -> tensor<64xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<64x128xf32>) outs(%p : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %q : tensor<64xf32>
}

// A value that is wanted as it is stays outside of the loop that goes on from it.
// CHECK-LABEL: func.func @start_that_is_kept
// CHECK: %[[KEPT:.*]] = linalg.generic
// CHECK: %[[LOOP:.*]]:2 = scf.forall {{.*}} shared_outs(%{{.*}} = %[[KEPT]], %{{.*}} = %
// CHECK: return %[[KEPT]], %[[LOOP]]#1, %[[LOOP]]#0
func.func @start_that_is_kept(%x: tensor<8x32xf32>, %y: tensor<8x32xf32>, %e: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%y : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %q = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) attrs = {ted.group = #rows} {
  ^bb0(%a: f32, %o: f32):
    %u = math.exp %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<8x32xf32>) outs(%p : tensor<8x32xf32>) attrs = {ted.group = #rows} {
  ^bb0(%a: f32, %o: f32):
    %u = arith.addf %o, %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  return %p, %q, %r : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}

// A loop over rows gives each of its results a start of its own, and takes in the maker of one.
// CHECK-LABEL: func.func @one_start_of_two
// CHECK: %[[START:.*]] = linalg.generic
// CHECK: scf.forall {{.*}} shared_outs(%[[A:.*]] = %[[START]], %[[B:.*]] = %[[START]])
// CHECK-DAG: %[[ROW_A:.*]] = tensor.extract_slice %[[A]]
// CHECK-DAG: %[[ROW_B:.*]] = tensor.extract_slice %[[B]]
// CHECK: %[[FIRST:.*]] = linalg.generic {{.*}} outs(%[[ROW_B]] :
// CHECK: %[[SECOND:.*]] = linalg.generic {{.*}} ins(%[[FIRST]] : {{.*}} outs(%[[ROW_A]] :
// CHECK: tensor.parallel_insert_slice %[[FIRST]] into %[[B]]
// CHECK: tensor.parallel_insert_slice %[[SECOND]] into %[[A]]
func.func @one_start_of_two(%x: tensor<8x32xf32>, %y: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%y : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %a = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%p : tensor<8x32xf32>) attrs = {ted.group = #rows} {
  ^bb0(%e: f32, %o: f32):
    %u = arith.addf %o, %e : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x32xf32>) outs(%p : tensor<8x32xf32>) attrs = {ted.group = #rows} {
  ^bb0(%e: f32, %o: f32):
    %u = arith.mulf %o, %e : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  return %a, %r : tensor<8x32xf32>, tensor<8x32xf32>
}

// CHECK-LABEL: func.func @one_fill_of_two
// CHECK: %[[START:.*]] = linalg.fill
// CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[START]], %{{.*}} = %[[START]])
func.func @one_fill_of_two(%x: tensor<8x32xf32>, %y: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %c = arith.constant 1.0 : f32
  %p = linalg.fill ins(%c : f32) outs(%y : tensor<8x32xf32>) -> tensor<8x32xf32>
  %a = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%p : tensor<8x32xf32>) attrs = {ted.group = #rows} {
  ^bb0(%e: f32, %o: f32):
    %u = arith.addf %o, %e : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x32xf32>) outs(%p : tensor<8x32xf32>) attrs = {ted.group = #rows} {
  ^bb0(%e: f32, %o: f32):
    %u = arith.mulf %o, %e : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  return %a, %r : tensor<8x32xf32>, tensor<8x32xf32>
}

// Each of the two goes on in the memory of its own result: in one memory, the rows of one would lie
// beside those of the other.
// CHECK-LABEL: func.func @one_start_of_two_inner_members
// CHECK: scf.forall {{.*}} shared_outs(%{{.*}}, %[[B:.*]] = %[[START:.*]], %[[A:.*]] = %[[START]])
// CHECK-DAG: %[[ROW_A:.*]] = tensor.extract_slice %[[A]]
// CHECK-DAG: %[[ROW_B:.*]] = tensor.extract_slice %[[B]]
// CHECK: linalg.generic {{.*}} outs(%[[ROW_A]] :
// CHECK: linalg.generic {{.*}} outs(%[[ROW_B]] :
func.func @one_start_of_two_inner_members(%x: tensor<8x32xf32>, %y: tensor<8x32xf32>, %z: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %p = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%y : tensor<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %a = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%p : tensor<8x32xf32>) attrs = {ted.group = #rows} {
  ^bb0(%e: f32, %o: f32):
    %u = arith.addf %o, %e : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %b = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%p : tensor<8x32xf32>) attrs = {ted.group = #rows} {
  ^bb0(%e: f32, %o: f32):
    %u = arith.subf %o, %e : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<8x32xf32>, tensor<8x32xf32>) outs(%z : tensor<8x32xf32>) attrs = {ted.group = #rows} {
  ^bb0(%e: f32, %f: f32, %o: f32):
    %u = arith.mulf %e, %f : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  return %a, %b, %r : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}

// A loop on memory, which somebody wrote, is left alone.
// CHECK-LABEL: func.func @loop_on_memory
// CHECK: scf.forall
// CHECK-NEXT: memref.store
func.func @loop_on_memory(%x: memref<8xf32>, %v: f32) {
  scf.forall (%i) in (8) {
    memref.store %v, %x[%i] : memref<8xf32>
  }
  return
}
