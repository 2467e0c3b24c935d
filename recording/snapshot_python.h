/*
 * recording/snapshot_python.h - classifies Python frames, and selects the frame of a stack to show to a user.
 *
 * For:            recording/snapshot_frames.c.
 * Must not know:  pickles, C++ frames.
 * Invariant:      decided by the path alone, for paths of Linux and Windows.
 */
#ifndef REC_SNAPSHOT_PYTHON_H
#define REC_SNAPSHOT_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/recorded/memlist.h"
#include "base/text.h"

/* Whether this is a path of Python source, or a name that Python uses for code without a file ("<stdin>"). */
bool rec_python_is(const char *path, size_t len);

/* Whether it is a file of `vramscope record`, which it puts into the recorded program's process: tracer/python/. */
bool rec_python_is_own(const char *path, size_t len);

/* Whose code the file is; `file` receives the value for the member `file` of struct vs_frame. */
enum vs_frame_kind rec_python_file(const char *path, size_t len, struct vs_text *file);

/*
 * Strings of a list, which identify a module's forward, torch's file that calls it, a file's top level, and the
 * function of runpy that runs a program.
 */
struct rec_python_names {
    uint32_t forward, module, top, run_code;
};

void rec_python_names_set(struct vs_memlist *list, struct rec_python_names *names);

/*
 * Select the frame that represents a stack: the innermost one of the user's code, or of a module's file in another
 * package (torchvision, transformers); otherwise the innermost of a package; otherwise the innermost. A package that is
 * run as a program (`python -m torchtitan.train`) is the user's code, and what starts it is not. frames: indices,
 * innermost first. Returns 0 if there are no frames.
 */
uint32_t rec_python_location(const struct vs_memlist *list, const uint32_t *frames, size_t count,
                             const struct rec_python_names *names);

#endif
