/* What the source files of the extension `ted._runtime` share. */
#ifndef TED_EXTENSION_H
#define TED_EXTENSION_H

#include "stable_abi.h"

/* Raised for an index out of range; its arguments are (tensor id, dim, value, extent). */
extern PyObject *ted_IndexFault;

extern PyType_Spec ted_kernel_type;
extern PyType_Spec ted_buffer_type;

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
