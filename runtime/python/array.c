/* Arrays of NumPy: which ones an argument may be, and new ones in memory of the runtime.
 *
 * Their fields are read as they are. The buffer protocol would take ten times as long, and does not
 * know bfloat16.
 */
#include "extension.h"
#include "numpy_abi.h"

static void **functions; /* NumPy's table */

static void **imported_table(const char *name) {
  PyObject *module = PyImport_ImportModule(name);
  PyObject *capsule = module ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
  void **table = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
  Py_DecRef(capsule);
  Py_DecRef(module);
  return table;
}

bool ted_load_numpy(void) {
  functions = imported_table("numpy._core._multiarray_umath");
  if (!functions) { /* before NumPy 2 */
    PyErr_Clear();
    functions = imported_table("numpy.core._multiarray_umath");
  }
  if (!functions)
    return false;
  unsigned version = ((ted_numpy_version)functions[PyArray_GetNDArrayCVersion_PLACE])();
  if (version == NUMPY_1 || version == NUMPY_2)
    return true;
  PyErr_Format(PyExc_ImportError, "ted: arrays of NumPy 1 and 2 are known, got version %x", version);
  return false;
}

static bool is_a(PyObject *object, int place, const char *rule) {
  if (PyObject_IsInstance(object, functions[place]) == 1)
    return true;
  return PyErr_SetString(PyExc_TypeError, rule), false;
}

bool ted_parse_spec(PyObject *item, struct ted_spec *spec) {
  PyObject *dtype, *shape;
  int writable, dlpack = 0;
  if (!PyObject_IsInstance(item, (PyObject *)&PyTuple_Type))
    return PyErr_SetString(PyExc_TypeError, "a spec is (dtype, shape, writable)"), false;
  if (!PyArg_ParseTuple(item, "OO!p|i", &dtype, &PyTuple_Type, &shape, &writable, &dlpack) ||
      !is_a(dtype, PyArrayDescr_Type_PLACE, "the first part of a spec is a dtype"))
    return false;
  Py_ssize_t rank = PyTuple_Size(shape);
  if (rank > TED_MAX_RANK)
    return PyErr_SetString(PyExc_ValueError, "rank over 32"), false;
  PyObject *item_size = PyObject_GetAttrString(dtype, "itemsize");
  spec->bytes = item_size ? PyLong_AsSsize_t(item_size) : -1;
  Py_DecRef(item_size);
  for (Py_ssize_t dim = 0; dim < rank; dim++) {
    Py_ssize_t extent = PyLong_AsSsize_t(PyTuple_GetItem(shape, dim));
    bool fits = extent <= 0 || spec->bytes <= PTRDIFF_MAX / extent;
    spec->bytes = fits ? spec->bytes * extent : PTRDIFF_MAX; /* which nobody has */
    spec->shape[dim] = extent;
  }
  if (PyErr_Occurred())
    return false;
  spec->writable = writable;
  spec->rank = (int)rank;
  spec->dlpack = dlpack;
  Py_IncRef(dtype);
  spec->dtype = dtype;
  return true;
}

/* Equal dtypes may be two objects, after unpickling for example. */
static bool same_dtype(const struct ted_dtype *a, const struct ted_dtype *b) {
  return a == b || (a->type_num == b->type_num && a->byteorder == b->byteorder);
}

bool ted_fits(PyObject *object, const struct ted_spec *spec, void **data) {
  if (object->ob_type != (PyTypeObject *)functions[PyArray_Type_PLACE])
    return false;
  const struct ted_array *array = (struct ted_array *)object;
  int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (spec->writable ? NPY_ARRAY_WRITEABLE : 0);
  if (array->nd != spec->rank || (array->flags & flags) != flags ||
      !same_dtype(array->descr, (struct ted_dtype *)spec->dtype))
    return false;
  for (int dim = 0; dim < spec->rank; dim++)
    if (array->dimensions[dim] != spec->shape[dim])
      return false;
  *data = array->data;
  return true;
}

PyObject *ted_new_array(const struct ted_spec *spec, void **data) {
  PyObject *memory = ted_new_buffer(spec->bytes, data);
  if (!memory)
    return NULL;
  int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
  ted_numpy_new_array make = (ted_numpy_new_array)functions[PyArray_NewFromDescr_PLACE];
  Py_IncRef(spec->dtype);
  PyObject *array = make((PyTypeObject *)functions[PyArray_Type_PLACE], spec->dtype, spec->rank,
                         spec->shape, NULL, *data, flags, NULL);
  if (!array)
    return Py_DecRef(memory), NULL;
  if (((ted_numpy_set_base)functions[PyArray_SetBaseObject_PLACE])(array, memory) < 0)
    return Py_DecRef(array), NULL;
  return array;
}
