/* `Kernel(address, specs, owner, threads, subnormals, notice)`: a compiled function that takes arrays.
 *
 * `kernel.fresh(*inputs)` is what nearly all calls are: it compares every argument with its spec, makes
 * the arrays of the results, packs pointers the way MLIR's packed C interface wants them (an array of
 * pointers to the arguments, here to bare data pointers), releases the GIL, runs and returns the
 * results, or None where anything is out of the ordinary: then nothing ran, and Python, which can
 * convert and knows the names, does or explains. `kernel.fill(*inputs, *results)` takes the arrays of
 * the results, too. It returns None, or the position of the first argument that does not fit its
 * spec, or of a result that overlaps another: then nothing ran either.
 *
 * Arrays stay where they are while nobody has the GIL: who calls holds them.
 */
#include <string.h>

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
  int subnormals;   /* enum ted_subnormals */
  PyObject *notice; /* is called behind the first call with subnormal operands, then NULL */
} Kernel;

/* What an argument of a call is: where code finds it, for MLIR, and where a result belongs that is
 * computed elsewhere, or NULL. */
struct place {
  void *data, *home;
};

static bool share_bytes(const Kernel *self, const struct place *places, Py_ssize_t i, Py_ssize_t j) {
  const char *first = places[i].data, *second = places[j].data;
  Py_ssize_t bytes = self->specs[i].bytes, others = self->specs[j].bytes;
  return bytes && others && first < second + others && second < first + bytes;
}

/* The first result that shares bytes with an argument from a position on, else the count. */
static Py_ssize_t find_overlap(const Kernel *self, const struct place *places, Py_ssize_t from) {
  for (Py_ssize_t i = self->inputs; i < self->count; i++)
    for (Py_ssize_t j = from; j < self->count; j++)
      if (i != j && share_bytes(self, places, i, j))
        return i;
  return self->count;
}

/* Compiled code takes its results to be memory of their own: one that shares bytes with an input,
 * which a donated array does, is computed elsewhere. False with a MemoryError. */
static bool move_aside(const Kernel *self, struct place *places) {
  for (Py_ssize_t i = self->inputs; i < self->count; i++)
    for (Py_ssize_t j = 0; j < self->inputs && !places[i].home; j++)
      if (share_bytes(self, places, i, j)) {
        places[i].home = places[i].data;
        places[i].data = ted_memory_take(TED_ALIGNMENT, self->specs[i].bytes);
        if (!places[i].data)
          return ted_out_of_memory(self->specs[i].bytes), false;
      }
  return true;
}

static void bring_home(const Kernel *self, struct place *places, bool are_right) {
  for (Py_ssize_t i = self->inputs; i < self->count; i++)
    if (places[i].home) {
      if (are_right)
        memcpy(places[i].home, places[i].data, (size_t)self->specs[i].bytes);
      ted_memory_give(places[i].data);
    }
}

static void tell(Kernel *self) {
  PyObject *notice = self->notice;
  self->notice = NULL;
  PyObject *said = PyObject_CallObject(notice, NULL);
  if (!said)
    PyErr_WriteUnraisable(notice);
  Py_DecRef(said);
  Py_DecRef(notice);
}

/* Runs without the GIL. */
static enum ted_status run(Kernel *self, struct ted_call *call, struct place *places, void **packed) {
  for (Py_ssize_t i = 0; i < self->count; i++)
    packed[i] = &places[i].data;
  PyThreadState *thread = PyEval_SaveThread(); /* releases the GIL */
  enum ted_status status = ted_call_run(call, self->function, packed, self->threads,
                                        (enum ted_subnormals)self->subnormals);
  bring_home(self, places, status == TED_OK);
  PyEval_RestoreThread(thread);
  self->peak_bytes = call->peak;
  if (call->met & TED_SUBNORMAL_OPERANDS && self->notice && status == TED_OK)
    tell(self);
  return status;
}

