"""Operations of NVVM that kernels use, each with the PTX instruction that it must become.

The operations stand in a kernel with these arguments: generic pointer %p, shared %s, global %g,
cluster-shared %d, and the numbers %i (i32), %l (i64), %h (i16), %x (f32), %b (i1).
"""

from __future__ import annotations

ARGUMENTS = (
    "%p: !llvm.ptr, %s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %d: !llvm.ptr<7>, "
    "%i: i32, %l: i64, %h: i16, %x: f32, %b: i1"
)


def kernel(body: str) -> str:
    """A kernel of 128 threads around some operations."""
    attributes = "nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>"
    return f"llvm.func @k({ARGUMENTS}) attributes {{{attributes}}} {{ {body} llvm.return }}"


def result(operation: str, kind: str) -> str:
    """An operation and a use of its result."""
    if kind == "i1":
        return f"%r = {operation} %z = llvm.zext %r : i1 to i32 llvm.store %z, %p : i32, !llvm.ptr"
    return f"%r = {operation} llvm.store %r, %p : {kind}, !llvm.ptr"


_MATRIX = (
    "{{{count}layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, "
    "eltType = #nvvm.ld_st_matrix_elt_type<b16>}}"
)
_BARRIER = "!llvm.ptr<3>"
_TENSOR_LOAD = "nvvm.cp.async.bulk.tensor.shared.cluster.global"
_CONSTANTS = "%one = llvm.mlir.constant(1 : i32) : i32 %n = llvm.mlir.constant(128 : i32) : i32"

