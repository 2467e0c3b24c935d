/*
 * cli/record/record_folder.h - a folder of the recorder's own, for what a recorded program is given and what it writes down.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  what is in the files.
 * Invariant:      it lives as long as its recorder: a lock says so, to the program and to later recorders, who take away what a killed
 *                 one has left.
 */
#ifndef CLI_RECORD_FOLDER_H
#define CLI_RECORD_FOLDER_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

#define CLI_FOLDER_PATH_MAX 512

/* Zero-initialise; path empty: there is none. */
struct cli_folder {
    char path[CLI_FOLDER_PATH_MAX];
    int lock;
};

/* Make it, in TMPDIR or /tmp, and remove those whose recorder is gone. VS_E_IO: it cannot be made. Release `out` also then. */
VS_MUST_USE enum vs_status cli_folder_open(struct cli_folder *out, struct vs_error *err);
/* Write a file into it. VS_E_IO. */
VS_MUST_USE enum vs_status cli_folder_write(const struct cli_folder *folder, const char *name,
                                            const char *text, size_t len, struct vs_error *err);
/* Remove it with all that is in it. */
void cli_folder_release(struct cli_folder *folder);

#endif
