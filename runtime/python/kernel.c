/* `Kernel(address, specs, owner, threads)`: a compiled function that takes buffers.
 *
 * A call compares every argument with its spec, packs pointers the way MLIR's packed C interface
 * wants them (an array of pointers to the arguments, here to bare data pointers), releases the GIL
 * and runs. It returns None, or the position of the first argument that does not fit its spec or
 * overlaps: then nothing ran, and Python, which can convert and knows the names, does or explains.
 */
#include <string.h>

#include "extension.h"
#include "ted/runtime.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { LITTLE_ENDIAN_HOST = 0 };
#else
enum { LITTLE_ENDIAN_HOST = 1 };
#endif

enum { MAX_RANK = 32, ON_STACK = 32 };

struct spec {
  char kind; /* f float, i signed, u unsigned, b bool */
  bool writable;
  Py_ssize_t item_size;
  int rank;
  Py_ssize_t shape[MAX_RANK];
};

typedef struct {
  PyObject base;
  void (*function)(void **);
  PyObject *owner; /* keeps the machine code alive */
  Py_ssize_t count;
  struct spec *specs;
  long long peak_bytes;
  int threads; /* that a call may use at most, 0 for all */
} Kernel;

/* The kind of a struct-module format of one native scalar, 0 for anything else. */
static char format_kind(const char *format) {
  if (!format)
    return 'u';
  if (*format == '@' || *format == '=' || (*format == '<' && LITTLE_ENDIAN_HOST))
    format++;
  if (!format[0] || format[1])
    return 0;
  if (strchr("efd", *format))
    return 'f';
  if (strchr("bhilqn", *format))
    return 'i';
  if (strchr("BHILQN", *format))
    return 'u';
  return *format == '?' ? 'b' : 0;
}

static bool fits(const Py_buffer *view, const struct spec *spec) {
  if (view->ndim != spec->rank || view->itemsize != spec->item_size ||
      format_kind(view->format) != spec->kind)
    return false;
  for (int dim = 0; dim < spec->rank; dim++)
    if (view->shape[dim] != spec->shape[dim])
      return false;
  return view->len == 0 || (uintptr_t)view->buf % (uintptr_t)spec->item_size == 0;
}

/* Takes the buffers of all arguments; returns how many were taken before one did not fit. */
static Py_ssize_t take_views(const Kernel *self, PyObject *arguments, Py_buffer *views) {
  for (Py_ssize_t i = 0; i < self->count; i++) {
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (self->specs[i].writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(PyTuple_GetItem(arguments, i), &views[i], flags) < 0) {
      PyErr_Clear();
      return i;
    }
    if (!fits(&views[i], &self->specs[i])) {
      PyBuffer_Release(&views[i]);
      return i;
    }
  }
  return self->count;
}

static bool share_bytes(const Py_buffer *a, const Py_buffer *b) {
  const char *first = a->buf, *second = b->buf;
  return first < second + b->len && second < first + a->len;
}

/* The position of a result that shares bytes with another argument, else the count: compiled code
 * takes its results to be memory of their own. */
static Py_ssize_t find_overlap(const Kernel *self, const Py_buffer *views) {
  for (Py_ssize_t i = 0; i < self->count; i++)
    for (Py_ssize_t j = 0; self->specs[i].writable && j < self->count; j++)
      if (i != j && views[i].len && views[j].len && share_bytes(&views[i], &views[j]))
        return i;
  return self->count;
}

static PyObject *report(Kernel *self, enum ted_status status, const struct ted_call *call) {
  self->peak_bytes = call->peak;
  if (status == TED_OK)
    return ted_none();
  PyObject *value = status == TED_OUT_OF_MEMORY
                        ? PyLong_FromLongLong(call->failed_bytes)
                        : Py_BuildValue("(LLLL)", (long long)call->fault.tensor_id,
                                        (long long)call->fault.dim, (long long)call->fault.value,
                                        (long long)call->fault.extent);
  if (value)
    PyErr_SetObject(status == TED_OUT_OF_MEMORY ? PyExc_MemoryError : ted_IndexFault, value);
  Py_DecRef(value);
  return NULL;
}

