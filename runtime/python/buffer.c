/* `Buffer(nbytes)`: 64-byte aligned, counted memory with the buffer protocol, for results. */
#include "extension.h"
#include "ted/runtime.h"

PyObject *ted_Buffer;

typedef struct {
  PyObject base;
  void *data;
  Py_ssize_t size;
} Buffer;

PyObject *ted_out_of_memory(long long bytes) {
  PyObject *value = PyLong_FromLongLong(bytes);
  if (value)
    PyErr_SetObject(PyExc_MemoryError, value);
  return Py_DecRef(value), NULL;
}

PyObject *ted_new_buffer(Py_ssize_t size, void **data) {
  *data = ted_memory_take(TED_ALIGNMENT, size);
  if (!*data)
    return ted_out_of_memory(size);
  PyTypeObject *type = (PyTypeObject *)ted_Buffer;
  Buffer *self = (Buffer *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (!self)
    return ted_memory_give(*data), NULL;
  self->data = *data;
  self->size = size;
  return (PyObject *)self;
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  Py_ssize_t size;
  void *data;
  (void)type, (void)keywords; /* nobody derives from the type */
  return PyArg_ParseTuple(arguments, "n", &size) ? ted_new_buffer(size, &data) : NULL;
}

static void buffer_dealloc(PyObject *self) {
  ted_memory_give(((Buffer *)self)->data);
  ted_free_object(self);
}

static int buffer_get(PyObject *self, Py_buffer *view, int flags) {
  Buffer *buffer = (Buffer *)self;
  return PyBuffer_FillInfo(view, self, buffer->data, buffer->size, 0, flags);
}

static PyType_Slot slots[] = {
    {Py_tp_doc, "Buffer(nbytes): 64-byte aligned memory, counted by the runtime."},
    {Py_tp_new, buffer_new},
    {Py_tp_dealloc, buffer_dealloc},
    {Py_bf_getbuffer, buffer_get},
    {0, NULL},
};

PyType_Spec ted_buffer_type = {
    .name = "ted._runtime.Buffer",
    .basicsize = sizeof(Buffer),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
