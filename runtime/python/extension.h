/* What the source files of the extension `ted._runtime` share. */
#ifndef TED_EXTENSION_H
#define TED_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Raised for an index out of range; its arguments are (tensor id, dim, value, extent). */
extern PyObject *ted_IndexFault;

extern PyType_Spec ted_kernel_type;
extern PyType_Spec ted_buffer_type;

/* Frees an object of one of our types and the reference that it holds to its type. */
static inline void ted_free_object(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

#endif
