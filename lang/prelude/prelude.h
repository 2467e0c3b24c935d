/*
 * lang/prelude/prelude.h - the text of the net language's standard library, compiled in.
 *
 * For:            lang/run/, which runs these files before the net file; tests.
 * Must not know:  the interpreter.
 * Invariant:      a file comes after all files that it imports.
 *
 * See docs/internals/prelude.md.
 */
#ifndef LANG_PRELUDE_H
#define LANG_PRELUDE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A file of the library.
 *
 * file    "nn_conv.py", for messages
 * module  the module to which the file adds its names: "torch.nn"; nets cannot import "_train" and "_toggles"
 * text    UTF-8, `len` bytes, then a NUL
 */
struct lang_prelude_file {
    const char *file;
    const char *module;
    const char *text;
    size_t len;
};

/* Sets *out to file number `i` (from 0) in the order in which they are run; false past the end. All of it is static. */
bool lang_prelude_file(size_t i, struct lang_prelude_file *out);

#endif
