// `--verify-diagnostics` accepts exactly the diagnostics that the comments name.
// RUN: ted-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect
// RUN: not ted-opt %s --split-input-file --allow-unregistered-dialect 2>&1 | filecheck %s --check-prefix=PLAIN
// RUN: not ted-opt %inputs/wrong-expectations.mlir --split-input-file --verify-diagnostics 2>&1 | filecheck %s --check-prefix=WRONG

// PLAIN: diagnostics.mlir:[[# @LINE + 5]]:3: error: 'func.return' op has 1 operands
// WRONG: wrong-expectations.mlir:3: error: unexpected error: 'func.return' op has 1 operands
// WRONG: wrong-expectations.mlir:8: error: expected error "nothing is wrong here" was not produced
func.func @next_line(%x: i32) {
  // expected-error@+1 {{has 1 operands, but enclosing function (@next_line) returns 0}}
  func.return %x : i32
}

// -----

func.func @same_line(%x: i32) {
  func.return %x : i32 // expected-error {{has 1 operands}}
}

// -----

func.func @line_above(%x: i32) {
  func.return %x : i32
  // expected-error@-1 {{has 1 operands}}
}

// -----

func.func @above(%x: i32) {
  func.return %x : i32
  // expected-error@above {{has 1 operands}}
}

// -----

func.func @below(%x: i32) {
  // expected-error@below {{has 1 operands}}
  func.return %x : i32
}

// -----

func.func @regex(%x: i32) {
  // expected-error-re@+1 {{has {{[0-9]+}} operands, but}}
  func.return %x : i32
}

// -----

// expected-note@+1 {{prior use here}}
func.func @with_a_note(%x: i32) {
  // expected-error@+1 {{use of value '%x' expects different type than prior uses: 'i64' vs 'i32'}}
  func.return %x : i64
}

// -----

func.func @in_another_file(%x: i32) {
  // expected-error@unknown {{has 1 operands}}
  func.return %x : i32 loc("model.py":4:2)
}

// -----

func.func @nothing_wrong() {
  "nobody.knows"() : () -> ()
  func.return
}
