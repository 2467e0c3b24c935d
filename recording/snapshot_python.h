/*
 * recording/snapshot_python.h - whose code a Python frame is, and which frame of a stack is where a user looks first.
 *
 * For:            recording/snapshot_frames.c.
 * Must not know:  pickles, C++ frames.
 * Invariant:      decided by the path alone, of Linux or Windows, whoever wrote the recording.
 */
#ifndef REC_SNAPSHOT_PYTHON_H
#define REC_SNAPSHOT_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/recorded/callstack.h"
#include "base/text.h"

/* Is it the path of Python source, or one of the names Python gives to what has no file ("<stdin>")? */
bool rec_python_is(const char *path, size_t len);

/* Whose code it is; `file` becomes what struct vs_frame calls file. */
enum vs_frame_kind rec_python_file(const char *path, size_t len, struct vs_text *file);

/*
 * The frame to name as the place of a stack: the innermost of the user's own or of a module's file in another package
 * (torchvision, transformers); else of a package; else the innermost. frames: numbers, innermost first; 0 where there
 * are none. forward, module: the list's strings "forward" and "torch/nn/modules/module.py".
 */
uint32_t rec_python_location(const struct vs_callstacks *stacks, const uint32_t *frames,
                             size_t count, uint32_t forward, uint32_t module);

#endif
