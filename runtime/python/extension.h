/* What the source files of the extension `ted._runtime` share. */
#ifndef TED_EXTENSION_H
#define TED_EXTENSION_H

#include <stdbool.h>

#include "stable_abi.h"

enum { TED_MAX_RANK = 32 };

/* What an argument of a kernel must be. */
struct ted_spec {
  PyObject *dtype;
  Py_ssize_t bytes; /* of all elements */
  bool writable;
  int rank;
  int dlpack; /* DLPack's code of the element type times 256, and its bits; 0 for none */
  Py_ssize_t shape[TED_MAX_RANK];
};

/* Raised for an index out of range; its arguments are (tensor id, dim, value, extent). */
extern PyObject *ted_IndexFault;
/* Raised for a loop that does not end. */
extern PyObject *ted_EndlessLoop;

extern PyType_Spec ted_kernel_type;
extern PyType_Spec ted_buffer_type;
extern PyObject *ted_Buffer; /* the type */

/* Finds the functions of NumPy, once; false with an ImportError. */
bool ted_load_numpy(void);
/* Reads a spec, (dtype, shape, writable); false with an error. */
bool ted_parse_spec(PyObject *item, struct ted_spec *spec);
/* Whether an object is an array of NumPy, of no subclass, that fits, and where its data are. */
bool ted_fits(PyObject *object, const struct ted_spec *spec, void **data);
/* A new array in aligned memory of the runtime; NULL with an error. */
PyObject *ted_new_array(const struct ted_spec *spec, void **data);
/* The functions in a capsule, or NULL for none that are known. */
const struct dl_exchange *ted_exchange_of(PyObject *capsule);
/* Whether an object is a dense tensor on the CPU that fits, and where its data are. */
bool ted_tensor_fits(const struct dl_exchange *exchange, PyObject *object,
                     const struct ted_spec *spec, void **data);
/* A new tensor that owns memory of the runtime; NULL without an error. */
PyObject *ted_new_tensor(const struct dl_exchange *exchange, const struct ted_spec *spec,
                         void *data);
/* Sets a MemoryError with the bytes that could not be had, and returns NULL. */
PyObject *ted_out_of_memory(long long bytes);
/* A new `Buffer`, and where its data are; NULL with a MemoryError. */
PyObject *ted_new_buffer(Py_ssize_t size, void **data);

/* Frees an object of one of our types and the reference that it holds to its type. */
static inline void ted_free_object(PyObject *self) {
  PyTypeObject *type = self->ob_type;
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DecRef((PyObject *)type);
}

static inline PyObject *ted_none(void) {
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

#endif
