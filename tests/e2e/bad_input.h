/*
 * tests/e2e/bad_input.h - shared by the tests of wrong input: run a command and check its message, write damaged files,
 * check what is left.
 */
#ifndef TESTS_E2E_BAD_INPUT_H
#define TESTS_E2E_BAD_INPUT_H

#include <stddef.h>

#include "tests/e2e/program.h"

#define LENET "sample_nets/lenet.py"

/* A teardown of a group of tests: removes the test's folder. */
int bad_input_cleanup(void **state);

/*
 * Fails the test unless p ended with `status`, printed no result, and printed one message that contains all of
 * `parts` (NULL at the end). Releases p.
 */
void bad_input_assert_message(struct program p, int status, const char *const *parts);
#define ASSERT_MESSAGE(p, status, ...)                                                             \
    bad_input_assert_message(p, status, (const char *const[]){__VA_ARGS__, NULL})

/* Fails the test if the name of a file in the test's folder, a temporary one included, begins with `name`. */
void bad_input_assert_no_file(const char *name);

/* Write a file into the test's folder: a trace of LeNet, or these bytes. Returns its path (program_path). */
const char *bad_input_trace(const char *name);
const char *bad_input_file(const char *name, const void *bytes, size_t count);

/* The first MiB of a file; the caller frees it. */
char *bad_input_bytes(const char *path, size_t *count);

#endif
