/* `Kernel(address, specs, owner, threads)`: a compiled function that takes arrays.
 *
 * `kernel(*inputs, *results)` compares every argument with its spec, packs pointers the way MLIR's
 * packed C interface wants them (an array of pointers to the arguments, here to bare data pointers),
 * releases the GIL and runs. It returns None, or the position of the first argument that does not
 * fit its spec or overlaps: then nothing ran, and Python, which can convert and knows the names, does
 * or explains. `kernel.fresh(*inputs)` is what nearly all calls are: it makes the arrays of the
 * results and returns them, or None where anything is out of the ordinary; then nothing ran either.
 *
 * Arrays stay where they are while nobody has the GIL: who calls holds them.
 */
#include "extension.h"
#include "ted/runtime.h"

enum { MOST_ON_STACK = 512 }; /* arguments */

typedef struct {
  PyObject base;
  void (*function)(void **);
  PyObject *owner; /* keeps the machine code alive */
  Py_ssize_t inputs, count; /* all that is not writable comes first */
  struct ted_spec *specs;
  long long peak_bytes;
  int threads; /* that a call may use at most, 0 for all */
} Kernel;

/* The position of a result that shares bytes with another argument, else the count: compiled code
 * takes its results to be memory of their own. */
static Py_ssize_t find_overlap(const Kernel *self, void **data) {
  for (Py_ssize_t i = 0; i < self->count; i++)
    for (Py_ssize_t j = 0; self->specs[i].writable && j < self->count; j++) {
      const char *first = data[i], *second = data[j];
      Py_ssize_t bytes = self->specs[i].bytes, others = self->specs[j].bytes;
      if (i != j && bytes && others && first < second + others && second < first + bytes)
        return i;
    }
  return self->count;
}

/* Runs without the GIL. `pointers` has room for two entries per argument: the data pointers, which are
 * there, then pointers to those. */
static enum ted_status run(Kernel *self, struct ted_call *call, void **pointers) {
  for (Py_ssize_t i = 0; i < self->count; i++)
    pointers[self->count + i] = &pointers[i];
  PyThreadState *thread = PyEval_SaveThread(); /* releases the GIL */
  enum ted_status status = ted_call_run(call, self->function, pointers + self->count, self->threads);
  PyEval_RestoreThread(thread);
  self->peak_bytes = call->peak;
  return status;
}

/* Sets the error of a call that did not end well, and returns NULL. */
static PyObject *fail(enum ted_status status, const struct ted_call *call) {
  bool is_full = status == TED_OUT_OF_MEMORY;
  PyObject *value = is_full ? PyLong_FromLongLong(call->failed_bytes)
                            : Py_BuildValue("(LLLL)", (long long)call->fault.tensor_id,
                                            (long long)call->fault.dim, (long long)call->fault.value,
                                            (long long)call->fault.extent);
  if (value)
    PyErr_SetObject(is_full ? PyExc_MemoryError : ted_IndexFault, value);
  return Py_DecRef(value), NULL;
}

static PyObject *run_on(Kernel *self, PyObject *arguments, void **pointers) {
  for (Py_ssize_t i = 0; i < self->count; i++)
    if (!ted_fits(PyTuple_GetItem(arguments, i), &self->specs[i], &pointers[i]))
      return PyLong_FromSsize_t(i);
  Py_ssize_t refused = find_overlap(self, pointers);
  if (refused < self->count)
    return PyLong_FromSsize_t(refused);
  struct ted_call call;
  enum ted_status status = run(self, &call, pointers);
  return status == TED_OK ? ted_none() : fail(status, &call);
}

static PyObject *kernel_call(PyObject *object, PyObject *arguments, PyObject *keywords) {
  Kernel *self = (Kernel *)object;
  if (keywords && PyDict_Size(keywords))
    return PyErr_SetString(PyExc_TypeError, "a kernel takes no keywords"), NULL;
  if (PyTuple_Size(arguments) != self->count)
    return PyErr_Format(PyExc_TypeError, "a kernel of %zd arguments got %zd", self->count,
                        PyTuple_Size(arguments));
  if (self->count <= MOST_ON_STACK) {
    void *pointers[2 * MOST_ON_STACK];
    return run_on(self, arguments, pointers);
  }
  void **pointers = PyMem_Malloc(2 * (size_t)self->count * sizeof *pointers);
  PyObject *result = pointers ? run_on(self, arguments, pointers) : PyErr_NoMemory();
  PyMem_Free(pointers);
  return result;
}

/* Makes the arrays of the results, and says where their data are; NULL with an error. */
static PyObject *make_results(const Kernel *self, void **pointers) {
  Py_ssize_t count = self->count - self->inputs;
  PyObject *results = PyTuple_New(count);
  for (Py_ssize_t i = 0; results && i < count; i++) {
    PyObject *array = ted_new_array(&self->specs[self->inputs + i], &pointers[i]);
    if (!array)
      return Py_DecRef(results), NULL;
    PyTuple_SetItem(results, i, array);
  }
  return results;
}

static PyObject *kernel_fresh(PyObject *object, PyObject *const *arguments, Py_ssize_t given) {
  Kernel *self = (Kernel *)object;
  void *pointers[2 * MOST_ON_STACK];
  if (given != self->inputs || self->count > MOST_ON_STACK)
    return ted_none();
  for (Py_ssize_t i = 0; i < given; i++)
    if (!ted_fits(arguments[i], &self->specs[i], &pointers[i]))
      return ted_none();
  PyObject *results = make_results(self, pointers + given);
  if (!results)
    return PyErr_Clear(), ted_none();
  struct ted_call call;
  enum ted_status status = run(self, &call, pointers);
  if (status == TED_OK)
    return results;
  return Py_DecRef(results), fail(status, &call);
}

static void kernel_dealloc(PyObject *object) {
  Kernel *self = (Kernel *)object;
  for (Py_ssize_t i = 0; self->specs && i < self->count; i++)
    Py_DecRef(self->specs[i].dtype);
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
    if (!ted_parse_spec(PyTuple_GetItem(specs, i), &self->specs[i]))
      return Py_DecRef((PyObject *)self), NULL;
  while (self->inputs < self->count && !self->specs[self->inputs].writable)
    self->inputs++;
  return (PyObject *)self;
}

static PyObject *kernel_peak_bytes(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLongLong(((Kernel *)self)->peak_bytes);
}

static PyMethodDef methods[] = {
    {"fresh", (PyCFunction)(void (*)(void))kernel_fresh, METH_FASTCALL,
     "the results in arrays of their own, or None where an input is no array that fits as it is"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"peak_bytes", kernel_peak_bytes, NULL,
     "bytes of temporary buffers that the latest call held at most at once", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Kernel(address, specs, owner=None, threads=0): a compiled function that takes arrays."},
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_call, kernel_call},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec ted_kernel_type = {
    .name = "ted._runtime.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
