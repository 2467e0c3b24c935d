/*
 * tracer/python_files.h - the files of tracer/python, compiled in as text: what a recorded Python program is given.
 *
 * For:            `vramscope record` of a program, which writes them into a folder of its own.
 * Must not know:  Python.
 * Invariant:      their names and text are those of the files.
 */
#ifndef TRC_PYTHON_FILES_H
#define TRC_PYTHON_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* name: with its ".py". Borrowed from the program. */
struct trc_python_file {
    const char *name;
    const char *text;
    size_t len;
};

/* File number `i`, from 0; false past the last. */
bool trc_python_file(size_t i, struct trc_python_file *out);

#endif
