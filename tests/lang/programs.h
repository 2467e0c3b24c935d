/*
 * tests/lang/programs.h - runs the programs of a text file one by one and compares the output of each with the expected
 * one.
 *
 * For:            the test_interp*.c programs.
 * Must not know:  what the programs are about.
 * Invariant:      a file is "=== name", the program, a mark on a line of its own, what is expected; again and again.
 */
#ifndef TESTS_LANG_PROGRAMS_H
#define TESTS_LANG_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct eng_kernels;
struct eng_observer;

/*
 * Run a program; what it prints until its last line has run is added to `out`, and "warning LINE: TEXT" for each
 * warning, and, where it fails, the message.
 * kernels, observer: as in struct eng_options.
 */
void lang_program_run(const char *file_name, const char *text, size_t len,
                      const struct eng_kernels *kernels, const struct eng_observer *observer,
                      struct vs_text *out);

/* The number of programs of the file with an unexpected result, each reported on stderr; *count: all programs. */
int lang_programs_check(const char *path, const char *mark, const struct eng_kernels *kernels,
                        int *count);

/* A file's contents, for vs_free. */
char *lang_program_read(const char *path, size_t *len);

#endif
