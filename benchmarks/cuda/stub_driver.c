// A CUDA driver that does nothing: what remains of a call is ted's own part. See launch_overhead.py.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint64_t next_address = 0x700000000000ull;
static uintptr_t next_handle = 0x1000;
static void *current = NULL;
static char pinned[4096];

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
  (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
  (void)stream, (void)params, (void)extra;
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
