/*
 * cli/record/record_driver.h - reads what the injection library reported while a program ran: its traces, the
 * processes they belong to, and errors.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  PyTorch.
 * Invariant:      only this file parses the lines of the status file (docs/internals/injection.md).
 */
#ifndef CLI_RECORD_DRIVER_H
#define CLI_RECORD_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A trace of driver calls. The strings are heap memory.
 *
 * path       path of the trace file
 * device     "gpu1" for the second device of a process, and so on; "" for its first
 * is_closed  the process ended normally; otherwise it was killed or is still running
 */
struct cli_driver_file {
    pid_t pid;
    char *path;
    char *device;
    bool is_closed;
};

/*
 * A message. kind: the beginning of the sentence; text: its end, heap memory; times: how often this kind was reported.
 */
struct cli_driver_word {
    pid_t pid;
    const char *kind;
    char *text;
    size_t times;
};

/*
 * The content of the status file. Zero-initialise.
 *
 * pids   the processes that initialised CUDA, in this order
 * words  errors: the last message of each kind for each process
 */
struct cli_driver {
    struct cli_driver_file *files;
    size_t count, cap;
    pid_t *pids;
    size_t pid_count, pid_cap;
    struct cli_driver_word *words;
    size_t word_count, word_cap;
};

/*
 * Read the status file at `path`, and delete the files of traces without events. Never fails: if the file does not
 * exist, nothing was recorded.
 */
void cli_driver_read(const char *path, struct cli_driver *driver);
void cli_driver_release(struct cli_driver *driver);

/* Rename a trace file to `path` and update file->path. An existing file is not replaced, and a file that a process is
 * still writing keeps its name. */
void cli_driver_move(struct cli_driver_file *file, const char *path);

#endif
