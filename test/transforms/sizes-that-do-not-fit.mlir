// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-specialise-sizes{values=6,4})' --split-input-file --verify-diagnostics

// expected-error@+1 {{ted-specialise-sizes: one value for each of the sizes ['n'], got values=[6, 4]}}
func.func @too_many_values(%x: tensor<?xf64, affine_map<()[s0] -> (s0)>>)
    -> tensor<?xf64, affine_map<()[s0] -> (s0)>>
    attributes {ted.sizes = [{min = 1 : i64, multiple_of = 1 : i64, name = "n"}]} {
  func.return %x : tensor<?xf64, affine_map<()[s0] -> (s0)>>
}

// -----
// expected-error@+1 {{ted-specialise-sizes: size m must be a multiple of 3, got 4}}
func.func @a_broken_promise(%x: tensor<?x?xf64, affine_map<()[s0, s1] -> (s0, s1)>>)
    -> tensor<?x?xf64, affine_map<()[s0, s1] -> (s0, s1)>>
    attributes {ted.sizes = [{min = 1 : i64, multiple_of = 1 : i64, name = "n"},
                             {min = 1 : i64, multiple_of = 3 : i64, name = "m"}]} {
  func.return %x : tensor<?x?xf64, affine_map<()[s0, s1] -> (s0, s1)>>
}
