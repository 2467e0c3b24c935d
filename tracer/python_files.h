/*
 * tracer/python_files.h - the files of tracer/python, which are compiled into the program.
 *
 * For:            `vramscope record` of a Python program, which writes them to a temporary folder on the program's
 *                 import path.
 * Must not know:  Python.
 * Invariant:      names and contents are those of the files.
 */
#ifndef TRC_PYTHON_FILES_H
#define TRC_PYTHON_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* name: with ".py". Both strings are static. */
struct trc_python_file {
    const char *name;
    const char *text;
    size_t len;
};

/* Return file number `i`, from 0; false if there is none. */
bool trc_python_file(size_t i, struct trc_python_file *out);

#endif
