/*
 * lang/prelude/prelude.h - the text of the net language's standard library, compiled in.
 *
 * For:            the machine, which runs these files before the net file; tests.
 * Must not know:  how they are run.
 * Invariant:      the order is one in which the files can be run: what a file imports stands before it.
 *
 * What the files expect is written in docs/internals/prelude.md.
 */
#ifndef LANG_PRELUDE_H
#define LANG_PRELUDE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * file    "nn_conv.py", for messages
 * module  the module whose dict the file is run in: "torch.nn"; "_train" and "_toggles" are for the program alone
 * text    UTF-8, `len` bytes, then a NUL
 */
struct lang_prelude_file {
    const char *file;
    const char *module;
    const char *text;
    size_t len;
};

/* Number `i` (from 0) in the order in which they are run; false past the end. Everything in *out is static. */
bool lang_prelude_file(size_t i, struct lang_prelude_file *out);

#endif
