// RUN: %python %inputs/gpu_templates.py %s sm_80 ir | filecheck %s --check-prefix=IR
// RUN: %python %inputs/gpu_templates.py %s sm_80 ptx | filecheck %s --check-prefix=SM80
// RUN: %python %inputs/gpu_templates.py %s sm_90a ptx | filecheck %s --check-prefix=SM90

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Each thread keeps 8 x 8 sums as runs of 4; tiles pass through registers to shared memory.
// IR-LABEL: product_f32: Launch(symbol='product_f32', grid=(1024, 1, 1), block=(256, 1, 1)
// IR: gpu.func @product_f32(%{{.*}}: memref<16777216xf32> {llvm.align = 16 : i64, llvm.noalias}
// IR: gpu.dynamic_shared_memory
// IR: vector.load {{.*}} {alignment = 16 : i64} : memref<16777216xf32>, vector<4xf32>
// IR: scf.for
// IR: vector.fma {{.*}} : vector<4xf32>
// IR: gpu.barrier
// IR: vector.store {{.*}} : memref<16777216xf32>, vector<4xf32>
// SM80-LABEL: product_f32: Launch
// SM80: .maxntid 256
// SM80: .minnctapersm 2
// SM80: ld.global.nc.v4.b32
// SM80: bar.sync {{.*}}0;
// SM80: fma.rn.f32
// SM80: st.global.v4.b32
func.func @product_f32(%a: memref<4096x4096xf32>, %b: memref<4096x4096xf32>, %c: memref<4096x4096xf32>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<4096x4096xf32>, memref<4096x4096xf32>) outs(%c : memref<4096x4096xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Before Hopper: a ring of stages filled by cp.async, read by ldmatrix. On it: copies of boxes by one
// thread, and products of warpgroups that read shared memory.
// IR-LABEL: product_bf16: Launch
// IR: nvgpu.device_async_copy {{.*}}, 8 {bypassL1}
// IR: nvvm.cp.async.commit.group
// IR: nvvm.cp.async.wait.group 2
// IR: nvgpu.ldmatrix {{.*}}numTiles = 4
// IR: nvgpu.mma.sync({{.*}}) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
// SM80-LABEL: product_bf16: Launch
// SM80: cp.async.cg.shared.global {{.*}}, 16;
// SM80: cp.async.commit_group;
// SM80: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// SM80: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// SM80: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// SM80: cp.async.wait_group {{.*}}2;
// SM90-LABEL: product_bf16: Launch
// SM90-SAME: dynamic_shared_bytes=196672
// SM90-SAME: TensorMap(operand='a', element='bf16', offset=0, dims=(4096, 4096), strides=(8192,), box=(64, 128), swizzle='128B')
// SM90-SAME: TensorMap(operand='b', element='bf16', offset=0, dims=(4096, 4096), strides=(8192,), box=(64, 64), swizzle='128B')
// SM90: .param .align 64 .b8 product_bf16_param_0[128]
// SM90: mbarrier.init
// SM90: setmaxnreg.dec.sync.aligned.u32
// SM90: mbarrier.try_wait.parity
// SM90: mbarrier.arrive.expect_tx
// SM90: cp.async.bulk.tensor.2d.shared::cluster.global
// SM90: setmaxnreg.inc.sync.aligned.u32
// SM90: wgmma.fence.sync.aligned
// SM90: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// SM90: wgmma.commit_group.sync.aligned
// SM90: wgmma.wait_group.sync.aligned
// SM90: mbarrier.arrive.shared.b64 _
func.func @product_bf16(%a: memref<4096x4096xbf16>, %b: memref<4096x4096xbf16>, %c: memref<4096x4096xf32>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<4096x4096xbf16>, memref<4096x4096xbf16>) outs(%c : memref<4096x4096xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Few results of long sums: partial sums, then a second kernel that adds them in order.
// IR-LABEL: long_sums: Launch(symbol='long_sums',
// IR-SAME: arguments=('a', 'b', 'workspace')
// IR: long_sums: Launch(symbol='long_sums_sum',
// IR-SAME: arguments=('workspace', 'c')
// SM80-LABEL: long_sums: Launch
// SM80: .entry long_sums(
// SM80: .entry long_sums_sum(
// SM80-NOT: atom.
func.func @long_sums(%a: memref<64x65536xf32>, %b: memref<65536x64xf32>, %c: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x65536xf32>, memref<65536x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}

// A window is a dim that shares its memory with another: nothing is copied before the product.
// IR-LABEL: convolution: Launch
// IR: arith.remui
// IR: nvgpu.device_async_copy {{.*}} : memref<1048576xf16> to memref
// SM90-LABEL: convolution: Launch
// SM90: cp.async.cg.shared.global
// SM90: fence.proxy.async.shared::cta;
// SM90: bar.warp.sync
// SM90: mbarrier.arrive.shared.b64 _
// SM90: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16
func.func @convolution(%x: memref<64x16x16x64xf16>, %w: memref<256x3x3x64xf16>, %y: memref<64x14x14x256xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(n, h, v, o, r, s, c) -> (n, h + r, v + s, c)>,
                       affine_map<(n, h, v, o, r, s, c) -> (o, r, s, c)>,
                       affine_map<(n, h, v, o, r, s, c) -> (n, h, v, o)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<64x16x16x64xf16>, memref<256x3x3x64xf16>) outs(%y : memref<64x14x14x256xf32>) {
  ^bb0(%a: f16, %b: f16, %z: f32):
    %u = arith.extf %a : f16 to f32
    %v = arith.extf %b : f16 to f32
    %p = arith.mulf %u, %v : f32
    %t = arith.addf %z, %p : f32
    linalg.yield %t : f32
  }
  return
}

// IR: one_column: a matrix times a vector
func.func @one_column(%a: memref<64x65536xf32>, %b: memref<65536x1xf32>, %c: memref<64x1xf32>) {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x65536xf32>, memref<65536x1xf32>) outs(%c : memref<64x1xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}
