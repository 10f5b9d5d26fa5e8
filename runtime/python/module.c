/* The extension module `ted._runtime`: the two types and the counters of the runtime. */
#include "extension.h"
#include "ted/runtime.h"

PyObject *ted_IndexFault, *ted_EndlessLoop;

/* Whether a handler of a signal, such as that of Ctrl-C, raised an error. */
static int check_signals(void) {
  PyGILState_STATE state = PyGILState_Ensure();
  int raised = PyErr_CheckSignals();
  PyGILState_Release(state);
  return raised;
}

static PyObject *memory_current(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyLong_FromLongLong(ted_memory_current());
}

static PyObject *memory_peak(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyLong_FromLongLong(ted_memory_peak());
}

static PyObject *memory_reset_peak(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  ted_memory_reset_peak();
  return ted_none();
}

static PyObject *memory_set_limit(PyObject *module, PyObject *bytes) {
  (void)module;
  long long limit = PyLong_AsLongLong(bytes);
  if (limit == -1 && PyErr_Occurred())
    return NULL;
  return PyLong_FromLongLong(ted_memory_set_limit(limit));
}

static PyObject *memory_set_kept(PyObject *module, PyObject *bytes) {
  (void)module;
  long long most = PyLong_AsLongLong(bytes);
  if (most == -1 && PyErr_Occurred())
    return NULL;
  return PyLong_FromLongLong(ted_memory_set_kept(most));
}

static PyObject *memory_set_guard(PyObject *module, PyObject *mode) {
  (void)module;
  long long wanted = PyLong_AsLongLong(mode);
  if (wanted == -1 && PyErr_Occurred())
    return NULL;
  int before = ted_memory_set_guard((int)wanted);
  if (before < 0)
    return PyErr_SetString(PyExc_ValueError, "ted: no pages without access on this system"), NULL;
  return PyLong_FromLongLong(before);
}

static PyObject *threads_default(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyLong_FromLongLong(ted_threads_default());
}

static PyObject *threads_get(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyLong_FromLongLong(ted_threads_get());
}

static PyObject *threads_set(PyObject *module, PyObject *count) {
  (void)module;
  long long wanted = PyLong_AsLongLong(count);
  if (wanted == -1 && PyErr_Occurred())
    return NULL;
  return PyLong_FromLongLong(ted_threads_set((int)wanted));
}

static PyObject *threads_join(PyObject *module, PyObject *addresses) {
  (void)module;
  unsigned long long run, number;
  if (!PyArg_ParseTuple(addresses, "KK", &run, &number))
    return NULL;
  ted_threads_join((ted_team *)(uintptr_t)run, (ted_team_number *)(uintptr_t)number);
  return ted_none();
}

static PyMethodDef methods[] = {
    {"memory_current", memory_current, METH_NOARGS, "bytes that the runtime's buffers hold now"},
    {"memory_peak", memory_peak, METH_NOARGS, "the most bytes held since the last reset"},
    {"memory_reset_peak", memory_reset_peak, METH_NOARGS, "start a new peak at what is held now"},
    {"memory_set_limit", memory_set_limit, METH_O,
     "refuse to hold more bytes than this, 0 for no limit; returns the old limit"},
    {"memory_set_kept", memory_set_kept, METH_O,
     "keep at most so many bytes of large buffers that were given back; returns the old number"},
    {"memory_set_guard", memory_set_guard, METH_O,
     "for tests: 1 puts new buffers before a page without access, 2 behind one, 0 neither; "
     "returns the old mode"},
    {"threads_default", threads_default, METH_NOARGS, "the cores that this process may run on"},
    {"threads_get", threads_get, METH_NOARGS, "how many threads a call may use"},
    {"threads_set", threads_set, METH_O, "say how many; returns the number before"},
    {"threads_join", threads_join, METH_O,
     "run on the team of (GOMP_parallel, omp_get_thread_num), by their addresses; (0, 0): no more"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ted._runtime",
    .m_doc = "The native side of ted.runtime: kernels, aligned buffers, memory counters, threads.",
    .m_size = -1,
    .m_methods = methods,
};

static PyObject *add_type(PyObject *module, const char *name, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  return type && PyModule_AddObject(module, name, type) == 0 ? type : NULL;
}

PyMODINIT_FUNC PyInit__runtime(void) {
  PyObject *module = ted_load_numpy() ? PyModule_Create2(&definition, PYTHON_API_VERSION) : NULL;
  if (!module)
    return NULL;
  ted_IndexFault = PyErr_NewExceptionWithDoc(
      "ted._runtime.IndexFault", "An index out of range: (tensor id, dim, value, extent).", NULL,
      NULL);
  ted_EndlessLoop = PyErr_NewExceptionWithDoc(
      "ted._runtime.EndlessLoop", "A loop that only its condition ends made too many steps.", NULL,
      NULL);
  Py_IncRef(ted_IndexFault);
  Py_IncRef(ted_EndlessLoop);
  ted_loop_set_poll(check_signals);
  if (!ted_EndlessLoop || PyModule_AddObject(module, "EndlessLoop", ted_EndlessLoop) < 0 ||
      !ted_IndexFault || PyModule_AddObject(module, "IndexFault", ted_IndexFault) < 0 ||
      !add_type(module, "Kernel", &ted_kernel_type) ||
      !(ted_Buffer = add_type(module, "Buffer", &ted_buffer_type)))
    return Py_DecRef(module), NULL;
  return module;
}
