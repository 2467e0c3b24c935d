/*
 * cli/record_driver.h - what the injection library wrote while a program ran: which traces, of which processes, and what it could not do.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  PyTorch.
 * Invariant:      the status file's lines (docs/injection.md) are read here and nowhere else.
 */
#ifndef CLI_RECORD_DRIVER_H
#define CLI_RECORD_DRIVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"

/*
 * A trace of the driver's calls. Heap memory.
 *
 * path       where it is; device: "gpu1", of a process's second device; else ""
 * is_closed  the process came to its end; else it was killed, or still runs
 */
struct cli_driver_file {
    pid_t pid;
    char *path;
    char *device;
    bool is_closed;
};

/*
 * pids   of the processes that initialised CUDA, in that order
 * words  what is to be said of it, ready for the user: lines
 */
struct cli_driver {
    struct cli_driver_file *files;
    size_t count, cap;
    pid_t *pids;
    size_t pid_count, pid_cap;
    struct vs_text words;
};

/*
 * Read what was written for `out`; remove the status file, and traces in which nothing happened. Never fails: what is not there was not
 * written.
 */
void cli_driver_read(const char *out, struct cli_driver *driver);
void cli_driver_release(struct cli_driver *driver);

/* Rename a file, and set its path; nothing that exists is replaced, and what a process still writes stays. */
void cli_driver_move(struct cli_driver_file *file, const char *path);

#endif