# Name -> (operations, pattern in the PTX)
SYNCHRONISATION = {
    "barrier": ("nvvm.barrier", r"bar(rier)?\.sync\s+0"),
    "barrier of some": (
        f"{_CONSTANTS} nvvm.barrier id = %one number_of_threads = %n",
        r"bar(rier)?\.sync\s+1, 128"),
    "barrier arrive": (
        f"{_CONSTANTS} nvvm.barrier.arrive id = %one number_of_threads = %n",
        r"bar(rier)?(\.cta)?\.arrive\s+1, 128"),
    "cluster": (
        "nvvm.cluster.arrive {aligned} nvvm.cluster.wait {aligned}",
        r"barrier\.cluster\.arrive.*\n.*barrier\.cluster\.wait"),
    "warp": ("nvvm.bar.warp.sync %i : i32", r"bar\.warp\.sync"),
    "memory barrier": ("nvvm.memory.barrier <cta>", r"membar\.cta|fence\.\S*cta"),
    "fence of the proxy": (
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, "
        "space = #nvvm.shared_space<cta>}", r"fence\.proxy\.async\.shared::cta"),
    "fence of barriers": ("nvvm.fence.mbarrier.init", r"fence\.mbarrier_init"),
    "fence of the cluster": ("nvvm.fence.sc.cluster", r"fence\.sc\.cluster"),
    "elect": (result("nvvm.elect.sync -> i1", "i1"), r"elect\.sync"),
    "registers": ("nvvm.setmaxregister decrease 40", r"setmaxnreg\.dec\.sync\.aligned\.u32\s+40"),
    "dependent grid": ("nvvm.griddepcontrol wait", r"griddepcontrol\.wait"),
    "mbarrier init": (f"nvvm.mbarrier.init %s, %i : {_BARRIER}, i32", r"mbarrier\.init\.shared"),
    "mbarrier arrive": (
        result(f"nvvm.mbarrier.arrive %s : {_BARRIER} -> i64", "i64"), r"mbarrier\.arrive\."),
    "mbarrier expect": (
        f"nvvm.mbarrier.arrive.expect_tx %s, %i : {_BARRIER}, i32", r"mbarrier\.arrive\.expect_tx"),
    "mbarrier wait": (
        f"nvvm.mbarrier.try_wait.parity %s, %i, %i : {_BARRIER}, i32, i32",
        r"mbarrier\.try_wait\.parity"),
    "mbarrier try": (
        result(f"nvvm.mbarrier.try_wait %s, %i : {_BARRIER}, i32 -> i1", "i1"),
        r"mbarrier\.try_wait"),
    "mbarrier test": (
        result(f"nvvm.mbarrier.test.wait %s, %l : {_BARRIER}, i64 -> i1", "i1"),
        r"mbarrier\.test_wait"),
}  # fmt: skip
WARPS = {
    "shuffle": (
        result("nvvm.shfl.sync bfly %i, %x, %i, %i : f32 -> f32", "f32"), r"shfl\.sync\.bfly\.b32"),
    "vote": (result("nvvm.vote.sync ballot %i, %b -> i32", "i32"), r"vote\.sync\.ballot\.b32"),
    "match": (result("nvvm.match.sync any %i, %i : i32 -> i32", "i32"), r"match\.any\.sync\.b32"),
    "reduce": (result("nvvm.redux.sync add %i, %i : i32 -> i32", "i32"), r"redux\.sync\.add\.s32"),
    "load matrix": (
        result(f"nvvm.ldmatrix %s {_MATRIX.format(count='num = 1 : i32, ')} "
               ": (!llvm.ptr<3>) -> i32", "i32"),
        r"ldmatrix\.sync\.aligned\.m8n8\.x1\.shared\.b16"),
    "store matrix": (
        f"nvvm.stmatrix %s, %i, %i {_MATRIX.format(count='')} : !llvm.ptr<3>, i32, i32",
        r"stmatrix\.sync\.aligned\.m8n8\.x2\.shared\.b16"),
    "permute": (result("nvvm.prmt <f4e> %i, %i, %i : i32", "i32"), r"prmt\.b32\.f4e"),
}  # fmt: skip
COPIES = {
    "copy": (
        "nvvm.cp.async.shared.global %s, %g, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1> "
        "nvvm.cp.async.commit.group nvvm.cp.async.wait.group 0",
        r"cp\.async\.cg\.shared\.global.*16(.|\n)*cp\.async\.commit_group(.|\n)*cp\.async\.wait_"),
    "copy and arrive": (
        "nvvm.cp.async.mbarrier.arrive %s : !llvm.ptr<3>", r"cp\.async\.mbarrier\.arrive"),
    "bulk copy in": (
        "nvvm.cp.async.bulk.shared.cluster.global %d, %g, %s, %i : !llvm.ptr<7>, !llvm.ptr<1>",
        r"cp\.async\.bulk\.shared::cluster\.global\.mbarrier"),
    "bulk copy out": (
        "nvvm.cp.async.bulk.global.shared.cta %g, %s, %i : !llvm.ptr<1>, !llvm.ptr<3>",
        r"cp\.async\.bulk\.global\.shared::cta\.bulk_group"),
    "tensor load": (
        f"{_TENSOR_LOAD} %d, %p, %s, box[%i, %i] : !llvm.ptr<7>, !llvm.ptr",
        r"cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global\S*mbarrier"),
    "tensor load to many": (
        f"{_TENSOR_LOAD} %d, %p, %s, box[%i, %i] multicast_mask = %h : !llvm.ptr<7>, !llvm.ptr",
        r"cp\.async\.bulk\.tensor\.2d\.\S*multicast::cluster"),
    "tensor store": (
        "nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i, %i] : !llvm.ptr, !llvm.ptr<3>"
        " nvvm.cp.async.bulk.commit.group nvvm.cp.async.bulk.wait_group 0",
        r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta(.|\n)*cp\.async\.bulk\.wait_group"),
    "tensor prefetch": (
        "nvvm.cp.async.bulk.tensor.prefetch %p, box[%i, %i] : !llvm.ptr",
        r"cp\.async\.bulk\.prefetch\.tensor\.2d"),
    "tensor map prefetch": ("nvvm.prefetch tensormap, %p : !llvm.ptr", r"prefetch\.tensormap"),
    "address in the cluster": (
        "%r = nvvm.mapa %s, %i : !llvm.ptr<3> -> !llvm.ptr<7> "
        "llvm.store %i, %r : i32, !llvm.ptr<7>", r"mapa\.shared::cluster"),
    "constant load": (
        result("llvm.load %g invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>",
               "vector<4xf32>"), r"ld\.global\.nc\.v4"),
    "streaming store": (
        "%v = llvm.load %g {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32> "
        "%q = llvm.getelementptr %g[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8 "
        "llvm.store %v, %q {alignment = 16 : i64, nontemporal} : vector<4xf32>, !llvm.ptr<1>",
        r"st\.global\S*\.v4"),
}  # fmt: skip
ARITHMETIC = {
    "round to tf32": (
        result("nvvm.convert.float.to.tf32 %x {rnd = #nvvm.fp_rnd_mode<rna>}", "i32"),
        r"cvt\.rna\.tf32\.f32"),
    "exponential": (result("nvvm.ex2 %x : f32", "f32"), r"ex2\.approx\.f32"),
    "reciprocal": (result("nvvm.rcp.approx.ftz.f %x : f32", "f32"), r"rcp\.approx\.ftz\.f32"),
    "reciprocal root": (result("nvvm.rsqrt %x : f32", "f32"), r"rsqrt\.approx\.f32"),
    "inline PTX": (
        result('nvvm.inline_ptx "tanh.approx.f32 {$w0}, {$r0};" ro (%x : f32) -> f32', "f32"),
        r"tanh\.approx\.f32"),
    "inline assembly": (
        result('llvm.inline_asm "tanh.approx.f32 $0, $1;", "=f,f" %x : (f32) -> f32', "f32"),
        r"tanh\.approx\.f32"),
    "atomic sum": (
        "%r = llvm.atomicrmw fadd %g, %x syncscope(\"device\") monotonic {alignment = 4 : i64} "
        ": !llvm.ptr<1>, f32", r"(atom|red)\S*\.global\.add\.f32"),
    "atomic exchange": (
        result("llvm.cmpxchg %g, %l, %l monotonic monotonic : !llvm.ptr<1>, i64",
               "!llvm.struct<(i64, i1)>"), r"atom\S*\.global\.cas\.b64"),
}  # fmt: skip
_SUMS = f"!llvm.struct<({', '.join(['f32'] * 4)})>"
_MMA = (
    "nvvm.mma.sync A[%i, %i, %i, %i] B[%i, %i] C[%x, %x, %x, %x] {{"
    "layoutA = #nvvm.mma_layout<row>, multiplicandAPtxType = #nvvm.mma_type<{type}>, "
    "layoutB = #nvvm.mma_layout<col>, multiplicandBPtxType = #nvvm.mma_type<{type}>, "
    "shape = #nvvm.shape<m = 16, n = 8, k = {k}>}} : (i32, i32, f32) -> " + _SUMS
)
_WGMMA = (
    "%c = llvm.mlir.undef : " + _SUMS + " nvvm.wgmma.fence.aligned "
    "%r = nvvm.wgmma.mma_async %l, %l, %c, #nvvm.shape<m = 64, n = 8, k = 16>, "
    "D [<f32>, #nvvm.wgmma_scale_out<one>], "
    "A [<{type}>, #nvvm.wgmma_scale_in<one>, <row>], "
    "B [<{type}>, #nvvm.wgmma_scale_in<one>, <col>] : " + _SUMS + " -> " + _SUMS + " "
    "nvvm.wgmma.commit.group.sync.aligned nvvm.wgmma.wait.group.sync.aligned 0 "
    "llvm.store %r, %p : " + _SUMS + ", !llvm.ptr"
)
PRODUCTS = {
    f"product of {kind}": (
        result(_MMA.format(type=kind, k=k), _SUMS),
        rf"mma\.sync\.aligned\.m16n8k{k}\.row\.col\.f32\.{kind}\.{kind}\.f32")
    for kind, k in (("bf16", 16), ("tf32", 8))
} | {
    f"product of a warp group in {kind}": (
        _WGMMA.format(type=kind),
        rf"wgmma\.fence(.|\n)*wgmma\.mma_async\.sync\.aligned\.m64n8k16\.f32\.{kind}\.{kind}"
        r"(.|\n)*wgmma\.commit_group(.|\n)*wgmma\.wait_group")
    for kind in ("f16", "bf16")
}  # fmt: skip
OPERATIONS = SYNCHRONISATION | WARPS | COPIES | ARITHMETIC | PRODUCTS

# What only the newer LLVM knows.
MISSING = {
    "tensor reduce": (
        "nvvm.cp.async.bulk.tensor.reduce %p, %s, box[%i, %i] "
        "{redKind = #nvvm.tma_redux_kind<add>} : !llvm.ptr, !llvm.ptr<3>",
        r"llvm\.nvvm\.cp\.async\.bulk\.tensor\.reduce\S*"),
}  # fmt: skip