/* `pointers` has room for two entries per argument: the data pointers, then pointers to those. */
static PyObject *run(Kernel *self, PyObject *arguments, Py_buffer *views, void **pointers) {
  Py_ssize_t taken = take_views(self, arguments, views);
  Py_ssize_t refused = taken < self->count ? taken : find_overlap(self, views);
  PyObject *result = NULL;
  if (refused == self->count) {
    for (Py_ssize_t i = 0; i < self->count; i++) {
      pointers[i] = views[i].buf;
      pointers[self->count + i] = &pointers[i];
    }
    struct ted_call call;
    PyThreadState *thread = PyEval_SaveThread(); /* releases the GIL */
    enum ted_status status = ted_call_run(&call, self->function, pointers + self->count, self->threads);
    PyEval_RestoreThread(thread);
    result = report(self, status, &call);
  } else {
    result = PyLong_FromSsize_t(refused);
  }
  for (Py_ssize_t i = 0; i < taken; i++)
    PyBuffer_Release(&views[i]);
  return result;
}

static PyObject *kernel_call(PyObject *object, PyObject *arguments, PyObject *keywords) {
  Kernel *self = (Kernel *)object;
  if (keywords && PyDict_Size(keywords))
    return PyErr_SetString(PyExc_TypeError, "a kernel takes no keywords"), NULL;
  if (PyTuple_Size(arguments) != self->count)
    return PyErr_Format(PyExc_TypeError, "a kernel of %zd arguments got %zd", self->count,
                        PyTuple_Size(arguments));
  if (self->count <= ON_STACK) {
    Py_buffer views[ON_STACK];
    void *pointers[2 * ON_STACK];
    return run(self, arguments, views, pointers);
  }
  size_t count = (size_t)self->count;
  Py_buffer *views = PyMem_Malloc(count * sizeof *views);
  void **pointers = PyMem_Malloc(2 * count * sizeof *pointers);
  PyObject *result = views && pointers ? run(self, arguments, views, pointers) : PyErr_NoMemory();
  PyMem_Free(views);
  PyMem_Free(pointers);
  return result;
}

static bool parse_spec(PyObject *item, struct spec *spec) {
  int kind, writable;
  PyObject *shape;
  if (!PyObject_IsInstance(item, (PyObject *)&PyTuple_Type))
    return PyErr_SetString(PyExc_TypeError, "a spec is (kind, item size, shape, writable)"), false;
  if (!PyArg_ParseTuple(item, "CnO!p", &kind, &spec->item_size, &PyTuple_Type, &shape, &writable))
    return false;
  Py_ssize_t rank = PyTuple_Size(shape);
  if (rank > MAX_RANK || spec->item_size < 1)
    return PyErr_SetString(PyExc_ValueError, "rank over 32 or item size under 1"), false;
  spec->kind = (char)kind;
  spec->writable = writable;
  spec->rank = (int)rank;
  for (Py_ssize_t dim = 0; dim < rank; dim++)
    spec->shape[dim] = PyLong_AsSsize_t(PyTuple_GetItem(shape, dim));
  return !PyErr_Occurred();
}

static void kernel_dealloc(PyObject *object) {
  Kernel *self = (Kernel *)object;
  PyMem_Free(self->specs);
  Py_DecRef(self->owner);
  ted_free_object(object);
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  unsigned long long address;
  PyObject *specs, *owner = &_Py_NoneStruct;
  int threads = 0;
  (void)keywords;
  if (!PyArg_ParseTuple(arguments, "KO!|Oi", &address, &PyTuple_Type, &specs, &owner, &threads))
    return NULL;
  if (!address)
    return PyErr_SetString(PyExc_ValueError, "a kernel's address is 0"), NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Kernel *self = (Kernel *)allocate(type, 0);
  if (!self)
    return NULL;
  Py_IncRef(owner);
  self->owner = owner;
  self->threads = threads;
  self->function = (void (*)(void **))(uintptr_t)address;
  self->count = PyTuple_Size(specs);
  self->specs = PyMem_Calloc((size_t)self->count + 1, sizeof *self->specs);
  if (!self->specs)
    return Py_DecRef((PyObject *)self), PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < self->count; i++)
    if (!parse_spec(PyTuple_GetItem(specs, i), &self->specs[i]))
      return Py_DecRef((PyObject *)self), NULL;
  return (PyObject *)self;
}

static PyObject *kernel_peak_bytes(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLongLong(((Kernel *)self)->peak_bytes);
}

static PyGetSetDef properties[] = {
    {"peak_bytes", kernel_peak_bytes, NULL,
     "bytes of temporary buffers that the latest call held at most at once", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Kernel(address, specs, owner=None, threads=0): a compiled function that takes buffers."},
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_call, kernel_call},
    {Py_tp_getset, properties},
    {0, NULL},
};

PyType_Spec ted_kernel_type = {
    .name = "ted._runtime.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
