/*
 * tests/lang/case_file.h - reads files of tests/golden/lang, whole or as pairs of source and message.
 */
#ifndef TESTS_LANG_CASE_FILE_H
#define TESTS_LANG_CASE_FILE_H

#include <stddef.h>

/* The whole file with a NUL behind it, *len bytes; to be freed. Fails the test where it cannot be read. */
char *case_file_read(const char *path, size_t *len);

/*
 * A file of cases: "==== source", lines of a source, "---- message", lines of a message, and so on. For each, `answer`
 * writes what the program says into out (out_size bytes), and the whole is compared; the first difference fails the
 * test. With VRAMSCOPE_GOLDEN=write in the environment the file is rewritten instead, to be reviewed.
 */
void case_file_check(const char *path,
                     void (*answer)(const char *source, size_t len, char *out, size_t out_size));

#endif