/* Sets the error of a call that did not end well, and returns NULL. */
static PyObject *fail(enum ted_status status, const struct ted_call *call) {
  if (status == TED_OUT_OF_MEMORY)
    return ted_out_of_memory(call->failed_bytes);
  if (status == TED_INTERRUPTED) /* the error is set */
    return NULL;
  if (status == TED_ENDLESS)
    return PyErr_SetObject(ted_EndlessLoop, &_Py_NoneStruct), NULL;
  PyObject *value = Py_BuildValue("(LLLL)", (long long)call->fault.tensor_id,
                                  (long long)call->fault.dim, (long long)call->fault.value,
                                  (long long)call->fault.extent);
  if (value)
    PyErr_SetObject(ted_IndexFault, value);
  return Py_DecRef(value), NULL;
}

/* A call with all its arguments. `only_look`: it is not made, and results must not share bytes with
 * inputs either. */
static PyObject *run_on(Kernel *self, PyObject *const *arguments, struct place *places,
                        void **packed, bool only_look) {
  for (Py_ssize_t i = 0; i < self->count; i++) {
    places[i].home = NULL;
    if (!ted_fits(arguments[i], &self->specs[i], &places[i].data))
      return PyLong_FromSsize_t(i);
  }
  Py_ssize_t refused = find_overlap(self, places, only_look ? 0 : self->inputs);
  if (refused < self->count)
    return PyLong_FromSsize_t(refused);
  if (only_look)
    return ted_none();
  if (!move_aside(self, places))
    return bring_home(self, places, false), NULL;
  struct ted_call call;
  enum ted_status status = run(self, &call, places, packed);
  return status == TED_OK ? ted_none() : fail(status, &call);
}

static PyObject *kernel_filled(Kernel *self, PyObject *const *arguments, Py_ssize_t given,
                               bool only_look) {
  if (given != self->count)
    return PyErr_Format(PyExc_TypeError, "a kernel of %zd arguments got %zd", self->count, given);
  if (self->count <= MOST_ON_STACK) {
    struct place places[MOST_ON_STACK];
    void *packed[MOST_ON_STACK];
    return run_on(self, arguments, places, packed, only_look);
  }
  struct place *places = PyMem_Calloc((size_t)self->count, sizeof *places);
  void **packed = PyMem_Calloc((size_t)self->count, sizeof *packed);
  PyObject *result =
      places && packed ? run_on(self, arguments, places, packed, only_look) : PyErr_NoMemory();
  PyMem_Free(places);
  PyMem_Free(packed);
  return result;
}

static PyObject *kernel_fill(PyObject *self, PyObject *const *arguments, Py_ssize_t given) {
  return kernel_filled((Kernel *)self, arguments, given, false);
}

static PyObject *kernel_refused(PyObject *self, PyObject *const *arguments, Py_ssize_t given) {
  return kernel_filled((Kernel *)self, arguments, given, true);
}

/* Makes the arrays of the results, and says where their data are; NULL with an error. */
static PyObject *make_results(const Kernel *self, struct place *places) {
  PyObject *results = PyTuple_New(self->count - self->inputs);
  for (Py_ssize_t i = self->inputs; results && i < self->count; i++) {
    PyObject *array = ted_new_array(&self->specs[i], &places[i].data);
    if (!array)
      return Py_DecRef(results), NULL;
    places[i].home = NULL;
    PyTuple_SetItem(results, i - self->inputs, array);
  }
  return results;
}

static PyObject *kernel_fresh(PyObject *object, PyObject *const *arguments, Py_ssize_t given) {
  Kernel *self = (Kernel *)object;
  struct place places[MOST_ON_STACK];
  void *packed[MOST_ON_STACK];
  if (given != self->inputs || self->count > MOST_ON_STACK)
    return ted_none();
  for (Py_ssize_t i = 0; i < given; i++)
    if (!ted_fits(arguments[i], &self->specs[i], &places[i].data))
      return ted_none();
  PyObject *results = make_results(self, places);
  if (!results)
    return PyErr_Clear(), ted_none();
  struct ted_call call;
  enum ted_status status = run(self, &call, places, packed);
  if (status == TED_OK)
    return results;
  return Py_DecRef(results), fail(status, &call);
}

