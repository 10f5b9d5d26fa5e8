// A CUDA driver that does nothing: what remains of a call is ted's own part. See launch_overhead.py.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint64_t next_address = 0x700000000000ull;
static uintptr_t next_handle = 0x1000;
static void *current = NULL;
static char pinned[4096];
// What the latest launch was given, for tests: grid, block, shared memory, stream, first arguments.
uint64_t stub_launch[12];

static int give(void **place) {
  *place = (void *)(next_handle += 16);
  return 0;
}
int cuInit(unsigned flags) { return (int)(flags != 0); }
int cuGetErrorName(int code, const char **text) { return *text = "error", code * 0; }
int cuGetErrorString(int code, const char **text) { return *text = "error", code * 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char *text, int size, int device) {
  strncpy(text, "stub", (size_t)size);
  return device * 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : 232448;  // compute capability 9.0
  return device * 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { return give(context) + device * 0; }
int cuCtxGetCurrent(void **context) { return *context = current, 0; }
int cuCtxPushCurrent_v2(void *context) { return current = context, 0; }
int cuCtxPopCurrent_v2(void **context) { return *context = current, current = NULL, 0; }
int cuCtxSynchronize(void) { return 0; }
int cuModuleLoadDataEx(void **module, const char *text, unsigned count, void *options, void *values) {
  (void)text, (void)count, (void)options, (void)values;
  return give(module);
}
int cuModuleUnload(void *module) { return (void)module, 0; }
int cuMemFreeHost(void *address) { return (void)address, 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  (void)module, (void)name;
  return give(function);
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  (void)attribute, (void)function;
  return *value = 0, 0;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
  const uint64_t seen[] = {(uintptr_t)function, gx, gy, gz, bx, by, bz, shared, (uintptr_t)stream};
  memcpy(stub_launch, seen, sizeof seen);
  for (int k = 0; k < 2; k++) memcpy(&stub_launch[9 + k], params[k], 8);
  stub_launch[11] = extra != NULL;
  return 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t size) {
  *address = next_address;
  next_address += (size + 4095) / 4096 * 4096;
  return 0;
}
int cuMemFree_v2(uint64_t address) { return (void)address, 0; }
int cuMemHostAlloc(void **address, size_t size, unsigned flags) {
  (void)size, (void)flags;
  return *address = pinned, 0;
}
int cuMemcpyDtoHAsync_v2(void *target, uint64_t source, size_t size, void *stream) {
  (void)target, (void)source, (void)size, (void)stream;
  return 0;
}
int cuMemsetD8Async(uint64_t target, unsigned char value, size_t count, void *stream) {
  (void)target, (void)value, (void)count, (void)stream;
  return 0;
}
int cuStreamSynchronize(void *stream) { return (void)stream, 0; }
int cuStreamCreate(void **stream, unsigned flags) { return give(stream) + (int)(flags != 1); }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  (void)stream, (void)event;
  return (int)flags;
}
int cuEventCreate(void **event, unsigned flags) { return (void)flags, give(event); }
int cuEventRecord(void *event, void *stream) { return (void)event, (void)stream, 0; }
int cuEventSynchronize(void *event) { return (void)event, 0; }
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  (void)start, (void)end;
  return *milliseconds = 0.5f, 0;
}
int cuEventDestroy_v2(void *event) { return (void)event, 0; }
int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t size, void *stream) {
  (void)target, (void)source, (void)size, (void)stream;
  return 0;
}
int cuStreamBeginCapture_v2(void *stream, int mode) { return (void)stream, mode != 2; }
int cuStreamEndCapture(void *stream, void **graph) { return (void)stream, give(graph); }
int cuStreamGetCaptureInfo_v2(void *stream, int *active, uint64_t *number, void **graph,
                              void *nodes, void *count) {
  *active = 0;
  *number = 0;
  return (void)stream, (void)graph, (void)nodes, (void)count, 0;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
  *mode = 0;
  return 0;
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, uint64_t flags) {
  (void)graph;
  return give(executable) + (int)flags;
}
int cuGraphLaunch(void *executable, void *stream) { return (void)executable, (void)stream, 0; }
int cuGraphDestroy(void *graph) { return (void)graph, 0; }
int cuGraphExecDestroy(void *executable) { return (void)executable, 0; }
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps,
                           int interleave, int swizzle, int promotion, int fill) {
  const uint64_t seen[] = {(uint64_t)type, rank, (uintptr_t)address, dims[0], dims[1], strides[0],
                           box[0], box[1], steps[1], (uint64_t)interleave, (uint64_t)swizzle,
                           (uint64_t)promotion, (uint64_t)fill};
  memcpy(map, seen, sizeof seen);
  return (uintptr_t)map % 64 != 0;
}
