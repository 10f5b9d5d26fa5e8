// RUN: ted-opt %s | filecheck %s
// RUN: ted-opt %s --ted-simplify --ted-simplify | filecheck %s --check-prefix=EQUATIONS
// RUN: ted-opt %s --convert-ted-to-linalg | filecheck %s --check-prefix=LINALG

// Elements say whether there is a sign, scalars of bodies do not: there operations do.

// CHECK-LABEL: func.func @least
// CHECK-SAME: tensor<4xui8>
// CHECK: tensor.bitcast %{{.*}} : tensor<i8> to tensor<ui8>
// CHECK: ^bb0(%[[X:.*]]: i8):
// EQUATIONS-LABEL: func.func @least
// EQUATIONS-SAME: (%{{.*}}: tensor<4xui8>) -> tensor<ui8>
// EQUATIONS: arith.constant -1 : i8
// EQUATIONS: tensor.bitcast %{{.*}} : tensor<i8> to tensor<ui8>
// EQUATIONS: arith.divui %{{.*}}, %{{.*}} : i8
// EQUATIONS: combiner = "min"
// LINALG-LABEL: func.func @least
// LINALG-SAME: (%{{.*}}: tensor<4xi8>) -> tensor<i8>
// LINALG-NOT: tensor.bitcast
// LINALG: arith.divui
// LINALG: arith.minui
func.func @least(%x: tensor<4xui8>) -> tensor<ui8> {
  %empty = tensor.empty() : tensor<i8>
  %most = arith.constant -1 : i8
  %filled = linalg.fill ins(%most : i8) outs(%empty : tensor<i8>) -> tensor<i8>
  %init = tensor.bitcast %filled : tensor<i8> to tensor<ui8>
  %least = "ted.compute"(%x, %init) ({
  ^bb0(%a: i8):
    %three = arith.constant 3 : i8
    %q = arith.divui %a, %three : i8
    "ted.yield"(%q) : (i8) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["reduction"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> ()>, combiner = "min"
  } : (tensor<4xui8>, tensor<ui8>) -> tensor<ui8>
  func.return %least : tensor<ui8>
}

// A tensor of the other sign is a copy of the same bits, a literal one with other numbers.

// EQUATIONS-LABEL: func.func @other_sign
// EQUATIONS: arith.cmpi slt
// LINALG-LABEL: func.func @other_sign
// LINALG: arith.cmpi slt
func.func @other_sign(%x: tensor<2xui16>) -> tensor<2xi1> {
  %signed = tensor.bitcast %x : tensor<2xui16> to tensor<2xi16>
  %literal = arith.constant dense<[-1, 7]> : tensor<2xi16>
  %table = tensor.bitcast %literal : tensor<2xi16> to tensor<2xui16>
  %init = tensor.empty() : tensor<2xi1>
  %less = "ted.compute"(%signed, %table, %init) ({
  ^bb0(%a: i16, %b: i16):
    %q = arith.cmpi slt, %a, %b : i16
    "ted.yield"(%q) : (i1) -> ()
  }) {
    extents = array<i64: 2>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<2xi16>, tensor<2xui16>, tensor<2xi1>) -> tensor<2xi1>
  func.return %less : tensor<2xi1>
}
