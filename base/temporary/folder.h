/*
 * base/temporary/folder.h - a temporary folder that goes with the process that made it.
 *
 * For:            `vramscope record` of a program, what-ifs of a program.
 * Must not know:  what is in the files.
 * Invariant:      the process holds a lock on its folder, which tells others that it is running. Folders whose lock is
 *                 no longer held are deleted by the next process that makes one.
 */
#ifndef BASE_TEMPORARY_FOLDER_H
#define BASE_TEMPORARY_FOLDER_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

#define VS_FOLDER_PATH_MAX 512

/* Zero-initialise. path: "" if there is no folder; lock: file descriptor of the locked file. */
struct vs_folder {
    char path[VS_FOLDER_PATH_MAX];
    int lock;
};

/* What a folder is for, a part of its name. */
enum vs_folder_use { VS_FOLDER_RECORD, VS_FOLDER_WHATIF };

/*
 * Create the folder in $TMPDIR or /tmp, and delete those of processes that have ended. VS_E_IO: it cannot be created.
 * Call vs_folder_release after a failure, too.
 */
VS_MUST_USE enum vs_status vs_folder_open(struct vs_folder *out, enum vs_folder_use use,
                                          struct vs_error *err);
/* Write `len` bytes of `text` to the file `name` in the folder. VS_E_IO: it cannot be written. */
VS_MUST_USE enum vs_status vs_folder_write(const struct vs_folder *folder, const char *name,
                                           const char *text, size_t len, struct vs_error *err);
/* Delete the folder and everything in it. */
void vs_folder_release(struct vs_folder *folder);
/* Delete the folders that processes of this user left behind when they were killed. */
void vs_folders_clean(void);

#endif
