/*
 * cli/record/record_driver.h - what the injection library wrote while a program ran: which traces, of which processes, and what it could not do.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  PyTorch.
 * Invariant:      the status file's lines (docs/internals/injection.md) are read here and nowhere else.
 */
#ifndef CLI_RECORD_DRIVER_H
#define CLI_RECORD_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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

/* kind: a sentence that text, heap memory, ends. times: how often something of the kind was said. */
struct cli_driver_word {
    pid_t pid;
    const char *kind;
    char *text;
    size_t times;
};

/*
 * pids   of the processes that initialised CUDA, in that order
 * words  what went wrong: of each process and kind what was said last
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
 * Read the status file at `path`, and remove traces in which nothing happened. Never fails: what is not there was not written.
 */
void cli_driver_read(const char *path, struct cli_driver *driver);
void cli_driver_release(struct cli_driver *driver);

/* Rename a file, and set its path; nothing that exists is replaced, and what a process still writes stays. */
void cli_driver_move(struct cli_driver_file *file, const char *path);

#endif
