// Expectations that do not hold, for diagnostics.mlir.
func.func @unexpected(%x: i32) {
  func.return %x : i32
}

// -----

// expected-error@+1 {{nothing is wrong here}}
func.func @missing() {
  func.return
}
