// What only NVIDIA's warps have becomes fences and shuffles; masks are of 32 lanes in waves of 64 too.
// RUN: ted-opt %s --ted-lower-warps-to-rocdl | filecheck %s

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // CHECK-LABEL: gpu.func @waits
    // CHECK-NEXT: llvm.fence syncscope("wavefront") acq_rel
    // CHECK-NEXT: rocdl.wave.barrier
    // CHECK-NEXT: gpu.return
    gpu.func @waits(%mask: i32) kernel {
      nvvm.bar.warp.sync %mask : i32
      gpu.return
    }

    // Bit k of the mask says whether lane k has the same key.
    // CHECK-LABEL: gpu.func @same_keys
    // CHECK-SAME: (%[[MASK:.*]]: i32, %[[KEY:.*]]: i32, %
    // CHECK: %[[N:.*]] = arith.index_cast %{{.*}} : index to i32
    // CHECK: %[[LANE:.*]] = arith.andi %[[N]], %c31
    // CHECK: %[[OWN:.*]] = arith.cmpi eq, %[[KEY]], %[[KEY]] : i32
    // CHECK: gpu.shuffle xor %[[KEY]]
    // CHECK: %[[PLACE:.*]] = arith.xori %[[LANE]], %c1
    // CHECK: %[[SAME:.*]] = arith.cmpi eq, %{{.*}}, %[[KEY]] : i32
    // CHECK: %[[BIT:.*]] = arith.shli %{{.*}}, %[[PLACE]] : i32
    // CHECK: arith.select %[[SAME]], %[[BIT]], %
    // CHECK: arith.ori
    // CHECK-COUNT-30: gpu.shuffle xor
    // CHECK-NOT: gpu.shuffle
    gpu.func @same_keys(%mask: i32, %key: i32, %out: memref<32xi32>) kernel {
      %i = gpu.thread_id x
      %lanes = nvvm.match.sync any %mask, %key : i32 -> i32
      memref.store %lanes, %out[%i] : memref<32xi32>
      gpu.return
    }

    // CHECK-LABEL: gpu.func @votes
    // CHECK: %[[VOTE:.*]] = arith.extui %{{.*}} : i1 to i32
    // CHECK: arith.cmpi eq, %[[VOTE]], %c1
    // CHECK-COUNT-31: gpu.shuffle xor %[[VOTE]]
    // CHECK-NOT: gpu.shuffle
    gpu.func @votes(%mask: i32, %vote: i1, %out: memref<32xi32>) kernel {
      %i = gpu.thread_id x
      %lanes = nvvm.vote.sync ballot %mask, %vote -> i32
      memref.store %lanes, %out[%i] : memref<32xi32>
      gpu.return
    }
  }
}
