/*
 * cli/record/record_folder.h - a temporary folder for the files that are passed to a recorded program and that it
 * writes.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  what is in the files.
 * Invariant:      the folder exists as long as its recorder, which holds a lock on it. The lock tells the program that
 *                 the recorder is running; later recorders delete folders whose lock is no longer held.
 */
#ifndef CLI_RECORD_FOLDER_H
#define CLI_RECORD_FOLDER_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

#define CLI_FOLDER_PATH_MAX 512

/* Zero-initialise. path: "" if there is no folder; lock: file descriptor of the locked file. */
struct cli_folder {
    char path[CLI_FOLDER_PATH_MAX];
    int lock;
};

/* Create the folder in $TMPDIR or /tmp, and delete folders whose recorder has ended. VS_E_IO: it cannot be created.
 * Call cli_folder_release after a failure, too. */
VS_MUST_USE enum vs_status cli_folder_open(struct cli_folder *out, struct vs_error *err);
/* Write `len` bytes of `text` to the file `name` in the folder. VS_E_IO: it cannot be written. */
VS_MUST_USE enum vs_status cli_folder_write(const struct cli_folder *folder, const char *name,
                                            const char *text, size_t len, struct vs_error *err);
/* Delete the folder and everything in it. */
void cli_folder_release(struct cli_folder *folder);

#endif
