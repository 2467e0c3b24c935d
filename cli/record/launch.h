/*
 * cli/record/launch.h - runs another program in our place: its terminal, its signals, its exit status.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  what is recorded.
 * Invariant:      the program sees what it would see without us: it stays in our process group and so in the shell's
 *                 job, and has the signal mask and dispositions that we were started with.
 *
 * A signal that only we were sent (kill, a scheduler) is passed on; one from the terminal has reached the program by
 * itself. Where the program is stopped from the terminal, we stop with it, and it goes on when we do.
 */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"

#define CLI_LAUNCH_SETTINGS_MAX 8

/*
 * argv         of the program; argv[0] is looked up in PATH as a shell does
 * names, values environment variables that are set for it, count of them
 * results_to_stderr  what it writes to stdout goes to our stderr
 */
struct cli_launch {
    char *const *argv;
    const char *names[CLI_LAUNCH_SETTINGS_MAX];
    const char *values[CLI_LAUNCH_SETTINGS_MAX];
    size_t count;
    bool results_to_stderr;
};

/* status: its exit status, or 128 + signal, the signal that ended it. */
struct cli_launch_end {
    pid_t pid;
    int status;
    int signal;
};

/*
 * Check whether the program exists and may be executed, without running it. Errors as those of cli_launch_run.
 */
VS_MUST_USE enum vs_status cli_launch_check(const struct cli_launch *launch,
                                            struct cli_launch_end *out, struct vs_error *err);

/*
 * Run it to its end. Signals that would end us stay blocked afterwards, so that what is left to do is done.
 *
 * VS_E_NOT_FOUND: there is no such program; VS_E_IO: it cannot be run. out->status is then 127 or 126, as a shell has
 * it.
 */
VS_MUST_USE enum vs_status cli_launch_run(const struct cli_launch *launch,
                                          struct cli_launch_end *out, struct vs_error *err);

#endif
