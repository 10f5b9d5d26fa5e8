/* The part of Python's stable ABI that the extension uses, declared here instead of by Python.h.
 *
 * A Debian machine with python3-venv has no Python.h (that is python3-dev), and ted must build
 * there. The stable ABI fixes these layouts and signatures for Python 3.11 and newer; Python 3.10
 * has the same ones, it only did not promise the buffer protocol yet. A test compiles this file
 * after the real Python.h, which then checks every declaration: only the types are left out.
 */
#ifndef TED_STABLE_ABI_H
#define TED_STABLE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifndef Py_PYTHON_H
typedef ptrdiff_t Py_ssize_t;
typedef struct _object PyObject;
typedef struct _typeobject PyTypeObject;
typedef struct _ts PyThreadState;

struct _object {
  Py_ssize_t ob_refcnt;
  PyTypeObject *ob_type;
};

typedef struct {
  void *buf;
  PyObject *obj;
  Py_ssize_t len, itemsize;
  int readonly, ndim;
  char *format;
  Py_ssize_t *shape, *strides, *suboffsets;
  void *internal;
} Py_buffer;

typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);
typedef PyObject *(*_PyCFunctionFast)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*allocfunc)(PyTypeObject *, Py_ssize_t);
typedef void (*freefunc)(void *);

typedef struct {
  const char *ml_name;
  PyCFunction ml_meth;
  int ml_flags;
  const char *ml_doc;
} PyMethodDef;

typedef struct {
  const char *name;
  PyObject *(*get)(PyObject *, void *);
  int (*set)(PyObject *, PyObject *, void *);
  const char *doc;
  void *closure;
} PyGetSetDef;

typedef struct {
  int slot;
  void *pfunc;
} PyType_Slot;

typedef struct {
  const char *name;
  int basicsize, itemsize;
  unsigned int flags;
  PyType_Slot *slots;
} PyType_Spec;

typedef struct PyModuleDef {
  struct {
    PyObject ob_base;
    PyObject *(*m_init)(void);
    Py_ssize_t m_index;
    PyObject *m_copy;
  } m_base;
  const char *m_name, *m_doc;
  Py_ssize_t m_size;
  PyMethodDef *m_methods;
  void *m_slots;
  int (*m_traverse)(PyObject *, int (*)(PyObject *, void *), void *);
  int (*m_clear)(PyObject *);
  void (*m_free)(void *);
} PyModuleDef;

typedef enum { PyGILState_LOCKED, PyGILState_UNLOCKED } PyGILState_STATE;
enum { METH_NOARGS = 4, METH_O = 8, METH_FASTCALL = 0x80 };
enum { PYTHON_API_VERSION = 1013 };
enum {
  Py_bf_getbuffer = 1,
  Py_tp_alloc = 47,
  Py_tp_dealloc = 52,
  Py_tp_doc = 56,
  Py_tp_methods = 64,
  Py_tp_new = 65,
  Py_tp_getset = 73,
  Py_tp_free = 74,
};
enum { Py_TPFLAGS_DEFAULT = 0 };
#define PyModuleDef_HEAD_INIT {{1, NULL}, NULL, 0, NULL}
#ifdef _WIN32
#define PyMODINIT_FUNC __declspec(dllexport) PyObject *
#else
#define PyMODINIT_FUNC __attribute__((visibility("default"))) PyObject *
#endif
#endif

#ifdef _WIN32 /* objects, unlike functions, are not found without it */
#define TED_OF_PYTHON extern __declspec(dllimport)
#else
#define TED_OF_PYTHON extern
#endif

TED_OF_PYTHON PyObject _Py_NoneStruct, *PyExc_MemoryError, *PyExc_TypeError, *PyExc_ValueError,
    *PyExc_ImportError;
TED_OF_PYTHON PyTypeObject PyTuple_Type;

void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);

int PyArg_ParseTuple(PyObject *, const char *, ...);
PyObject *Py_BuildValue(const char *, ...);
PyObject *PyLong_FromLongLong(long long);
PyObject *PyLong_FromSsize_t(Py_ssize_t);
long long PyLong_AsLongLong(PyObject *);
Py_ssize_t PyLong_AsSsize_t(PyObject *);
Py_ssize_t PyTuple_Size(PyObject *);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
PyObject *PyTuple_New(Py_ssize_t);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
int PyObject_IsInstance(PyObject *, PyObject *);
PyObject *PyObject_CallObject(PyObject *, PyObject *);
PyObject *PyObject_GetAttrString(PyObject *, const char *);
PyObject *PyImport_ImportModule(const char *);
void *PyCapsule_GetPointer(PyObject *, const char *);

int PyBuffer_FillInfo(Py_buffer *, PyObject *, void *, Py_ssize_t, int, int);

void PyErr_Clear(void);
PyObject *PyErr_Occurred(void);
void PyErr_SetString(PyObject *, const char *);
void PyErr_SetObject(PyObject *, PyObject *);
PyObject *PyErr_Format(PyObject *, const char *, ...);
PyObject *PyErr_NoMemory(void);
void PyErr_WriteUnraisable(PyObject *);
PyObject *PyErr_NewExceptionWithDoc(const char *, const char *, PyObject *, PyObject *);

void *PyMem_Malloc(size_t);
void *PyMem_Calloc(size_t, size_t);
void PyMem_Free(void *);

int PyErr_CheckSignals(void);
PyGILState_STATE PyGILState_Ensure(void);
void PyGILState_Release(PyGILState_STATE);
PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *);

PyObject *PyType_FromSpec(PyType_Spec *);
void *PyType_GetSlot(PyTypeObject *, int);
PyObject *PyModule_Create2(PyModuleDef *, int);
int PyModule_AddObject(PyObject *, const char *, PyObject *);

#endif
