/*
 * tests/store/trace_file.h - a temporary folder for each test that needs files.
 */
#ifndef TESTS_STORE_TRACE_FILE_H
#define TESTS_STORE_TRACE_FILE_H

#include <stddef.h>

/*
 * Setup and teardown for cmocka: *state is the path of a new empty folder; it is removed with its contents at the end.
 */
int trace_folder_setup(void **state);
int trace_folder_teardown(void **state);

/* "<folder>/<name>", in a buffer of the caller's. Returns buf. */
const char *trace_path(void **state, const char *name, char *buf, size_t size);

#endif