/* Gives memory that no tensor has taken back. */
static void give_back(const Kernel *self, struct place *places, Py_ssize_t from) {
  for (Py_ssize_t i = from; i < self->count; i++)
    ted_memory_give(places[i].data);
}

static PyObject *tensors_of(const Kernel *self, const struct dl_exchange *exchange,
                            struct place *places) {
  PyObject *results = PyTuple_New(self->count - self->inputs);
  for (Py_ssize_t i = self->inputs; i < self->count; i++) {
    PyObject *tensor = results ? ted_new_tensor(exchange, &self->specs[i], places[i].data) : NULL;
    if (!tensor) {
      give_back(self, places, results ? i + 1 : i);
      Py_DecRef(results);
      return PyErr_Clear(), ted_out_of_memory(self->specs[i].bytes);
    }
    PyTuple_SetItem(results, i - self->inputs, tensor);
  }
  return results;
}

static PyObject *kernel_exchanged(PyObject *object, PyObject *const *arguments, Py_ssize_t given) {
  Kernel *self = (Kernel *)object;
  struct place places[MOST_ON_STACK];
  void *packed[MOST_ON_STACK];
  const struct dl_exchange *exchange = given ? ted_exchange_of(arguments[0]) : NULL;
  if (!exchange || given - 1 != self->inputs || self->count > MOST_ON_STACK)
    return PyErr_Clear(), ted_none();
  for (Py_ssize_t i = 0; i < self->inputs; i++)
    if (!ted_fits(arguments[i + 1], &self->specs[i], &places[i].data) &&
        !ted_tensor_fits(exchange, arguments[i + 1], &self->specs[i], &places[i].data))
      return ted_none();
  for (Py_ssize_t i = self->inputs; i < self->count; i++) {
    places[i].home = NULL;
    places[i].data = ted_memory_take(TED_ALIGNMENT, self->specs[i].bytes);
    if (!places[i].data) {
      for (Py_ssize_t k = self->inputs; k < i; k++)
        ted_memory_give(places[k].data);
      return ted_out_of_memory(self->specs[i].bytes);
    }
  }
  struct ted_call call;
  enum ted_status status = run(self, &call, places, packed);
  if (status == TED_OK)
    return tensors_of(self, exchange, places);
  return give_back(self, places, self->inputs), fail(status, &call);
}

static void kernel_dealloc(PyObject *object) {
  Kernel *self = (Kernel *)object;
  for (Py_ssize_t i = 0; self->specs && i < self->count; i++)
    Py_DecRef(self->specs[i].dtype);
  PyMem_Free(self->specs);
  Py_DecRef(self->owner);
  Py_DecRef(self->notice);
  ted_free_object(object);
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  unsigned long long address;
  PyObject *specs, *owner = &_Py_NoneStruct, *notice = NULL;
  int threads = 0, subnormals = TED_SUBNORMALS_KEEP;
  (void)keywords;
  if (!PyArg_ParseTuple(arguments, "KO!|OiiO", &address, &PyTuple_Type, &specs, &owner, &threads,
                        &subnormals, &notice))
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
  self->subnormals = subnormals;
  Py_IncRef(notice);
  self->notice = notice;
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
    {"exchanged", (PyCFunction)(void (*)(void))kernel_exchanged, METH_FASTCALL,
     "the results as tensors of another library, whose exchange API is the first argument, or None"},
    {"fill", (PyCFunction)(void (*)(void))kernel_fill, METH_FASTCALL,
     "run on inputs and results to fill: None, or which argument was refused"},
    {"refused", (PyCFunction)(void (*)(void))kernel_refused, METH_FASTCALL,
     "which argument does not fit, or is a result that shares memory with another one, or None"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"peak_bytes", kernel_peak_bytes, NULL,
     "bytes of temporary buffers that the latest call held at most at once", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Kernel(address, specs, owner=None, threads=0, subnormals=0, notice=...): a compiled "
                "function that takes arrays."},
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
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
