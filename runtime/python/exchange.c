/* Tensors of other libraries by the table of functions that DLPack 1.2 calls the exchange API.
 *
 * A library gives it as the capsule `__dlpack_c_exchange_api__` of its class of tensors. It takes
 * and makes tensors a hundred times as fast as methods of Python do. Layouts are those of DLPack 1.
 */
#include <stdlib.h>

#include "extension.h"
#include "ted/runtime.h"

enum { ON_CPU = 1, MAJOR = 1, MINOR = 1 };

struct dl_tensor {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

struct dl_version {
  uint32_t major, minor;
};

struct dl_managed {
  struct dl_version version;
  void *manager;
  void (*deleter)(struct dl_managed *self);
  uint64_t flags;
  struct dl_tensor tensor;
};

struct dl_exchange {
  struct dl_version version;
  struct dl_exchange *previous;
  void *allocate, *managed_from_object;
  int (*managed_to_object)(struct dl_managed *managed, void **object);
  int (*tensor_from_object)(void *object, struct dl_tensor *tensor);
};

/* A result: its tensor, and its shape behind it. */
struct result {
  struct dl_managed managed;
  int64_t shape[TED_MAX_RANK];
};

const struct dl_exchange *ted_exchange_of(PyObject *capsule) {
  const struct dl_exchange *found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  return found && found->version.major == MAJOR ? found : NULL;
}

static bool is_dense(const struct dl_tensor *tensor) {
  int64_t step = 1;
  for (int dim = tensor->ndim - 1; tensor->strides && dim >= 0; dim--) {
    if (tensor->shape[dim] != 1 && tensor->strides[dim] != step)
      return false;
    step *= tensor->shape[dim];
  }
  return true;
}

bool ted_tensor_fits(const struct dl_exchange *exchange, PyObject *object,
                     const struct ted_spec *spec, void **data) {
  struct dl_tensor tensor;
  if (exchange->tensor_from_object(object, &tensor))
    return PyErr_Clear(), false;
  if (tensor.device_type != ON_CPU || tensor.ndim != spec->rank || tensor.lanes != 1 ||
      (!tensor.data && spec->bytes) ||
      (tensor.code << 8 | tensor.bits) != spec->dlpack)
    return false;
  for (int dim = 0; dim < spec->rank; dim++)
    if (tensor.shape[dim] != spec->shape[dim])
      return false;
  *data = (char *)tensor.data + tensor.byte_offset;
  return is_dense(&tensor) && (uintptr_t)*data % (uintptr_t)((tensor.bits + 7) / 8) == 0;
}

static void delete_result(struct dl_managed *managed) {
  ted_memory_give(managed->tensor.data);
  free(managed);
}

PyObject *ted_new_tensor(const struct dl_exchange *exchange, const struct ted_spec *spec,
                         void *data) {
  struct result *result = calloc(1, sizeof *result);
  if (!result)
    return ted_memory_give(data), NULL;
  struct dl_managed *managed = &result->managed;
  managed->version = (struct dl_version){MAJOR, MINOR};
  managed->deleter = delete_result;
  managed->tensor = (struct dl_tensor){.data = data,
                                       .device_type = ON_CPU,
                                       .ndim = spec->rank,
                                       .code = (uint8_t)(spec->dlpack >> 8),
                                       .bits = (uint8_t)spec->dlpack,
                                       .lanes = 1,
                                       .shape = result->shape};
  for (int dim = 0; dim < spec->rank; dim++)
    result->shape[dim] = spec->shape[dim];
  void *object = NULL;
  if (exchange->managed_to_object(managed, &object))
    return PyErr_Clear(), NULL; /* the library has the memory, or has given it back */
  return object;
}
