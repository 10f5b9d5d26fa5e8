// RUN: not ted-opt %s --ted-time-kernels 2>&1 | filecheck %s

// CHECK: ted-time-kernels: a module has one public function, got f, g
func.func @f() { return }
func.func @g() { return }
