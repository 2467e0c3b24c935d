/*
 * tests/e2e/python/python.h - runs Python programs under `vramscope record`, with the PyTorch of tests/tracer/python.
 *
 * For:            the tests of this folder.
 * Must not know:  what a program does.
 */
#ifndef TESTS_E2E_PYTHON_PYTHON_H
#define TESTS_E2E_PYTHON_PYTHON_H

#include <stdbool.h>
#include <sys/types.h>

#include "tests/e2e/program.h"

#define SNAPSHOT_EVENTS 97

/* What a program begins with. */
#define PYTHON_BEGIN "import os, signal, sys, torch\ntorch.cuda.init()\n"
/* Where python_start() returns. */
#define PYTHON_READY "open(os.path.join(os.environ['TMPDIR'], 'ready'), 'w').close()\n"

/* Whether there is a python3 that can be recorded. */
bool python_is_there(void);
/* The folder with that PyTorch, which is on PYTHONPATH. */
const char *python_tests_folder(void);

/* For cmocka's groups. The history is written at the end alone (VRAMSCOPE_SAVE_EVERY=0). */
int python_setup(void **state);
int python_cleanup(void **state);
/* Nothing is left of the test before. */
int python_begin(void **state);

/* Record a program as trace.db. */
struct program python_run(const char *text);
/* The same, without waiting for its end: it is ready. python_status() waits. */
pid_t python_start(const char *text);
int python_status(pid_t pid);

/* It ended with `status`, printed just `out`, says `err`, and leaves `traces` and nothing else. */
void python_check(struct program p, int status, const char *out, const char *err, int traces);
/* The trace has the whole snapshot, which was written at `dumped`. */
void python_check_trace(const char *name, const char *dumped, int complete);

#endif
