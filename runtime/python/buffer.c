/* `Buffer(nbytes)`: 64-byte aligned, counted memory with the buffer protocol, for results. */
#include "extension.h"
#include "ted/runtime.h"

typedef struct {
  PyObject base;
  void *data;
  Py_ssize_t size;
} Buffer;

static PyObject *buffer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  Py_ssize_t size;
  (void)keywords;
  if (!PyArg_ParseTuple(arguments, "n", &size))
    return NULL;
  void *data = ted_memory_take(TED_ALIGNMENT, size);
  if (!data)
    return PyErr_SetObject(PyExc_MemoryError, PyTuple_GetItem(arguments, 0)), NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Buffer *self = (Buffer *)allocate(type, 0);
  if (!self)
    return ted_memory_give(data), NULL;
  self->data = data;
  self->size = size;
  return (PyObject *)self;
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
