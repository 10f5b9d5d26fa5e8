/* The part of NumPy's binary interface that the extension uses, declared here instead of by NumPy's
 * headers, which need Python.h.
 *
 * It is the same in NumPy 1 and 2: the first fields of arrays and dtypes, flags, and places in the
 * table of functions. A test compares them with NumPy's headers.
 */
#ifndef TED_NUMPY_ABI_H
#define TED_NUMPY_ABI_H

#include "stable_abi.h"

struct ted_dtype {
  PyObject object;
  PyTypeObject *typeobj;
  char kind, type, byteorder, unused;
  int type_num;
};

struct ted_array {
  PyObject object;
  char *data;
  int nd;
  Py_ssize_t *dimensions, *strides;
  PyObject *base;
  struct ted_dtype *descr;
  int flags;
};

enum {
  NPY_ARRAY_C_CONTIGUOUS = 0x1,
  NPY_ARRAY_ALIGNED = 0x100,
  NPY_ARRAY_WRITEABLE = 0x400,
};

/* Places in the table that `_ARRAY_API` points at, and the versions of it that are known. */
enum {
  PyArray_GetNDArrayCVersion_PLACE = 0,
  PyArray_Type_PLACE = 2,
  PyArrayDescr_Type_PLACE = 3,
  PyArray_NewFromDescr_PLACE = 94,
  PyArray_SetBaseObject_PLACE = 282,
};
enum { NUMPY_1 = 0x01000009, NUMPY_2 = 0x02000000 };

typedef unsigned (*ted_numpy_version)(void);
/* (type, dtype, which it takes over, rank, shape, strides, data, flags, object) */
typedef PyObject *(*ted_numpy_new_array)(PyTypeObject *, void *, int, const Py_ssize_t *,
                                         const Py_ssize_t *, void *, int, PyObject *);
typedef int (*ted_numpy_set_base)(PyObject *, PyObject *); /* takes over the second */

#endif
