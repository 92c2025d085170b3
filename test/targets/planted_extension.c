// SPDX-License-Identifier: Apache-2.0
// A C extension of Python that keeps what it is given: planted_extension.remember(size), and .forget(size), which frees
// it again.
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct entry *next;
	char data[];
};

static struct entry *entries;

__attribute__((noinline)) static struct entry *make_entry(size_t size)
{
	struct entry *entry = malloc(sizeof(*entry) + size); // line of the extension

	if (entry)
		memset(entry->data, 1, size);
	return entry;
}

static PyObject *remember(PyObject *module, PyObject *argument)
{
	const size_t size = PyLong_AsSize_t(argument);
	struct entry *entry = PyErr_Occurred() ? NULL : make_entry(size);

	(void)module;
	if (!entry)
		return PyErr_Occurred() ? NULL : PyErr_NoMemory();
	entry->next = entries;
	entries = entry;
	Py_RETURN_NONE;
}

static PyObject *forget(PyObject *module, PyObject *argument)
{
	const size_t size = PyLong_AsSize_t(argument);

	(void)module;
	if (PyErr_Occurred())
		return NULL;
	free(make_entry(size));
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "remember", remember, METH_O, NULL },
	{ "forget", forget, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "planted_extension", NULL, -1, methods, NULL, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit_planted_extension(void);
PyMODINIT_FUNC PyInit_planted_extension(void) { return PyModule_Create(&definition); }
